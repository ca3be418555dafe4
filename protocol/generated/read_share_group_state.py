"""ReadShareGroupStateRequest 0 and ReadShareGroupStateResponse 0.

Generated from schemas/rpc/ReadShareGroupStateRequest.json and schemas/rpc/ReadShareGroupStateResponse.json (Apache
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
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)
from shareq.protocol.rows import put_rows

_iterate_iiB = Struct(">iiB").iter_unpack
_iterate_qqbhB = Struct(">qqbhB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_qqbhB = Struct(">qqbhB").unpack_from
_pack_u = Struct(">16s").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iq = Struct(">iq").pack
_pack_qqbh = Struct(">qqbh").pack


class ReadStateData(Structure):
    """An element of ReadShareGroupStateRequest.Topics."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class PartitionData(Structure):
    """An element of ReadStateData.Partitions.

    * `leader_epoch`: From now on the leaders before it are fenced; -1 to leave that out.
    """

    FIELDS = ("partition", "leader_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        leader_epoch: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.unknown_tags = unknown_tags


def _read_partition_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 9 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    if count > 3 and count * 9 <= len(data) - pos:
        elements = _iterate_iiB(data[pos : pos + count * 9])
        for partition, leader_epoch, n in elements:
            if n:
                break
            items.append(PartitionData(partition, leader_epoch))
        pos += len(items) * 9
        count -= len(items)
    for _ in range(count):
        partition, leader_epoch, n = _unpack_iiB(data, pos)
        pos += 9
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionData(partition, leader_epoch, unknown_tags))
    return items, pos


def _write_partition_data_array_0(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, version 0
    for item in items:
        out += _pack_ii(item.partition, item.leader_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_state_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[ReadStateData], int]:
    # ReadStateData, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReadStateData] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ReadStateData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_read_state_data_array_0(out: bytearray, items: list[ReadStateData]) -> None:
    # ReadStateData, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_share_group_state_request_0(data: bytes, pos: int) -> tuple[ReadShareGroupStateRequest, int]:
    # ReadShareGroupStateRequest, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_read_state_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ReadShareGroupStateRequest(group_id, topics, unknown_tags), pos


def _write_read_share_group_state_request_0(out: bytearray, item: ReadShareGroupStateRequest) -> None:
    # ReadShareGroupStateRequest, version 0
    put_compact_string(out, item.group_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_read_state_data_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ReadShareGroupStateRequest(Message):
    """From a partition's leader to the share coordinator: reads what a previous leader left."""

    API_KEY = 84
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_read_share_group_state_request_0}
    ENCODERS = {0: _write_read_share_group_state_request_0}

    FIELDS = ("group_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[ReadStateData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class ReadStateResult(Structure):
    """An element of ReadShareGroupStateResponse.Results."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class PartitionResult(Structure):
    """An element of ReadStateResult.Partitions.

    * `state_epoch`: Rises whenever the state is set again by the group coordinator; a lower one is fenced.
    * `start_offset`: -1 if it is still to be resolved by the group's reset strategy.
    * `state_batches`: Ranges of offsets in one state, ascending, without overlap; records outside count as never handed
    out.
    """

    FIELDS = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "start_offset",
        "state_batches",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: list[StateBatch] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.start_offset = start_offset
        self.state_batches = [] if state_batches is EMPTY else state_batches
        self.unknown_tags = unknown_tags


class StateBatch(Structure):
    """An element of PartitionResult.StateBatches.

    * `delivery_state`: 0 available, 2 acknowledged, 4 archived; acquired records are not persisted.
    * `delivery_count`: How many times the records have been handed out.
    """

    FIELDS = ("first_offset", "last_offset", "delivery_state", "delivery_count", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count
        self.unknown_tags = unknown_tags


def _read_state_batch_array_0(data: bytes, pos: int, count: int) -> tuple[list[StateBatch], int]:
    # StateBatch, version 0
    if not 0 <= count * 20 <= len(data) - pos:
        raise bad_count(count)
    items: list[StateBatch] = []
    if count > 3 and count * 20 <= len(data) - pos:
        elements = _iterate_qqbhB(data[pos : pos + count * 20])
        for first_offset, last_offset, delivery_state, delivery_count, n in elements:
            if n:
                break
            items.append(StateBatch(first_offset, last_offset, delivery_state, delivery_count))
        pos += len(items) * 20
        count -= len(items)
    for _ in range(count):
        first_offset, last_offset, delivery_state, delivery_count, n = _unpack_qqbhB(data, pos)
        pos += 20
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(StateBatch(first_offset, last_offset, delivery_state, delivery_count, unknown_tags))
    return items, pos


def _write_state_batch_array_0(out: bytearray, items: list[StateBatch]) -> None:
    # StateBatch, version 0
    if items and isinstance(items[0], tuple):
        put_rows(out, items, "qqbhx")
        return
    for item in items:
        out += _pack_qqbh(item.first_offset, item.last_offset, item.delivery_state, item.delivery_count)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_partition_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionResult], int]:
    # PartitionResult, version 0
    if not 0 <= count * 21 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionResult] = []
    for _ in range(count):
        partition, error_code, n = _unpack_ihB(data, pos)
        pos += 7
        error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            error_message = data[pos:end].decode()
            pos = end
        state_epoch, start_offset, n = _unpack_iqB(data, pos)
        pos += 13
        if n > 127:
            n, pos = read_length(data, pos)
        state_batches, pos = _read_state_batch_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = PartitionResult(
            partition, error_code, error_message, state_epoch, start_offset, state_batches, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_partition_result_array_0(out: bytearray, items: list[PartitionResult]) -> None:
    # PartitionResult, version 0
    for item in items:
        out += _pack_ih(item.partition, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += _pack_iq(item.state_epoch, item.start_offset)
        n = len(item.state_batches) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_state_batch_array_0(out, item.state_batches)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_state_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[ReadStateResult], int]:
    # ReadStateResult, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReadStateResult] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_result_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ReadStateResult(topic_id, partitions, unknown_tags))
    return items, pos


def _write_read_state_result_array_0(out: bytearray, items: list[ReadStateResult]) -> None:
    # ReadStateResult, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_result_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_share_group_state_response_0(data: bytes, pos: int) -> tuple[ReadShareGroupStateResponse, int]:
    # ReadShareGroupStateResponse, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_read_state_result_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ReadShareGroupStateResponse(results, unknown_tags), pos


def _write_read_share_group_state_response_0(out: bytearray, item: ReadShareGroupStateResponse) -> None:
    # ReadShareGroupStateResponse, version 0
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_read_state_result_array_0(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ReadShareGroupStateResponse(Message):
    """The state of each share partition."""

    API_KEY = 84
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_read_share_group_state_response_0}
    ENCODERS = {0: _write_read_share_group_state_response_0}

    FIELDS = ("results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, results: list[ReadStateResult] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
