"""WriteShareGroupStateRequest 0-1 and WriteShareGroupStateResponse 0-1.

Generated from schemas/rpc/WriteShareGroupStateRequest.json and schemas/rpc/WriteShareGroupStateResponse.json (Apache
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

_iterate_qqbhB = Struct(">qqbhB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iiiqB = Struct(">iiiqB").unpack_from
_unpack_iiiqiB = Struct(">iiiqiB").unpack_from
_unpack_qqbhB = Struct(">qqbhB").unpack_from
_pack_u = Struct(">16s").pack
_pack_ih = Struct(">ih").pack
_pack_iiiq = Struct(">iiiq").pack
_pack_iiiqi = Struct(">iiiqi").pack
_pack_qqbh = Struct(">qqbh").pack


class WriteStateData(Structure):
    """An element of WriteShareGroupStateRequest.Topics."""

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
    """An element of WriteStateData.Partitions.

    * `state_epoch`: Rises whenever the state is set again by the group coordinator; a lower one is fenced.
    * `start_offset`: Offsets below it are done with; -1 if unchanged.
    * `delivery_complete_count`: Records from the start offset on that are acknowledged or archived; -1 if unknown.
    * `state_batches`: Ranges of offsets in one state, ascending, without overlap; records outside count as never handed
    out.
    """

    FIELDS = (
        "partition",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "state_batches",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is EMPTY else state_batches
        self.unknown_tags = unknown_tags


class StateBatch(Structure):
    """An element of PartitionData.StateBatches.

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
    # StateBatch, versions 0-1
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
    # StateBatch, versions 0-1
    if items and isinstance(items[0], tuple):
        put_rows(out, items, "qqbhx")
        return
    for item in items:
        out += _pack_qqbh(item.first_offset, item.last_offset, item.delivery_state, item.delivery_count)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_partition_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, version 0
    if not 0 <= count * 22 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    for _ in range(count):
        partition, state_epoch, leader_epoch, start_offset, n = _unpack_iiiqB(data, pos)
        pos += 21
        if n > 127:
            n, pos = read_length(data, pos)
        state_batches, pos = _read_state_batch_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionData(partition, state_epoch, leader_epoch, start_offset, -1, state_batches, unknown_tags))
    return items, pos


def _write_partition_data_array_0(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, version 0
    for item in items:
        out += _pack_iiiq(item.partition, item.state_epoch, item.leader_epoch, item.start_offset)
        n = len(item.state_batches) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_state_batch_array_0(out, item.state_batches)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_write_state_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[WriteStateData], int]:
    # WriteStateData, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[WriteStateData] = []
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
        items.append(WriteStateData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_write_state_data_array_0(out: bytearray, items: list[WriteStateData]) -> None:
    # WriteStateData, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_write_share_group_state_request_0(data: bytes, pos: int) -> tuple[WriteShareGroupStateRequest, int]:
    # WriteShareGroupStateRequest, version 0
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
    topics, pos = _read_write_state_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return WriteShareGroupStateRequest(group_id, topics, unknown_tags), pos


def _write_write_share_group_state_request_0(out: bytearray, item: WriteShareGroupStateRequest) -> None:
    # WriteShareGroupStateRequest, version 0
    put_compact_string(out, item.group_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_write_state_data_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_partition_data_array_1(data: bytes, pos: int, count: int) -> tuple[list[PartitionData], int]:
    # PartitionData, version 1
    if not 0 <= count * 26 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionData] = []
    for _ in range(count):
        partition, state_epoch, leader_epoch, start_offset, delivery_complete_count, n = _unpack_iiiqiB(data, pos)
        pos += 25
        if n > 127:
            n, pos = read_length(data, pos)
        state_batches, pos = _read_state_batch_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = PartitionData(
            partition, state_epoch, leader_epoch, start_offset, delivery_complete_count, state_batches, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_partition_data_array_1(out: bytearray, items: list[PartitionData]) -> None:
    # PartitionData, version 1
    for item in items:
        out += _pack_iiiqi(
            item.partition, item.state_epoch, item.leader_epoch, item.start_offset, item.delivery_complete_count
        )
        n = len(item.state_batches) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_state_batch_array_0(out, item.state_batches)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_write_state_data_array_1(data: bytes, pos: int, count: int) -> tuple[list[WriteStateData], int]:
    # WriteStateData, version 1
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[WriteStateData] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(WriteStateData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_write_state_data_array_1(out: bytearray, items: list[WriteStateData]) -> None:
    # WriteStateData, version 1
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_data_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_write_share_group_state_request_1(data: bytes, pos: int) -> tuple[WriteShareGroupStateRequest, int]:
    # WriteShareGroupStateRequest, version 1
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
    topics, pos = _read_write_state_data_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return WriteShareGroupStateRequest(group_id, topics, unknown_tags), pos


def _write_write_share_group_state_request_1(out: bytearray, item: WriteShareGroupStateRequest) -> None:
    # WriteShareGroupStateRequest, version 1
    put_compact_string(out, item.group_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_write_state_data_array_1(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class WriteShareGroupStateRequest(Message):
    """From a partition's leader to the share coordinator: changes the state of records."""

    API_KEY = 85
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_write_share_group_state_request_0, 1: _read_write_share_group_state_request_1}
    ENCODERS = {0: _write_write_share_group_state_request_0, 1: _write_write_share_group_state_request_1}

    FIELDS = ("group_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[WriteStateData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class WriteStateResult(Structure):
    """An element of WriteShareGroupStateResponse.Results."""

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
    """An element of WriteStateResult.Partitions."""

    FIELDS = ("partition", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_partition_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionResult], int]:
    # PartitionResult, versions 0-1
    if not 0 <= count * 8 <= len(data) - pos:
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
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionResult(partition, error_code, error_message, unknown_tags))
    return items, pos


def _write_partition_result_array_0(out: bytearray, items: list[PartitionResult]) -> None:
    # PartitionResult, versions 0-1
    for item in items:
        out += _pack_ih(item.partition, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_write_state_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[WriteStateResult], int]:
    # WriteStateResult, versions 0-1
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[WriteStateResult] = []
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
        items.append(WriteStateResult(topic_id, partitions, unknown_tags))
    return items, pos


def _write_write_state_result_array_0(out: bytearray, items: list[WriteStateResult]) -> None:
    # WriteStateResult, versions 0-1
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_result_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_write_share_group_state_response_0(data: bytes, pos: int) -> tuple[WriteShareGroupStateResponse, int]:
    # WriteShareGroupStateResponse, versions 0-1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_write_state_result_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return WriteShareGroupStateResponse(results, unknown_tags), pos


def _write_write_share_group_state_response_0(out: bytearray, item: WriteShareGroupStateResponse) -> None:
    # WriteShareGroupStateResponse, versions 0-1
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_write_state_result_array_0(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class WriteShareGroupStateResponse(Message):
    """What became of each share partition's write."""

    API_KEY = 85
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_write_share_group_state_response_0, 1: _read_write_share_group_state_response_0}
    ENCODERS = {0: _write_write_share_group_state_response_0, 1: _write_write_share_group_state_response_0}

    FIELDS = ("results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, results: list[WriteStateResult] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
