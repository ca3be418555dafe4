"""ShareGroupTargetAssignmentMemberKey 0 and ShareGroupTargetAssignmentMemberValue 0.

Generated from schemas/records/ShareGroupTargetAssignmentMemberKey.json and
schemas/records/ShareGroupTargetAssignmentMemberValue.json (Apache Kafka 4.4.0) by `python -m
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
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack


def _read_share_group_target_assignment_member_key_0(
    data: bytes, pos: int
) -> tuple[ShareGroupTargetAssignmentMemberKey, int]:
    # ShareGroupTargetAssignmentMemberKey, version 0
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
    return ShareGroupTargetAssignmentMemberKey(group_id, member_id), pos


def _write_share_group_target_assignment_member_key_0(
    out: bytearray, item: ShareGroupTargetAssignmentMemberKey
) -> None:
    # ShareGroupTargetAssignmentMemberKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw


class ShareGroupTargetAssignmentMemberKey(Message):
    """__consumer_offsets, type 13: a member's part of the target assignment."""

    API_KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_share_group_target_assignment_member_key_0}
    ENCODERS = {0: _write_share_group_target_assignment_member_key_0}

    FIELDS = ("group_id", "member_id")
    __slots__ = FIELDS

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id


class TopicPartition(Structure):
    """An element of ShareGroupTargetAssignmentMemberValue.TopicPartitions."""

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


def _read_topic_partition_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicPartition], int]:
    # TopicPartition, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicPartition] = []
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
        items.append(TopicPartition(topic_id, partitions, unknown_tags))
    return items, pos


def _write_topic_partition_array_0(out: bytearray, items: list[TopicPartition]) -> None:
    # TopicPartition, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_share_group_target_assignment_member_value_0(
    data: bytes, pos: int
) -> tuple[ShareGroupTargetAssignmentMemberValue, int]:
    # ShareGroupTargetAssignmentMemberValue, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topic_partitions, pos = _read_topic_partition_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ShareGroupTargetAssignmentMemberValue(topic_partitions, unknown_tags), pos


def _write_share_group_target_assignment_member_value_0(
    out: bytearray, item: ShareGroupTargetAssignmentMemberValue
) -> None:
    # ShareGroupTargetAssignmentMemberValue, version 0
    n = len(item.topic_partitions) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_partition_array_0(out, item.topic_partitions)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareGroupTargetAssignmentMemberValue(Message):
    """__consumer_offsets, type 13."""

    API_KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_share_group_target_assignment_member_value_0}
    ENCODERS = {0: _write_share_group_target_assignment_member_value_0}

    FIELDS = ("topic_partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, topic_partitions: list[TopicPartition] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions
        self.unknown_tags = unknown_tags
