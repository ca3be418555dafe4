"""JoinGroupRequest 0-9 and JoinGroupResponse 0-9.

Generated from schemas/rpc/JoinGroupRequest.json and schemas/rpc/JoinGroupResponse.json (Apache Kafka 4.4.0) by `python
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
    null_not_allowed,
    put_compact_string,
    read_bytes_length,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_tB = Struct(">?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hih = Struct(">hih").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihiB = Struct(">ihiB").unpack_from
_unpack_ihih = Struct(">ihih").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iih = Struct(">iih").unpack_from
_pack_t = Struct(">?").pack
_pack_h = Struct(">h").pack
_pack_hih = Struct(">hih").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihi = Struct(">ihi").pack
_pack_ihih = Struct(">ihih").pack
_pack_ii = Struct(">ii").pack
_pack_iih = Struct(">iih").pack


class JoinGroupRequestProtocol(Structure):
    """An element of JoinGroupRequest.Protocols."""

    FIELDS = ("name", "metadata", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.metadata = metadata
        self.unknown_tags = unknown_tags


def _read_join_group_request_protocol_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[JoinGroupRequestProtocol], int]:
    # JoinGroupRequestProtocol, versions 0-5
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        metadata = data[pos:end]
        pos = end
        items.append(JoinGroupRequestProtocol(name, metadata))
    return items, pos


def _write_join_group_request_protocol_array_0(out: bytearray, items: list[JoinGroupRequestProtocol]) -> None:
    # JoinGroupRequestProtocol, versions 0-5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("JoinGroupRequestProtocol", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.metadata))
        out += item.metadata


def _read_join_group_request_0(data: bytes, pos: int) -> tuple[JoinGroupRequest, int]:
    # JoinGroupRequest, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    session_timeout_ms, n = _unpack_ih(data, pos)
    pos += 6
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_type = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    protocols, pos = _read_join_group_request_protocol_array_0(data, pos, n)
    return JoinGroupRequest(group_id, session_timeout_ms, -1, member_id, None, protocol_type, protocols, None), pos


def _write_join_group_request_0(out: bytearray, item: JoinGroupRequest) -> None:
    # JoinGroupRequest, version 0
    if item.group_instance_id is not None:
        raise not_in_version("JoinGroupRequest", "group_instance_id")
    if item.unknown_tags:
        raise not_in_version("JoinGroupRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_ih(item.session_timeout_ms, len(raw))
    out += raw
    raw = item.protocol_type.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(len(item.protocols))
    _write_join_group_request_protocol_array_0(out, item.protocols)


def _read_join_group_request_1(data: bytes, pos: int) -> tuple[JoinGroupRequest, int]:
    # JoinGroupRequest, versions 1-4
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    session_timeout_ms, rebalance_timeout_ms, n = _unpack_iih(data, pos)
    pos += 10
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_type = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    protocols, pos = _read_join_group_request_protocol_array_0(data, pos, n)
    item = JoinGroupRequest(
        group_id, session_timeout_ms, rebalance_timeout_ms, member_id, None, protocol_type, protocols, None
    )
    return item, pos


def _write_join_group_request_1(out: bytearray, item: JoinGroupRequest) -> None:
    # JoinGroupRequest, versions 1-4
    if item.group_instance_id is not None:
        raise not_in_version("JoinGroupRequest", "group_instance_id")
    if item.unknown_tags:
        raise not_in_version("JoinGroupRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_iih(item.session_timeout_ms, item.rebalance_timeout_ms, len(raw))
    out += raw
    raw = item.protocol_type.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(len(item.protocols))
    _write_join_group_request_protocol_array_0(out, item.protocols)


def _read_join_group_request_5(data: bytes, pos: int) -> tuple[JoinGroupRequest, int]:
    # JoinGroupRequest, version 5
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    session_timeout_ms, rebalance_timeout_ms, n = _unpack_iih(data, pos)
    pos += 10
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
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_type = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    protocols, pos = _read_join_group_request_protocol_array_0(data, pos, n)
    item = JoinGroupRequest(
        group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, None
    )
    return item, pos


def _write_join_group_request_5(out: bytearray, item: JoinGroupRequest) -> None:
    # JoinGroupRequest, version 5
    if item.unknown_tags:
        raise not_in_version("JoinGroupRequest", "unknown_tags")
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_iih(item.session_timeout_ms, item.rebalance_timeout_ms, len(raw))
    out += raw
    if item.group_instance_id is None:
        out += _pack_h(-1)
    else:
        raw = item.group_instance_id.encode()
        out += _pack_h(len(raw))
        out += raw
    raw = item.protocol_type.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(len(item.protocols))
    _write_join_group_request_protocol_array_0(out, item.protocols)


def _read_join_group_request_protocol_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[JoinGroupRequestProtocol], int]:
    # JoinGroupRequestProtocol, versions 6-9
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[JoinGroupRequestProtocol] = []
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
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        metadata = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(JoinGroupRequestProtocol(name, metadata, unknown_tags))
    return items, pos


def _write_join_group_request_protocol_array_6(out: bytearray, items: list[JoinGroupRequestProtocol]) -> None:
    # JoinGroupRequestProtocol, versions 6-9
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.metadata) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.metadata
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_join_group_request_6(data: bytes, pos: int) -> tuple[JoinGroupRequest, int]:
    # JoinGroupRequest, versions 6-7
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    session_timeout_ms, rebalance_timeout_ms, n = _unpack_iiB(data, pos)
    pos += 9
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
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    protocol_type = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    protocols, pos = _read_join_group_request_protocol_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = JoinGroupRequest(
        group_id,
        session_timeout_ms,
        rebalance_timeout_ms,
        member_id,
        group_instance_id,
        protocol_type,
        protocols,
        None,
        unknown_tags,
    )
    return item, pos


def _write_join_group_request_6(out: bytearray, item: JoinGroupRequest) -> None:
    # JoinGroupRequest, versions 6-7
    put_compact_string(out, item.group_id)
    out += _pack_ii(item.session_timeout_ms, item.rebalance_timeout_ms)
    put_compact_string(out, item.member_id)
    if item.group_instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_instance_id)
    put_compact_string(out, item.protocol_type)
    n = len(item.protocols) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_join_group_request_protocol_array_6(out, item.protocols)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_join_group_request_8(data: bytes, pos: int) -> tuple[JoinGroupRequest, int]:
    # JoinGroupRequest, versions 8-9
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    session_timeout_ms, rebalance_timeout_ms, n = _unpack_iiB(data, pos)
    pos += 9
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
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    protocol_type = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    protocols, pos = _read_join_group_request_protocol_array_6(data, pos, n - 1)
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
    item = JoinGroupRequest(
        group_id,
        session_timeout_ms,
        rebalance_timeout_ms,
        member_id,
        group_instance_id,
        protocol_type,
        protocols,
        reason,
        unknown_tags,
    )
    return item, pos


def _write_join_group_request_8(out: bytearray, item: JoinGroupRequest) -> None:
    # JoinGroupRequest, versions 8-9
    put_compact_string(out, item.group_id)
    out += _pack_ii(item.session_timeout_ms, item.rebalance_timeout_ms)
    put_compact_string(out, item.member_id)
    if item.group_instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.group_instance_id)
    put_compact_string(out, item.protocol_type)
    n = len(item.protocols) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_join_group_request_protocol_array_6(out, item.protocols)
    if item.reason is None:
        out.append(0)
    else:
        put_compact_string(out, item.reason)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class JoinGroupRequest(Message):
    """Joins a classic group, or joins again after a rebalance began.

    * `rebalance_timeout_ms`: How long the group waits for this member to join again.
    * `member_id`: Empty on the first attempt; the answer carries the id to use.
    * `group_instance_id`: The name a static member keeps over restarts; null for a dynamic member.
    * `protocols`: The assignors the member has, the best one first, each with its subscription.
    """

    API_KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 9
    FLEXIBLE_FROM = 6
    DECODERS = {
        0: _read_join_group_request_0,
        1: _read_join_group_request_1,
        2: _read_join_group_request_1,
        3: _read_join_group_request_1,
        4: _read_join_group_request_1,
        5: _read_join_group_request_5,
        6: _read_join_group_request_6,
        7: _read_join_group_request_6,
        8: _read_join_group_request_8,
        9: _read_join_group_request_8,
    }
    ENCODERS = {
        0: _write_join_group_request_0,
        1: _write_join_group_request_1,
        2: _write_join_group_request_1,
        3: _write_join_group_request_1,
        4: _write_join_group_request_1,
        5: _write_join_group_request_5,
        6: _write_join_group_request_6,
        7: _write_join_group_request_6,
        8: _write_join_group_request_8,
        9: _write_join_group_request_8,
    }

    FIELDS = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = EMPTY,
        reason: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is EMPTY else protocols
        self.reason = reason
        self.unknown_tags = unknown_tags


class JoinGroupResponseMember(Structure):
    """An element of JoinGroupResponse.Members.

    * `group_instance_id`: The name a static member keeps over restarts; null for a dynamic member.
    """

    FIELDS = ("member_id", "group_instance_id", "metadata", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata
        self.unknown_tags = unknown_tags


def _read_join_group_response_member_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[JoinGroupResponseMember], int]:
    # JoinGroupResponseMember, versions 0-4
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[JoinGroupResponseMember] = []
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
        metadata = data[pos:end]
        pos = end
        items.append(JoinGroupResponseMember(member_id, None, metadata))
    return items, pos


def _write_join_group_response_member_array_0(out: bytearray, items: list[JoinGroupResponseMember]) -> None:
    # JoinGroupResponseMember, versions 0-4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("JoinGroupResponseMember", "unknown_tags")
        raw = item.member_id.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.metadata))
        out += item.metadata


def _read_join_group_response_0(data: bytes, pos: int) -> tuple[JoinGroupResponse, int]:
    # JoinGroupResponse, versions 0-1
    error_code, generation_id, n = _unpack_hih(data, pos)
    pos += 8
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_name = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    leader = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    members, pos = _read_join_group_response_member_array_0(data, pos, n)
    return JoinGroupResponse(0, error_code, generation_id, None, protocol_name, leader, False, member_id, members), pos


def _write_join_group_response_0(out: bytearray, item: JoinGroupResponse) -> None:
    # JoinGroupResponse, versions 0-1
    if item.skip_assignment:
        raise not_in_version("JoinGroupResponse", "skip_assignment")
    if item.unknown_tags:
        raise not_in_version("JoinGroupResponse", "unknown_tags")
    if item.protocol_name is None:
        raise null_not_allowed("JoinGroupResponse", "protocol_name")
    raw = item.protocol_name.encode()
    out += _pack_hih(item.error_code, item.generation_id, len(raw))
    out += raw
    raw = item.leader.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(len(item.members))
    _write_join_group_response_member_array_0(out, item.members)


def _read_join_group_response_2(data: bytes, pos: int) -> tuple[JoinGroupResponse, int]:
    # JoinGroupResponse, versions 2-4
    throttle_time_ms, error_code, generation_id, n = _unpack_ihih(data, pos)
    pos += 12
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_name = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    leader = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    members, pos = _read_join_group_response_member_array_0(data, pos, n)
    item = JoinGroupResponse(
        throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members
    )
    return item, pos


def _write_join_group_response_2(out: bytearray, item: JoinGroupResponse) -> None:
    # JoinGroupResponse, versions 2-4
    if item.skip_assignment:
        raise not_in_version("JoinGroupResponse", "skip_assignment")
    if item.unknown_tags:
        raise not_in_version("JoinGroupResponse", "unknown_tags")
    if item.protocol_name is None:
        raise null_not_allowed("JoinGroupResponse", "protocol_name")
    raw = item.protocol_name.encode()
    out += _pack_ihih(item.throttle_time_ms, item.error_code, item.generation_id, len(raw))
    out += raw
    raw = item.leader.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(len(item.members))
    _write_join_group_response_member_array_0(out, item.members)


def _read_join_group_response_member_array_5(
    data: bytes, pos: int, count: int
) -> tuple[list[JoinGroupResponseMember], int]:
    # JoinGroupResponseMember, version 5
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[JoinGroupResponseMember] = []
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
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        metadata = data[pos:end]
        pos = end
        items.append(JoinGroupResponseMember(member_id, group_instance_id, metadata))
    return items, pos


def _write_join_group_response_member_array_5(out: bytearray, items: list[JoinGroupResponseMember]) -> None:
    # JoinGroupResponseMember, version 5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("JoinGroupResponseMember", "unknown_tags")
        raw = item.member_id.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.group_instance_id is None:
            out += _pack_h(-1)
        else:
            raw = item.group_instance_id.encode()
            out += _pack_h(len(raw))
            out += raw
        out += _pack_i(len(item.metadata))
        out += item.metadata


def _read_join_group_response_5(data: bytes, pos: int) -> tuple[JoinGroupResponse, int]:
    # JoinGroupResponse, version 5
    throttle_time_ms, error_code, generation_id, n = _unpack_ihih(data, pos)
    pos += 12
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_name = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    leader = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    member_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    members, pos = _read_join_group_response_member_array_5(data, pos, n)
    item = JoinGroupResponse(
        throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members
    )
    return item, pos


def _write_join_group_response_5(out: bytearray, item: JoinGroupResponse) -> None:
    # JoinGroupResponse, version 5
    if item.skip_assignment:
        raise not_in_version("JoinGroupResponse", "skip_assignment")
    if item.unknown_tags:
        raise not_in_version("JoinGroupResponse", "unknown_tags")
    if item.protocol_name is None:
        raise null_not_allowed("JoinGroupResponse", "protocol_name")
    raw = item.protocol_name.encode()
    out += _pack_ihih(item.throttle_time_ms, item.error_code, item.generation_id, len(raw))
    out += raw
    raw = item.leader.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(len(item.members))
    _write_join_group_response_member_array_5(out, item.members)


def _read_join_group_response_member_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[JoinGroupResponseMember], int]:
    # JoinGroupResponseMember, versions 6-9
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[JoinGroupResponseMember] = []
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
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        metadata = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(JoinGroupResponseMember(member_id, group_instance_id, metadata, unknown_tags))
    return items, pos


def _write_join_group_response_member_array_6(out: bytearray, items: list[JoinGroupResponseMember]) -> None:
    # JoinGroupResponseMember, versions 6-9
    for item in items:
        put_compact_string(out, item.member_id)
        if item.group_instance_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.group_instance_id)
        n = len(item.metadata) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.metadata
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_join_group_response_6(data: bytes, pos: int) -> tuple[JoinGroupResponse, int]:
    # JoinGroupResponse, version 6
    throttle_time_ms, error_code, generation_id, n = _unpack_ihiB(data, pos)
    pos += 11
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    protocol_name = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    leader = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    members, pos = _read_join_group_response_member_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = JoinGroupResponse(
        throttle_time_ms,
        error_code,
        generation_id,
        None,
        protocol_name,
        leader,
        False,
        member_id,
        members,
        unknown_tags,
    )
    return item, pos


def _write_join_group_response_6(out: bytearray, item: JoinGroupResponse) -> None:
    # JoinGroupResponse, version 6
    if item.skip_assignment:
        raise not_in_version("JoinGroupResponse", "skip_assignment")
    if item.protocol_name is None:
        raise null_not_allowed("JoinGroupResponse", "protocol_name")
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
    put_compact_string(out, item.protocol_name)
    put_compact_string(out, item.leader)
    put_compact_string(out, item.member_id)
    n = len(item.members) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_join_group_response_member_array_6(out, item.members)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_join_group_response_7(data: bytes, pos: int) -> tuple[JoinGroupResponse, int]:
    # JoinGroupResponse, versions 7-8
    throttle_time_ms, error_code, generation_id, n = _unpack_ihiB(data, pos)
    pos += 11
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
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    leader = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    members, pos = _read_join_group_response_member_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = JoinGroupResponse(
        throttle_time_ms,
        error_code,
        generation_id,
        protocol_type,
        protocol_name,
        leader,
        False,
        member_id,
        members,
        unknown_tags,
    )
    return item, pos


def _write_join_group_response_7(out: bytearray, item: JoinGroupResponse) -> None:
    # JoinGroupResponse, versions 7-8
    if item.skip_assignment:
        raise not_in_version("JoinGroupResponse", "skip_assignment")
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
    if item.protocol_type is None:
        out.append(0)
    else:
        put_compact_string(out, item.protocol_type)
    if item.protocol_name is None:
        out.append(0)
    else:
        put_compact_string(out, item.protocol_name)
    put_compact_string(out, item.leader)
    put_compact_string(out, item.member_id)
    n = len(item.members) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_join_group_response_member_array_6(out, item.members)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_join_group_response_9(data: bytes, pos: int) -> tuple[JoinGroupResponse, int]:
    # JoinGroupResponse, version 9
    throttle_time_ms, error_code, generation_id, n = _unpack_ihiB(data, pos)
    pos += 11
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
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    leader = data[pos:end].decode()
    pos = end
    skip_assignment, n = _unpack_tB(data, pos)
    pos += 2
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    members, pos = _read_join_group_response_member_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = JoinGroupResponse(
        throttle_time_ms,
        error_code,
        generation_id,
        protocol_type,
        protocol_name,
        leader,
        skip_assignment,
        member_id,
        members,
        unknown_tags,
    )
    return item, pos


def _write_join_group_response_9(out: bytearray, item: JoinGroupResponse) -> None:
    # JoinGroupResponse, version 9
    out += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
    if item.protocol_type is None:
        out.append(0)
    else:
        put_compact_string(out, item.protocol_type)
    if item.protocol_name is None:
        out.append(0)
    else:
        put_compact_string(out, item.protocol_name)
    put_compact_string(out, item.leader)
    out += _pack_t(item.skip_assignment)
    put_compact_string(out, item.member_id)
    n = len(item.members) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_join_group_response_member_array_6(out, item.members)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class JoinGroupResponse(Message):
    """Sent to all members when the generation is complete; the leader gets everyone's subscriptions.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `skip_assignment`: The leader need not compute an assignment (KIP-814).
    """

    API_KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 9
    FLEXIBLE_FROM = 6
    DECODERS = {
        0: _read_join_group_response_0,
        1: _read_join_group_response_0,
        2: _read_join_group_response_2,
        3: _read_join_group_response_2,
        4: _read_join_group_response_2,
        5: _read_join_group_response_5,
        6: _read_join_group_response_6,
        7: _read_join_group_response_7,
        8: _read_join_group_response_7,
        9: _read_join_group_response_9,
    }
    ENCODERS = {
        0: _write_join_group_response_0,
        1: _write_join_group_response_0,
        2: _write_join_group_response_2,
        3: _write_join_group_response_2,
        4: _write_join_group_response_2,
        5: _write_join_group_response_5,
        6: _write_join_group_response_6,
        7: _write_join_group_response_7,
        8: _write_join_group_response_7,
        9: _write_join_group_response_9,
    }

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is EMPTY else members
        self.unknown_tags = unknown_tags
