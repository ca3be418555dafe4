"""ReadShareGroupStateSummaryRequest 0-1 and ReadShareGroupStateSummaryResponse 0-1.

Generated from schemas/rpc/ReadShareGroupStateSummaryRequest.json and
schemas/rpc/ReadShareGroupStateSummaryResponse.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do
not edit.
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

_iterate_iiB = Struct(">iiB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iiqB = Struct(">iiqB").unpack_from
_unpack_iiqiB = Struct(">iiqiB").unpack_from
_pack_u = Struct(">16s").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iiq = Struct(">iiq").pack
_pack_iiqi = Struct(">iiqi").pack


class ReadStateSummaryData(Structure):
    """An element of ReadShareGroupStateSummaryRequest.Topics."""

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
    """An element of ReadStateSummaryData.Partitions."""

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
    # PartitionData, versions 0-1
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
    # PartitionData, versions 0-1
    for item in items:
        out += _pack_ii(item.partition, item.leader_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_state_summary_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[ReadStateSummaryData], int]:
    # ReadStateSummaryData, versions 0-1
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReadStateSummaryData] = []
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
        items.append(ReadStateSummaryData(topic_id, partitions, unknown_tags))
    return items, pos


def _write_read_state_summary_data_array_0(out: bytearray, items: list[ReadStateSummaryData]) -> None:
    # ReadStateSummaryData, versions 0-1
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_data_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_share_group_state_summary_request_0(
    data: bytes, pos: int
) -> tuple[ReadShareGroupStateSummaryRequest, int]:
    # ReadShareGroupStateSummaryRequest, versions 0-1
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
    topics, pos = _read_read_state_summary_data_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ReadShareGroupStateSummaryRequest(group_id, topics, unknown_tags), pos


def _write_read_share_group_state_summary_request_0(out: bytearray, item: ReadShareGroupStateSummaryRequest) -> None:
    # ReadShareGroupStateSummaryRequest, versions 0-1
    put_compact_string(out, item.group_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_read_state_summary_data_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ReadShareGroupStateSummaryRequest(Message):
    """From the group coordinator to the share coordinator: reads how far share partitions are."""

    API_KEY = 87
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_read_share_group_state_summary_request_0, 1: _read_read_share_group_state_summary_request_0}
    ENCODERS = {0: _write_read_share_group_state_summary_request_0, 1: _write_read_share_group_state_summary_request_0}

    FIELDS = ("group_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topics: list[ReadStateSummaryData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class ReadStateSummaryResult(Structure):
    """An element of ReadShareGroupStateSummaryResponse.Results."""

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
    """An element of ReadStateSummaryResult.Partitions.

    * `state_epoch`: Rises whenever the state is set again by the group coordinator; a lower one is fenced.
    * `delivery_complete_count`: Records from the start offset on that are acknowledged or archived; -1 if unknown.
    """

    FIELDS = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.unknown_tags = unknown_tags


def _read_partition_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionResult], int]:
    # PartitionResult, version 0
    if not 0 <= count * 24 <= len(data) - pos:
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
        state_epoch, leader_epoch, start_offset, n = _unpack_iiqB(data, pos)
        pos += 17
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = PartitionResult(
            partition, error_code, error_message, state_epoch, leader_epoch, start_offset, -1, unknown_tags
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
        out += _pack_iiq(item.state_epoch, item.leader_epoch, item.start_offset)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_state_summary_result_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[ReadStateSummaryResult], int]:
    # ReadStateSummaryResult, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReadStateSummaryResult] = []
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
        items.append(ReadStateSummaryResult(topic_id, partitions, unknown_tags))
    return items, pos


def _write_read_state_summary_result_array_0(out: bytearray, items: list[ReadStateSummaryResult]) -> None:
    # ReadStateSummaryResult, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_result_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_share_group_state_summary_response_0(
    data: bytes, pos: int
) -> tuple[ReadShareGroupStateSummaryResponse, int]:
    # ReadShareGroupStateSummaryResponse, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_read_state_summary_result_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ReadShareGroupStateSummaryResponse(results, unknown_tags), pos


def _write_read_share_group_state_summary_response_0(out: bytearray, item: ReadShareGroupStateSummaryResponse) -> None:
    # ReadShareGroupStateSummaryResponse, version 0
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_read_state_summary_result_array_0(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_partition_result_array_1(data: bytes, pos: int, count: int) -> tuple[list[PartitionResult], int]:
    # PartitionResult, version 1
    if not 0 <= count * 28 <= len(data) - pos:
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
        state_epoch, leader_epoch, start_offset, delivery_complete_count, n = _unpack_iiqiB(data, pos)
        pos += 21
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = PartitionResult(
            partition,
            error_code,
            error_message,
            state_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_partition_result_array_1(out: bytearray, items: list[PartitionResult]) -> None:
    # PartitionResult, version 1
    for item in items:
        out += _pack_ih(item.partition, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += _pack_iiqi(item.state_epoch, item.leader_epoch, item.start_offset, item.delivery_complete_count)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_state_summary_result_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[ReadStateSummaryResult], int]:
    # ReadStateSummaryResult, version 1
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[ReadStateSummaryResult] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_partition_result_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ReadStateSummaryResult(topic_id, partitions, unknown_tags))
    return items, pos


def _write_read_state_summary_result_array_1(out: bytearray, items: list[ReadStateSummaryResult]) -> None:
    # ReadStateSummaryResult, version 1
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_result_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_read_share_group_state_summary_response_1(
    data: bytes, pos: int
) -> tuple[ReadShareGroupStateSummaryResponse, int]:
    # ReadShareGroupStateSummaryResponse, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_read_state_summary_result_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ReadShareGroupStateSummaryResponse(results, unknown_tags), pos


def _write_read_share_group_state_summary_response_1(out: bytearray, item: ReadShareGroupStateSummaryResponse) -> None:
    # ReadShareGroupStateSummaryResponse, version 1
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_read_state_summary_result_array_1(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ReadShareGroupStateSummaryResponse(Message):
    """Start offset and count of completed deliveries of each share partition."""

    API_KEY = 87
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_read_share_group_state_summary_response_0, 1: _read_read_share_group_state_summary_response_1}
    ENCODERS = {
        0: _write_read_share_group_state_summary_response_0,
        1: _write_read_share_group_state_summary_response_1,
    }

    FIELDS = ("results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, results: list[ReadStateSummaryResult] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
