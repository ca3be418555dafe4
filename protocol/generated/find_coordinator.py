"""FindCoordinatorRequest 0-6 and FindCoordinatorResponse 0-6.

Generated from schemas/rpc/FindCoordinatorRequest.json and schemas/rpc/FindCoordinatorResponse.json (Apache Kafka 4.4.0)
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
    bad_length,
    not_in_version,
    put_compact_string,
    put_compact_strings,
    read_compact_strings,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_b = Struct(">b").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hih = Struct(">hih").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from
_pack_b = Struct(">b").pack
_pack_h = Struct(">h").pack
_pack_hih = Struct(">hih").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


def _read_find_coordinator_request_0(data: bytes, pos: int) -> tuple[FindCoordinatorRequest, int]:
    # FindCoordinatorRequest, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    key = data[pos:end].decode()
    pos = end
    return FindCoordinatorRequest(key, 0, []), pos


def _write_find_coordinator_request_0(out: bytearray, item: FindCoordinatorRequest) -> None:
    # FindCoordinatorRequest, version 0
    if item.key_type != 0:
        raise not_in_version("FindCoordinatorRequest", "key_type")
    if item.coordinator_keys:
        raise not_in_version("FindCoordinatorRequest", "coordinator_keys")
    if item.unknown_tags:
        raise not_in_version("FindCoordinatorRequest", "unknown_tags")
    raw = item.key.encode()
    out += _pack_h(len(raw))
    out += raw


def _read_find_coordinator_request_1(data: bytes, pos: int) -> tuple[FindCoordinatorRequest, int]:
    # FindCoordinatorRequest, versions 1-2
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    key = data[pos:end].decode()
    pos = end
    (key_type,) = _unpack_b(data, pos)
    pos += 1
    return FindCoordinatorRequest(key, key_type, []), pos


def _write_find_coordinator_request_1(out: bytearray, item: FindCoordinatorRequest) -> None:
    # FindCoordinatorRequest, versions 1-2
    if item.coordinator_keys:
        raise not_in_version("FindCoordinatorRequest", "coordinator_keys")
    if item.unknown_tags:
        raise not_in_version("FindCoordinatorRequest", "unknown_tags")
    raw = item.key.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_b(item.key_type)


def _read_find_coordinator_request_3(data: bytes, pos: int) -> tuple[FindCoordinatorRequest, int]:
    # FindCoordinatorRequest, version 3
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    key = data[pos:end].decode()
    pos = end
    key_type, n = _unpack_bB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return FindCoordinatorRequest(key, key_type, [], unknown_tags), pos


def _write_find_coordinator_request_3(out: bytearray, item: FindCoordinatorRequest) -> None:
    # FindCoordinatorRequest, version 3
    if item.coordinator_keys:
        raise not_in_version("FindCoordinatorRequest", "coordinator_keys")
    put_compact_string(out, item.key)
    out += _pack_b(item.key_type)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_find_coordinator_request_4(data: bytes, pos: int) -> tuple[FindCoordinatorRequest, int]:
    # FindCoordinatorRequest, versions 4-6
    key_type, n = _unpack_bB(data, pos)
    pos += 2
    if n > 127:
        n, pos = read_length(data, pos)
    coordinator_keys, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return FindCoordinatorRequest("", key_type, coordinator_keys, unknown_tags), pos


def _write_find_coordinator_request_4(out: bytearray, item: FindCoordinatorRequest) -> None:
    # FindCoordinatorRequest, versions 4-6
    if item.key != "":
        raise not_in_version("FindCoordinatorRequest", "key")
    out += _pack_b(item.key_type)
    n = len(item.coordinator_keys) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.coordinator_keys)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class FindCoordinatorRequest(Message):
    """Asks which broker coordinates a group, a transactional id or a share partition.

    * `key_type`: 0 group, 1 transaction, 2 share partition (its key is group:topic id:partition).
    * `coordinator_keys`: Several keys of one type, from version 4 on.
    """

    API_KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_find_coordinator_request_0,
        1: _read_find_coordinator_request_1,
        2: _read_find_coordinator_request_1,
        3: _read_find_coordinator_request_3,
        4: _read_find_coordinator_request_4,
        5: _read_find_coordinator_request_4,
        6: _read_find_coordinator_request_4,
    }
    ENCODERS = {
        0: _write_find_coordinator_request_0,
        1: _write_find_coordinator_request_1,
        2: _write_find_coordinator_request_1,
        3: _write_find_coordinator_request_3,
        4: _write_find_coordinator_request_4,
        5: _write_find_coordinator_request_4,
        6: _write_find_coordinator_request_4,
    }

    FIELDS = ("key", "key_type", "coordinator_keys", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is EMPTY else coordinator_keys
        self.unknown_tags = unknown_tags


class Coordinator(Structure):
    """An element of FindCoordinatorResponse.Coordinators."""

    FIELDS = ("key", "node_id", "host", "port", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_find_coordinator_response_0(data: bytes, pos: int) -> tuple[FindCoordinatorResponse, int]:
    # FindCoordinatorResponse, version 0
    error_code, node_id, n = _unpack_hih(data, pos)
    pos += 8
    if n < 0:
        raise bad_length(n)
    end = pos + n
    host = data[pos:end].decode()
    pos = end
    (port,) = _unpack_i(data, pos)
    pos += 4
    return FindCoordinatorResponse(0, error_code, "", node_id, host, port, []), pos


def _write_find_coordinator_response_0(out: bytearray, item: FindCoordinatorResponse) -> None:
    # FindCoordinatorResponse, version 0
    if item.coordinators:
        raise not_in_version("FindCoordinatorResponse", "coordinators")
    if item.unknown_tags:
        raise not_in_version("FindCoordinatorResponse", "unknown_tags")
    raw = item.host.encode()
    out += _pack_hih(item.error_code, item.node_id, len(raw))
    out += raw
    out += _pack_i(item.port)


def _read_find_coordinator_response_1(data: bytes, pos: int) -> tuple[FindCoordinatorResponse, int]:
    # FindCoordinatorResponse, versions 1-2
    throttle_time_ms, error_code, n = _unpack_ihh(data, pos)
    pos += 8
    error_message: str | None = None
    if n >= 0:
        end = pos + n
        error_message = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    node_id, n = _unpack_ih(data, pos)
    pos += 6
    if n < 0:
        raise bad_length(n)
    end = pos + n
    host = data[pos:end].decode()
    pos = end
    (port,) = _unpack_i(data, pos)
    pos += 4
    return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, []), pos


def _write_find_coordinator_response_1(out: bytearray, item: FindCoordinatorResponse) -> None:
    # FindCoordinatorResponse, versions 1-2
    if item.coordinators:
        raise not_in_version("FindCoordinatorResponse", "coordinators")
    if item.unknown_tags:
        raise not_in_version("FindCoordinatorResponse", "unknown_tags")
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out += _pack_h(-1)
    else:
        raw = item.error_message.encode()
        out += _pack_h(len(raw))
        out += raw
    raw = item.host.encode()
    out += _pack_ih(item.node_id, len(raw))
    out += raw
    out += _pack_i(item.port)


def _read_find_coordinator_response_3(data: bytes, pos: int) -> tuple[FindCoordinatorResponse, int]:
    # FindCoordinatorResponse, version 3
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    error_message: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        error_message = data[pos:end].decode()
        pos = end
    node_id, n = _unpack_iB(data, pos)
    pos += 5
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    host = data[pos:end].decode()
    pos = end
    port, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, [], unknown_tags)
    return item, pos


def _write_find_coordinator_response_3(out: bytearray, item: FindCoordinatorResponse) -> None:
    # FindCoordinatorResponse, version 3
    if item.coordinators:
        raise not_in_version("FindCoordinatorResponse", "coordinators")
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += _pack_i(item.node_id)
    put_compact_string(out, item.host)
    out += _pack_i(item.port)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_coordinator_array_4(data: bytes, pos: int, count: int) -> tuple[list[Coordinator], int]:
    # Coordinator, versions 4-6
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[Coordinator] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        key = data[pos:end].decode()
        pos = end
        node_id, n = _unpack_iB(data, pos)
        pos += 5
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        host = data[pos:end].decode()
        pos = end
        port, error_code, n = _unpack_ihB(data, pos)
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
        items.append(Coordinator(key, node_id, host, port, error_code, error_message, unknown_tags))
    return items, pos


def _write_coordinator_array_4(out: bytearray, items: list[Coordinator]) -> None:
    # Coordinator, versions 4-6
    for item in items:
        put_compact_string(out, item.key)
        out += _pack_i(item.node_id)
        put_compact_string(out, item.host)
        out += _pack_ih(item.port, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_find_coordinator_response_4(data: bytes, pos: int) -> tuple[FindCoordinatorResponse, int]:
    # FindCoordinatorResponse, versions 4-6
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    coordinators, pos = _read_coordinator_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return FindCoordinatorResponse(throttle_time_ms, 0, "", 0, "", 0, coordinators, unknown_tags), pos


def _write_find_coordinator_response_4(out: bytearray, item: FindCoordinatorResponse) -> None:
    # FindCoordinatorResponse, versions 4-6
    if item.error_code != 0:
        raise not_in_version("FindCoordinatorResponse", "error_code")
    if item.node_id != 0:
        raise not_in_version("FindCoordinatorResponse", "node_id")
    if item.host != "":
        raise not_in_version("FindCoordinatorResponse", "host")
    if item.port != 0:
        raise not_in_version("FindCoordinatorResponse", "port")
    out += _pack_i(item.throttle_time_ms)
    n = len(item.coordinators) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_coordinator_array_4(out, item.coordinators)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class FindCoordinatorResponse(Message):
    """The coordinator of each key.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_find_coordinator_response_0,
        1: _read_find_coordinator_response_1,
        2: _read_find_coordinator_response_1,
        3: _read_find_coordinator_response_3,
        4: _read_find_coordinator_response_4,
        5: _read_find_coordinator_response_4,
        6: _read_find_coordinator_response_4,
    }
    ENCODERS = {
        0: _write_find_coordinator_response_0,
        1: _write_find_coordinator_response_1,
        2: _write_find_coordinator_response_1,
        3: _write_find_coordinator_response_3,
        4: _write_find_coordinator_response_4,
        5: _write_find_coordinator_response_4,
        6: _write_find_coordinator_response_4,
    }

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "node_id",
        "host",
        "port",
        "coordinators",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is EMPTY else coordinators
        self.unknown_tags = unknown_tags
