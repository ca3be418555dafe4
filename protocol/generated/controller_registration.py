"""ControllerRegistrationRequest 0 and ControllerRegistrationResponse 0.

Generated from schemas/rpc/ControllerRegistrationRequest.json and schemas/rpc/ControllerRegistrationResponse.json
(Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    ZERO_UUID,
    Message,
    Structure,
    Tags,
    bad_count,
    bad_uuid,
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_HhB = Struct(">HhB").unpack_from
_unpack_hhB = Struct(">hhB").unpack_from
_unpack_iutB = Struct(">i16s?B").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_Hh = Struct(">Hh").pack
_pack_hh = Struct(">hh").pack
_pack_iut = Struct(">i16s?").pack
_pack_ih = Struct(">ih").pack


class Listener(Structure):
    """An element of ControllerRegistrationRequest.Listeners."""

    FIELDS = ("name", "host", "port", "security_protocol", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol
        self.unknown_tags = unknown_tags


class Feature(Structure):
    """An element of ControllerRegistrationRequest.Features."""

    FIELDS = ("name", "min_supported_version", "max_supported_version", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tags = unknown_tags


def _read_listener_array_0(data: bytes, pos: int, count: int) -> tuple[list[Listener], int]:
    # Listener, version 0
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[Listener] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        host = data[pos:end].decode()
        pos = end
        port, security_protocol, n = _unpack_HhB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Listener(name, host, port, security_protocol, unknown_tags))
    return items, pos


def _write_listener_array_0(out: bytearray, items: list[Listener]) -> None:
    # Listener, version 0
    for item in items:
        put_compact_string(out, item.name)
        put_compact_string(out, item.host)
        out += _pack_Hh(item.port, item.security_protocol)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_feature_array_0(data: bytes, pos: int, count: int) -> tuple[list[Feature], int]:
    # Feature, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[Feature] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        min_supported_version, max_supported_version, n = _unpack_hhB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(Feature(name, min_supported_version, max_supported_version, unknown_tags))
    return items, pos


def _write_feature_array_0(out: bytearray, items: list[Feature]) -> None:
    # Feature, version 0
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_hh(item.min_supported_version, item.max_supported_version)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_controller_registration_request_0(data: bytes, pos: int) -> tuple[ControllerRegistrationRequest, int]:
    # ControllerRegistrationRequest, version 0
    controller_id, incarnation_id, zk_migration_ready, n = _unpack_iutB(data, pos)
    pos += 22
    if n > 127:
        n, pos = read_length(data, pos)
    listeners, pos = _read_listener_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    features, pos = _read_feature_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ControllerRegistrationRequest(
        controller_id, incarnation_id, zk_migration_ready, listeners, features, unknown_tags
    )
    return item, pos


def _write_controller_registration_request_0(out: bytearray, item: ControllerRegistrationRequest) -> None:
    # ControllerRegistrationRequest, version 0
    if len(item.incarnation_id) != 16:
        raise bad_uuid(item.incarnation_id)
    out += _pack_iut(item.controller_id, item.incarnation_id, item.zk_migration_ready)
    n = len(item.listeners) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listener_array_0(out, item.listeners)
    n = len(item.features) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_feature_array_0(out, item.features)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ControllerRegistrationRequest(Message):
    """A controller makes itself known to the active one."""

    API_KEY = 70
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_controller_registration_request_0}
    ENCODERS = {0: _write_controller_registration_request_0}

    FIELDS = ("controller_id", "incarnation_id", "zk_migration_ready", "listeners", "features", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[Listener] = EMPTY,
        features: list[Feature] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners = [] if listeners is EMPTY else listeners
        self.features = [] if features is EMPTY else features
        self.unknown_tags = unknown_tags


def _read_controller_registration_response_0(data: bytes, pos: int) -> tuple[ControllerRegistrationResponse, int]:
    # ControllerRegistrationResponse, version 0
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
    return ControllerRegistrationResponse(throttle_time_ms, error_code, error_message, unknown_tags), pos


def _write_controller_registration_response_0(out: bytearray, item: ControllerRegistrationResponse) -> None:
    # ControllerRegistrationResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ControllerRegistrationResponse(Message):
    """Whether the controller is registered.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 70
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_controller_registration_response_0}
    ENCODERS = {0: _write_controller_registration_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags
