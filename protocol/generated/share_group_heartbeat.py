"""ShareGroupHeartbeatRequest 1 and ShareGroupHeartbeatResponse 1.

Generated from schemas/rpc/ShareGroupHeartbeatRequest.json and schemas/rpc/ShareGroupHeartbeatResponse.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iib = Struct(">iib").unpack_from
_pack_u = Struct(">16s").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack


def _read_share_group_heartbeat_request_1(data: bytes, pos: int) -> tuple[ShareGroupHeartbeatRequest, int]:
    # ShareGroupHeartbeatRequest, version 1
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
    member_id = data[pos:end].decode()
    pos = end
    member_epoch, n = _unpack_iB(data, pos)
    pos += 5
    rack_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        rack_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    subscribed_topic_names: list[str] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        subscribed_topic_names, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ShareGroupHeartbeatRequest(group_id, member_id, member_epoch, rack_id, subscribed_topic_names, unknown_tags)
    return item, pos


def _write_share_group_heartbeat_request_1(out: bytearray, item: ShareGroupHeartbeatRequest) -> None:
    # ShareGroupHeartbeatRequest, version 1
    put_compact_string(out, item.group_id)
    put_compact_string(out, item.member_id)
    out += _pack_i(item.member_epoch)
    if item.rack_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack_id)
    if item.subscribed_topic_names is None:
        out.append(0)
    else:
        n = len(item.subscribed_topic_names) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.subscribed_topic_names)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareGroupHeartbeatRequest(Message):
    """Joins a share group, subscribes, stays a member, leaves (KIP-932).

    * `member_id`: Chosen by the member and kept for its life.
    * `member_epoch`: 0 joins, -1 leaves, else the epoch of the last answer.
    * `rack_id`: Null if unchanged or not given.
    * `subscribed_topic_names`: Null if unchanged; required to join.
    """

    API_KEY = 76
    MIN_VERSION = 1
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {1: _read_share_group_heartbeat_request_1}
    ENCODERS = {1: _write_share_group_heartbeat_request_1}

    FIELDS = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: list[str] | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names
        self.unknown_tags = unknown_tags


class TopicPartitions(Structure):
    """An element of Assignment.TopicPartitions."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class Assignment(Structure):
    """The value of ShareGroupHeartbeatResponse.Assignment."""

    FIELDS = ("topic_partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, topic_partitions: list[TopicPartitions] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions
        self.unknown_tags = unknown_tags


def _read_topic_partitions_array_1(data: bytes, pos: int, count: int) -> tuple[list[TopicPartitions], int]:
    # TopicPartitions, version 1
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicPartitions] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicPartitions(topic_id, partitions, unknown_tags))
    return items, pos


def _write_topic_partitions_array_1(out: bytearray, items: list[TopicPartitions]) -> None:
    # TopicPartitions, version 1
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
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


def _read_share_group_heartbeat_response_1(data: bytes, pos: int) -> tuple[ShareGroupHeartbeatResponse, int]:
    # ShareGroupHeartbeatResponse, version 1
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
    member_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        member_id = data[pos:end].decode()
        pos = end
    member_epoch, heartbeat_interval_ms, n = _unpack_iib(data, pos)
    pos += 9
    assignment: Assignment | None = None
    if n >= 0:
        assignment, pos = _read_assignment_1(data, pos)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ShareGroupHeartbeatResponse(
        throttle_time_ms,
        error_code,
        error_message,
        member_id,
        member_epoch,
        heartbeat_interval_ms,
        assignment,
        unknown_tags,
    )
    return item, pos


def _write_share_group_heartbeat_response_1(out: bytearray, item: ShareGroupHeartbeatResponse) -> None:
    # ShareGroupHeartbeatResponse, version 1
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    if item.member_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.member_id)
    out += _pack_ii(item.member_epoch, item.heartbeat_interval_ms)
    if item.assignment is None:
        out.append(255)
    else:
        out.append(1)
        _write_assignment_1(out, item.assignment)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareGroupHeartbeatResponse(Message):
    """The member's epoch and, when it changes, its assignment.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `member_epoch`: Rises with each new assignment; -1 confirms that the member left.
    * `heartbeat_interval_ms`: When to send the next heartbeat.
    * `assignment`: The partitions to fetch from, shared with other members; null if unchanged.
    """

    API_KEY = 76
    MIN_VERSION = 1
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {1: _read_share_group_heartbeat_response_1}
    ENCODERS = {1: _write_share_group_heartbeat_response_1}

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
        self.unknown_tags = unknown_tags
