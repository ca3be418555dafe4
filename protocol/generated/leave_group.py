"""LeaveGroupRequest 0-5 and LeaveGroupResponse 0-5.

Generated from schemas/rpc/LeaveGroupRequest.json and schemas/rpc/LeaveGroupResponse.json (Apache Kafka 4.4.0) by
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
    bad_length,
    not_in_version,
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihi = Struct(">ihi").pack


class MemberIdentity(Structure):
    """An element of LeaveGroupRequest.Members.

    * `group_instance_id`: The name a static member keeps over restarts; null for a dynamic member.
    """

    FIELDS = ("member_id", "group_instance_id", "reason", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason
        self.unknown_tags = unknown_tags


def _read_leave_group_request_0(data: bytes, pos: int) -> tuple[LeaveGroupRequest, int]:
    # LeaveGroupRequest, versions 0-2
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    return LeaveGroupRequest(group_id, member_id, []), pos


def _write_leave_group_request_0(out: bytearray, item: LeaveGroupRequest) -> None:
    # LeaveGroupRequest, versions 0-2
    if item.members:
        raise not_in_version("LeaveGroupRequest", "members")
    if item.unknown_tags:
        raise not_in_version("LeaveGroupRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw


def _read_member_identity_array_3(data: bytes, pos: int, count: int) -> tuple[list[MemberIdentity], int]:
    # MemberIdentity, version 3
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[MemberIdentity] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
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
        items.append(MemberIdentity(member_id, group_instance_id, None))
    return items, pos


def _write_member_identity_array_3(out: bytearray, items: list[MemberIdentity]) -> None:
    # MemberIdentity, version 3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MemberIdentity", "unknown_tags")
        raw = item.member_id.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.group_instance_id is None:
            out += _pack_h(-1)
        else:
            raw = item.group_instance_id.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_leave_group_request_3(data: bytes, pos: int) -> tuple[LeaveGroupRequest, int]:
    # LeaveGroupRequest, version 3
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    members, pos = _read_member_identity_array_3(data, pos, n)
    return LeaveGroupRequest(group_id, "", members), pos


def _write_leave_group_request_3(out: bytearray, item: LeaveGroupRequest) -> None:
    # LeaveGroupRequest, version 3
    if item.member_id != "":
        raise not_in_version("LeaveGroupRequest", "member_id")
    if item.unknown_tags:
        raise not_in_version("LeaveGroupRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(len(item.members))
    _write_member_identity_array_3(out, item.members)


def _read_member_identity_array_4(data: bytes, pos: int, count: int) -> tuple[list[MemberIdentity], int]:
    # MemberIdentity, version 4
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[MemberIdentity] = []
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
        items.append(MemberIdentity(member_id, group_instance_id, None, unknown_tags))
    return items, pos


def _write_member_identity_array_4(out: bytearray, items: list[MemberIdentity]) -> None:
    # MemberIdentity, version 4
    for item in items:
        put_compact_string(out, item.member_id)
        if item.group_instance_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.group_instance_id)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_leave_group_request_4(data: bytes, pos: int) -> tuple[LeaveGroupRequest, int]:
    # LeaveGroupRequest, version 4
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    members, pos = _read_member_identity_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return LeaveGroupRequest(group_id, "", members, unknown_tags), pos


def _write_leave_group_request_4(out: bytearray, item: LeaveGroupRequest) -> None:
    # LeaveGroupRequest, version 4
    if item.member_id != "":
        raise not_in_version("LeaveGroupRequest", "member_id")
    put_compact_string(out, item.group_id)
    n = len(item.members) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_member_identity_array_4(out, item.members)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_member_identity_array_5(data: bytes, pos: int, count: int) -> tuple[list[MemberIdentity], int]:
    # MemberIdentity, version 5
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[MemberIdentity] = []
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
        group_instance_id: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            group_instance_id = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        reason: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            reason = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(MemberIdentity(member_id, group_instance_id, reason, unknown_tags))
    return items, pos


def _write_member_identity_array_5(out: bytearray, items: list[MemberIdentity]) -> None:
    # MemberIdentity, version 5
    for item in items:
        put_compact_string(out, item.member_id)
        if item.group_instance_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.group_instance_id)
        if item.reason is None:
            out.append(0)
        else:
            put_compact_string(out, item.reason)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_leave_group_request_5(data: bytes, pos: int) -> tuple[LeaveGroupRequest, int]:
    # LeaveGroupRequest, version 5
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    members, pos = _read_member_identity_array_5(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return LeaveGroupRequest(group_id, "", members, unknown_tags), pos


def _write_leave_group_request_5(out: bytearray, item: LeaveGroupRequest) -> None:
    # LeaveGroupRequest, version 5
    if item.member_id != "":
        raise not_in_version("LeaveGroupRequest", "member_id")
    put_compact_string(out, item.group_id)
    n = len(item.members) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_member_identity_array_5(out, item.members)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class LeaveGroupRequest(Message):
    """Takes members out of a classic group."""

    API_KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4
    DECODERS = {
        0: _read_leave_group_request_0,
        1: _read_leave_group_request_0,
        2: _read_leave_group_request_0,
        3: _read_leave_group_request_3,
        4: _read_leave_group_request_4,
        5: _read_leave_group_request_5,
    }
    ENCODERS = {
        0: _write_leave_group_request_0,
        1: _write_leave_group_request_0,
        2: _write_leave_group_request_0,
        3: _write_leave_group_request_3,
        4: _write_leave_group_request_4,
        5: _write_leave_group_request_5,
    }

    FIELDS = ("group_id", "member_id", "members", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is EMPTY else members
        self.unknown_tags = unknown_tags


class MemberResponse(Structure):
    """An element of LeaveGroupResponse.Members.

    * `group_instance_id`: The name a static member keeps over restarts; null for a dynamic member.
    """

    FIELDS = ("member_id", "group_instance_id", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code
        self.unknown_tags = unknown_tags


def _read_leave_group_response_0(data: bytes, pos: int) -> tuple[LeaveGroupResponse, int]:
    # LeaveGroupResponse, version 0
    (error_code,) = _unpack_h(data, pos)
    pos += 2
    return LeaveGroupResponse(0, error_code, []), pos


def _write_leave_group_response_0(out: bytearray, item: LeaveGroupResponse) -> None:
    # LeaveGroupResponse, version 0
    if item.members:
        raise not_in_version("LeaveGroupResponse", "members")
    if item.unknown_tags:
        raise not_in_version("LeaveGroupResponse", "unknown_tags")
    out += _pack_h(item.error_code)


def _read_leave_group_response_1(data: bytes, pos: int) -> tuple[LeaveGroupResponse, int]:
    # LeaveGroupResponse, versions 1-2
    throttle_time_ms, error_code = _unpack_ih(data, pos)
    pos += 6
    return LeaveGroupResponse(throttle_time_ms, error_code, []), pos


def _write_leave_group_response_1(out: bytearray, item: LeaveGroupResponse) -> None:
    # LeaveGroupResponse, versions 1-2
    if item.members:
        raise not_in_version("LeaveGroupResponse", "members")
    if item.unknown_tags:
        raise not_in_version("LeaveGroupResponse", "unknown_tags")
    out += _pack_ih(item.throttle_time_ms, item.error_code)


def _read_member_response_array_3(data: bytes, pos: int, count: int) -> tuple[list[MemberResponse], int]:
    # MemberResponse, version 3
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[MemberResponse] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
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
        (error_code,) = _unpack_h(data, pos)
        pos += 2
        items.append(MemberResponse(member_id, group_instance_id, error_code))
    return items, pos


def _write_member_response_array_3(out: bytearray, items: list[MemberResponse]) -> None:
    # MemberResponse, version 3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MemberResponse", "unknown_tags")
        raw = item.member_id.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.group_instance_id is None:
            out += _pack_h(-1)
        else:
            raw = item.group_instance_id.encode()
            out += _pack_h(len(raw))
            out += raw
        out += _pack_h(item.error_code)


def _read_leave_group_response_3(data: bytes, pos: int) -> tuple[LeaveGroupResponse, int]:
    # LeaveGroupResponse, version 3
    throttle_time_ms, error_code, n = _unpack_ihi(data, pos)
    pos += 10
    members, pos = _read_member_response_array_3(data, pos, n)
    return LeaveGroupResponse(throttle_time_ms, error_code, members), pos


def _write_leave_group_response_3(out: bytearray, item: LeaveGroupResponse) -> None:
    # LeaveGroupResponse, version 3
    if item.unknown_tags:
        raise not_in_version("LeaveGroupResponse", "unknown_tags")
    out += _pack_ihi(item.throttle_time_ms, item.error_code, len(item.members))
    _write_member_response_array_3(out, item.members)


def _read_member_response_array_4(data: bytes, pos: int, count: int) -> tuple[list[MemberResponse], int]:
    # MemberResponse, versions 4-5
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[MemberResponse] = []
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
        group_instance_id: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            group_instance_id = data[pos:end].decode()
            pos = end
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(MemberResponse(member_id, group_instance_id, error_code, unknown_tags))
    return items, pos


def _write_member_response_array_4(out: bytearray, items: list[MemberResponse]) -> None:
    # MemberResponse, versions 4-5
    for item in items:
        put_compact_string(out, item.member_id)
        if item.group_instance_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.group_instance_id)
        out += _pack_h(item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_leave_group_response_4(data: bytes, pos: int) -> tuple[LeaveGroupResponse, int]:
    # LeaveGroupResponse, versions 4-5
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    members, pos = _read_member_response_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return LeaveGroupResponse(throttle_time_ms, error_code, members, unknown_tags), pos


def _write_leave_group_response_4(out: bytearray, item: LeaveGroupResponse) -> None:
    # LeaveGroupResponse, versions 4-5
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.members) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_member_response_array_4(out, item.members)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class LeaveGroupResponse(Message):
    """What became of each member.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4
    DECODERS = {
        0: _read_leave_group_response_0,
        1: _read_leave_group_response_1,
        2: _read_leave_group_response_1,
        3: _read_leave_group_response_3,
        4: _read_leave_group_response_4,
        5: _read_leave_group_response_4,
    }
    ENCODERS = {
        0: _write_leave_group_response_0,
        1: _write_leave_group_response_1,
        2: _write_leave_group_response_1,
        3: _write_leave_group_response_3,
        4: _write_leave_group_response_4,
        5: _write_leave_group_response_4,
    }

    FIELDS = ("throttle_time_ms", "error_code", "members", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is EMPTY else members
        self.unknown_tags = unknown_tags
