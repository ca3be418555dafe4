"""ListOffsetsRequest 1-11 and ListOffsetsResponse 1-11.

Generated from schemas/rpc/ListOffsetsRequest.json and schemas/rpc/ListOffsetsResponse.json (Apache Kafka 4.4.0) by
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

_iterate_ihqq = Struct(">ihqq").iter_unpack
_iterate_ihqqi = Struct(">ihqqi").iter_unpack
_iterate_ihqqiB = Struct(">ihqqiB").iter_unpack
_iterate_iiq = Struct(">iiq").iter_unpack
_iterate_iiqB = Struct(">iiqB").iter_unpack
_iterate_iq = Struct(">iq").iter_unpack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ibB = Struct(">ibB").unpack_from
_unpack_ibi = Struct(">ibi").unpack_from
_unpack_ihqq = Struct(">ihqq").unpack_from
_unpack_ihqqi = Struct(">ihqqi").unpack_from
_unpack_ihqqiB = Struct(">ihqqiB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiq = Struct(">iiq").unpack_from
_unpack_iiqB = Struct(">iiqB").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ib = Struct(">ib").pack
_pack_ibi = Struct(">ibi").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqi = Struct(">ihqqi").pack
_pack_ii = Struct(">ii").pack
_pack_iiq = Struct(">iiq").pack
_pack_iq = Struct(">iq").pack


class ListOffsetsTopic(Structure):
    """An element of ListOffsetsRequest.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class ListOffsetsPartition(Structure):
    """An element of ListOffsetsTopic.Partitions.

    * `current_leader_epoch`: The leader epoch as the client knows it; -1 to skip the check.
    * `timestamp`: Milliseconds since the epoch; -1 the end, -2 the start, -3 the record with the largest timestamp, -4
    the local start, -5 the end of remote storage, -6 the start of what is yet to be uploaded.
    """

    FIELDS = ("partition_index", "current_leader_epoch", "timestamp", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp
        self.unknown_tags = unknown_tags


def _read_list_offsets_partition_array_1(data: bytes, pos: int, count: int) -> tuple[list[ListOffsetsPartition], int]:
    # ListOffsetsPartition, versions 1-3
    if not 0 <= count * 12 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsPartition] = []
    if count > 3:
        elements = _iterate_iq(data[pos : pos + count * 12])
        for partition_index, timestamp in elements:
            items.append(ListOffsetsPartition(partition_index, -1, timestamp))
        pos += len(items) * 12
        count -= len(items)
    for _ in range(count):
        partition_index, timestamp = _unpack_iq(data, pos)
        pos += 12
        items.append(ListOffsetsPartition(partition_index, -1, timestamp))
    return items, pos


def _write_list_offsets_partition_array_1(out: bytearray, items: list[ListOffsetsPartition]) -> None:
    # ListOffsetsPartition, versions 1-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ListOffsetsPartition", "unknown_tags")
        out += _pack_iq(item.partition_index, item.timestamp)


def _read_list_offsets_topic_array_1(data: bytes, pos: int, count: int) -> tuple[list[ListOffsetsTopic], int]:
    # ListOffsetsTopic, versions 1-3
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsTopic] = []
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
        partitions, pos = _read_list_offsets_partition_array_1(data, pos, n)
        items.append(ListOffsetsTopic(name, partitions))
    return items, pos


def _write_list_offsets_topic_array_1(out: bytearray, items: list[ListOffsetsTopic]) -> None:
    # ListOffsetsTopic, versions 1-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ListOffsetsTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_list_offsets_partition_array_1(out, item.partitions)


def _read_list_offsets_request_1(data: bytes, pos: int) -> tuple[ListOffsetsRequest, int]:
    # ListOffsetsRequest, version 1
    replica_id, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_list_offsets_topic_array_1(data, pos, n)
    return ListOffsetsRequest(replica_id, 0, topics, 0), pos


def _write_list_offsets_request_1(out: bytearray, item: ListOffsetsRequest) -> None:
    # ListOffsetsRequest, version 1
    if item.isolation_level != 0:
        raise not_in_version("ListOffsetsRequest", "isolation_level")
    if item.unknown_tags:
        raise not_in_version("ListOffsetsRequest", "unknown_tags")
    out += _pack_ii(item.replica_id, len(item.topics))
    _write_list_offsets_topic_array_1(out, item.topics)


def _read_list_offsets_request_2(data: bytes, pos: int) -> tuple[ListOffsetsRequest, int]:
    # ListOffsetsRequest, versions 2-3
    replica_id, isolation_level, n = _unpack_ibi(data, pos)
    pos += 9
    topics, pos = _read_list_offsets_topic_array_1(data, pos, n)
    return ListOffsetsRequest(replica_id, isolation_level, topics, 0), pos


def _write_list_offsets_request_2(out: bytearray, item: ListOffsetsRequest) -> None:
    # ListOffsetsRequest, versions 2-3
    if item.unknown_tags:
        raise not_in_version("ListOffsetsRequest", "unknown_tags")
    out += _pack_ibi(item.replica_id, item.isolation_level, len(item.topics))
    _write_list_offsets_topic_array_1(out, item.topics)


def _read_list_offsets_partition_array_4(data: bytes, pos: int, count: int) -> tuple[list[ListOffsetsPartition], int]:
    # ListOffsetsPartition, versions 4-5
    if not 0 <= count * 16 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsPartition] = []
    if count > 3:
        elements = _iterate_iiq(data[pos : pos + count * 16])
        for partition_index, current_leader_epoch, timestamp in elements:
            items.append(ListOffsetsPartition(partition_index, current_leader_epoch, timestamp))
        pos += len(items) * 16
        count -= len(items)
    for _ in range(count):
        partition_index, current_leader_epoch, timestamp = _unpack_iiq(data, pos)
        pos += 16
        items.append(ListOffsetsPartition(partition_index, current_leader_epoch, timestamp))
    return items, pos


def _write_list_offsets_partition_array_4(out: bytearray, items: list[ListOffsetsPartition]) -> None:
    # ListOffsetsPartition, versions 4-5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ListOffsetsPartition", "unknown_tags")
        out += _pack_iiq(item.partition_index, item.current_leader_epoch, item.timestamp)


def _read_list_offsets_topic_array_4(data: bytes, pos: int, count: int) -> tuple[list[ListOffsetsTopic], int]:
    # ListOffsetsTopic, versions 4-5
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsTopic] = []
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
        partitions, pos = _read_list_offsets_partition_array_4(data, pos, n)
        items.append(ListOffsetsTopic(name, partitions))
    return items, pos


def _write_list_offsets_topic_array_4(out: bytearray, items: list[ListOffsetsTopic]) -> None:
    # ListOffsetsTopic, versions 4-5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ListOffsetsTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_list_offsets_partition_array_4(out, item.partitions)


def _read_list_offsets_request_4(data: bytes, pos: int) -> tuple[ListOffsetsRequest, int]:
    # ListOffsetsRequest, versions 4-5
    replica_id, isolation_level, n = _unpack_ibi(data, pos)
    pos += 9
    topics, pos = _read_list_offsets_topic_array_4(data, pos, n)
    return ListOffsetsRequest(replica_id, isolation_level, topics, 0), pos


def _write_list_offsets_request_4(out: bytearray, item: ListOffsetsRequest) -> None:
    # ListOffsetsRequest, versions 4-5
    if item.unknown_tags:
        raise not_in_version("ListOffsetsRequest", "unknown_tags")
    out += _pack_ibi(item.replica_id, item.isolation_level, len(item.topics))
    _write_list_offsets_topic_array_4(out, item.topics)


def _read_list_offsets_partition_array_6(data: bytes, pos: int, count: int) -> tuple[list[ListOffsetsPartition], int]:
    # ListOffsetsPartition, versions 6-11
    if not 0 <= count * 17 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsPartition] = []
    if count > 3 and count * 17 <= len(data) - pos:
        elements = _iterate_iiqB(data[pos : pos + count * 17])
        for partition_index, current_leader_epoch, timestamp, n in elements:
            if n:
                break
            items.append(ListOffsetsPartition(partition_index, current_leader_epoch, timestamp))
        pos += len(items) * 17
        count -= len(items)
    for _ in range(count):
        partition_index, current_leader_epoch, timestamp, n = _unpack_iiqB(data, pos)
        pos += 17
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ListOffsetsPartition(partition_index, current_leader_epoch, timestamp, unknown_tags))
    return items, pos


def _write_list_offsets_partition_array_6(out: bytearray, items: list[ListOffsetsPartition]) -> None:
    # ListOffsetsPartition, versions 6-11
    for item in items:
        out += _pack_iiq(item.partition_index, item.current_leader_epoch, item.timestamp)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_offsets_topic_array_6(data: bytes, pos: int, count: int) -> tuple[list[ListOffsetsTopic], int]:
    # ListOffsetsTopic, versions 6-11
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsTopic] = []
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
        partitions, pos = _read_list_offsets_partition_array_6(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ListOffsetsTopic(name, partitions, unknown_tags))
    return items, pos


def _write_list_offsets_topic_array_6(out: bytearray, items: list[ListOffsetsTopic]) -> None:
    # ListOffsetsTopic, versions 6-11
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_list_offsets_partition_array_6(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_offsets_request_6(data: bytes, pos: int) -> tuple[ListOffsetsRequest, int]:
    # ListOffsetsRequest, versions 6-9
    replica_id, isolation_level, n = _unpack_ibB(data, pos)
    pos += 6
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_list_offsets_topic_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListOffsetsRequest(replica_id, isolation_level, topics, 0, unknown_tags), pos


def _write_list_offsets_request_6(out: bytearray, item: ListOffsetsRequest) -> None:
    # ListOffsetsRequest, versions 6-9
    out += _pack_ib(item.replica_id, item.isolation_level)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_list_offsets_topic_array_6(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_offsets_request_10(data: bytes, pos: int) -> tuple[ListOffsetsRequest, int]:
    # ListOffsetsRequest, versions 10-11
    replica_id, isolation_level, n = _unpack_ibB(data, pos)
    pos += 6
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_list_offsets_topic_array_6(data, pos, n - 1)
    timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListOffsetsRequest(replica_id, isolation_level, topics, timeout_ms, unknown_tags), pos


def _write_list_offsets_request_10(out: bytearray, item: ListOffsetsRequest) -> None:
    # ListOffsetsRequest, versions 10-11
    out += _pack_ib(item.replica_id, item.isolation_level)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_list_offsets_topic_array_6(out, item.topics)
    out += _pack_i(item.timeout_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListOffsetsRequest(Message):
    """Finds offsets by time, or the ends of a partition."""

    API_KEY = 2
    MIN_VERSION = 1
    MAX_VERSION = 11
    FLEXIBLE_FROM = 6
    DECODERS = {
        1: _read_list_offsets_request_1,
        2: _read_list_offsets_request_2,
        3: _read_list_offsets_request_2,
        4: _read_list_offsets_request_4,
        5: _read_list_offsets_request_4,
        6: _read_list_offsets_request_6,
        7: _read_list_offsets_request_6,
        8: _read_list_offsets_request_6,
        9: _read_list_offsets_request_6,
        10: _read_list_offsets_request_10,
        11: _read_list_offsets_request_10,
    }
    ENCODERS = {
        1: _write_list_offsets_request_1,
        2: _write_list_offsets_request_2,
        3: _write_list_offsets_request_2,
        4: _write_list_offsets_request_4,
        5: _write_list_offsets_request_4,
        6: _write_list_offsets_request_6,
        7: _write_list_offsets_request_6,
        8: _write_list_offsets_request_6,
        9: _write_list_offsets_request_6,
        10: _write_list_offsets_request_10,
        11: _write_list_offsets_request_10,
    }

    FIELDS = ("replica_id", "isolation_level", "topics", "timeout_ms", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] = EMPTY,
        timeout_ms: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.unknown_tags = unknown_tags


class ListOffsetsTopicResponse(Structure):
    """An element of ListOffsetsResponse.Topics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class ListOffsetsPartitionResponse(Structure):
    """An element of ListOffsetsTopicResponse.Partitions.

    * `offset`: -1 if no record matches.
    """

    FIELDS = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.unknown_tags = unknown_tags


def _read_list_offsets_partition_response_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[ListOffsetsPartitionResponse], int]:
    # ListOffsetsPartitionResponse, versions 1-3
    if not 0 <= count * 22 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsPartitionResponse] = []
    if count > 3:
        elements = _iterate_ihqq(data[pos : pos + count * 22])
        for partition_index, error_code, timestamp, offset in elements:
            items.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, -1))
        pos += len(items) * 22
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, timestamp, offset = _unpack_ihqq(data, pos)
        pos += 22
        items.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, -1))
    return items, pos


def _write_list_offsets_partition_response_array_1(out: bytearray, items: list[ListOffsetsPartitionResponse]) -> None:
    # ListOffsetsPartitionResponse, versions 1-3
    for item in items:
        if item.leader_epoch != -1:
            raise not_in_version("ListOffsetsPartitionResponse", "leader_epoch")
        if item.unknown_tags:
            raise not_in_version("ListOffsetsPartitionResponse", "unknown_tags")
        out += _pack_ihqq(item.partition_index, item.error_code, item.timestamp, item.offset)


def _read_list_offsets_topic_response_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[ListOffsetsTopicResponse], int]:
    # ListOffsetsTopicResponse, versions 1-3
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsTopicResponse] = []
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
        partitions, pos = _read_list_offsets_partition_response_array_1(data, pos, n)
        items.append(ListOffsetsTopicResponse(name, partitions))
    return items, pos


def _write_list_offsets_topic_response_array_1(out: bytearray, items: list[ListOffsetsTopicResponse]) -> None:
    # ListOffsetsTopicResponse, versions 1-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ListOffsetsTopicResponse", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_list_offsets_partition_response_array_1(out, item.partitions)


def _read_list_offsets_response_1(data: bytes, pos: int) -> tuple[ListOffsetsResponse, int]:
    # ListOffsetsResponse, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    topics, pos = _read_list_offsets_topic_response_array_1(data, pos, n)
    return ListOffsetsResponse(0, topics), pos


def _write_list_offsets_response_1(out: bytearray, item: ListOffsetsResponse) -> None:
    # ListOffsetsResponse, version 1
    if item.unknown_tags:
        raise not_in_version("ListOffsetsResponse", "unknown_tags")
    out += _pack_i(len(item.topics))
    _write_list_offsets_topic_response_array_1(out, item.topics)


def _read_list_offsets_response_2(data: bytes, pos: int) -> tuple[ListOffsetsResponse, int]:
    # ListOffsetsResponse, versions 2-3
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_list_offsets_topic_response_array_1(data, pos, n)
    return ListOffsetsResponse(throttle_time_ms, topics), pos


def _write_list_offsets_response_2(out: bytearray, item: ListOffsetsResponse) -> None:
    # ListOffsetsResponse, versions 2-3
    if item.unknown_tags:
        raise not_in_version("ListOffsetsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.topics))
    _write_list_offsets_topic_response_array_1(out, item.topics)


def _read_list_offsets_partition_response_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[ListOffsetsPartitionResponse], int]:
    # ListOffsetsPartitionResponse, versions 4-5
    if not 0 <= count * 26 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsPartitionResponse] = []
    if count > 3:
        elements = _iterate_ihqqi(data[pos : pos + count * 26])
        for partition_index, error_code, timestamp, offset, leader_epoch in elements:
            items.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch))
        pos += len(items) * 26
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, timestamp, offset, leader_epoch = _unpack_ihqqi(data, pos)
        pos += 26
        items.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch))
    return items, pos


def _write_list_offsets_partition_response_array_4(out: bytearray, items: list[ListOffsetsPartitionResponse]) -> None:
    # ListOffsetsPartitionResponse, versions 4-5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ListOffsetsPartitionResponse", "unknown_tags")
        out += _pack_ihqqi(item.partition_index, item.error_code, item.timestamp, item.offset, item.leader_epoch)


def _read_list_offsets_topic_response_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[ListOffsetsTopicResponse], int]:
    # ListOffsetsTopicResponse, versions 4-5
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsTopicResponse] = []
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
        partitions, pos = _read_list_offsets_partition_response_array_4(data, pos, n)
        items.append(ListOffsetsTopicResponse(name, partitions))
    return items, pos


def _write_list_offsets_topic_response_array_4(out: bytearray, items: list[ListOffsetsTopicResponse]) -> None:
    # ListOffsetsTopicResponse, versions 4-5
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ListOffsetsTopicResponse", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        _write_list_offsets_partition_response_array_4(out, item.partitions)


def _read_list_offsets_response_4(data: bytes, pos: int) -> tuple[ListOffsetsResponse, int]:
    # ListOffsetsResponse, versions 4-5
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    topics, pos = _read_list_offsets_topic_response_array_4(data, pos, n)
    return ListOffsetsResponse(throttle_time_ms, topics), pos


def _write_list_offsets_response_4(out: bytearray, item: ListOffsetsResponse) -> None:
    # ListOffsetsResponse, versions 4-5
    if item.unknown_tags:
        raise not_in_version("ListOffsetsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.topics))
    _write_list_offsets_topic_response_array_4(out, item.topics)


def _read_list_offsets_partition_response_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[ListOffsetsPartitionResponse], int]:
    # ListOffsetsPartitionResponse, versions 6-11
    if not 0 <= count * 27 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsPartitionResponse] = []
    if count > 3 and count * 27 <= len(data) - pos:
        elements = _iterate_ihqqiB(data[pos : pos + count * 27])
        for partition_index, error_code, timestamp, offset, leader_epoch, n in elements:
            if n:
                break
            items.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch))
        pos += len(items) * 27
        count -= len(items)
    for _ in range(count):
        partition_index, error_code, timestamp, offset, leader_epoch, n = _unpack_ihqqiB(data, pos)
        pos += 27
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch, unknown_tags)
        items.append(item)
    return items, pos


def _write_list_offsets_partition_response_array_6(out: bytearray, items: list[ListOffsetsPartitionResponse]) -> None:
    # ListOffsetsPartitionResponse, versions 6-11
    for item in items:
        out += _pack_ihqqi(item.partition_index, item.error_code, item.timestamp, item.offset, item.leader_epoch)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_offsets_topic_response_array_6(
    data: bytes, pos: int, count: int
) -> tuple[list[ListOffsetsTopicResponse], int]:
    # ListOffsetsTopicResponse, versions 6-11
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListOffsetsTopicResponse] = []
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
        partitions, pos = _read_list_offsets_partition_response_array_6(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ListOffsetsTopicResponse(name, partitions, unknown_tags))
    return items, pos


def _write_list_offsets_topic_response_array_6(out: bytearray, items: list[ListOffsetsTopicResponse]) -> None:
    # ListOffsetsTopicResponse, versions 6-11
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_list_offsets_partition_response_array_6(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_offsets_response_6(data: bytes, pos: int) -> tuple[ListOffsetsResponse, int]:
    # ListOffsetsResponse, versions 6-11
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_list_offsets_topic_response_array_6(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListOffsetsResponse(throttle_time_ms, topics, unknown_tags), pos


def _write_list_offsets_response_6(out: bytearray, item: ListOffsetsResponse) -> None:
    # ListOffsetsResponse, versions 6-11
    out += _pack_i(item.throttle_time_ms)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_list_offsets_topic_response_array_6(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListOffsetsResponse(Message):
    """The offsets found.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 2
    MIN_VERSION = 1
    MAX_VERSION = 11
    FLEXIBLE_FROM = 6
    DECODERS = {
        1: _read_list_offsets_response_1,
        2: _read_list_offsets_response_2,
        3: _read_list_offsets_response_2,
        4: _read_list_offsets_response_4,
        5: _read_list_offsets_response_4,
        6: _read_list_offsets_response_6,
        7: _read_list_offsets_response_6,
        8: _read_list_offsets_response_6,
        9: _read_list_offsets_response_6,
        10: _read_list_offsets_response_6,
        11: _read_list_offsets_response_6,
    }
    ENCODERS = {
        1: _write_list_offsets_response_1,
        2: _write_list_offsets_response_2,
        3: _write_list_offsets_response_2,
        4: _write_list_offsets_response_4,
        5: _write_list_offsets_response_4,
        6: _write_list_offsets_response_6,
        7: _write_list_offsets_response_6,
        8: _write_list_offsets_response_6,
        9: _write_list_offsets_response_6,
        10: _write_list_offsets_response_6,
        11: _write_list_offsets_response_6,
    }

    FIELDS = ("throttle_time_ms", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
