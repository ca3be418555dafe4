"""ConsumerGroupPartitionMetadataKey 0 and ConsumerGroupPartitionMetadataValue 0.

Generated from schemas/records/ConsumerGroupPartitionMetadataKey.json and
schemas/records/ConsumerGroupPartitionMetadataValue.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`.
Do not edit.
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
    put_compact_strings,
    read_compact_strings,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_uB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


def _read_consumer_group_partition_metadata_key_0(
    data: bytes, pos: int
) -> tuple[ConsumerGroupPartitionMetadataKey, int]:
    # ConsumerGroupPartitionMetadataKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    return ConsumerGroupPartitionMetadataKey(group_id), pos


def _write_consumer_group_partition_metadata_key_0(out: bytearray, item: ConsumerGroupPartitionMetadataKey) -> None:
    # ConsumerGroupPartitionMetadataKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw


class ConsumerGroupPartitionMetadataKey(Message):
    """__consumer_offsets, type 4: topics of a consumer group, no longer written."""

    API_KEY = 4
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_consumer_group_partition_metadata_key_0}
    ENCODERS = {0: _write_consumer_group_partition_metadata_key_0}

    FIELDS = ("group_id",)
    __slots__ = FIELDS

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id


class TopicMetadata(Structure):
    """An element of ConsumerGroupPartitionMetadataValue.Topics."""

    FIELDS = ("topic_id", "topic_name", "num_partitions", "partition_metadata", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata = [] if partition_metadata is EMPTY else partition_metadata
        self.unknown_tags = unknown_tags


class PartitionMetadata(Structure):
    """An element of TopicMetadata.PartitionMetadata."""

    FIELDS = ("partition", "racks", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        racks: list[str] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.racks = [] if racks is EMPTY else racks
        self.unknown_tags = unknown_tags


def _read_partition_metadata_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionMetadata], int]:
    # PartitionMetadata, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionMetadata] = []
    for _ in range(count):
        partition, n = _unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = read_length(data, pos)
        racks, pos = read_compact_strings(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionMetadata(partition, racks, unknown_tags))
    return items, pos


def _write_partition_metadata_array_0(out: bytearray, items: list[PartitionMetadata]) -> None:
    # PartitionMetadata, version 0
    for item in items:
        out += _pack_i(item.partition)
        n = len(item.racks) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_compact_strings(out, item.racks)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topic_metadata_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicMetadata], int]:
    # TopicMetadata, version 0
    if not 0 <= count * 23 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicMetadata] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic_name = data[pos:end].decode()
        pos = end
        num_partitions, n = _unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = read_length(data, pos)
        partition_metadata, pos = _read_partition_metadata_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicMetadata(topic_id, topic_name, num_partitions, partition_metadata, unknown_tags))
    return items, pos


def _write_topic_metadata_array_0(out: bytearray, items: list[TopicMetadata]) -> None:
    # TopicMetadata, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        put_compact_string(out, item.topic_name)
        out += _pack_i(item.num_partitions)
        n = len(item.partition_metadata) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_metadata_array_0(out, item.partition_metadata)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_consumer_group_partition_metadata_value_0(
    data: bytes, pos: int
) -> tuple[ConsumerGroupPartitionMetadataValue, int]:
    # ConsumerGroupPartitionMetadataValue, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_topic_metadata_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ConsumerGroupPartitionMetadataValue(topics, unknown_tags), pos


def _write_consumer_group_partition_metadata_value_0(out: bytearray, item: ConsumerGroupPartitionMetadataValue) -> None:
    # ConsumerGroupPartitionMetadataValue, version 0
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_metadata_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ConsumerGroupPartitionMetadataValue(Message):
    """__consumer_offsets, type 4, no longer written; MetadataHash took its place."""

    API_KEY = 4
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_consumer_group_partition_metadata_value_0}
    ENCODERS = {0: _write_consumer_group_partition_metadata_value_0}

    FIELDS = ("topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, topics: list[TopicMetadata] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
