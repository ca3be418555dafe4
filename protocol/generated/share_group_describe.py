"""ShareGroupDescribeRequest 1 and ShareGroupDescribeResponse 1.

Generated from schemas/rpc/ShareGroupDescribeRequest.json and schemas/rpc/ShareGroupDescribeResponse.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    put_compact_strings,
    put_numbers,
    read_compact_strings,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_uB = Struct(">16sB").unpack_from
_unpack_tB = Struct(">?B").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_pack_u = Struct(">16s").pack
_pack_t = Struct(">?").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack


def _read_share_group_describe_request_1(data: bytes, pos: int) -> tuple[ShareGroupDescribeRequest, int]:
    # ShareGroupDescribeRequest, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    group_ids, pos = read_compact_strings(data, pos, n - 1)
    include_authorized_operations, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ShareGroupDescribeRequest(group_ids, include_authorized_operations, unknown_tags), pos


def _write_share_group_describe_request_1(out: bytearray, item: ShareGroupDescribeRequest) -> None:
    # ShareGroupDescribeRequest, version 1
    n = len(item.group_ids) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.group_ids)
    out += _pack_t(item.include_authorized_operations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareGroupDescribeRequest(Message):
    """Describes share groups.

    * `include_authorized_operations`: Whether to tell what the client may do.
    """

    API_KEY = 77
    MIN_VERSION = 1
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {1: _read_share_group_describe_request_1}
    ENCODERS = {1: _write_share_group_describe_request_1}

    FIELDS = ("group_ids", "include_authorized_operations", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_ids: list[str] = EMPTY,
        include_authorized_operations: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_ids = [] if group_ids is EMPTY else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tags = unknown_tags


class TopicPartitions(Structure):
    """An element of Assignment.TopicPartitions."""

    FIELDS = ("topic_id", "topic_name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class Assignment(Structure):
    """The value of Member.Assignment."""

    FIELDS = ("topic_partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, topic_partitions: list[TopicPartitions] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions
        self.unknown_tags = unknown_tags


class DescribedGroup(Structure):
    """An element of ShareGroupDescribeResponse.Groups.

    * `group_state`: Empty, Stable or Dead.
    * `assignment_epoch`: The group epoch the target assignment was computed for.
    * `authorized_operations`: Bit field of ACL operations the client may do; -2147483648 if it was not asked for.
    """

    FIELDS = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
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
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[Member] = EMPTY,
        authorized_operations: int = -2147483648,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = [] if members is EMPTY else members
        self.authorized_operations = authorized_operations
        self.unknown_tags = unknown_tags


class Member(Structure):
    """An element of DescribedGroup.Members."""

    FIELDS = (
        "member_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "assignment",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = EMPTY,
        assignment: Assignment | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.member_id = member_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        self.assignment = Assignment() if assignment is None else assignment
        self.unknown_tags = unknown_tags


def _read_topic_partitions_array_1(data: bytes, pos: int, count: int) -> tuple[list[TopicPartitions], int]:
    # TopicPartitions, version 1
    if not 0 <= count * 19 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicPartitions] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic_name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicPartitions(topic_id, topic_name, partitions, unknown_tags))
    return items, pos


def _write_topic_partitions_array_1(out: bytearray, items: list[TopicPartitions]) -> None:
    # TopicPartitions, version 1
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_assignment_1(data: bytes, pos: int) -> tuple[Assignment, int]:
    # Assignment, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topic_partitions, pos = _read_topic_partitions_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return Assignment(topic_partitions, unknown_tags), pos


def _write_assignment_1(out: bytearray, item: Assignment) -> None:
    # Assignment, version 1
    n = len(item.topic_partitions) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_partitions_array_1(out, item.topic_partitions)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_member_array_1(data: bytes, pos: int, count: int) -> tuple[list[Member], int]:
    # Member, version 1
    if not 0 <= count * 12 <= len(data) - pos:
        raise bad_count(count)
    items: list[Member] = []
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
        rack_id: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            rack_id = data[pos:end].decode()
            pos = end
        member_epoch, n = _unpack_iB(data, pos)
        pos += 5
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
        if n > 127:
            n, pos = read_length(data, pos)
        subscribed_topic_names, pos = read_compact_strings(data, pos, n - 1)
        assignment, pos = _read_assignment_1(data, pos)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = Member(
            member_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, assignment, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_member_array_1(out: bytearray, items: list[Member]) -> None:
    # Member, version 1
    for item in items:
        put_compact_string(out, item.member_id)
        if item.rack_id is None:
            out.append(0)
        else:
            put_compact_string(out, item.rack_id)
        out += _pack_i(item.member_epoch)
        put_compact_string(out, item.client_id)
        put_compact_string(out, item.client_host)
        n = len(item.subscribed_topic_names) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.subscribed_topic_names)
        _write_assignment_1(out, item.assignment)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_described_group_array_1(data: bytes, pos: int, count: int) -> tuple[list[DescribedGroup], int]:
    # DescribedGroup, version 1
    if not 0 <= count * 20 <= len(data) - pos:
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
        group_epoch, assignment_epoch, n = _unpack_iiB(data, pos)
        pos += 9
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        assignor_name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        members, pos = _read_member_array_1(data, pos, n - 1)
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
            group_epoch,
            assignment_epoch,
            assignor_name,
            members,
            authorized_operations,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_described_group_array_1(out: bytearray, items: list[DescribedGroup]) -> None:
    # DescribedGroup, version 1
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        put_compact_string(out, item.group_id)
        put_compact_string(out, item.group_state)
        out += _pack_ii(item.group_epoch, item.assignment_epoch)
        put_compact_string(out, item.assignor_name)
        n = len(item.members) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_member_array_1(out, item.members)
        out += _pack_i(item.authorized_operations)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_share_group_describe_response_1(data: bytes, pos: int) -> tuple[ShareGroupDescribeResponse, int]:
    # ShareGroupDescribeResponse, version 1
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_described_group_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ShareGroupDescribeResponse(throttle_time_ms, groups, unknown_tags), pos


def _write_share_group_describe_response_1(out: bytearray, item: ShareGroupDescribeResponse) -> None:
    # ShareGroupDescribeResponse, version 1
    out += _pack_i(item.throttle_time_ms)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_described_group_array_1(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareGroupDescribeResponse(Message):
    """State, members and assignment of each share group.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 77
    MIN_VERSION = 1
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {1: _read_share_group_describe_response_1}
    ENCODERS = {1: _write_share_group_describe_response_1}

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
