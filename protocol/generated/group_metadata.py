"""GroupMetadataKey 0 and GroupMetadataValue 0-4.

Generated from schemas/records/GroupMetadataKey.json and schemas/records/GroupMetadataValue.json (Apache Kafka 4.4.0) by
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
    read_bytes_length,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iii = Struct(">iii").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_unpack_qi = Struct(">qi").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack
_pack_iii = Struct(">iii").pack
_pack_q = Struct(">q").pack
_pack_qi = Struct(">qi").pack


def _read_group_metadata_key_0(data: bytes, pos: int) -> tuple[GroupMetadataKey, int]:
    # GroupMetadataKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group = data[pos:end].decode()
    pos = end
    return GroupMetadataKey(group), pos


def _write_group_metadata_key_0(out: bytearray, item: GroupMetadataKey) -> None:
    # GroupMetadataKey, version 0
    raw = item.group.encode()
    out += _pack_h(len(raw))
    out += raw


class GroupMetadataKey(Message):
    """__consumer_offsets, type 2: a classic group."""

    API_KEY = 2
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_group_metadata_key_0}
    ENCODERS = {0: _write_group_metadata_key_0}

    FIELDS = ("group",)
    __slots__ = FIELDS

    def __init__(self, group: str = "") -> None:
        self.group = group


class MemberMetadata(Structure):
    """An element of GroupMetadataValue.members."""

    FIELDS = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "assignment",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment
        self.unknown_tags = unknown_tags


def _read_member_metadata_array_0(data: bytes, pos: int, count: int) -> tuple[list[MemberMetadata], int]:
    # MemberMetadata, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[MemberMetadata] = []
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
        if n < 0:
            raise bad_length(n)
        end = pos + n
        client_id = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        client_host = data[pos:end].decode()
        pos = end
        session_timeout, n = _unpack_ii(data, pos)
        pos += 8
        if n < 0:
            raise bad_length(n)
        end = pos + n
        subscription = data[pos:end]
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        assignment = data[pos:end]
        pos = end
        item = MemberMetadata(member_id, None, client_id, client_host, -1, session_timeout, subscription, assignment)
        items.append(item)
    return items, pos


def _write_member_metadata_array_0(out: bytearray, items: list[MemberMetadata]) -> None:
    # MemberMetadata, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MemberMetadata", "unknown_tags")
        raw = item.member_id.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.client_id.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.client_host.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_ii(item.session_timeout, len(item.subscription))
        out += item.subscription
        out += _pack_i(len(item.assignment))
        out += item.assignment


def _read_group_metadata_value_0(data: bytes, pos: int) -> tuple[GroupMetadataValue, int]:
    # GroupMetadataValue, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_type = data[pos:end].decode()
    pos = end
    generation, n = _unpack_ih(data, pos)
    pos += 6
    protocol: str | None = None
    if n >= 0:
        end = pos + n
        protocol = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    leader: str | None = None
    if n >= 0:
        end = pos + n
        leader = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    members, pos = _read_member_metadata_array_0(data, pos, n)
    return GroupMetadataValue(protocol_type, generation, protocol, leader, -1, members), pos


def _write_group_metadata_value_0(out: bytearray, item: GroupMetadataValue) -> None:
    # GroupMetadataValue, version 0
    if item.unknown_tags:
        raise not_in_version("GroupMetadataValue", "unknown_tags")
    raw = item.protocol_type.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(item.generation)
    if item.protocol is None:
        out += _pack_h(-1)
    else:
        raw = item.protocol.encode()
        out += _pack_h(len(raw))
        out += raw
    if item.leader is None:
        out += _pack_h(-1)
    else:
        raw = item.leader.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_i(len(item.members))
    _write_member_metadata_array_0(out, item.members)


def _read_member_metadata_array_1(data: bytes, pos: int, count: int) -> tuple[list[MemberMetadata], int]:
    # MemberMetadata, versions 1-2
    if not 0 <= count * 22 <= len(data) - pos:
        raise bad_count(count)
    items: list[MemberMetadata] = []
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
        if n < 0:
            raise bad_length(n)
        end = pos + n
        client_id = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        client_host = data[pos:end].decode()
        pos = end
        rebalance_timeout, session_timeout, n = _unpack_iii(data, pos)
        pos += 12
        if n < 0:
            raise bad_length(n)
        end = pos + n
        subscription = data[pos:end]
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        assignment = data[pos:end]
        pos = end
        item = MemberMetadata(
            member_id, None, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment
        )
        items.append(item)
    return items, pos


def _write_member_metadata_array_1(out: bytearray, items: list[MemberMetadata]) -> None:
    # MemberMetadata, versions 1-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MemberMetadata", "unknown_tags")
        raw = item.member_id.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.client_id.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.client_host.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_iii(item.rebalance_timeout, item.session_timeout, len(item.subscription))
        out += item.subscription
        out += _pack_i(len(item.assignment))
        out += item.assignment


def _read_group_metadata_value_1(data: bytes, pos: int) -> tuple[GroupMetadataValue, int]:
    # GroupMetadataValue, version 1
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_type = data[pos:end].decode()
    pos = end
    generation, n = _unpack_ih(data, pos)
    pos += 6
    protocol: str | None = None
    if n >= 0:
        end = pos + n
        protocol = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    leader: str | None = None
    if n >= 0:
        end = pos + n
        leader = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    members, pos = _read_member_metadata_array_1(data, pos, n)
    return GroupMetadataValue(protocol_type, generation, protocol, leader, -1, members), pos


def _write_group_metadata_value_1(out: bytearray, item: GroupMetadataValue) -> None:
    # GroupMetadataValue, version 1
    if item.unknown_tags:
        raise not_in_version("GroupMetadataValue", "unknown_tags")
    raw = item.protocol_type.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(item.generation)
    if item.protocol is None:
        out += _pack_h(-1)
    else:
        raw = item.protocol.encode()
        out += _pack_h(len(raw))
        out += raw
    if item.leader is None:
        out += _pack_h(-1)
    else:
        raw = item.leader.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_i(len(item.members))
    _write_member_metadata_array_1(out, item.members)


def _read_group_metadata_value_2(data: bytes, pos: int) -> tuple[GroupMetadataValue, int]:
    # GroupMetadataValue, version 2
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_type = data[pos:end].decode()
    pos = end
    generation, n = _unpack_ih(data, pos)
    pos += 6
    protocol: str | None = None
    if n >= 0:
        end = pos + n
        protocol = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    leader: str | None = None
    if n >= 0:
        end = pos + n
        leader = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    current_state_timestamp, n = _unpack_qi(data, pos)
    pos += 12
    members, pos = _read_member_metadata_array_1(data, pos, n)
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos


def _write_group_metadata_value_2(out: bytearray, item: GroupMetadataValue) -> None:
    # GroupMetadataValue, version 2
    if item.unknown_tags:
        raise not_in_version("GroupMetadataValue", "unknown_tags")
    raw = item.protocol_type.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(item.generation)
    if item.protocol is None:
        out += _pack_h(-1)
    else:
        raw = item.protocol.encode()
        out += _pack_h(len(raw))
        out += raw
    if item.leader is None:
        out += _pack_h(-1)
    else:
        raw = item.leader.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_qi(item.current_state_timestamp, len(item.members))
    _write_member_metadata_array_1(out, item.members)


def _read_member_metadata_array_3(data: bytes, pos: int, count: int) -> tuple[list[MemberMetadata], int]:
    # MemberMetadata, version 3
    if not 0 <= count * 24 <= len(data) - pos:
        raise bad_count(count)
    items: list[MemberMetadata] = []
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
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        client_id = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        client_host = data[pos:end].decode()
        pos = end
        rebalance_timeout, session_timeout, n = _unpack_iii(data, pos)
        pos += 12
        if n < 0:
            raise bad_length(n)
        end = pos + n
        subscription = data[pos:end]
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        assignment = data[pos:end]
        pos = end
        item = MemberMetadata(
            member_id,
            group_instance_id,
            client_id,
            client_host,
            rebalance_timeout,
            session_timeout,
            subscription,
            assignment,
        )
        items.append(item)
    return items, pos


def _write_member_metadata_array_3(out: bytearray, items: list[MemberMetadata]) -> None:
    # MemberMetadata, version 3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("MemberMetadata", "unknown_tags")
        raw = item.member_id.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.group_instance_id is None:
            out += _pack_h(-1)
        else:
            raw = item.group_instance_id.encode()
            out += _pack_h(len(raw))
            out += raw
        raw = item.client_id.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.client_host.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_iii(item.rebalance_timeout, item.session_timeout, len(item.subscription))
        out += item.subscription
        out += _pack_i(len(item.assignment))
        out += item.assignment


def _read_group_metadata_value_3(data: bytes, pos: int) -> tuple[GroupMetadataValue, int]:
    # GroupMetadataValue, version 3
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    protocol_type = data[pos:end].decode()
    pos = end
    generation, n = _unpack_ih(data, pos)
    pos += 6
    protocol: str | None = None
    if n >= 0:
        end = pos + n
        protocol = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    leader: str | None = None
    if n >= 0:
        end = pos + n
        leader = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    current_state_timestamp, n = _unpack_qi(data, pos)
    pos += 12
    members, pos = _read_member_metadata_array_3(data, pos, n)
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos


def _write_group_metadata_value_3(out: bytearray, item: GroupMetadataValue) -> None:
    # GroupMetadataValue, version 3
    if item.unknown_tags:
        raise not_in_version("GroupMetadataValue", "unknown_tags")
    raw = item.protocol_type.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(item.generation)
    if item.protocol is None:
        out += _pack_h(-1)
    else:
        raw = item.protocol.encode()
        out += _pack_h(len(raw))
        out += raw
    if item.leader is None:
        out += _pack_h(-1)
    else:
        raw = item.leader.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_qi(item.current_state_timestamp, len(item.members))
    _write_member_metadata_array_3(out, item.members)


def _read_member_metadata_array_4(data: bytes, pos: int, count: int) -> tuple[list[MemberMetadata], int]:
    # MemberMetadata, version 4
    if not 0 <= count * 15 <= len(data) - pos:
        raise bad_count(count)
    items: list[MemberMetadata] = []
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
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        client_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        client_host = data[pos:end].decode()
        pos = end
        rebalance_timeout, session_timeout, n = _unpack_iiB(data, pos)
        pos += 9
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        subscription = data[pos:end]
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
        item = MemberMetadata(
            member_id,
            group_instance_id,
            client_id,
            client_host,
            rebalance_timeout,
            session_timeout,
            subscription,
            assignment,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_member_metadata_array_4(out: bytearray, items: list[MemberMetadata]) -> None:
    # MemberMetadata, version 4
    for item in items:
        put_compact_string(out, item.member_id)
        if item.group_instance_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.group_instance_id)
        put_compact_string(out, item.client_id)
        put_compact_string(out, item.client_host)
        out += _pack_ii(item.rebalance_timeout, item.session_timeout)
        n = len(item.subscription) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.subscription
        n = len(item.assignment) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.assignment
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_group_metadata_value_4(data: bytes, pos: int) -> tuple[GroupMetadataValue, int]:
    # GroupMetadataValue, version 4
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    protocol_type = data[pos:end].decode()
    pos = end
    generation, n = _unpack_iB(data, pos)
    pos += 5
    protocol: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    leader: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        leader = data[pos:end].decode()
        pos = end
    current_state_timestamp, n = _unpack_qB(data, pos)
    pos += 9
    if n > 127:
        n, pos = read_length(data, pos)
    members, pos = _read_member_metadata_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = GroupMetadataValue(
        protocol_type, generation, protocol, leader, current_state_timestamp, members, unknown_tags
    )
    return item, pos


def _write_group_metadata_value_4(out: bytearray, item: GroupMetadataValue) -> None:
    # GroupMetadataValue, version 4
    put_compact_string(out, item.protocol_type)
    out += _pack_i(item.generation)
    if item.protocol is None:
        out.append(0)
    else:
        put_compact_string(out, item.protocol)
    if item.leader is None:
        out.append(0)
    else:
        put_compact_string(out, item.leader)
    out += _pack_q(item.current_state_timestamp)
    n = len(item.members) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_member_metadata_array_4(out, item.members)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class GroupMetadataValue(Message):
    """__consumer_offsets, type 2: a classic group at the end of a rebalance.

    * `current_state_timestamp`: When the group came into its state, milliseconds since the epoch; -1 if unknown.
    """

    API_KEY = 2
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    DECODERS = {
        0: _read_group_metadata_value_0,
        1: _read_group_metadata_value_1,
        2: _read_group_metadata_value_2,
        3: _read_group_metadata_value_3,
        4: _read_group_metadata_value_4,
    }
    ENCODERS = {
        0: _write_group_metadata_value_0,
        1: _write_group_metadata_value_1,
        2: _write_group_metadata_value_2,
        3: _write_group_metadata_value_3,
        4: _write_group_metadata_value_4,
    }

    FIELDS = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = [] if members is EMPTY else members
        self.unknown_tags = unknown_tags
