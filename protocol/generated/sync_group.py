"""SyncGroupRequest 0-5 and SyncGroupResponse 0-5.

Generated from schemas/rpc/SyncGroupRequest.json and schemas/rpc/SyncGroupResponse.json (Apache Kafka 4.4.0) by `python
-m shareq.protocol.generator`. Do not edit.
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
    read_bytes_length,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihi = Struct(">ihi").pack


class SyncGroupRequestAssignment(Structure):
    """An element of SyncGroupRequest.Assignments."""

    FIELDS = ("member_id", "assignment", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        assignment: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment
        self.unknown_tags = unknown_tags


def _read_sync_group_request_assignment_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[SyncGroupRequestAssignment], int]:
    # SyncGroupRequestAssignment, versions 0-3
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        member_id = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        assignment = data[pos:end]
        pos = end
        items.append(SyncGroupRequestAssignment(member_id, assignment))
    return items, pos


def _write_sync_group_request_assignment_array_0(out: bytearray, items: list[SyncGroupRequestAssignment]) -> None:
    # SyncGroupRequestAssignment, versions 0-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("SyncGroupRequestAssignment", "unknown_tags")
        raw = item.member_id.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.assignment))
        out += item.assignment


def _read_sync_group_request_0(data: bytes, pos: int) -> tuple[SyncGroupRequest, int]:
    # SyncGroupRequest, versions 0-2
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
    (n,) = _unpack_i(data, pos)
    pos += 4
    assignments, pos = _read_sync_group_request_assignment_array_0(data, pos, n)
    return SyncGroupRequest(group_id, generation_id, member_id, None, None, None, assignments), pos


def _write_sync_group_request_0(out: bytearray, item: SyncGroupRequest) -> None:
    # SyncGroupRequest, versions 0-2
    if item.group_instance_id is not None:
        raise not_in_version("SyncGroupRequest", "group_instance_id")
    if item.unknown_tags:
        raise not_in_version("SyncGroupRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_ih(item.generation_id, len(raw))
    out += raw
    out += _pack_i(len(item.assignments))
    _write_sync_group_request_assignment_array_0(out, item.assignments)


def _read_sync_group_request_3(data: bytes, pos: int) -> tuple[SyncGroupRequest, int]:
    # SyncGroupRequest, version 3
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
    (n,) = _unpack_i(data, pos)
    pos += 4
    assignments, pos = _read_sync_group_request_assignment_array_0(data, pos, n)
    return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments), pos


def _write_sync_group_request_3(out: bytearray, item: SyncGroupRequest) -> None:
    # SyncGroupRequest, version 3
    if item.unknown_tags:
        raise not_in_version("SyncGroupRequest", "unknown_tags")
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
    out += _pack_i(len(item.assignments))
    _write_sync_group_request_assignment_array_0(out, item.assignments)


def _read_sync_group_request_assignment_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[SyncGroupRequestAssignment], int]:
    # SyncGroupRequestAssignment, versions 4-5
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        member_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        assignment = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(SyncGroupRequestAssignment(member_id, assignment, unknown_tags))
    return items, pos


def _write_sync_group_request_assignment_array_4(out: bytearray, items: list[SyncGroupRequestAssignment]) -> None:
    # SyncGroupRequestAssignment, versions 4-5
    for item in items:
        put_compact_string(out, item.member_id)
        n = len(item.assignment) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.assignment
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_sync_group_request_4(data: bytes, pos: int) -> tuple[SyncGroupRequest, int]:
    # SyncGroupRequest, version 4
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
    if n > 127:
        n, pos = read_length(data, pos)
    assignments, pos = _read_sync_group_request_assignment_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = SyncGroupRequest(
        group_id, generation_id, member_id, group_instance_id, None, None, assignments, unknown_tags
    )
    return item, pos


def _write_sync_group_request_4(out: bytearray, item: SyncGroupRequest) -> None:
    # SyncGroupRequest, version 4
    put_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    put_compact_string(out, item.member_id)
    if item.group_instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_instance_id)
    n = len(item.assignments) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_sync_group_request_assignment_array_4(out, item.assignments)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_sync_group_request_5(data: bytes, pos: int) -> tuple[SyncGroupRequest, int]:
    # SyncGroupRequest, version 5
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
    protocol_type: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol_type = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    protocol_name: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol_name = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    assignments, pos = _read_sync_group_request_assignment_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = SyncGroupRequest(
        group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments, unknown_tags
    )
    return item, pos


def _write_sync_group_request_5(out: bytearray, item: SyncGroupRequest) -> None:
    # SyncGroupRequest, version 5
    put_compact_string(out, item.group_id)
    out += _pack_i(item.generation_id)
    put_compact_string(out, item.member_id)
    if item.group_instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_instance_id)
    if item.protocol_type is None:
        out.append(0)
    else:
        put_compact_string(out, item.protocol_type)
    if item.protocol_name is None:
        out.append(0)
    else:
        put_compact_string(out, item.protocol_name)
    n = len(item.assignments) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_sync_group_request_assignment_array_4(out, item.assignments)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class SyncGroupRequest(Message):
    """The leader hands in the assignment; every member waits for its part.

    * `group_instance_id`: The name a static member keeps over restarts; null for a dynamic member.
    * `assignments`: Empty from all members but the leader.
    """

    API_KEY = 14
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4
    DECODERS = {
        0: _read_sync_group_request_0,
        1: _read_sync_group_request_0,
        2: _read_sync_group_request_0,
        3: _read_sync_group_request_3,
        4: _read_sync_group_request_4,
        5: _read_sync_group_request_5,
    }
    ENCODERS = {
        0: _write_sync_group_request_0,
        1: _write_sync_group_request_0,
        2: _write_sync_group_request_0,
        3: _write_sync_group_request_3,
        4: _write_sync_group_request_4,
        5: _write_sync_group_request_5,
    }

    FIELDS = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is EMPTY else assignments
        self.unknown_tags = unknown_tags


def _read_sync_group_response_0(data: bytes, pos: int) -> tuple[SyncGroupResponse, int]:
    # SyncGroupResponse, version 0
    error_code, n = _unpack_hi(data, pos)
    pos += 6
    if n < 0:
        raise bad_length(n)
    end = pos + n
    assignment = data[pos:end]
    pos = end
    return SyncGroupResponse(0, error_code, None, None, assignment), pos


def _write_sync_group_response_0(out: bytearray, item: SyncGroupResponse) -> None:
    # SyncGroupResponse, version 0
    if item.unknown_tags:
        raise not_in_version("SyncGroupResponse", "unknown_tags")
    out += _pack_hi(item.error_code, len(item.assignment))
    out += item.assignment


def _read_sync_group_response_1(data: bytes, pos: int) -> tuple[SyncGroupResponse, int]:
    # SyncGroupResponse, versions 1-3
    throttle_time_ms, error_code, n = _unpack_ihi(data, pos)
    pos += 10
    if n < 0:
        raise bad_length(n)
    end = pos + n
    assignment = data[pos:end]
    pos = end
    return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment), pos


def _write_sync_group_response_1(out: bytearray, item: SyncGroupResponse) -> None:
    # SyncGroupResponse, versions 1-3
    if item.unknown_tags:
        raise not_in_version("SyncGroupResponse", "unknown_tags")
    out += _pack_ihi(item.throttle_time_ms, item.error_code, len(item.assignment))
    out += item.assignment


def _read_sync_group_response_4(data: bytes, pos: int) -> tuple[SyncGroupResponse, int]:
    # SyncGroupResponse, version 4
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    assignment = data[pos:end]
    pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment, unknown_tags), pos


def _write_sync_group_response_4(out: bytearray, item: SyncGroupResponse) -> None:
    # SyncGroupResponse, version 4
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.assignment) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.assignment
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_sync_group_response_5(data: bytes, pos: int) -> tuple[SyncGroupResponse, int]:
    # SyncGroupResponse, version 5
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    protocol_type: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol_type = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    protocol_name: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol_name = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    assignment = data[pos:end]
    pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return SyncGroupResponse(throttle_time_ms, error_code, protocol_type, protocol_name, assignment, unknown_tags), pos


def _write_sync_group_response_5(out: bytearray, item: SyncGroupResponse) -> None:
    # SyncGroupResponse, version 5
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.protocol_type is None:
        out.append(0)
    else:
        put_compact_string(out, item.protocol_type)
    if item.protocol_name is None:
        out.append(0)
    else:
        put_compact_string(out, item.protocol_name)
    n = len(item.assignment) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.assignment
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class SyncGroupResponse(Message):
    """The member's part of the assignment.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 14
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4
    DECODERS = {
        0: _read_sync_group_response_0,
        1: _read_sync_group_response_1,
        2: _read_sync_group_response_1,
        3: _read_sync_group_response_1,
        4: _read_sync_group_response_4,
        5: _read_sync_group_response_5,
    }
    ENCODERS = {
        0: _write_sync_group_response_0,
        1: _write_sync_group_response_1,
        2: _write_sync_group_response_1,
        3: _write_sync_group_response_1,
        4: _write_sync_group_response_4,
        5: _write_sync_group_response_5,
    }

    FIELDS = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment
        self.unknown_tags = unknown_tags
