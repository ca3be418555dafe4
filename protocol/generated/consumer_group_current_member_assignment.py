"""ConsumerGroupCurrentMemberAssignmentKey 0 and ConsumerGroupCurrentMemberAssignmentValue 0.

Generated from schemas/records/ConsumerGroupCurrentMemberAssignmentKey.json and
schemas/records/ConsumerGroupCurrentMemberAssignmentValue.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
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
    bad_length,
    bad_tag_size,
    bad_uuid,
    put_numbers,
    read_length,
    read_numbers,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_uB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_iibB = Struct(">iibB").unpack_from
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack
_pack_iib = Struct(">iib").pack


def _read_consumer_group_current_member_assignment_key_0(
    data: bytes, pos: int
) -> tuple[ConsumerGroupCurrentMemberAssignmentKey, int]:
    # ConsumerGroupCurrentMemberAssignmentKey, version 0
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
    return ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), pos


def _write_consumer_group_current_member_assignment_key_0(
    out: bytearray, item: ConsumerGroupCurrentMemberAssignmentKey
) -> None:
    # ConsumerGroupCurrentMemberAssignmentKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """__consumer_offsets, type 8: what a member has now."""

    API_KEY = 8
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_consumer_group_current_member_assignment_key_0}
    ENCODERS = {0: _write_consumer_group_current_member_assignment_key_0}

    FIELDS = ("group_id", "member_id")
    __slots__ = FIELDS

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id


class TopicPartitions(Structure):
    """An element of ConsumerGroupCurrentMemberAssignmentValue.AssignedPartitions."""

    FIELDS = ("topic_id", "partitions", "assignment_epochs", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
        assignment_epochs: list[int] | None = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.assignment_epochs = [] if assignment_epochs is EMPTY else assignment_epochs
        self.unknown_tags = unknown_tags


def _read_topic_partitions_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicPartitions], int]:
    # TopicPartitions, version 0
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
        item = TopicPartitions(topic_id, partitions, [])
        if n:
            pos = _read_topic_partitions_tags_0(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_topic_partitions_tags_0(item: TopicPartitions, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            assignment_epochs: list[int] | None = None
            if n:
                if n > 127:
                    n, pos = read_length(data, pos)
                assignment_epochs, pos = read_numbers(data, pos, n - 1, "i")
            item.assignment_epochs = assignment_epochs
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("TopicPartitions", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_topic_partitions_array_0(out: bytearray, items: list[TopicPartitions]) -> None:
    # TopicPartitions, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        tags = item.unknown_tags
        if item.assignment_epochs != []:
            body = bytearray()
            if item.assignment_epochs is None:
                body.append(0)
            else:
                n = len(item.assignment_epochs) + 1
                body += SMALL[n] if n < 128 else uvarint(n)
                put_numbers(body, item.assignment_epochs, "i")
            tags += ((0, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_consumer_group_current_member_assignment_value_0(
    data: bytes, pos: int
) -> tuple[ConsumerGroupCurrentMemberAssignmentValue, int]:
    # ConsumerGroupCurrentMemberAssignmentValue, version 0
    member_epoch, previous_member_epoch, state, n = _unpack_iibB(data, pos)
    pos += 10
    if n > 127:
        n, pos = read_length(data, pos)
    assigned_partitions, pos = _read_topic_partitions_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    partitions_pending_revocation, pos = _read_topic_partitions_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch, previous_member_epoch, state, assigned_partitions, partitions_pending_revocation, unknown_tags
    )
    return item, pos


def _write_consumer_group_current_member_assignment_value_0(
    out: bytearray, item: ConsumerGroupCurrentMemberAssignmentValue
) -> None:
    # ConsumerGroupCurrentMemberAssignmentValue, version 0
    out += _pack_iib(item.member_epoch, item.previous_member_epoch, item.state)
    n = len(item.assigned_partitions) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_partitions_array_0(out, item.assigned_partitions)
    n = len(item.partitions_pending_revocation) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_partitions_array_0(out, item.partitions_pending_revocation)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """__consumer_offsets, type 8.

    * `previous_member_epoch`: The epoch before the current one; a member whose answer was lost may still use it.
    * `state`: 0 stable, 1 partitions to give up, 2 partitions not free yet, 127 unknown.
    """

    API_KEY = 8
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_consumer_group_current_member_assignment_value_0}
    ENCODERS = {0: _write_consumer_group_current_member_assignment_value_0}

    FIELDS = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "partitions_pending_revocation",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[TopicPartitions] = EMPTY,
        partitions_pending_revocation: list[TopicPartitions] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is EMPTY else assigned_partitions
        self.partitions_pending_revocation = (
            [] if partitions_pending_revocation is EMPTY else partitions_pending_revocation
        )
        self.unknown_tags = unknown_tags
