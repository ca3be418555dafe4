"""OffsetForLeaderEpochRequest 2-4 and OffsetForLeaderEpochResponse 2-4.

Generated from schemas/rpc/OffsetForLeaderEpochRequest.json and schemas/rpc/OffsetForLeaderEpochResponse.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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

_iterate_hiiq = Struct(">hiiq").iter_unpack
_iterate_hiiqB = Struct(">hiiqB").iter_unpack
_iterate_iii = Struct(">iii").iter_unpack
_iterate_iiiB = Struct(">iiiB").iter_unpack
_unpack_h = Struct(">h").unpack_from
_unpack_hiiq = Struct(">hiiq").unpack_from
_unpack_hiiqB = Struct(">hiiqB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iii = Struct(">iii").unpack_from
_unpack_iiiB = Struct(">iiiB").unpack_from
_pack_h = Struct(">h").pack
_pack_hiiq = Struct(">hiiq").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack
_pack_iii = Struct(">iii").pack


class OffsetForLeaderTopic(Structure):
    """An element of OffsetForLeaderEpochRequest.Topics."""

    FIELDS = ("topic", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class OffsetForLeaderPartition(Structure):
    """An element of OffsetForLeaderTopic.Partitions.

    * `current_leader_epoch`: The leader epoch as the client knows it; -1 to skip the check.
    """

    FIELDS = ("partition", "current_leader_epoch", "leader_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch
        self.unknown_tags = unknown_tags


def _read_offset_for_leader_partition_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetForLeaderPartition], int]:
    # OffsetForLeaderPartition, versions 2-3
    if not 0 <= count * 12 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetForLeaderPartition] = []
    if count > 3:
        elements = _iterate_iii(data[pos : pos + count * 12])
        for partition, current_leader_epoch, leader_epoch in elements:
            items.append(OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch))
        pos += len(items) * 12
        count -= len(items)
    for _ in range(count):
        partition, current_leader_epoch, leader_epoch = _unpack_iii(data, pos)
        pos += 12
        items.append(OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch))
    return items, pos


def _write_offset_for_leader_partition_array_2(out: bytearray, items: list[OffsetForLeaderPartition]) -> None:
    # OffsetForLeaderPartition, versions 2-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetForLeaderPartition", "unknown_tags")
        out += _pack_iii(item.partition, item.current_leader_epoch, item.leader_epoch)


def _read_offset_for_leader_topic_array_2(data: bytes, pos: int, count: int) -> tuple[list[OffsetForLeaderTopic], int]:
    # OffsetForLeaderTopic, versions 2-3
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetForLeaderTopic] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_offset_for_leader_partition_array_2(data, pos, n)
        items.append(OffsetForLeaderTopic(topic, partitions))
    return items, pos


def _write_offset_for_leader_topic_array_2(out: bytearray, items: list[OffsetForLeaderTopic]) -> None:
    # OffsetForLeaderTopic, versions 2-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetForLeaderTopic", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_offset_for_leader_partition_array_2(out, item.partitions)


def _read_offset_for_leader_epoch_request_2(data: bytes, pos: int) -> tuple[OffsetForLeaderEpochRequest, int]:
    # OffsetForLeaderEpochRequest, version 2
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_offset_for_leader_topic_array_2(data, pos, n)
    return OffsetForLeaderEpochRequest(-2, topics), pos


def _write_offset_for_leader_epoch_request_2(out: bytearray, item: OffsetForLeaderEpochRequest) -> None:
    # OffsetForLeaderEpochRequest, version 2
    if item.unknown_tags:
        raise not_in_version("OffsetForLeaderEpochRequest", "unknown_tags")
    out += _pack_i(len(item.topics))
    _write_offset_for_leader_topic_array_2(out, item.topics)


def _read_offset_for_leader_epoch_request_3(data: bytes, pos: int) -> tuple[OffsetForLeaderEpochRequest, int]:
    # OffsetForLeaderEpochRequest, version 3
    replica_id, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_offset_for_leader_topic_array_2(data, pos, n)
    return OffsetForLeaderEpochRequest(replica_id, topics), pos


def _write_offset_for_leader_epoch_request_3(out: bytearray, item: OffsetForLeaderEpochRequest) -> None:
    # OffsetForLeaderEpochRequest, version 3
    if item.unknown_tags:
        raise not_in_version("OffsetForLeaderEpochRequest", "unknown_tags")
    out += _pack_ii(item.replica_id, len(item.topics))
    _write_offset_for_leader_topic_array_2(out, item.topics)


def _read_offset_for_leader_partition_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetForLeaderPartition], int]:
    # OffsetForLeaderPartition, version 4
    if not 0 <= count * 13 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetForLeaderPartition] = []
    if count > 3 and count * 13 <= len(data) - pos:
        elements = _iterate_iiiB(data[pos : pos + count * 13])
        for partition, current_leader_epoch, leader_epoch, n in elements:
            if n:
                break
            items.append(OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch))
        pos += len(items) * 13
        count -= len(items)
    for _ in range(count):
        partition, current_leader_epoch, leader_epoch, n = _unpack_iiiB(data, pos)
        pos += 13
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch, unknown_tags))
    return items, pos


def _write_offset_for_leader_partition_array_4(out: bytearray, items: list[OffsetForLeaderPartition]) -> None:
    # OffsetForLeaderPartition, version 4
    for item in items:
        out += _pack_iii(item.partition, item.current_leader_epoch, item.leader_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_for_leader_topic_array_4(data: bytes, pos: int, count: int) -> tuple[list[OffsetForLeaderTopic], int]:
    # OffsetForLeaderTopic, version 4
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetForLeaderTopic] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_offset_for_leader_partition_array_4(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetForLeaderTopic(topic, partitions, unknown_tags))
    return items, pos


def _write_offset_for_leader_topic_array_4(out: bytearray, items: list[OffsetForLeaderTopic]) -> None:
    # OffsetForLeaderTopic, version 4
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_offset_for_leader_partition_array_4(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_for_leader_epoch_request_4(data: bytes, pos: int) -> tuple[OffsetForLeaderEpochRequest, int]:
    # OffsetForLeaderEpochRequest, version 4
    replica_id, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_offset_for_leader_topic_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetForLeaderEpochRequest(replica_id, topics, unknown_tags), pos


def _write_offset_for_leader_epoch_request_4(out: bytearray, item: OffsetForLeaderEpochRequest) -> None:
    # OffsetForLeaderEpochRequest, version 4
    out += _pack_i(item.replica_id)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_for_leader_topic_array_4(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class OffsetForLeaderEpochRequest(Message):
    """Asks where leader epochs ended."""

    API_KEY = 23
    MIN_VERSION = 2
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    DECODERS = {
        2: _read_offset_for_leader_epoch_request_2,
        3: _read_offset_for_leader_epoch_request_3,
        4: _read_offset_for_leader_epoch_request_4,
    }
    ENCODERS = {
        2: _write_offset_for_leader_epoch_request_2,
        3: _write_offset_for_leader_epoch_request_3,
        4: _write_offset_for_leader_epoch_request_4,
    }

    FIELDS = ("replica_id", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class OffsetForLeaderTopicResult(Structure):
    """An element of OffsetForLeaderEpochResponse.Topics."""

    FIELDS = ("topic", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[EpochEndOffset] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class EpochEndOffset(Structure):
    """An element of OffsetForLeaderTopicResult.Partitions."""

    FIELDS = ("error_code", "partition", "leader_epoch", "end_offset", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset
        self.unknown_tags = unknown_tags


def _read_epoch_end_offset_array_2(data: bytes, pos: int, count: int) -> tuple[list[EpochEndOffset], int]:
    # EpochEndOffset, versions 2-3
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[EpochEndOffset] = []
    if count > 3:
        elements = _iterate_hiiq(data[pos : pos + count * 18])
        for error_code, partition, leader_epoch, end_offset in elements:
            items.append(EpochEndOffset(error_code, partition, leader_epoch, end_offset))
        pos += len(items) * 18
        count -= len(items)
    for _ in range(count):
        error_code, partition, leader_epoch, end_offset = _unpack_hiiq(data, pos)
        pos += 18
        items.append(EpochEndOffset(error_code, partition, leader_epoch, end_offset))
    return items, pos


def _write_epoch_end_offset_array_2(out: bytearray, items: list[EpochEndOffset]) -> None:
    # EpochEndOffset, versions 2-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("EpochEndOffset", "unknown_tags")
        out += _pack_hiiq(item.error_code, item.partition, item.leader_epoch, item.end_offset)


def _read_offset_for_leader_topic_result_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetForLeaderTopicResult], int]:
    # OffsetForLeaderTopicResult, versions 2-3
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetForLeaderTopicResult] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        topic = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        partitions, pos = _read_epoch_end_offset_array_2(data, pos, n)
        items.append(OffsetForLeaderTopicResult(topic, partitions))
    return items, pos


def _write_offset_for_leader_topic_result_array_2(out: bytearray, items: list[OffsetForLeaderTopicResult]) -> None:
    # OffsetForLeaderTopicResult, versions 2-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OffsetForLeaderTopicResult", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_epoch_end_offset_array_2(out, item.partitions)


def _read_offset_for_leader_epoch_response_2(data: bytes, pos: int) -> tuple[OffsetForLeaderEpochResponse, int]:
    # OffsetForLeaderEpochResponse, versions 2-3
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_offset_for_leader_topic_result_array_2(data, pos, n)
    return OffsetForLeaderEpochResponse(throttle_time_ms, topics), pos


def _write_offset_for_leader_epoch_response_2(out: bytearray, item: OffsetForLeaderEpochResponse) -> None:
    # OffsetForLeaderEpochResponse, versions 2-3
    if item.unknown_tags:
        raise not_in_version("OffsetForLeaderEpochResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.topics))
    _write_offset_for_leader_topic_result_array_2(out, item.topics)


def _read_epoch_end_offset_array_4(data: bytes, pos: int, count: int) -> tuple[list[EpochEndOffset], int]:
    # EpochEndOffset, version 4
    if not 0 <= count * 19 <= len(data) - pos:
        raise bad_count(count)
    items: list[EpochEndOffset] = []
    if count > 3 and count * 19 <= len(data) - pos:
        elements = _iterate_hiiqB(data[pos : pos + count * 19])
        for error_code, partition, leader_epoch, end_offset, n in elements:
            if n:
                break
            items.append(EpochEndOffset(error_code, partition, leader_epoch, end_offset))
        pos += len(items) * 19
        count -= len(items)
    for _ in range(count):
        error_code, partition, leader_epoch, end_offset, n = _unpack_hiiqB(data, pos)
        pos += 19
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(EpochEndOffset(error_code, partition, leader_epoch, end_offset, unknown_tags))
    return items, pos


def _write_epoch_end_offset_array_4(out: bytearray, items: list[EpochEndOffset]) -> None:
    # EpochEndOffset, version 4
    for item in items:
        out += _pack_hiiq(item.error_code, item.partition, item.leader_epoch, item.end_offset)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_for_leader_topic_result_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[OffsetForLeaderTopicResult], int]:
    # OffsetForLeaderTopicResult, version 4
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[OffsetForLeaderTopicResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        topic = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_epoch_end_offset_array_4(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OffsetForLeaderTopicResult(topic, partitions, unknown_tags))
    return items, pos


def _write_offset_for_leader_topic_result_array_4(out: bytearray, items: list[OffsetForLeaderTopicResult]) -> None:
    # OffsetForLeaderTopicResult, version 4
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_epoch_end_offset_array_4(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_offset_for_leader_epoch_response_4(data: bytes, pos: int) -> tuple[OffsetForLeaderEpochResponse, int]:
    # OffsetForLeaderEpochResponse, version 4
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_offset_for_leader_topic_result_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return OffsetForLeaderEpochResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_offset_for_leader_epoch_response_4(out: bytearray, item: OffsetForLeaderEpochResponse) -> None:
    # OffsetForLeaderEpochResponse, version 4
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_offset_for_leader_topic_result_array_4(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class OffsetForLeaderEpochResponse(Message):
    """The end offset of each epoch, or of the largest one before it.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 23
    MIN_VERSION = 2
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    DECODERS = {
        2: _read_offset_for_leader_epoch_response_2,
        3: _read_offset_for_leader_epoch_response_2,
        4: _read_offset_for_leader_epoch_response_4,
    }
    ENCODERS = {
        2: _write_offset_for_leader_epoch_response_2,
        3: _write_offset_for_leader_epoch_response_2,
        4: _write_offset_for_leader_epoch_response_4,
    }

    FIELDS = ("throttle_time_ms", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
