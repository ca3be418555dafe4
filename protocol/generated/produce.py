"""ProduceRequest 3-13 and ProduceResponse 3-13.

Generated from schemas/rpc/ProduceRequest.json and schemas/rpc/ProduceResponse.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
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
    bad_tag,
    bad_tag_size,
    bad_uuid,
    not_in_version,
    put_compact_string,
    put_records,
    read_bytes_length,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_ihqq = Struct(">ihqq").iter_unpack
_iterate_ihqqq = Struct(">ihqqq").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hiB = Struct(">hiB").unpack_from
_unpack_hii = Struct(">hii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihqq = Struct(">ihqq").unpack_from
_unpack_ihqqq = Struct(">ihqqq").unpack_from
_unpack_ihqqqB = Struct(">ihqqqB").unpack_from
_unpack_ihqqqi = Struct(">ihqqqi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_pack_u = Struct(">16s").pack
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_hii = Struct(">hii").pack
_pack_i = Struct(">i").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqq = Struct(">ihqqq").pack
_pack_ihqqqi = Struct(">ihqqqi").pack
_pack_ii = Struct(">ii").pack


class TopicProduceData(Structure):
    """An element of ProduceRequest.TopicData.

    * `topic_id`: Replaces the name from version 13 on.
    """

    FIELDS = ("name", "topic_id", "partition_data", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_data: list[PartitionProduceData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is EMPTY else partition_data
        self.unknown_tags = unknown_tags


class PartitionProduceData(Structure):
    """An element of TopicProduceData.PartitionData.

    * `records`: Exactly one record batch of magic 2.
    """

    FIELDS = ("index", "records", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        index: int = 0,
        records: bytes | memoryview | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.index = index
        self.records = records
        self.unknown_tags = unknown_tags


def _read_partition_produce_data_array_3(data: bytes, pos: int, count: int) -> tuple[list[PartitionProduceData], int]:
    # PartitionProduceData, versions 3-8
    view = memoryview(data)
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionProduceData] = []
    for _ in range(count):
        index, n = _unpack_ii(data, pos)
        pos += 8
        records: bytes | memoryview | None = None
        if n >= 0:
            end = pos + n
            records = view[pos:end]
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(PartitionProduceData(index, records))
    return items, pos


def _write_partition_produce_data_array_3(out: bytearray, items: list[PartitionProduceData]) -> None:
    # PartitionProduceData, versions 3-8
    for item in items:
        if item.unknown_tags:
            raise not_in_version("PartitionProduceData", "unknown_tags")
        out += _pack_i(item.index)
        if item.records is None:
            out += _pack_i(-1)
        else:
            out += _pack_i(len(item.records))
            put_records(out, item.records)


def _read_topic_produce_data_array_3(data: bytes, pos: int, count: int) -> tuple[list[TopicProduceData], int]:
    # TopicProduceData, versions 3-8
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicProduceData] = []
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
        partition_data, pos = _read_partition_produce_data_array_3(data, pos, n)
        items.append(TopicProduceData(name, ZERO_UUID, partition_data))
    return items, pos


def _write_topic_produce_data_array_3(out: bytearray, items: list[TopicProduceData]) -> None:
    # TopicProduceData, versions 3-8
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TopicProduceData", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partition_data))
        _write_partition_produce_data_array_3(out, item.partition_data)


def _read_produce_request_3(data: bytes, pos: int) -> tuple[ProduceRequest, int]:
    # ProduceRequest, versions 3-8
    (n,) = _unpack_h(data, pos)
    pos += 2
    transactional_id: str | None = None
    if n >= 0:
        end = pos + n
        transactional_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    acks, timeout_ms, n = _unpack_hii(data, pos)
    pos += 10
    topic_data, pos = _read_topic_produce_data_array_3(data, pos, n)
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), pos


def _write_produce_request_3(out: bytearray, item: ProduceRequest) -> None:
    # ProduceRequest, versions 3-8
    if item.unknown_tags:
        raise not_in_version("ProduceRequest", "unknown_tags")
    if item.transactional_id is None:
        out += _pack_h(-1)
    else:
        raw = item.transactional_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_hii(item.acks, item.timeout_ms, len(item.topic_data))
    _write_topic_produce_data_array_3(out, item.topic_data)


def _read_partition_produce_data_array_9(data: bytes, pos: int, count: int) -> tuple[list[PartitionProduceData], int]:
    # PartitionProduceData, versions 9-13
    view = memoryview(data)
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionProduceData] = []
    for _ in range(count):
        index, n = _unpack_iB(data, pos)
        pos += 5
        records: bytes | memoryview | None = None
        if n:
            if n > 127:
                n, pos = read_bytes_length(data, pos)
            end = pos + n - 1
            records = view[pos:end]
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionProduceData(index, records, unknown_tags))
    return items, pos


def _write_partition_produce_data_array_9(out: bytearray, items: list[PartitionProduceData]) -> None:
    # PartitionProduceData, versions 9-13
    for item in items:
        out += _pack_i(item.index)
        if item.records is None:
            out.append(0)
        else:
            n = len(item.records) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            put_records(out, item.records)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topic_produce_data_array_9(data: bytes, pos: int, count: int) -> tuple[list[TopicProduceData], int]:
    # TopicProduceData, versions 9-12
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicProduceData] = []
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
        partition_data, pos = _read_partition_produce_data_array_9(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicProduceData(name, ZERO_UUID, partition_data, unknown_tags))
    return items, pos


def _write_topic_produce_data_array_9(out: bytearray, items: list[TopicProduceData]) -> None:
    # TopicProduceData, versions 9-12
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partition_data) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_produce_data_array_9(out, item.partition_data)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_produce_request_9(data: bytes, pos: int) -> tuple[ProduceRequest, int]:
    # ProduceRequest, versions 9-12
    n = data[pos]
    pos += 1
    transactional_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transactional_id = data[pos:end].decode()
        pos = end
    acks, timeout_ms, n = _unpack_hiB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    topic_data, pos = _read_topic_produce_data_array_9(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data, unknown_tags), pos


def _write_produce_request_9(out: bytearray, item: ProduceRequest) -> None:
    # ProduceRequest, versions 9-12
    if item.transactional_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.transactional_id)
    out += _pack_hi(item.acks, item.timeout_ms)
    n = len(item.topic_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_produce_data_array_9(out, item.topic_data)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topic_produce_data_array_13(data: bytes, pos: int, count: int) -> tuple[list[TopicProduceData], int]:
    # TopicProduceData, version 13
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicProduceData] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partition_data, pos = _read_partition_produce_data_array_9(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicProduceData("", topic_id, partition_data, unknown_tags))
    return items, pos


def _write_topic_produce_data_array_13(out: bytearray, items: list[TopicProduceData]) -> None:
    # TopicProduceData, version 13
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partition_data) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_produce_data_array_9(out, item.partition_data)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_produce_request_13(data: bytes, pos: int) -> tuple[ProduceRequest, int]:
    # ProduceRequest, version 13
    n = data[pos]
    pos += 1
    transactional_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transactional_id = data[pos:end].decode()
        pos = end
    acks, timeout_ms, n = _unpack_hiB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    topic_data, pos = _read_topic_produce_data_array_13(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data, unknown_tags), pos


def _write_produce_request_13(out: bytearray, item: ProduceRequest) -> None:
    # ProduceRequest, version 13
    if item.transactional_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.transactional_id)
    out += _pack_hi(item.acks, item.timeout_ms)
    n = len(item.topic_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_produce_data_array_13(out, item.topic_data)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ProduceRequest(Message):
    """Appends record batches to partitions.

    * `transactional_id`: Null outside a transaction.
    * `acks`: 0 wants no answer at all, 1 the leader's append, -1 all in-sync replicas.
    * `timeout_ms`: How long the broker may wait for the replicas.
    """

    API_KEY = 0
    MIN_VERSION = 3
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    DECODERS = {
        3: _read_produce_request_3,
        4: _read_produce_request_3,
        5: _read_produce_request_3,
        6: _read_produce_request_3,
        7: _read_produce_request_3,
        8: _read_produce_request_3,
        9: _read_produce_request_9,
        10: _read_produce_request_9,
        11: _read_produce_request_9,
        12: _read_produce_request_9,
        13: _read_produce_request_13,
    }
    ENCODERS = {
        3: _write_produce_request_3,
        4: _write_produce_request_3,
        5: _write_produce_request_3,
        6: _write_produce_request_3,
        7: _write_produce_request_3,
        8: _write_produce_request_3,
        9: _write_produce_request_9,
        10: _write_produce_request_9,
        11: _write_produce_request_9,
        12: _write_produce_request_9,
        13: _write_produce_request_13,
    }

    FIELDS = ("transactional_id", "acks", "timeout_ms", "topic_data", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is EMPTY else topic_data
        self.unknown_tags = unknown_tags


class TopicProduceResponse(Structure):
    """An element of ProduceResponse.Responses."""

    FIELDS = ("name", "topic_id", "partition_responses", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is EMPTY else partition_responses
        self.unknown_tags = unknown_tags


class PartitionProduceResponse(Structure):
    """An element of TopicProduceResponse.PartitionResponses.

    * `base_offset`: The offset the first record got.
    * `log_append_time_ms`: The time of the append if the topic stamps records itself, else -1.
    * `record_errors`: The records the whole batch was refused for.
    * `current_leader`: The leader the broker knows of; only when it is not this one.
    """

    FIELDS = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "error_message",
        "current_leader",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = EMPTY,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is EMPTY else record_errors
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.unknown_tags = unknown_tags


class BatchIndexAndErrorMessage(Structure):
    """An element of PartitionProduceResponse.RecordErrors."""

    FIELDS = ("batch_index", "batch_index_error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message
        self.unknown_tags = unknown_tags


class LeaderIdAndEpoch(Structure):
    """The value of PartitionProduceResponse.CurrentLeader."""

    FIELDS = ("leader_id", "leader_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tags = unknown_tags


class NodeEndpoint(Structure):
    """An element of ProduceResponse.NodeEndpoints."""

    FIELDS = ("node_id", "host", "port", "rack", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack
        self.unknown_tags = unknown_tags


def _read_partition_produce_response_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[PartitionProduceResponse], int]:
    # PartitionProduceResponse, versions 3-4
    if not 0 <= count * 22 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionProduceResponse] = []
    if count > 3:
        elements = _iterate_ihqq(data[pos : pos + count * 22])
        for index, error_code, base_offset, log_append_time_ms in elements:
            item = PartitionProduceResponse(
                index, error_code, base_offset, log_append_time_ms, -1, [], None, LeaderIdAndEpoch()
            )
            items.append(item)
        pos += len(items) * 22
        count -= len(items)
    for _ in range(count):
        index, error_code, base_offset, log_append_time_ms = _unpack_ihqq(data, pos)
        pos += 22
        item = PartitionProduceResponse(
            index, error_code, base_offset, log_append_time_ms, -1, [], None, LeaderIdAndEpoch()
        )
        items.append(item)
    return items, pos


def _write_partition_produce_response_array_3(out: bytearray, items: list[PartitionProduceResponse]) -> None:
    # PartitionProduceResponse, versions 3-4
    for item in items:
        if not _is_default_leader_id_and_epoch(item.current_leader):
            raise not_in_version("PartitionProduceResponse", "current_leader")
        if item.unknown_tags:
            raise not_in_version("PartitionProduceResponse", "unknown_tags")
        out += _pack_ihqq(item.index, item.error_code, item.base_offset, item.log_append_time_ms)


def _read_topic_produce_response_array_3(data: bytes, pos: int, count: int) -> tuple[list[TopicProduceResponse], int]:
    # TopicProduceResponse, versions 3-4
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicProduceResponse] = []
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
        partition_responses, pos = _read_partition_produce_response_array_3(data, pos, n)
        items.append(TopicProduceResponse(name, ZERO_UUID, partition_responses))
    return items, pos


def _write_topic_produce_response_array_3(out: bytearray, items: list[TopicProduceResponse]) -> None:
    # TopicProduceResponse, versions 3-4
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TopicProduceResponse", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partition_responses))
        _write_partition_produce_response_array_3(out, item.partition_responses)


def _read_produce_response_3(data: bytes, pos: int) -> tuple[ProduceResponse, int]:
    # ProduceResponse, versions 3-4
    (n,) = _unpack_i(data, pos)
    pos += 4
    responses, pos = _read_topic_produce_response_array_3(data, pos, n)
    (throttle_time_ms,) = _unpack_i(data, pos)
    pos += 4
    return ProduceResponse(responses, throttle_time_ms, []), pos


def _write_produce_response_3(out: bytearray, item: ProduceResponse) -> None:
    # ProduceResponse, versions 3-4
    if item.node_endpoints:
        raise not_in_version("ProduceResponse", "node_endpoints")
    if item.unknown_tags:
        raise not_in_version("ProduceResponse", "unknown_tags")
    out += _pack_i(len(item.responses))
    _write_topic_produce_response_array_3(out, item.responses)
    out += _pack_i(item.throttle_time_ms)


def _read_partition_produce_response_array_5(
    data: bytes, pos: int, count: int
) -> tuple[list[PartitionProduceResponse], int]:
    # PartitionProduceResponse, versions 5-7
    if not 0 <= count * 30 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionProduceResponse] = []
    if count > 3:
        elements = _iterate_ihqqq(data[pos : pos + count * 30])
        for index, error_code, base_offset, log_append_time_ms, log_start_offset in elements:
            item = PartitionProduceResponse(
                index, error_code, base_offset, log_append_time_ms, log_start_offset, [], None, LeaderIdAndEpoch()
            )
            items.append(item)
        pos += len(items) * 30
        count -= len(items)
    for _ in range(count):
        index, error_code, base_offset, log_append_time_ms, log_start_offset = _unpack_ihqqq(data, pos)
        pos += 30
        item = PartitionProduceResponse(
            index, error_code, base_offset, log_append_time_ms, log_start_offset, [], None, LeaderIdAndEpoch()
        )
        items.append(item)
    return items, pos


def _write_partition_produce_response_array_5(out: bytearray, items: list[PartitionProduceResponse]) -> None:
    # PartitionProduceResponse, versions 5-7
    for item in items:
        if not _is_default_leader_id_and_epoch(item.current_leader):
            raise not_in_version("PartitionProduceResponse", "current_leader")
        if item.unknown_tags:
            raise not_in_version("PartitionProduceResponse", "unknown_tags")
        out += _pack_ihqqq(
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset
        )


def _read_topic_produce_response_array_5(data: bytes, pos: int, count: int) -> tuple[list[TopicProduceResponse], int]:
    # TopicProduceResponse, versions 5-7
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicProduceResponse] = []
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
        partition_responses, pos = _read_partition_produce_response_array_5(data, pos, n)
        items.append(TopicProduceResponse(name, ZERO_UUID, partition_responses))
    return items, pos


def _write_topic_produce_response_array_5(out: bytearray, items: list[TopicProduceResponse]) -> None:
    # TopicProduceResponse, versions 5-7
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TopicProduceResponse", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partition_responses))
        _write_partition_produce_response_array_5(out, item.partition_responses)


def _read_produce_response_5(data: bytes, pos: int) -> tuple[ProduceResponse, int]:
    # ProduceResponse, versions 5-7
    (n,) = _unpack_i(data, pos)
    pos += 4
    responses, pos = _read_topic_produce_response_array_5(data, pos, n)
    (throttle_time_ms,) = _unpack_i(data, pos)
    pos += 4
    return ProduceResponse(responses, throttle_time_ms, []), pos


def _write_produce_response_5(out: bytearray, item: ProduceResponse) -> None:
    # ProduceResponse, versions 5-7
    if item.node_endpoints:
        raise not_in_version("ProduceResponse", "node_endpoints")
    if item.unknown_tags:
        raise not_in_version("ProduceResponse", "unknown_tags")
    out += _pack_i(len(item.responses))
    _write_topic_produce_response_array_5(out, item.responses)
    out += _pack_i(item.throttle_time_ms)


def _read_batch_index_and_error_message_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[BatchIndexAndErrorMessage], int]:
    # BatchIndexAndErrorMessage, version 8
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[BatchIndexAndErrorMessage] = []
    for _ in range(count):
        batch_index, n = _unpack_ih(data, pos)
        pos += 6
        batch_index_error_message: str | None = None
        if n >= 0:
            end = pos + n
            batch_index_error_message = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(BatchIndexAndErrorMessage(batch_index, batch_index_error_message))
    return items, pos


def _write_batch_index_and_error_message_array_8(out: bytearray, items: list[BatchIndexAndErrorMessage]) -> None:
    # BatchIndexAndErrorMessage, version 8
    for item in items:
        if item.unknown_tags:
            raise not_in_version("BatchIndexAndErrorMessage", "unknown_tags")
        out += _pack_i(item.batch_index)
        if item.batch_index_error_message is None:
            out += _pack_h(-1)
        else:
            raw = item.batch_index_error_message.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_partition_produce_response_array_8(
    data: bytes, pos: int, count: int
) -> tuple[list[PartitionProduceResponse], int]:
    # PartitionProduceResponse, version 8
    if not 0 <= count * 36 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionProduceResponse] = []
    for _ in range(count):
        index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _unpack_ihqqqi(data, pos)
        pos += 34
        record_errors, pos = _read_batch_index_and_error_message_array_8(data, pos, n)
        (n,) = _unpack_h(data, pos)
        pos += 2
        error_message: str | None = None
        if n >= 0:
            end = pos + n
            error_message = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        item = PartitionProduceResponse(
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            LeaderIdAndEpoch(),
        )
        items.append(item)
    return items, pos


def _write_partition_produce_response_array_8(out: bytearray, items: list[PartitionProduceResponse]) -> None:
    # PartitionProduceResponse, version 8
    for item in items:
        if not _is_default_leader_id_and_epoch(item.current_leader):
            raise not_in_version("PartitionProduceResponse", "current_leader")
        if item.unknown_tags:
            raise not_in_version("PartitionProduceResponse", "unknown_tags")
        out += _pack_ihqqqi(
            item.index,
            item.error_code,
            item.base_offset,
            item.log_append_time_ms,
            item.log_start_offset,
            len(item.record_errors),
        )
        _write_batch_index_and_error_message_array_8(out, item.record_errors)
        if item.error_message is None:
            out += _pack_h(-1)
        else:
            raw = item.error_message.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_topic_produce_response_array_8(data: bytes, pos: int, count: int) -> tuple[list[TopicProduceResponse], int]:
    # TopicProduceResponse, version 8
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicProduceResponse] = []
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
        partition_responses, pos = _read_partition_produce_response_array_8(data, pos, n)
        items.append(TopicProduceResponse(name, ZERO_UUID, partition_responses))
    return items, pos


def _write_topic_produce_response_array_8(out: bytearray, items: list[TopicProduceResponse]) -> None:
    # TopicProduceResponse, version 8
    for item in items:
        if item.unknown_tags:
            raise not_in_version("TopicProduceResponse", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partition_responses))
        _write_partition_produce_response_array_8(out, item.partition_responses)


def _read_produce_response_8(data: bytes, pos: int) -> tuple[ProduceResponse, int]:
    # ProduceResponse, version 8
    (n,) = _unpack_i(data, pos)
    pos += 4
    responses, pos = _read_topic_produce_response_array_8(data, pos, n)
    (throttle_time_ms,) = _unpack_i(data, pos)
    pos += 4
    return ProduceResponse(responses, throttle_time_ms, []), pos


def _write_produce_response_8(out: bytearray, item: ProduceResponse) -> None:
    # ProduceResponse, version 8
    if item.node_endpoints:
        raise not_in_version("ProduceResponse", "node_endpoints")
    if item.unknown_tags:
        raise not_in_version("ProduceResponse", "unknown_tags")
    out += _pack_i(len(item.responses))
    _write_topic_produce_response_array_8(out, item.responses)
    out += _pack_i(item.throttle_time_ms)


def _read_batch_index_and_error_message_array_9(
    data: bytes, pos: int, count: int
) -> tuple[list[BatchIndexAndErrorMessage], int]:
    # BatchIndexAndErrorMessage, versions 9-13
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[BatchIndexAndErrorMessage] = []
    for _ in range(count):
        batch_index, n = _unpack_iB(data, pos)
        pos += 5
        batch_index_error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            batch_index_error_message = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(BatchIndexAndErrorMessage(batch_index, batch_index_error_message, unknown_tags))
    return items, pos


def _write_batch_index_and_error_message_array_9(out: bytearray, items: list[BatchIndexAndErrorMessage]) -> None:
    # BatchIndexAndErrorMessage, versions 9-13
    for item in items:
        out += _pack_i(item.batch_index)
        if item.batch_index_error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.batch_index_error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_partition_produce_response_array_9(
    data: bytes, pos: int, count: int
) -> tuple[list[PartitionProduceResponse], int]:
    # PartitionProduceResponse, version 9
    if not 0 <= count * 33 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionProduceResponse] = []
    for _ in range(count):
        index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _unpack_ihqqqB(data, pos)
        pos += 31
        if n > 127:
            n, pos = read_length(data, pos)
        record_errors, pos = _read_batch_index_and_error_message_array_9(data, pos, n - 1)
        n = data[pos]
        pos += 1
        error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            error_message = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        item = PartitionProduceResponse(
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            LeaderIdAndEpoch(),
        )
        if n:
            pos = _read_partition_produce_response_tags_9(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_partition_produce_response_tags_9(item: PartitionProduceResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        if tag == 0:
            raise bad_tag("PartitionProduceResponse", tag)
        else:
            unknown.append((tag, data))
    item.unknown_tags = tuple(unknown)
    return after


def _write_partition_produce_response_array_9(out: bytearray, items: list[PartitionProduceResponse]) -> None:
    # PartitionProduceResponse, version 9
    for item in items:
        if not _is_default_leader_id_and_epoch(item.current_leader):
            raise not_in_version("PartitionProduceResponse", "current_leader")
        out += _pack_ihqqq(
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset
        )
        n = len(item.record_errors) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_batch_index_and_error_message_array_9(out, item.record_errors)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_topic_produce_response_array_9(data: bytes, pos: int, count: int) -> tuple[list[TopicProduceResponse], int]:
    # TopicProduceResponse, version 9
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicProduceResponse] = []
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
        partition_responses, pos = _read_partition_produce_response_array_9(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicProduceResponse(name, ZERO_UUID, partition_responses, unknown_tags))
    return items, pos


def _write_topic_produce_response_array_9(out: bytearray, items: list[TopicProduceResponse]) -> None:
    # TopicProduceResponse, version 9
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partition_responses) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_produce_response_array_9(out, item.partition_responses)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_produce_response_9(data: bytes, pos: int) -> tuple[ProduceResponse, int]:
    # ProduceResponse, version 9
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_topic_produce_response_array_9(data, pos, n - 1)
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    item = ProduceResponse(responses, throttle_time_ms, [])
    if n:
        pos = _read_produce_response_tags_9(item, data, pos, n)
    return item, pos


def _read_produce_response_tags_9(item: ProduceResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        if tag == 0:
            raise bad_tag("ProduceResponse", tag)
        else:
            unknown.append((tag, data))
    item.unknown_tags = tuple(unknown)
    return after


def _write_produce_response_9(out: bytearray, item: ProduceResponse) -> None:
    # ProduceResponse, version 9
    if item.node_endpoints:
        raise not_in_version("ProduceResponse", "node_endpoints")
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_produce_response_array_9(out, item.responses)
    out += _pack_i(item.throttle_time_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_leader_id_and_epoch_10(data: bytes, pos: int) -> tuple[LeaderIdAndEpoch, int]:
    # LeaderIdAndEpoch, versions 10-13
    leader_id, leader_epoch, n = _unpack_iiB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return LeaderIdAndEpoch(leader_id, leader_epoch, unknown_tags), pos


def _write_leader_id_and_epoch_10(out: bytearray, item: LeaderIdAndEpoch) -> None:
    # LeaderIdAndEpoch, versions 10-13
    out += _pack_ii(item.leader_id, item.leader_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_partition_produce_response_array_10(
    data: bytes, pos: int, count: int
) -> tuple[list[PartitionProduceResponse], int]:
    # PartitionProduceResponse, versions 10-13
    if not 0 <= count * 33 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionProduceResponse] = []
    for _ in range(count):
        index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _unpack_ihqqqB(data, pos)
        pos += 31
        if n > 127:
            n, pos = read_length(data, pos)
        record_errors, pos = _read_batch_index_and_error_message_array_9(data, pos, n - 1)
        n = data[pos]
        pos += 1
        error_message: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            error_message = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        item = PartitionProduceResponse(
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            LeaderIdAndEpoch(),
        )
        if n:
            pos = _read_partition_produce_response_tags_10(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_partition_produce_response_tags_10(item: PartitionProduceResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            current_leader, pos = _read_leader_id_and_epoch_10(data, pos)
            item.current_leader = current_leader
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("PartitionProduceResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_partition_produce_response_array_10(out: bytearray, items: list[PartitionProduceResponse]) -> None:
    # PartitionProduceResponse, versions 10-13
    for item in items:
        out += _pack_ihqqq(
            item.index, item.error_code, item.base_offset, item.log_append_time_ms, item.log_start_offset
        )
        n = len(item.record_errors) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_batch_index_and_error_message_array_9(out, item.record_errors)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        tags = item.unknown_tags
        if not _is_default_leader_id_and_epoch(item.current_leader):
            body = bytearray()
            _write_leader_id_and_epoch_10(body, item.current_leader)
            tags += ((0, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_topic_produce_response_array_10(data: bytes, pos: int, count: int) -> tuple[list[TopicProduceResponse], int]:
    # TopicProduceResponse, versions 10-12
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicProduceResponse] = []
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
        partition_responses, pos = _read_partition_produce_response_array_10(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicProduceResponse(name, ZERO_UUID, partition_responses, unknown_tags))
    return items, pos


def _write_topic_produce_response_array_10(out: bytearray, items: list[TopicProduceResponse]) -> None:
    # TopicProduceResponse, versions 10-12
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partition_responses) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_produce_response_array_10(out, item.partition_responses)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_node_endpoint_array_10(data: bytes, pos: int, count: int) -> tuple[list[NodeEndpoint], int]:
    # NodeEndpoint, versions 10-13
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[NodeEndpoint] = []
    for _ in range(count):
        node_id, n = _unpack_iB(data, pos)
        pos += 5
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        host = data[pos:end].decode()
        pos = end
        port, n = _unpack_iB(data, pos)
        pos += 5
        rack: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            rack = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(NodeEndpoint(node_id, host, port, rack, unknown_tags))
    return items, pos


def _write_node_endpoint_array_10(out: bytearray, items: list[NodeEndpoint]) -> None:
    # NodeEndpoint, versions 10-13
    for item in items:
        out += _pack_i(item.node_id)
        put_compact_string(out, item.host)
        out += _pack_i(item.port)
        if item.rack is None:
            out.append(0)
        else:
            put_compact_string(out, item.rack)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_produce_response_10(data: bytes, pos: int) -> tuple[ProduceResponse, int]:
    # ProduceResponse, versions 10-12
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_topic_produce_response_array_10(data, pos, n - 1)
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    item = ProduceResponse(responses, throttle_time_ms, [])
    if n:
        pos = _read_produce_response_tags_10(item, data, pos, n)
    return item, pos


def _read_produce_response_tags_10(item: ProduceResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            node_endpoints, pos = _read_node_endpoint_array_10(data, pos, n - 1)
            item.node_endpoints = node_endpoints
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("ProduceResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_produce_response_10(out: bytearray, item: ProduceResponse) -> None:
    # ProduceResponse, versions 10-12
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_produce_response_array_10(out, item.responses)
    out += _pack_i(item.throttle_time_ms)
    tags = item.unknown_tags
    if item.node_endpoints:
        body = bytearray()
        n = len(item.node_endpoints) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        _write_node_endpoint_array_10(body, item.node_endpoints)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


def _read_topic_produce_response_array_13(data: bytes, pos: int, count: int) -> tuple[list[TopicProduceResponse], int]:
    # TopicProduceResponse, version 13
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicProduceResponse] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partition_responses, pos = _read_partition_produce_response_array_10(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicProduceResponse("", topic_id, partition_responses, unknown_tags))
    return items, pos


def _write_topic_produce_response_array_13(out: bytearray, items: list[TopicProduceResponse]) -> None:
    # TopicProduceResponse, version 13
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partition_responses) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partition_produce_response_array_10(out, item.partition_responses)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_produce_response_13(data: bytes, pos: int) -> tuple[ProduceResponse, int]:
    # ProduceResponse, version 13
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_topic_produce_response_array_13(data, pos, n - 1)
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    item = ProduceResponse(responses, throttle_time_ms, [])
    if n:
        pos = _read_produce_response_tags_13(item, data, pos, n)
    return item, pos


def _read_produce_response_tags_13(item: ProduceResponse, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_length(data, pos)
            node_endpoints, pos = _read_node_endpoint_array_10(data, pos, n - 1)
            item.node_endpoints = node_endpoints
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("ProduceResponse", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_produce_response_13(out: bytearray, item: ProduceResponse) -> None:
    # ProduceResponse, version 13
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_topic_produce_response_array_13(out, item.responses)
    out += _pack_i(item.throttle_time_ms)
    tags = item.unknown_tags
    if item.node_endpoints:
        body = bytearray()
        n = len(item.node_endpoints) + 1
        body += SMALL[n] if n < 128 else uvarint(n)
        _write_node_endpoint_array_10(body, item.node_endpoints)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class ProduceResponse(Message):
    """What became of each partition's batch.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `node_endpoints`: Where the leaders named above are reached; only with answers that send the client to another
    broker.
    """

    API_KEY = 0
    MIN_VERSION = 3
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    DECODERS = {
        3: _read_produce_response_3,
        4: _read_produce_response_3,
        5: _read_produce_response_5,
        6: _read_produce_response_5,
        7: _read_produce_response_5,
        8: _read_produce_response_8,
        9: _read_produce_response_9,
        10: _read_produce_response_10,
        11: _read_produce_response_10,
        12: _read_produce_response_10,
        13: _read_produce_response_13,
    }
    ENCODERS = {
        3: _write_produce_response_3,
        4: _write_produce_response_3,
        5: _write_produce_response_5,
        6: _write_produce_response_5,
        7: _write_produce_response_5,
        8: _write_produce_response_8,
        9: _write_produce_response_9,
        10: _write_produce_response_10,
        11: _write_produce_response_10,
        12: _write_produce_response_10,
        13: _write_produce_response_13,
    }

    FIELDS = ("responses", "throttle_time_ms", "node_endpoints", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        responses: list[TopicProduceResponse] = EMPTY,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.responses = [] if responses is EMPTY else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tags = unknown_tags


def _is_default_leader_id_and_epoch(item: LeaderIdAndEpoch) -> bool:
    return item.leader_id == -1 and item.leader_epoch == -1 and not item.unknown_tags
