"""ShareGroupStatePartitionMetadataKey 0 and ShareGroupStatePartitionMetadataValue 0.

Generated from schemas/records/ShareGroupStatePartitionMetadataKey.json and
schemas/records/ShareGroupStatePartitionMetadataValue.json (Apache Kafka 4.4.0) by `python -m
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
    put_compact_string,
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_uB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack


def _read_share_group_state_partition_metadata_key_0(
    data: bytes, pos: int
) -> tuple[ShareGroupStatePartitionMetadataKey, int]:
    # ShareGroupStatePartitionMetadataKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    return ShareGroupStatePartitionMetadataKey(group_id), pos


def _write_share_group_state_partition_metadata_key_0(
    out: bytearray, item: ShareGroupStatePartitionMetadataKey
) -> None:
    # ShareGroupStatePartitionMetadataKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw


class ShareGroupStatePartitionMetadataKey(Message):
    """__consumer_offsets, type 15: which share partitions of a group exist at the share coordinator."""

    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_share_group_state_partition_metadata_key_0}
    ENCODERS = {0: _write_share_group_state_partition_metadata_key_0}

    FIELDS = ("group_id",)
    __slots__ = FIELDS

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id


class TopicPartitionsInfo(Structure):
    """An element of ShareGroupStatePartitionMetadataValue.InitializingTopics."""

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


class TopicInfo(Structure):
    """An element of ShareGroupStatePartitionMetadataValue.DeletingTopics."""

    FIELDS = ("topic_id", "topic_name", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.unknown_tags = unknown_tags


def _read_topic_partitions_info_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicPartitionsInfo], int]:
    # TopicPartitionsInfo, version 0
    if not 0 <= count * 19 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicPartitionsInfo] = []
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
        items.append(TopicPartitionsInfo(topic_id, topic_name, partitions, unknown_tags))
    return items, pos


def _write_topic_partitions_info_array_0(out: bytearray, items: list[TopicPartitionsInfo]) -> None:
    # TopicPartitionsInfo, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        put_compact_string(out, item.topic_name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topic_info_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicInfo], int]:
    # TopicInfo, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicInfo] = []
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicInfo(topic_id, topic_name, unknown_tags))
    return items, pos


def _write_topic_info_array_0(out: bytearray, items: list[TopicInfo]) -> None:
    # TopicInfo, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        put_compact_string(out, item.topic_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_share_group_state_partition_metadata_value_0(
    data: bytes, pos: int
) -> tuple[ShareGroupStatePartitionMetadataValue, int]:
    # ShareGroupStatePartitionMetadataValue, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    initializing_topics, pos = _read_topic_partitions_info_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    initialized_topics, pos = _read_topic_partitions_info_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    deleting_topics, pos = _read_topic_info_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ShareGroupStatePartitionMetadataValue(initializing_topics, initialized_topics, deleting_topics, unknown_tags)
    return item, pos


def _write_share_group_state_partition_metadata_value_0(
    out: bytearray, item: ShareGroupStatePartitionMetadataValue
) -> None:
    # ShareGroupStatePartitionMetadataValue, version 0
    n = len(item.initializing_topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_partitions_info_array_0(out, item.initializing_topics)
    n = len(item.initialized_topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_partitions_info_array_0(out, item.initialized_topics)
    n = len(item.deleting_topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_info_array_0(out, item.deleting_topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareGroupStatePartitionMetadataValue(Message):
    """__consumer_offsets, type 15.

    * `initializing_topics`: Asked of the share coordinator, not confirmed yet.
    * `initialized_topics`: Confirmed by the share coordinator; members may be assigned to them.
    * `deleting_topics`: To be forgotten by the share coordinator, not confirmed yet.
    """

    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_share_group_state_partition_metadata_value_0}
    ENCODERS = {0: _write_share_group_state_partition_metadata_value_0}

    FIELDS = ("initializing_topics", "initialized_topics", "deleting_topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        initializing_topics: list[TopicPartitionsInfo] = EMPTY,
        initialized_topics: list[TopicPartitionsInfo] = EMPTY,
        deleting_topics: list[TopicInfo] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.initializing_topics = [] if initializing_topics is EMPTY else initializing_topics
        self.initialized_topics = [] if initialized_topics is EMPTY else initialized_topics
        self.deleting_topics = [] if deleting_topics is EMPTY else deleting_topics
        self.unknown_tags = unknown_tags
