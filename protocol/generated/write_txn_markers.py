"""WriteTxnMarkersRequest 1-2 and WriteTxnMarkersResponse 1-2.

Generated from schemas/rpc/WriteTxnMarkersRequest.json and schemas/rpc/WriteTxnMarkersResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
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

_iterate_ihB = Struct(">ihB").iter_unpack
_unpack_iB = Struct(">iB").unpack_from
_unpack_ibB = Struct(">ibB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_unpack_qhtB = Struct(">qh?B").unpack_from
_pack_i = Struct(">i").pack
_pack_ib = Struct(">ib").pack
_pack_ih = Struct(">ih").pack
_pack_q = Struct(">q").pack
_pack_qht = Struct(">qh?").pack


class WritableTxnMarker(Structure):
    """An element of WriteTxnMarkersRequest.Markers.

    * `transaction_result`: True for commit, false for abort.
    * `transaction_version`: The level of transaction.version the transaction runs under.
    """

    FIELDS = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
        "transaction_version",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] = EMPTY,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = [] if topics is EMPTY else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version
        self.unknown_tags = unknown_tags


class WritableTxnMarkerTopic(Structure):
    """An element of WritableTxnMarker.Topics."""

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


def _read_writable_txn_marker_topic_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[WritableTxnMarkerTopic], int]:
    # WritableTxnMarkerTopic, versions 1-2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[WritableTxnMarkerTopic] = []
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
        items.append(WritableTxnMarkerTopic(name, partition_indexes, unknown_tags))
    return items, pos


def _write_writable_txn_marker_topic_array_1(out: bytearray, items: list[WritableTxnMarkerTopic]) -> None:
    # WritableTxnMarkerTopic, versions 1-2
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partition_indexes) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partition_indexes, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_writable_txn_marker_array_1(data: bytes, pos: int, count: int) -> tuple[list[WritableTxnMarker], int]:
    # WritableTxnMarker, version 1
    if not 0 <= count * 17 <= len(data) - pos:
        raise bad_count(count)
    items: list[WritableTxnMarker] = []
    for _ in range(count):
        producer_id, producer_epoch, transaction_result, n = _unpack_qhtB(data, pos)
        pos += 12
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_writable_txn_marker_topic_array_1(data, pos, n - 1)
        coordinator_epoch, n = _unpack_iB(data, pos)
        pos += 5
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = WritableTxnMarker(
            producer_id, producer_epoch, transaction_result, topics, coordinator_epoch, 0, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_writable_txn_marker_array_1(out: bytearray, items: list[WritableTxnMarker]) -> None:
    # WritableTxnMarker, version 1
    for item in items:
        out += _pack_qht(item.producer_id, item.producer_epoch, item.transaction_result)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_writable_txn_marker_topic_array_1(out, item.topics)
        out += _pack_i(item.coordinator_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_write_txn_markers_request_1(data: bytes, pos: int) -> tuple[WriteTxnMarkersRequest, int]:
    # WriteTxnMarkersRequest, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    markers, pos = _read_writable_txn_marker_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return WriteTxnMarkersRequest(markers, unknown_tags), pos


def _write_write_txn_markers_request_1(out: bytearray, item: WriteTxnMarkersRequest) -> None:
    # WriteTxnMarkersRequest, version 1
    n = len(item.markers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_writable_txn_marker_array_1(out, item.markers)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_writable_txn_marker_array_2(data: bytes, pos: int, count: int) -> tuple[list[WritableTxnMarker], int]:
    # WritableTxnMarker, version 2
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[WritableTxnMarker] = []
    for _ in range(count):
        producer_id, producer_epoch, transaction_result, n = _unpack_qhtB(data, pos)
        pos += 12
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_writable_txn_marker_topic_array_1(data, pos, n - 1)
        coordinator_epoch, transaction_version, n = _unpack_ibB(data, pos)
        pos += 6
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = WritableTxnMarker(
            producer_id,
            producer_epoch,
            transaction_result,
            topics,
            coordinator_epoch,
            transaction_version,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_writable_txn_marker_array_2(out: bytearray, items: list[WritableTxnMarker]) -> None:
    # WritableTxnMarker, version 2
    for item in items:
        out += _pack_qht(item.producer_id, item.producer_epoch, item.transaction_result)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_writable_txn_marker_topic_array_1(out, item.topics)
        out += _pack_ib(item.coordinator_epoch, item.transaction_version)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_write_txn_markers_request_2(data: bytes, pos: int) -> tuple[WriteTxnMarkersRequest, int]:
    # WriteTxnMarkersRequest, version 2
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    markers, pos = _read_writable_txn_marker_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return WriteTxnMarkersRequest(markers, unknown_tags), pos


def _write_write_txn_markers_request_2(out: bytearray, item: WriteTxnMarkersRequest) -> None:
    # WriteTxnMarkersRequest, version 2
    n = len(item.markers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_writable_txn_marker_array_2(out, item.markers)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class WriteTxnMarkersRequest(Message):
    """From the transaction coordinator: writes commit and abort markers."""

    API_KEY = 27
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 1
    DECODERS = {1: _read_write_txn_markers_request_1, 2: _read_write_txn_markers_request_2}
    ENCODERS = {1: _write_write_txn_markers_request_1, 2: _write_write_txn_markers_request_2}

    FIELDS = ("markers", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, markers: list[WritableTxnMarker] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.markers = [] if markers is EMPTY else markers
        self.unknown_tags = unknown_tags


class WritableTxnMarkerResult(Structure):
    """An element of WriteTxnMarkersResponse.Markers."""

    FIELDS = ("producer_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        producer_id: int = 0,
        topics: list[WritableTxnMarkerTopicResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.producer_id = producer_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class WritableTxnMarkerTopicResult(Structure):
    """An element of WritableTxnMarkerResult.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[WritableTxnMarkerPartitionResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class WritableTxnMarkerPartitionResult(Structure):
    """An element of WritableTxnMarkerTopicResult.Partitions."""

    FIELDS = ("partition_index", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tags = unknown_tags


def _read_writable_txn_marker_partition_result_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[WritableTxnMarkerPartitionResult], int]:
    # WritableTxnMarkerPartitionResult, versions 1-2
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[WritableTxnMarkerPartitionResult] = []
    if count > 3 and count * 7 <= len(data) - pos:
        elements = _iterate_ihB(data[pos : pos + count * 7])
        for partition_index, error_code, n in elements:
            if n:
                break
            items.append(WritableTxnMarkerPartitionResult(partition_index, error_code))
        pos += len(items) * 7
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, n = _unpack_ihB(data, pos)
        pos += 7
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(WritableTxnMarkerPartitionResult(partition_index, error_code, unknown_tags))
    return items, pos


def _write_writable_txn_marker_partition_result_array_1(
    out: bytearray, items: list[WritableTxnMarkerPartitionResult]
) -> None:
    # WritableTxnMarkerPartitionResult, versions 1-2
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_writable_txn_marker_topic_result_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[WritableTxnMarkerTopicResult], int]:
    # WritableTxnMarkerTopicResult, versions 1-2
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[WritableTxnMarkerTopicResult] = []
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
        partitions, pos = _read_writable_txn_marker_partition_result_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(WritableTxnMarkerTopicResult(name, partitions, unknown_tags))
    return items, pos


def _write_writable_txn_marker_topic_result_array_1(out: bytearray, items: list[WritableTxnMarkerTopicResult]) -> None:
    # WritableTxnMarkerTopicResult, versions 1-2
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_writable_txn_marker_partition_result_array_1(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_writable_txn_marker_result_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[WritableTxnMarkerResult], int]:
    # WritableTxnMarkerResult, versions 1-2
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[WritableTxnMarkerResult] = []
    for _ in range(count):
        producer_id, n = _unpack_qB(data, pos)
        pos += 9
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_writable_txn_marker_topic_result_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(WritableTxnMarkerResult(producer_id, topics, unknown_tags))
    return items, pos


def _write_writable_txn_marker_result_array_1(out: bytearray, items: list[WritableTxnMarkerResult]) -> None:
    # WritableTxnMarkerResult, versions 1-2
    for item in items:
        out += _pack_q(item.producer_id)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_writable_txn_marker_topic_result_array_1(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_write_txn_markers_response_1(data: bytes, pos: int) -> tuple[WriteTxnMarkersResponse, int]:
    # WriteTxnMarkersResponse, versions 1-2
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    markers, pos = _read_writable_txn_marker_result_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return WriteTxnMarkersResponse(markers, unknown_tags), pos


def _write_write_txn_markers_response_1(out: bytearray, item: WriteTxnMarkersResponse) -> None:
    # WriteTxnMarkersResponse, versions 1-2
    n = len(item.markers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_writable_txn_marker_result_array_1(out, item.markers)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class WriteTxnMarkersResponse(Message):
    """What became of each partition's marker."""

    API_KEY = 27
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 1
    DECODERS = {1: _read_write_txn_markers_response_1, 2: _read_write_txn_markers_response_1}
    ENCODERS = {1: _write_write_txn_markers_response_1, 2: _write_write_txn_markers_response_1}

    FIELDS = ("markers", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, markers: list[WritableTxnMarkerResult] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.markers = [] if markers is EMPTY else markers
        self.unknown_tags = unknown_tags
