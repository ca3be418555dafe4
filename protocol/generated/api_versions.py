"""ApiVersionsRequest 0-5 and ApiVersionsResponse 0-5.

Generated from schemas/rpc/ApiVersionsRequest.json and schemas/rpc/ApiVersionsResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
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
    bad_tag_size,
    not_in_version,
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_hhh = Struct(">hhh").iter_unpack
_iterate_hhhB = Struct(">hhhB").iter_unpack
_unpack_hB = Struct(">hB").unpack_from
_unpack_hhB = Struct(">hhB").unpack_from
_unpack_hhh = Struct(">hhh").unpack_from
_unpack_hhhB = Struct(">hhhB").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_q = Struct(">q").unpack_from
_pack_t = Struct(">?").pack
_pack_h = Struct(">h").pack
_pack_hh = Struct(">hh").pack
_pack_hhh = Struct(">hhh").pack
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack


def _read_api_versions_request_0(data: bytes, pos: int) -> tuple[ApiVersionsRequest, int]:
    # ApiVersionsRequest, versions 0-2
    return ApiVersionsRequest("", "", None, -1), pos


def _write_api_versions_request_0(out: bytearray, item: ApiVersionsRequest) -> None:
    # ApiVersionsRequest, versions 0-2
    if item.unknown_tags:
        raise not_in_version("ApiVersionsRequest", "unknown_tags")


def _read_api_versions_request_3(data: bytes, pos: int) -> tuple[ApiVersionsRequest, int]:
    # ApiVersionsRequest, versions 3-4
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    client_software_name = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    client_software_version = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ApiVersionsRequest(client_software_name, client_software_version, None, -1, unknown_tags), pos


def _write_api_versions_request_3(out: bytearray, item: ApiVersionsRequest) -> None:
    # ApiVersionsRequest, versions 3-4
    put_compact_string(out, item.client_software_name)
    put_compact_string(out, item.client_software_version)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_api_versions_request_5(data: bytes, pos: int) -> tuple[ApiVersionsRequest, int]:
    # ApiVersionsRequest, version 5
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    client_software_name = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    client_software_version = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    cluster_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        cluster_id = data[pos:end].decode()
        pos = end
    node_id, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ApiVersionsRequest(client_software_name, client_software_version, cluster_id, node_id, unknown_tags), pos


def _write_api_versions_request_5(out: bytearray, item: ApiVersionsRequest) -> None:
    # ApiVersionsRequest, version 5
    put_compact_string(out, item.client_software_name)
    put_compact_string(out, item.client_software_version)
    if item.cluster_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.cluster_id)
    out += _pack_i(item.node_id)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ApiVersionsRequest(Message):
    """Asks which requests the broker serves, in which versions.

    * `cluster_id`: The cluster that the client takes this broker for a part of; null if it has none yet.
    * `node_id`: The broker id that the client takes this broker for; -1 if it does not know one yet.
    """

    API_KEY = 18
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_api_versions_request_0,
        1: _read_api_versions_request_0,
        2: _read_api_versions_request_0,
        3: _read_api_versions_request_3,
        4: _read_api_versions_request_3,
        5: _read_api_versions_request_5,
    }
    ENCODERS = {
        0: _write_api_versions_request_0,
        1: _write_api_versions_request_0,
        2: _write_api_versions_request_0,
        3: _write_api_versions_request_3,
        4: _write_api_versions_request_3,
        5: _write_api_versions_request_5,
    }

    FIELDS = ("client_software_name", "client_software_version", "cluster_id", "node_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
        cluster_id: str | None = None,
        node_id: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
        self.cluster_id = cluster_id
        self.node_id = node_id
        self.unknown_tags = unknown_tags


class ApiVersion(Structure):
    """An element of ApiVersionsResponse.ApiKeys."""

    FIELDS = ("api_key", "min_version", "max_version", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version
        self.unknown_tags = unknown_tags


class SupportedFeatureKey(Structure):
    """An element of ApiVersionsResponse.SupportedFeatures."""

    FIELDS = ("name", "min_version", "max_version", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version
        self.unknown_tags = unknown_tags


class FinalizedFeatureKey(Structure):
    """An element of ApiVersionsResponse.FinalizedFeatures."""

    FIELDS = ("name", "max_version_level", "min_version_level", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level
        self.unknown_tags = unknown_tags


def _read_api_version_array_0(data: bytes, pos: int, count: int) -> tuple[list[ApiVersion], int]:
    # ApiVersion, versions 0-2
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[ApiVersion] = []
    if count > 3:
        elements = _iterate_hhh(data[pos : pos + count * 6])
        for api_key, min_version, max_version in elements:
            items.append(ApiVersion(api_key, min_version, max_version))
        pos += len(items) * 6
        count -= len(items)
    for _ in range(count):
        api_key, min_version, max_version = _unpack_hhh(data, pos)
        pos += 6
        items.append(ApiVersion(api_key, min_version, max_version))
    return items, pos


def _write_api_version_array_0(out: bytearray, items: list[ApiVersion]) -> None:
    # ApiVersion, versions 0-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ApiVersion", "unknown_tags")
        out += _pack_hhh(item.api_key, item.min_version, item.max_version)


def _read_api_versions_response_0(data: bytes, pos: int) -> tuple[ApiVersionsResponse, int]:
    # ApiVersionsResponse, version 0
    error_code, n = _unpack_hi(data, pos)
    pos += 6
    api_keys, pos = _read_api_version_array_0(data, pos, n)
    return ApiVersionsResponse(error_code, api_keys, 0, [], -1, [], False), pos


def _write_api_versions_response_0(out: bytearray, item: ApiVersionsResponse) -> None:
    # ApiVersionsResponse, version 0
    if item.unknown_tags:
        raise not_in_version("ApiVersionsResponse", "unknown_tags")
    out += _pack_hi(item.error_code, len(item.api_keys))
    _write_api_version_array_0(out, item.api_keys)


def _read_api_versions_response_1(data: bytes, pos: int) -> tuple[ApiVersionsResponse, int]:
    # ApiVersionsResponse, versions 1-2
    error_code, n = _unpack_hi(data, pos)
    pos += 6
    api_keys, pos = _read_api_version_array_0(data, pos, n)
    (throttle_time_ms,) = _unpack_i(data, pos)
    pos += 4
    return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, [], -1, [], False), pos


def _write_api_versions_response_1(out: bytearray, item: ApiVersionsResponse) -> None:
    # ApiVersionsResponse, versions 1-2
    if item.unknown_tags:
        raise not_in_version("ApiVersionsResponse", "unknown_tags")
    out += _pack_hi(item.error_code, len(item.api_keys))
    _write_api_version_array_0(out, item.api_keys)
    out += _pack_i(item.throttle_time_ms)


def _read_api_version_array_3(data: bytes, pos: int, count: int) -> tuple[list[ApiVersion], int]:
    # ApiVersion, versions 3-5
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[ApiVersion] = []
    if count > 3 and count * 7 <= len(data) - pos:
        elements = _iterate_hhhB(data[pos : pos + count * 7])
        for api_key, min_version, max_version, n in elements:
            if n:
                break
            items.append(ApiVersion(api_key, min_version, max_version))
        pos += len(items) * 7
        count -= len(items)
    for _ in range(count):
        api_key, min_version, max_version, n = _unpack_hhhB(data, pos)
        pos += 7
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ApiVersion(api_key, min_version, max_version, unknown_tags))
    return items, pos


def _write_api_version_array_3(out: bytearray, items: list[ApiVersion]) -> None:
    # ApiVersion, versions 3-5
    for item in items:
        out += _pack_hhh(item.api_key, item.min_version, item.max_version)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_supported_feature_key_array_3(data: bytes, pos: int, count: int) -> tuple[list[SupportedFeatureKey], int]:
    # SupportedFeatureKey, versions 3-5
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[SupportedFeatureKey] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        min_version, max_version, n = _unpack_hhB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(SupportedFeatureKey(name, min_version, max_version, unknown_tags))
    return items, pos


def _write_supported_feature_key_array_3(out: bytearray, items: list[SupportedFeatureKey]) -> None:
    # SupportedFeatureKey, versions 3-5
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_hh(item.min_version, item.max_version)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_finalized_feature_key_array_3(data: bytes, pos: int, count: int) -> tuple[list[FinalizedFeatureKey], int]:
    # FinalizedFeatureKey, versions 3-5
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[FinalizedFeatureKey] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        max_version_level, min_version_level, n = _unpack_hhB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(FinalizedFeatureKey(name, max_version_level, min_version_level, unknown_tags))
    return items, pos


def _write_finalized_feature_key_array_3(out: bytearray, items: list[FinalizedFeatureKey]) -> None:
    # FinalizedFeatureKey, versions 3-5
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_hh(item.max_version_level, item.min_version_level)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_api_versions_response_3(data: bytes, pos: int) -> tuple[ApiVersionsResponse, int]:
    # ApiVersionsResponse, versions 3-5
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    api_keys, pos = _read_api_version_array_3(data, pos, n - 1)
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    item = ApiVersionsResponse(error_code, api_keys, throttle_time_ms, [], -1, [], False)
    if n:
        pos = _read_api_versions_response_tags_3(item, data, pos, n)
    return item, pos


def _read_api_versions_response_tags_3(item: ApiVersionsResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            supported_features, pos = _read_supported_feature_key_array_3(data, pos, n - 1)
            item.supported_features = supported_features
        elif tag == 1:
            (finalized_features_epoch,) = _unpack_q(data, pos)
            pos += 8
            item.finalized_features_epoch = finalized_features_epoch
        elif tag == 2:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            finalized_features, pos = _read_finalized_feature_key_array_3(data, pos, n - 1)
            item.finalized_features = finalized_features
        elif tag == 3:
            zk_migration_ready = data[pos] != 0
            pos += 1
            item.zk_migration_ready = zk_migration_ready
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("ApiVersionsResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_api_versions_response_3(out: bytearray, item: ApiVersionsResponse) -> None:
    # ApiVersionsResponse, versions 3-5
    out += _pack_h(item.error_code)
    n = len(item.api_keys) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_api_version_array_3(out, item.api_keys)
    out += _pack_i(item.throttle_time_ms)
    tags = item.unknown_tags
    if item.supported_features:
        body = bytearray()
        n = len(item.supported_features) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        _write_supported_feature_key_array_3(body, item.supported_features)
        tags += ((0, bytes(body)),)
    if item.finalized_features_epoch != -1:
        body = bytearray()
        body += _pack_q(item.finalized_features_epoch)
        tags += ((1, bytes(body)),)
    if item.finalized_features:
        body = bytearray()
        n = len(item.finalized_features) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        _write_finalized_feature_key_array_3(body, item.finalized_features)
        tags += ((2, bytes(body)),)
    if item.zk_migration_ready:
        body = bytearray()
        body += _pack_t(item.zk_migration_ready)
        tags += ((3, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class ApiVersionsResponse(Message):
    """The range of versions of each request, and the features of the cluster. Its header has version 0, always.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `finalized_features_epoch`: Orders answers by age; -1 if unknown.
    * `finalized_features`: The feature levels in force, each with its largest level first.
    """

    API_KEY = 18
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_api_versions_response_0,
        1: _read_api_versions_response_1,
        2: _read_api_versions_response_1,
        3: _read_api_versions_response_3,
        4: _read_api_versions_response_3,
        5: _read_api_versions_response_3,
    }
    ENCODERS = {
        0: _write_api_versions_response_0,
        1: _write_api_versions_response_1,
        2: _write_api_versions_response_1,
        3: _write_api_versions_response_3,
        4: _write_api_versions_response_3,
        5: _write_api_versions_response_3,
    }

    FIELDS = (
        "error_code",
        "api_keys",
        "throttle_time_ms",
        "supported_features",
        "finalized_features_epoch",
        "finalized_features",
        "zk_migration_ready",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersion] = EMPTY,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = EMPTY,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = EMPTY,
        zk_migration_ready: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is EMPTY else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is EMPTY else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is EMPTY else finalized_features
        self.zk_migration_ready = zk_migration_ready
        self.unknown_tags = unknown_tags
