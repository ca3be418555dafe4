"""DescribeProducersRequest 0 and DescribeProducersResponse 0.

Generated from schemas/rpc/DescribeProducersRequest.json and schemas/rpc/DescribeProducersResponse.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    put_compact_string,
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_qiiqiqB = Struct(">qiiqiqB").iter_unpack
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qiiqiqB = Struct(">qiiqiqB").unpack_from
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_qiiqiq = Struct(">qiiqiq").pack


class TopicRequest(Structure):
    """An element of DescribeProducersRequest.Topics."""

    FIELDS = ("name", "partition_indexes", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes
        self.unknown_tags = unknown_tags


def _read_topic_request_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicRequest], int]:
    # TopicRequest, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicRequest] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partition_indexes, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicRequest(name, partition_indexes, unknown_tags))
    return items, pos


def _write_topic_request_array_0(out: bytearray, items: list[TopicRequest]) -> None:
    # TopicRequest, version 0
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partition_indexes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partition_indexes, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_producers_request_0(data: bytes, pos: int) -> tuple[DescribeProducersRequest, int]:
    # DescribeProducersRequest, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_topic_request_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeProducersRequest(topics, unknown_tags), pos


def _write_describe_producers_request_0(out: bytearray, item: DescribeProducersRequest) -> None:
    # DescribeProducersRequest, version 0
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_request_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeProducersRequest(Message):
    """Asks who writes to partitions."""

    API_KEY = 61
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_producers_request_0}
    ENCODERS = {0: _write_describe_producers_request_0}

    FIELDS = ("topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, topics: list[TopicRequest] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class TopicResponse(Structure):
    """An element of DescribeProducersResponse.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[PartitionResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class PartitionResponse(Structure):
    """An element of TopicResponse.Partitions."""

    FIELDS = ("partition_index", "error_code", "error_message", "active_producers", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers = [] if active_producers is EMPTY else active_producers
        self.unknown_tags = unknown_tags


class ProducerState(Structure):
    """An element of PartitionResponse.ActiveProducers.

    * `current_txn_start_offset`: -1 if no transaction is open.
    """

    FIELDS = (
        "producer_id",
        "producer_epoch",
        "last_sequence",
        "last_timestamp",
        "coordinator_epoch",
        "current_txn_start_offset",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset
        self.unknown_tags = unknown_tags


def _read_producer_state_array_0(data: bytes, pos: int, count: int) -> tuple[list[ProducerState], int]:
    # ProducerState, version 0
    if not 0 <= count * 37 <= len(data) - pos:
        raise bad_count(count)
    items: list[ProducerState] = []
    if count > 3 and count * 37 <= len(data) - pos:
        elements = _iterate_qiiqiqB(data[pos : pos + count * 37])
        for (
            producer_id,
            producer_epoch,
            last_sequence,
            last_timestamp,
            coordinator_epoch,
            current_txn_start_offset,
            n,
        ) in elements:
            if n:
                break
            item = ProducerState(
                producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset
            )
            items.append(item)
        pos += len(items) * 37
        count -= len(items)
    for _ in range(count):
        (
            producer_id,
            producer_epoch,
            last_sequence,
            last_timestamp,
            coordinator_epoch,
            current_txn_start_offset,
            n,
        ) = _unpack_qiiqiqB(data, pos)
        pos += 37
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = ProducerState(
            producer_id,
            producer_epoch,
            last_sequence,
            last_timestamp,
            coordinator_epoch,
            current_txn_start_offset,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_producer_state_array_0(out: bytearray, items: list[ProducerState]) -> None:
    # ProducerState, version 0
    for item in items:
        out += _pack_qiiqiq(
            item.producer_id,
            item.producer_epoch,
            item.last_sequence,
            item.last_timestamp,
            item.coordinator_epoch,
            item.current_txn_start_offset,
        )
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_partition_response_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionResponse], int]:
    # PartitionResponse, version 0
    if not 0 <= count * 9 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionResponse] = []
    for _ in range(count):
        partition_index, error_code, n = _unpack_ihB(data, pos)
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
        if n > 127:
            n, pos = read_length(data, pos)
        active_producers, pos = _read_producer_state_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionResponse(partition_index, error_code, error_message, active_producers, unknown_tags))
    return items, pos


def _write_partition_response_array_0(out: bytearray, items: list[PartitionResponse]) -> None:
    # PartitionResponse, version 0
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        n = len(item.active_producers) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_producer_state_array_0(out, item.active_producers)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topic_response_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicResponse], int]:
    # TopicResponse, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicResponse] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_response_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicResponse(name, partitions, unknown_tags))
    return items, pos


def _write_topic_response_array_0(out: bytearray, items: list[TopicResponse]) -> None:
    # TopicResponse, version 0
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_response_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_producers_response_0(data: bytes, pos: int) -> tuple[DescribeProducersResponse, int]:
    # DescribeProducersResponse, version 0
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_topic_response_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeProducersResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_describe_producers_response_0(out: bytearray, item: DescribeProducersResponse) -> None:
    # DescribeProducersResponse, version 0
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_response_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeProducersResponse(Message):
    """The producers of each partition with their last sequence and open transaction.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 61
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_producers_response_0}
    ENCODERS = {0: _write_describe_producers_response_0}

    FIELDS = ("throttle_time_ms", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TopicResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
