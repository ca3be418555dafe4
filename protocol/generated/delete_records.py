"""DeleteRecordsRequest 0-2 and DeleteRecordsResponse 0-2.

Generated from schemas/rpc/DeleteRecordsRequest.json and schemas/rpc/DeleteRecordsResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
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
    bad_length,
    not_in_version,
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_iq = Struct(">iq").iter_unpack
_iterate_iqB = Struct(">iqB").iter_unpack
_iterate_iqh = Struct(">iqh").iter_unpack
_iterate_iqhB = Struct(">iqhB").iter_unpack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqhB = Struct(">iqhB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack
_pack_iq = Struct(">iq").pack
_pack_iqh = Struct(">iqh").pack


class DeleteRecordsTopic(Structure):
    """An element of DeleteRecordsRequest.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class DeleteRecordsPartition(Structure):
    """An element of DeleteRecordsTopic.Partitions.

    * `offset`: The new log start; -1 for the high watermark.
    """

    FIELDS = ("partition_index", "offset", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        offset: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset
        self.unknown_tags = unknown_tags


def _read_delete_records_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteRecordsPartition], int]:
    # DeleteRecordsPartition, versions 0-1
    if not 0 <= count * 12 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteRecordsPartition] = []
    if count > 3:
        elements = _iterate_iq(data[pos : pos + count * 12])
        for partition_index, offset in elements:
            items.append(DeleteRecordsPartition(partition_index, offset))
        pos += len(items) * 12
        count -= len(items)
    for _ in range(count):
        partition_index, offset = _unpack_iq(data, pos)
        pos += 12
        items.append(DeleteRecordsPartition(partition_index, offset))
    return items, pos


def _write_delete_records_partition_array_0(out: bytearray, items: list[DeleteRecordsPartition]) -> None:
    # DeleteRecordsPartition, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DeleteRecordsPartition", "unknown_tags")
        out += _pack_iq(item.partition_index, item.offset)


def _read_delete_records_topic_array_0(data: bytes, pos: int, count: int) -> tuple[list[DeleteRecordsTopic], int]:
    # DeleteRecordsTopic, versions 0-1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteRecordsTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_delete_records_partition_array_0(data, pos, n)
        items.append(DeleteRecordsTopic(name, partitions))
    return items, pos


def _write_delete_records_topic_array_0(out: bytearray, items: list[DeleteRecordsTopic]) -> None:
    # DeleteRecordsTopic, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DeleteRecordsTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_delete_records_partition_array_0(out, item.partitions)


def _read_delete_records_request_0(data: bytes, pos: int) -> tuple[DeleteRecordsRequest, int]:
    # DeleteRecordsRequest, versions 0-1
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_delete_records_topic_array_0(data, pos, n)
    (timeout_ms,) = _unpack_i(data, pos)
    pos += 4
    return DeleteRecordsRequest(topics, timeout_ms), pos


def _write_delete_records_request_0(out: bytearray, item: DeleteRecordsRequest) -> None:
    # DeleteRecordsRequest, versions 0-1
    if item.unknown_tags:
        raise not_in_version("DeleteRecordsRequest", "unknown_tags")
    out += _pack_i(len(item.topics))
    _write_delete_records_topic_array_0(out, item.topics)
    out += _pack_i(item.timeout_ms)


def _read_delete_records_partition_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteRecordsPartition], int]:
    # DeleteRecordsPartition, version 2
    if not 0 <= count * 13 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteRecordsPartition] = []
    if count > 3 and count * 13 <= len(data) - pos:
        elements = _iterate_iqB(data[pos : pos + count * 13])
        for partition_index, offset, n in elements:
            if n:
                break
            items.append(DeleteRecordsPartition(partition_index, offset))
        pos += len(items) * 13
        count -= len(items)
    for _ in range(count):
        partition_index, offset, n = _unpack_iqB(data, pos)
        pos += 13
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeleteRecordsPartition(partition_index, offset, unknown_tags))
    return items, pos


def _write_delete_records_partition_array_2(out: bytearray, items: list[DeleteRecordsPartition]) -> None:
    # DeleteRecordsPartition, version 2
    for item in items:
        out += _pack_iq(item.partition_index, item.offset)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_records_topic_array_2(data: bytes, pos: int, count: int) -> tuple[list[DeleteRecordsTopic], int]:
    # DeleteRecordsTopic, version 2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteRecordsTopic] = []
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
        partitions, pos = _read_delete_records_partition_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeleteRecordsTopic(name, partitions, unknown_tags))
    return items, pos


def _write_delete_records_topic_array_2(out: bytearray, items: list[DeleteRecordsTopic]) -> None:
    # DeleteRecordsTopic, version 2
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_delete_records_partition_array_2(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_records_request_2(data: bytes, pos: int) -> tuple[DeleteRecordsRequest, int]:
    # DeleteRecordsRequest, version 2
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_delete_records_topic_array_2(data, pos, n - 1)
    timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteRecordsRequest(topics, timeout_ms, unknown_tags), pos


def _write_delete_records_request_2(out: bytearray, item: DeleteRecordsRequest) -> None:
    # DeleteRecordsRequest, version 2
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_delete_records_topic_array_2(out, item.topics)
    out += _pack_i(item.timeout_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteRecordsRequest(Message):
    """Moves the log start of partitions forward."""

    API_KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {0: _read_delete_records_request_0, 1: _read_delete_records_request_0, 2: _read_delete_records_request_2}
    ENCODERS = {
        0: _write_delete_records_request_0,
        1: _write_delete_records_request_0,
        2: _write_delete_records_request_2,
    }

    FIELDS = ("topics", "timeout_ms", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topics: list[DeleteRecordsTopic] = EMPTY,
        timeout_ms: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.unknown_tags = unknown_tags


class DeleteRecordsTopicResult(Structure):
    """An element of DeleteRecordsResponse.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class DeleteRecordsPartitionResult(Structure):
    """An element of DeleteRecordsTopicResult.Partitions.

    * `low_watermark`: The smallest log start of all replicas.
    """

    FIELDS = ("partition_index", "low_watermark", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code
        self.unknown_tags = unknown_tags


def _read_delete_records_partition_result_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteRecordsPartitionResult], int]:
    # DeleteRecordsPartitionResult, versions 0-1
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteRecordsPartitionResult] = []
    if count > 3:
        elements = _iterate_iqh(data[pos : pos + count * 14])
        for partition_index, low_watermark, error_code in elements:
            items.append(DeleteRecordsPartitionResult(partition_index, low_watermark, error_code))
        pos += len(items) * 14
        count -= len(items)
    for _ in range(count):
        partition_index, low_watermark, error_code = _unpack_iqh(data, pos)
        pos += 14
        items.append(DeleteRecordsPartitionResult(partition_index, low_watermark, error_code))
    return items, pos


def _write_delete_records_partition_result_array_0(out: bytearray, items: list[DeleteRecordsPartitionResult]) -> None:
    # DeleteRecordsPartitionResult, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DeleteRecordsPartitionResult", "unknown_tags")
        out += _pack_iqh(item.partition_index, item.low_watermark, item.error_code)


def _read_delete_records_topic_result_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteRecordsTopicResult], int]:
    # DeleteRecordsTopicResult, versions 0-1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteRecordsTopicResult] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_delete_records_partition_result_array_0(data, pos, n)
        items.append(DeleteRecordsTopicResult(name, partitions))
    return items, pos


def _write_delete_records_topic_result_array_0(out: bytearray, items: list[DeleteRecordsTopicResult]) -> None:
    # DeleteRecordsTopicResult, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DeleteRecordsTopicResult", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_delete_records_partition_result_array_0(out, item.partitions)


def _read_delete_records_response_0(data: bytes, pos: int) -> tuple[DeleteRecordsResponse, int]:
    # DeleteRecordsResponse, versions 0-1
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_delete_records_topic_result_array_0(data, pos, n)
    return DeleteRecordsResponse(throttle_time_ms, topics), pos


def _write_delete_records_response_0(out: bytearray, item: DeleteRecordsResponse) -> None:
    # DeleteRecordsResponse, versions 0-1
    if item.unknown_tags:
        raise not_in_version("DeleteRecordsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.topics))
    _write_delete_records_topic_result_array_0(out, item.topics)


def _read_delete_records_partition_result_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteRecordsPartitionResult], int]:
    # DeleteRecordsPartitionResult, version 2
    if not 0 <= count * 15 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteRecordsPartitionResult] = []
    if count > 3 and count * 15 <= len(data) - pos:
        elements = _iterate_iqhB(data[pos : pos + count * 15])
        for partition_index, low_watermark, error_code, n in elements:
            if n:
                break
            items.append(DeleteRecordsPartitionResult(partition_index, low_watermark, error_code))
        pos += len(items) * 15
        count -= len(items)
    for _ in range(count):
        partition_index, low_watermark, error_code, n = _unpack_iqhB(data, pos)
        pos += 15
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeleteRecordsPartitionResult(partition_index, low_watermark, error_code, unknown_tags))
    return items, pos


def _write_delete_records_partition_result_array_2(out: bytearray, items: list[DeleteRecordsPartitionResult]) -> None:
    # DeleteRecordsPartitionResult, version 2
    for item in items:
        out += _pack_iqh(item.partition_index, item.low_watermark, item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_records_topic_result_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteRecordsTopicResult], int]:
    # DeleteRecordsTopicResult, version 2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteRecordsTopicResult] = []
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
        partitions, pos = _read_delete_records_partition_result_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeleteRecordsTopicResult(name, partitions, unknown_tags))
    return items, pos


def _write_delete_records_topic_result_array_2(out: bytearray, items: list[DeleteRecordsTopicResult]) -> None:
    # DeleteRecordsTopicResult, version 2
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_delete_records_partition_result_array_2(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_records_response_2(data: bytes, pos: int) -> tuple[DeleteRecordsResponse, int]:
    # DeleteRecordsResponse, version 2
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_delete_records_topic_result_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteRecordsResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_delete_records_response_2(out: bytearray, item: DeleteRecordsResponse) -> None:
    # DeleteRecordsResponse, version 2
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_delete_records_topic_result_array_2(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteRecordsResponse(Message):
    """What became of each partition.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {
        0: _read_delete_records_response_0,
        1: _read_delete_records_response_0,
        2: _read_delete_records_response_2,
    }
    ENCODERS = {
        0: _write_delete_records_response_0,
        1: _write_delete_records_response_0,
        2: _write_delete_records_response_2,
    }

    FIELDS = ("throttle_time_ms", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
