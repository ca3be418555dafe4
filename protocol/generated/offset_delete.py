"""OffsetDeleteRequest 0 and OffsetDeleteResponse 0.

Generated from schemas/rpc/OffsetDeleteRequest.json and schemas/rpc/OffsetDeleteResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    Message,
    Structure,
    bad_count,
    bad_length,
)

_iterate_i = Struct(">i").iter_unpack
_iterate_ih = Struct(">ih").iter_unpack
_unpack_h = Struct(">h").unpack_from
_unpack_hii = Struct(">hii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_pack_h = Struct(">h").pack
_pack_hii = Struct(">hii").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


class OffsetDeleteRequestTopic(Structure):
    """An element of OffsetDeleteRequest.Topics."""

    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    def __init__(self, name: str = "", partitions: list[OffsetDeleteRequestPartition] = EMPTY) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetDeleteRequestPartition(Structure):
    """An element of OffsetDeleteRequestTopic.Partitions."""

    FIELDS = ("partition_index",)
    __slots__ = FIELDS

    def __init__(self, partition_index: int = 0) -> None:
        self.partition_index = partition_index


def _read_offset_delete_request_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetDeleteRequestPartition], int]:
    # OffsetDeleteRequestPartition, version 0
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetDeleteRequestPartition] = []
    if count > 3:
        elements = _iterate_i(data[pos : pos + count * 4])
        for (partition_index,) in elements:
            items.append(OffsetDeleteRequestPartition(partition_index))
        pos += len(items) * 4
        count -= len(items)
    for _ in range(count):
        (partition_index,) = _unpack_i(data, pos)
        pos += 4
        items.append(OffsetDeleteRequestPartition(partition_index))
    return items, pos


def _write_offset_delete_request_partition_array_0(out: bytearray, items: list[OffsetDeleteRequestPartition]) -> None:
    # OffsetDeleteRequestPartition, version 0
    for item in items:
        out += _pack_i(item.partition_index)


def _read_offset_delete_request_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetDeleteRequestTopic], int]:
    # OffsetDeleteRequestTopic, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetDeleteRequestTopic] = []
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
        partitions, pos = _read_offset_delete_request_partition_array_0(data, pos, n)
        items.append(OffsetDeleteRequestTopic(name, partitions))
    return items, pos


def _write_offset_delete_request_topic_array_0(out: bytearray, items: list[OffsetDeleteRequestTopic]) -> None:
    # OffsetDeleteRequestTopic, version 0
    for item in items:
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_offset_delete_request_partition_array_0(out, item.partitions)


def _read_offset_delete_request_0(data: bytes, pos: int) -> tuple[OffsetDeleteRequest, int]:
    # OffsetDeleteRequest, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_offset_delete_request_topic_array_0(data, pos, n)
    return OffsetDeleteRequest(group_id, topics), pos


def _write_offset_delete_request_0(out: bytearray, item: OffsetDeleteRequest) -> None:
    # OffsetDeleteRequest, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_i(len(item.topics))
    _write_offset_delete_request_topic_array_0(out, item.topics)


class OffsetDeleteRequest(Message):
    """Deletes committed offsets of topics a group is not subscribed to."""

    API_KEY = 47
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_offset_delete_request_0}
    ENCODERS = {0: _write_offset_delete_request_0}

    FIELDS = ("group_id", "topics")
    __slots__ = FIELDS

    def __init__(self, group_id: str = "", topics: list[OffsetDeleteRequestTopic] = EMPTY) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics


class OffsetDeleteResponseTopic(Structure):
    """An element of OffsetDeleteResponse.Topics."""

    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    def __init__(self, name: str = "", partitions: list[OffsetDeleteResponsePartition] = EMPTY) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetDeleteResponsePartition(Structure):
    """An element of OffsetDeleteResponseTopic.Partitions."""

    FIELDS = ("partition_index", "error_code")
    __slots__ = FIELDS

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


def _read_offset_delete_response_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetDeleteResponsePartition], int]:
    # OffsetDeleteResponsePartition, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetDeleteResponsePartition] = []
    if count > 3:
        elements = _iterate_ih(data[pos : pos + count * 6])
        for partition_index, error_code in elements:
            items.append(OffsetDeleteResponsePartition(partition_index, error_code))
        pos += len(items) * 6
        count -= len(items)
    for _ in range(count):
        partition_index, error_code = _unpack_ih(data, pos)
        pos += 6
        items.append(OffsetDeleteResponsePartition(partition_index, error_code))
    return items, pos


def _write_offset_delete_response_partition_array_0(out: bytearray, items: list[OffsetDeleteResponsePartition]) -> None:
    # OffsetDeleteResponsePartition, version 0
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)


def _read_offset_delete_response_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetDeleteResponseTopic], int]:
    # OffsetDeleteResponseTopic, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetDeleteResponseTopic] = []
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
        partitions, pos = _read_offset_delete_response_partition_array_0(data, pos, n)
        items.append(OffsetDeleteResponseTopic(name, partitions))
    return items, pos


def _write_offset_delete_response_topic_array_0(out: bytearray, items: list[OffsetDeleteResponseTopic]) -> None:
    # OffsetDeleteResponseTopic, version 0
    for item in items:
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_offset_delete_response_partition_array_0(out, item.partitions)


def _read_offset_delete_response_0(data: bytes, pos: int) -> tuple[OffsetDeleteResponse, int]:
    # OffsetDeleteResponse, version 0
    error_code, throttle_time_ms, n = _unpack_hii(data, pos)
    pos += 10
    topics, pos = _read_offset_delete_response_topic_array_0(data, pos, n)
    return OffsetDeleteResponse(error_code, throttle_time_ms, topics), pos


def _write_offset_delete_response_0(out: bytearray, item: OffsetDeleteResponse) -> None:
    # OffsetDeleteResponse, version 0
    out += _pack_hii(item.error_code, item.throttle_time_ms, len(item.topics))
    _write_offset_delete_response_topic_array_0(out, item.topics)


class OffsetDeleteResponse(Message):
    """What became of each partition.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 47
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_offset_delete_response_0}
    ENCODERS = {0: _write_offset_delete_response_0}

    FIELDS = ("error_code", "throttle_time_ms", "topics")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
