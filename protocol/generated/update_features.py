"""UpdateFeaturesRequest 0-2 and UpdateFeaturesResponse 0-2.

Generated from schemas/rpc/UpdateFeaturesRequest.json and schemas/rpc/UpdateFeaturesResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    Message,
    Structure,
    Tags,
    bad_count,
    not_in_version,
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_tB = Struct(">?B").unpack_from
_unpack_htB = Struct(">h?B").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hbB = Struct(">hbB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_t = Struct(">?").pack
_pack_h = Struct(">h").pack
_pack_ht = Struct(">h?").pack
_pack_hb = Struct(">hb").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


class FeatureUpdateKey(Structure):
    """An element of UpdateFeaturesRequest.FeatureUpdates.

    * `max_version_level`: The level to be in force; below 1 removes the feature.
    * `upgrade_type`: 1 upgrade, 2 safe downgrade, 3 downgrade that may lose metadata.
    """

    FIELDS = ("feature", "max_version_level", "allow_downgrade", "upgrade_type", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
        unknown_tags: Tags = (),
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type
        self.unknown_tags = unknown_tags


def _read_feature_update_key_array_0(data: bytes, pos: int, count: int) -> tuple[list[FeatureUpdateKey], int]:
    # FeatureUpdateKey, version 0
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[FeatureUpdateKey] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        feature = data[pos:end].decode()
        pos = end
        max_version_level, allow_downgrade, n = _unpack_htB(data, pos)
        pos += 4
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FeatureUpdateKey(feature, max_version_level, allow_downgrade, 1, unknown_tags))
    return items, pos


def _write_feature_update_key_array_0(out: bytearray, items: list[FeatureUpdateKey]) -> None:
    # FeatureUpdateKey, version 0
    for item in items:
        if item.upgrade_type != 1:
            raise not_in_version("FeatureUpdateKey", "upgrade_type")
        put_compact_string(out, item.feature)
        out += _pack_ht(item.max_version_level, item.allow_downgrade)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_update_features_request_0(data: bytes, pos: int) -> tuple[UpdateFeaturesRequest, int]:
    # UpdateFeaturesRequest, version 0
    timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    feature_updates, pos = _read_feature_update_key_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return UpdateFeaturesRequest(timeout_ms, feature_updates, False, unknown_tags), pos


def _write_update_features_request_0(out: bytearray, item: UpdateFeaturesRequest) -> None:
    # UpdateFeaturesRequest, version 0
    if item.validate_only:
        raise not_in_version("UpdateFeaturesRequest", "validate_only")
    out += _pack_i(item.timeout_ms)
    n = len(item.feature_updates) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_feature_update_key_array_0(out, item.feature_updates)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_feature_update_key_array_1(data: bytes, pos: int, count: int) -> tuple[list[FeatureUpdateKey], int]:
    # FeatureUpdateKey, versions 1-2
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[FeatureUpdateKey] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        feature = data[pos:end].decode()
        pos = end
        max_version_level, upgrade_type, n = _unpack_hbB(data, pos)
        pos += 4
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FeatureUpdateKey(feature, max_version_level, False, upgrade_type, unknown_tags))
    return items, pos


def _write_feature_update_key_array_1(out: bytearray, items: list[FeatureUpdateKey]) -> None:
    # FeatureUpdateKey, versions 1-2
    for item in items:
        if item.allow_downgrade:
            raise not_in_version("FeatureUpdateKey", "allow_downgrade")
        put_compact_string(out, item.feature)
        out += _pack_hb(item.max_version_level, item.upgrade_type)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_update_features_request_1(data: bytes, pos: int) -> tuple[UpdateFeaturesRequest, int]:
    # UpdateFeaturesRequest, versions 1-2
    timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    feature_updates, pos = _read_feature_update_key_array_1(data, pos, n - 1)
    validate_only, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return UpdateFeaturesRequest(timeout_ms, feature_updates, validate_only, unknown_tags), pos


def _write_update_features_request_1(out: bytearray, item: UpdateFeaturesRequest) -> None:
    # UpdateFeaturesRequest, versions 1-2
    out += _pack_i(item.timeout_ms)
    n = len(item.feature_updates) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_feature_update_key_array_1(out, item.feature_updates)
    out += _pack_t(item.validate_only)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class UpdateFeaturesRequest(Message):
    """Changes the levels of features.

    * `validate_only`: Check everything, change nothing.
    """

    API_KEY = 57
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_update_features_request_0,
        1: _read_update_features_request_1,
        2: _read_update_features_request_1,
    }
    ENCODERS = {
        0: _write_update_features_request_0,
        1: _write_update_features_request_1,
        2: _write_update_features_request_1,
    }

    FIELDS = ("timeout_ms", "feature_updates", "validate_only", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] = EMPTY,
        validate_only: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is EMPTY else feature_updates
        self.validate_only = validate_only
        self.unknown_tags = unknown_tags


class UpdatableFeatureResult(Structure):
    """An element of UpdateFeaturesResponse.Results."""

    FIELDS = ("feature", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_updatable_feature_result_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[UpdatableFeatureResult], int]:
    # UpdatableFeatureResult, versions 0-1
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[UpdatableFeatureResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        feature = data[pos:end].decode()
        pos = end
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            error_message = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(UpdatableFeatureResult(feature, error_code, error_message, unknown_tags))
    return items, pos


def _write_updatable_feature_result_array_0(out: bytearray, items: list[UpdatableFeatureResult]) -> None:
    # UpdatableFeatureResult, versions 0-1
    for item in items:
        put_compact_string(out, item.feature)
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_update_features_response_0(data: bytes, pos: int) -> tuple[UpdateFeaturesResponse, int]:
    # UpdateFeaturesResponse, versions 0-1
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    error_message: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        error_message = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_updatable_feature_result_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return UpdateFeaturesResponse(throttle_time_ms, error_code, error_message, results, unknown_tags), pos


def _write_update_features_response_0(out: bytearray, item: UpdateFeaturesResponse) -> None:
    # UpdateFeaturesResponse, versions 0-1
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_updatable_feature_result_array_0(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_update_features_response_2(data: bytes, pos: int) -> tuple[UpdateFeaturesResponse, int]:
    # UpdateFeaturesResponse, version 2
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    error_message: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        error_message = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return UpdateFeaturesResponse(throttle_time_ms, error_code, error_message, [], unknown_tags), pos


def _write_update_features_response_2(out: bytearray, item: UpdateFeaturesResponse) -> None:
    # UpdateFeaturesResponse, version 2
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class UpdateFeaturesResponse(Message):
    """What became of the changes.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 57
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_update_features_response_0,
        1: _read_update_features_response_0,
        2: _read_update_features_response_2,
    }
    ENCODERS = {
        0: _write_update_features_response_0,
        1: _write_update_features_response_0,
        2: _write_update_features_response_2,
    }

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdatableFeatureResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
