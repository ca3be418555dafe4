"""HeartbeatRequest 0-4 and HeartbeatResponse 0-4.

Generated from schemas/rpc/HeartbeatRequest.json and schemas/rpc/HeartbeatResponse.json (Apache Kafka 4.4.0) by `python
-m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    bad_length,
    not_in_version,
    put_compact_string,
    read_string_length,
    read_tags,
    tag_buffer,
)

_unpack_h = Struct(">h").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


def _read_heartbeat_request_0(data: bytes, pos: int) -> tuple[HeartbeatRequest, int]:
    # HeartbeatRequest, versions 0-2
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    generation_id, n = _unpack_ih(data, pos)
    pos += 6
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    return HeartbeatRequest(group_id, generation_id, member_id, None), pos


def _write_heartbeat_request_0(out: bytearray, item: HeartbeatRequest) -> None:
    # HeartbeatRequest, versions 0-2
    if item.group_instance_id is not None:
        raise not_in_version("HeartbeatRequest", "group_instance_id")
    if item.unknown_tags:
        raise not_in_version("HeartbeatRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_ih(item.generation_id, len(raw))
    out += raw


def _read_heartbeat_request_3(data: bytes, pos: int) -> tuple[HeartbeatRequest, int]:
    # HeartbeatRequest, version 3
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    generation_id, n = _unpack_ih(data, pos)
    pos += 6
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    group_instance_id: str | None = None
    if n >= 0:
        end = pos + n
        group_instance_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id), pos


def _write_heartbeat_request_3(out: bytearray, item: HeartbeatRequest) -> None:
    # HeartbeatRequest, version 3
    if item.unknown_tags:
        raise not_in_version("HeartbeatRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_ih(item.generation_id, len(raw))
    out += raw
    if item.group_instance_id is None:
        out += _pack_h(-1)
    else:
        raw = item.group_instance_id.encode()
        out += _pack_h(len(raw))
        out += raw


def _read_heartbeat_request_4(data: bytes, pos: int) -> tuple[HeartbeatRequest, int]:
    # HeartbeatRequest, version 4
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    generation_id, n = _unpack_iB(data, pos)
    pos += 5
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    group_instance_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_instance_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id, unknown_tags), pos


def _write_heartbeat_request_4(out: bytearray, item: HeartbeatRequest) -> None:
    # HeartbeatRequest, version 4
    put_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    put_compact_string(out, item.member_id)
    if item.group_instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_instance_id)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class HeartbeatRequest(Message):
    """Keeps a classic group's member alive.

    * `group_instance_id`: The name a static member keeps over restarts; null for a dynamic member.
    """

    API_KEY = 12
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    DECODERS = {
        0: _read_heartbeat_request_0,
        1: _read_heartbeat_request_0,
        2: _read_heartbeat_request_0,
        3: _read_heartbeat_request_3,
        4: _read_heartbeat_request_4,
    }
    ENCODERS = {
        0: _write_heartbeat_request_0,
        1: _write_heartbeat_request_0,
        2: _write_heartbeat_request_0,
        3: _write_heartbeat_request_3,
        4: _write_heartbeat_request_4,
    }

    FIELDS = ("group_id", "generation_id", "member_id", "group_instance_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.unknown_tags = unknown_tags


def _read_heartbeat_response_0(data: bytes, pos: int) -> tuple[HeartbeatResponse, int]:
    # HeartbeatResponse, version 0
    (error_code,) = _unpack_h(data, pos)
    pos += 2
    return HeartbeatResponse(0, error_code), pos


def _write_heartbeat_response_0(out: bytearray, item: HeartbeatResponse) -> None:
    # HeartbeatResponse, version 0
    if item.unknown_tags:
        raise not_in_version("HeartbeatResponse", "unknown_tags")
    out += _pack_h(item.error_code)


def _read_heartbeat_response_1(data: bytes, pos: int) -> tuple[HeartbeatResponse, int]:
    # HeartbeatResponse, versions 1-3
    throttle_time_ms, error_code = _unpack_ih(data, pos)
    pos += 6
    return HeartbeatResponse(throttle_time_ms, error_code), pos


def _write_heartbeat_response_1(out: bytearray, item: HeartbeatResponse) -> None:
    # HeartbeatResponse, versions 1-3
    if item.unknown_tags:
        raise not_in_version("HeartbeatResponse", "unknown_tags")
    out += _pack_ih(item.throttle_time_ms, item.error_code)


def _read_heartbeat_response_4(data: bytes, pos: int) -> tuple[HeartbeatResponse, int]:
    # HeartbeatResponse, version 4
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return HeartbeatResponse(throttle_time_ms, error_code, unknown_tags), pos


def _write_heartbeat_response_4(out: bytearray, item: HeartbeatResponse) -> None:
    # HeartbeatResponse, version 4
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class HeartbeatResponse(Message):
    """Whether the member still belongs to the generation.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 12
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    DECODERS = {
        0: _read_heartbeat_response_0,
        1: _read_heartbeat_response_1,
        2: _read_heartbeat_response_1,
        3: _read_heartbeat_response_1,
        4: _read_heartbeat_response_4,
    }
    ENCODERS = {
        0: _write_heartbeat_response_0,
        1: _write_heartbeat_response_1,
        2: _write_heartbeat_response_1,
        3: _write_heartbeat_response_1,
        4: _write_heartbeat_response_4,
    }

    FIELDS = ("throttle_time_ms", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tags = unknown_tags
