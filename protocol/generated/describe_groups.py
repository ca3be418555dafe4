"""DescribeGroupsRequest 0-6 and DescribeGroupsResponse 0-6.

Generated from schemas/rpc/DescribeGroupsRequest.json and schemas/rpc/DescribeGroupsResponse.json (Apache Kafka 4.4.0)
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
    put_strings,
    read_bytes_length,
    read_compact_strings,
    read_length,
    read_string_length,
    read_strings,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_tB = Struct(">?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_t = Struct(">?").pack
_pack_h = Struct(">h").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack


def _read_describe_groups_request_0(data: bytes, pos: int) -> tuple[DescribeGroupsRequest, int]:
    # DescribeGroupsRequest, versions 0-2
    (n,) = _unpack_i(data, pos)
    pos += 4
    groups, pos = read_strings(data, pos, n)
    return DescribeGroupsRequest(groups, False), pos


def _write_describe_groups_request_0(out: bytearray, item: DescribeGroupsRequest) -> None:
    # DescribeGroupsRequest, versions 0-2
    if item.include_authorized_operations:
        raise not_in_version("DescribeGroupsRequest", "include_authorized_operations")
    if item.unknown_tags:
        raise not_in_version("DescribeGroupsRequest", "unknown_tags")
    out += _pack_i(len(item.groups))
    put_strings(out, item.groups)


def _read_describe_groups_request_3(data: bytes, pos: int) -> tuple[DescribeGroupsRequest, int]:
    # DescribeGroupsRequest, versions 3-4
    (n,) = _unpack_i(data, pos)
    pos += 4
    groups, pos = read_strings(data, pos, n)
    include_authorized_operations = data[pos] != 0
    pos += 1
    return DescribeGroupsRequest(groups, include_authorized_operations), pos


def _write_describe_groups_request_3(out: bytearray, item: DescribeGroupsRequest) -> None:
    # DescribeGroupsRequest, versions 3-4
    if item.unknown_tags:
        raise not_in_version("DescribeGroupsRequest", "unknown_tags")
    out += _pack_i(len(item.groups))
    put_strings(out, item.groups)
    out += _pack_t(item.include_authorized_operations)


def _read_describe_groups_request_5(data: bytes, pos: int) -> tuple[DescribeGroupsRequest, int]:
    # DescribeGroupsRequest, versions 5-6
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = read_compact_strings(data, pos, n - 1)
    include_authorized_operations, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeGroupsRequest(groups, include_authorized_operations, unknown_tags), pos


def _write_describe_groups_request_5(out: bytearray, item: DescribeGroupsRequest) -> None:
    # DescribeGroupsRequest, versions 5-6
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.groups)
    out += _pack_t(item.include_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeGroupsRequest(Message):
    """Describes classic groups.

    * `include_authorized_operations`: Whether to tell what the client may do.
    """

    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 5
    DECODERS = {
        0: _read_describe_groups_request_0,
        1: _read_describe_groups_request_0,
        2: _read_describe_groups_request_0,
        3: _read_describe_groups_request_3,
        4: _read_describe_groups_request_3,
        5: _read_describe_groups_request_5,
        6: _read_describe_groups_request_5,
    }
    ENCODERS = {
        0: _write_describe_groups_request_0,
        1: _write_describe_groups_request_0,
        2: _write_describe_groups_request_0,
        3: _write_describe_groups_request_3,
        4: _write_describe_groups_request_3,
        5: _write_describe_groups_request_5,
        6: _write_describe_groups_request_5,
    }

    FIELDS = ("groups", "include_authorized_operations", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        groups: list[str] = EMPTY,
        include_authorized_operations: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.groups = [] if groups is EMPTY else groups
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tags = unknown_tags


class DescribedGroup(Structure):
    """An element of DescribeGroupsResponse.Groups.

    * `authorized_operations`: Bit field of ACL operations the client may do; -2147483648 if it was not asked for.
    """

    FIELDS = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = EMPTY,
        authorized_operations: int = -2147483648,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is EMPTY else members
        self.authorized_operations = authorized_operations
        self.unknown_tags = unknown_tags


class DescribedGroupMember(Structure):
    """An element of DescribedGroup.Members.

    * `group_instance_id`: The name a static member keeps over restarts; null for a dynamic member.
    """

    FIELDS = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "member_metadata",
        "member_assignment",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment
        self.unknown_tags = unknown_tags


def _read_described_group_member_array_0(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroupMember], int]:
    # DescribedGroupMember, versions 0-3
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroupMember] = []
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
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        member_metadata = data[pos:end]
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        member_assignment = data[pos:end]
        pos = end
        items.append(DescribedGroupMember(member_id, None, client_id, client_host, member_metadata, member_assignment))
    return items, pos


def _write_described_group_member_array_0(out: bytearray, items: list[DescribedGroupMember]) -> None:
    # DescribedGroupMember, versions 0-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribedGroupMember", "unknown_tags")
        raw = item.member_id.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.client_id.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.client_host.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.member_metadata))
        out += item.member_metadata
        out += _pack_i(len(item.member_assignment))
        out += item.member_assignment


def _read_described_group_array_0(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroup], int]:
    # DescribedGroup, versions 0-2
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroup] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
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
        group_state = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        protocol_type = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        protocol_data = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        members, pos = _read_described_group_member_array_0(data, pos, n)
        item = DescribedGroup(
            error_code, None, group_id, group_state, protocol_type, protocol_data, members, -2147483648
        )
        items.append(item)
    return items, pos


def _write_described_group_array_0(out: bytearray, items: list[DescribedGroup]) -> None:
    # DescribedGroup, versions 0-2
    for item in items:
        if item.error_message is not None:
            raise not_in_version("DescribedGroup", "error_message")
        if item.authorized_operations != -2147483648:
            raise not_in_version("DescribedGroup", "authorized_operations")
        if item.unknown_tags:
            raise not_in_version("DescribedGroup", "unknown_tags")
        raw = item.group_id.encode()
        out += _pack_hh(item.error_code, len(raw))
        out += raw
        raw = item.group_state.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.protocol_type.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.protocol_data.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.members))
        _write_described_group_member_array_0(out, item.members)


def _read_describe_groups_response_0(data: bytes, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # DescribeGroupsResponse, version 0
    (n,) = _unpack_i(data, pos)
    pos += 4
    groups, pos = _read_described_group_array_0(data, pos, n)
    return DescribeGroupsResponse(0, groups), pos


def _write_describe_groups_response_0(out: bytearray, item: DescribeGroupsResponse) -> None:
    # DescribeGroupsResponse, version 0
    if item.unknown_tags:
        raise not_in_version("DescribeGroupsResponse", "unknown_tags")
    out += _pack_i(len(item.groups))
    _write_described_group_array_0(out, item.groups)


def _read_describe_groups_response_1(data: bytes, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # DescribeGroupsResponse, versions 1-2
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    groups, pos = _read_described_group_array_0(data, pos, n)
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _write_describe_groups_response_1(out: bytearray, item: DescribeGroupsResponse) -> None:
    # DescribeGroupsResponse, versions 1-2
    if item.unknown_tags:
        raise not_in_version("DescribeGroupsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.groups))
    _write_described_group_array_0(out, item.groups)


def _read_described_group_array_3(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroup], int]:
    # DescribedGroup, version 3
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroup] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
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
        group_state = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        protocol_type = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        protocol_data = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        members, pos = _read_described_group_member_array_0(data, pos, n)
        (authorized_operations,) = _unpack_i(data, pos)
        pos += 4
        item = DescribedGroup(
            error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations
        )
        items.append(item)
    return items, pos


def _write_described_group_array_3(out: bytearray, items: list[DescribedGroup]) -> None:
    # DescribedGroup, version 3
    for item in items:
        if item.error_message is not None:
            raise not_in_version("DescribedGroup", "error_message")
        if item.unknown_tags:
            raise not_in_version("DescribedGroup", "unknown_tags")
        raw = item.group_id.encode()
        out += _pack_hh(item.error_code, len(raw))
        out += raw
        raw = item.group_state.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.protocol_type.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.protocol_data.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.members))
        _write_described_group_member_array_0(out, item.members)
        out += _pack_i(item.authorized_operations)


def _read_describe_groups_response_3(data: bytes, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # DescribeGroupsResponse, version 3
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    groups, pos = _read_described_group_array_3(data, pos, n)
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _write_describe_groups_response_3(out: bytearray, item: DescribeGroupsResponse) -> None:
    # DescribeGroupsResponse, version 3
    if item.unknown_tags:
        raise not_in_version("DescribeGroupsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.groups))
    _write_described_group_array_3(out, item.groups)


def _read_described_group_member_array_4(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroupMember], int]:
    # DescribedGroupMember, version 4
    if not 0 <= count * 16 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroupMember] = []
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
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        member_metadata = data[pos:end]
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        if n < 0:
            raise bad_length(n)
        end = pos + n
        member_assignment = data[pos:end]
        pos = end
        item = DescribedGroupMember(
            member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment
        )
        items.append(item)
    return items, pos


def _write_described_group_member_array_4(out: bytearray, items: list[DescribedGroupMember]) -> None:
    # DescribedGroupMember, version 4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribedGroupMember", "unknown_tags")
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
        out += _pack_i(len(item.member_metadata))
        out += item.member_metadata
        out += _pack_i(len(item.member_assignment))
        out += item.member_assignment


def _read_described_group_array_4(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroup], int]:
    # DescribedGroup, version 4
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroup] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
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
        group_state = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        protocol_type = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        protocol_data = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        members, pos = _read_described_group_member_array_4(data, pos, n)
        (authorized_operations,) = _unpack_i(data, pos)
        pos += 4
        item = DescribedGroup(
            error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations
        )
        items.append(item)
    return items, pos


def _write_described_group_array_4(out: bytearray, items: list[DescribedGroup]) -> None:
    # DescribedGroup, version 4
    for item in items:
        if item.error_message is not None:
            raise not_in_version("DescribedGroup", "error_message")
        if item.unknown_tags:
            raise not_in_version("DescribedGroup", "unknown_tags")
        raw = item.group_id.encode()
        out += _pack_hh(item.error_code, len(raw))
        out += raw
        raw = item.group_state.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.protocol_type.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.protocol_data.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.members))
        _write_described_group_member_array_4(out, item.members)
        out += _pack_i(item.authorized_operations)


def _read_describe_groups_response_4(data: bytes, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # DescribeGroupsResponse, version 4
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    groups, pos = _read_described_group_array_4(data, pos, n)
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _write_describe_groups_response_4(out: bytearray, item: DescribeGroupsResponse) -> None:
    # DescribeGroupsResponse, version 4
    if item.unknown_tags:
        raise not_in_version("DescribeGroupsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.groups))
    _write_described_group_array_4(out, item.groups)


def _read_described_group_member_array_5(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroupMember], int]:
    # DescribedGroupMember, versions 5-6
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroupMember] = []
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
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        member_metadata = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        member_assignment = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribedGroupMember(
            member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_described_group_member_array_5(out: bytearray, items: list[DescribedGroupMember]) -> None:
    # DescribedGroupMember, versions 5-6
    for item in items:
        put_compact_string(out, item.member_id)
        if item.group_instance_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.group_instance_id)
        put_compact_string(out, item.client_id)
        put_compact_string(out, item.client_host)
        n = len(item.member_metadata) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.member_metadata
        n = len(item.member_assignment) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.member_assignment
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_described_group_array_5(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroup], int]:
    # DescribedGroup, version 5
    if not 0 <= count * 12 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroup] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_state = data[pos:end].decode()
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
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol_data = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        members, pos = _read_described_group_member_array_5(data, pos, n - 1)
        authorized_operations, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribedGroup(
            error_code,
            None,
            group_id,
            group_state,
            protocol_type,
            protocol_data,
            members,
            authorized_operations,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_described_group_array_5(out: bytearray, items: list[DescribedGroup]) -> None:
    # DescribedGroup, version 5
    for item in items:
        if item.error_message is not None:
            raise not_in_version("DescribedGroup", "error_message")
        out += _pack_h(item.error_code)
        put_compact_string(out, item.group_id)
        put_compact_string(out, item.group_state)
        put_compact_string(out, item.protocol_type)
        put_compact_string(out, item.protocol_data)
        n = len(item.members) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_described_group_member_array_5(out, item.members)
        out += _pack_i(item.authorized_operations)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_groups_response_5(data: bytes, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # DescribeGroupsResponse, version 5
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_described_group_array_5(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeGroupsResponse(throttle_time_ms, groups, unknown_tags), pos


def _write_describe_groups_response_5(out: bytearray, item: DescribeGroupsResponse) -> None:
    # DescribeGroupsResponse, version 5
    out += _pack_i(item.throttle_time_ms)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_described_group_array_5(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_described_group_array_6(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroup], int]:
    # DescribedGroup, version 6
    if not 0 <= count * 13 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedGroup] = []
    for _ in range(count):
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
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_state = data[pos:end].decode()
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
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol_data = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        members, pos = _read_described_group_member_array_5(data, pos, n - 1)
        authorized_operations, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribedGroup(
            error_code,
            error_message,
            group_id,
            group_state,
            protocol_type,
            protocol_data,
            members,
            authorized_operations,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_described_group_array_6(out: bytearray, items: list[DescribedGroup]) -> None:
    # DescribedGroup, version 6
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        put_compact_string(out, item.group_id)
        put_compact_string(out, item.group_state)
        put_compact_string(out, item.protocol_type)
        put_compact_string(out, item.protocol_data)
        n = len(item.members) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_described_group_member_array_5(out, item.members)
        out += _pack_i(item.authorized_operations)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_groups_response_6(data: bytes, pos: int) -> tuple[DescribeGroupsResponse, int]:
    # DescribeGroupsResponse, version 6
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_described_group_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeGroupsResponse(throttle_time_ms, groups, unknown_tags), pos


def _write_describe_groups_response_6(out: bytearray, item: DescribeGroupsResponse) -> None:
    # DescribeGroupsResponse, version 6
    out += _pack_i(item.throttle_time_ms)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_described_group_array_6(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeGroupsResponse(Message):
    """State and members of each group.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 5
    DECODERS = {
        0: _read_describe_groups_response_0,
        1: _read_describe_groups_response_1,
        2: _read_describe_groups_response_1,
        3: _read_describe_groups_response_3,
        4: _read_describe_groups_response_4,
        5: _read_describe_groups_response_5,
        6: _read_describe_groups_response_6,
    }
    ENCODERS = {
        0: _write_describe_groups_response_0,
        1: _write_describe_groups_response_1,
        2: _write_describe_groups_response_1,
        3: _write_describe_groups_response_3,
        4: _write_describe_groups_response_4,
        5: _write_describe_groups_response_5,
        6: _write_describe_groups_response_6,
    }

    FIELDS = ("throttle_time_ms", "groups", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is EMPTY else groups
        self.unknown_tags = unknown_tags
