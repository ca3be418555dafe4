"""TxnShareAcknowledgeRequest 0 and TxnShareAcknowledgeResponse 0.

Generated from schemas/shareq/TxnShareAcknowledgeRequest.json and schemas/shareq/TxnShareAcknowledgeResponse.json
(Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    put_int8s,
    read_compact_int8s,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)
from shareq.protocol.rows import Rows

_iterate_qqBbB = Struct(">qqBbB").iter_unpack
_unpack_uB = Struct(">16sB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qhB = Struct(">qhB").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_pack_u = Struct(">16s").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_qh = Struct(">qh").pack
_pack_qq = Struct(">qq").pack


class TxnShareAcknowledgeTopic(Structure):
    """An element of TxnShareAcknowledgeRequest.Topics."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[TxnShareAcknowledgePartition] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class TxnShareAcknowledgePartition(Structure):
    """An element of TxnShareAcknowledgeTopic.Partitions.

    * `acknowledgement_batches`: In ascending order, without overlap.
    """

    FIELDS = ("partition_index", "acknowledgement_batches", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        acknowledgement_batches: Sequence[AcknowledgementBatch] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = [] if acknowledgement_batches is EMPTY else acknowledgement_batches
        self.unknown_tags = unknown_tags


class AcknowledgementBatch(Structure):
    """An element of TxnShareAcknowledgePartition.AcknowledgementBatches.

    * `last_offset`: Inclusive.
    * `acknowledge_types`: One for the whole range, or one for each offset of it: 1 accept, 2 release, 3 reject.
    """

    FIELDS = ("first_offset", "last_offset", "acknowledge_types", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = [] if acknowledge_types is EMPTY else acknowledge_types
        self.unknown_tags = unknown_tags


def _make_acknowledgement_batch_array_0(data: bytes) -> list[AcknowledgementBatch]:
    return [
        AcknowledgementBatch(first_offset, last_offset, [acknowledge_types])
        for first_offset, last_offset, _, acknowledge_types, _ in _iterate_qqBbB(data)
    ]


def _read_acknowledgement_batch_array_0(
    data: bytes, pos: int, count: int
) -> tuple[Sequence[AcknowledgementBatch], int]:
    # AcknowledgementBatch, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[AcknowledgementBatch] = []
    if count > 3 and count * 19 <= len(data) - pos:
        rows = data[pos : pos + count * 19]
        if rows[16::19] == b"\2" * count and rows[18::19] == b"\0" * count:
            return Rows(rows, count, "qqxbx", _make_acknowledgement_batch_array_0), pos + count * 19
        elements = _iterate_qqBbB(rows)
        for first_offset, last_offset, acknowledge_types_n, acknowledge_types, n in elements:
            if acknowledge_types_n != 2 or n:
                break
            items.append(AcknowledgementBatch(first_offset, last_offset, [acknowledge_types]))
        pos += len(items) * 19
        count -= len(items)
    for _ in range(count):
        first_offset, last_offset, n = _unpack_qqB(data, pos)
        pos += 17
        if n == 2 and data[pos] < 128:
            acknowledge_types = [data[pos]]
            pos += 1
        else:
            acknowledge_types, pos = read_compact_int8s(data, pos, n)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AcknowledgementBatch(first_offset, last_offset, acknowledge_types, unknown_tags))
    return items, pos


def _write_acknowledgement_batch_array_0(out: bytearray, items: Sequence[AcknowledgementBatch]) -> None:
    # AcknowledgementBatch, version 0
    for item in items:
        out += _pack_qq(item.first_offset, item.last_offset)
        n = len(item.acknowledge_types) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_int8s(out, item.acknowledge_types)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_share_acknowledge_partition_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnShareAcknowledgePartition], int]:
    # TxnShareAcknowledgePartition, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnShareAcknowledgePartition] = []
    for _ in range(count):
        partition_index, n = _unpack_iB(data, pos)
        pos += 5
        if n > 127:
            n, pos = read_length(data, pos)
        acknowledgement_batches, pos = _read_acknowledgement_batch_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TxnShareAcknowledgePartition(partition_index, acknowledgement_batches, unknown_tags))
    return items, pos


def _write_txn_share_acknowledge_partition_array_0(out: bytearray, items: list[TxnShareAcknowledgePartition]) -> None:
    # TxnShareAcknowledgePartition, version 0
    for item in items:
        out += _pack_i(item.partition_index)
        n = len(item.acknowledgement_batches) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_acknowledgement_batch_array_0(out, item.acknowledgement_batches)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_share_acknowledge_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnShareAcknowledgeTopic], int]:
    # TxnShareAcknowledgeTopic, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnShareAcknowledgeTopic] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_txn_share_acknowledge_partition_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TxnShareAcknowledgeTopic(topic_id, partitions, unknown_tags))
    return items, pos


def _write_txn_share_acknowledge_topic_array_0(out: bytearray, items: list[TxnShareAcknowledgeTopic]) -> None:
    # TxnShareAcknowledgeTopic, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_txn_share_acknowledge_partition_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_share_acknowledge_request_0(data: bytes, pos: int) -> tuple[TxnShareAcknowledgeRequest, int]:
    # TxnShareAcknowledgeRequest, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    transactional_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    producer_id, producer_epoch, n = _unpack_qhB(data, pos)
    pos += 11
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    member_id = data[pos:end].decode()
    pos = end
    member_epoch, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    topics, pos = _read_txn_share_acknowledge_topic_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = TxnShareAcknowledgeRequest(
        transactional_id, group_id, producer_id, producer_epoch, member_id, member_epoch, topics, unknown_tags
    )
    return item, pos


def _write_txn_share_acknowledge_request_0(out: bytearray, item: TxnShareAcknowledgeRequest) -> None:
    # TxnShareAcknowledgeRequest, version 0
    put_compact_string(out, item.transactional_id)
    put_compact_string(out, item.group_id)
    out += _pack_qh(item.producer_id, item.producer_epoch)
    put_compact_string(out, item.member_id)
    out += _pack_i(item.member_epoch)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_txn_share_acknowledge_topic_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class TxnShareAcknowledgeRequest(Message):
    """KIP-1289's draft: acknowledge records of a share group as part of a producer's transaction.

    * `member_id`: The member of the group that has acquired the records.
    * `member_epoch`: Its epoch, from the last heartbeat.
    """

    API_KEY = 29557
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_txn_share_acknowledge_request_0}
    ENCODERS = {0: _write_txn_share_acknowledge_request_0}

    FIELDS = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "member_id",
        "member_epoch",
        "topics",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        member_id: str = "",
        member_epoch: int = 0,
        topics: list[TxnShareAcknowledgeTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class TxnShareAcknowledgeTopicResponse(Structure):
    """An element of TxnShareAcknowledgeResponse.Topics."""

    FIELDS = ("topic_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[TxnShareAcknowledgePartitionResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class TxnShareAcknowledgePartitionResponse(Structure):
    """An element of TxnShareAcknowledgeTopicResponse.Partitions."""

    FIELDS = ("partition_index", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_txn_share_acknowledge_partition_response_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnShareAcknowledgePartitionResponse], int]:
    # TxnShareAcknowledgePartitionResponse, version 0
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnShareAcknowledgePartitionResponse] = []
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TxnShareAcknowledgePartitionResponse(partition_index, error_code, error_message, unknown_tags))
    return items, pos


def _write_txn_share_acknowledge_partition_response_array_0(
    out: bytearray, items: list[TxnShareAcknowledgePartitionResponse]
) -> None:
    # TxnShareAcknowledgePartitionResponse, version 0
    for item in items:
        out += _pack_ih(item.partition_index, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_share_acknowledge_topic_response_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[TxnShareAcknowledgeTopicResponse], int]:
    # TxnShareAcknowledgeTopicResponse, version 0
    if not 0 <= count * 18 <= len(data) - pos:
        raise bad_count(count)
    items: list[TxnShareAcknowledgeTopicResponse] = []
    for _ in range(count):
        topic_id, n = _unpack_uB(data, pos)
        pos += 17
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = _read_txn_share_acknowledge_partition_response_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TxnShareAcknowledgeTopicResponse(topic_id, partitions, unknown_tags))
    return items, pos


def _write_txn_share_acknowledge_topic_response_array_0(
    out: bytearray, items: list[TxnShareAcknowledgeTopicResponse]
) -> None:
    # TxnShareAcknowledgeTopicResponse, version 0
    for item in items:
        if len(item.topic_id) != 16:
            raise bad_uuid(item.topic_id)
        out += _pack_u(item.topic_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_txn_share_acknowledge_partition_response_array_0(out, item.partitions)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_txn_share_acknowledge_response_0(data: bytes, pos: int) -> tuple[TxnShareAcknowledgeResponse, int]:
    # TxnShareAcknowledgeResponse, version 0
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
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
    topics, pos = _read_txn_share_acknowledge_topic_response_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return TxnShareAcknowledgeResponse(throttle_time_ms, error_code, error_message, topics, unknown_tags), pos


def _write_txn_share_acknowledge_response_0(out: bytearray, item: TxnShareAcknowledgeResponse) -> None:
    # TxnShareAcknowledgeResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_txn_share_acknowledge_topic_response_array_0(out, item.topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class TxnShareAcknowledgeResponse(Message):
    """The outcome for each partition. After an error the transaction should be aborted.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 29557
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_txn_share_acknowledge_response_0}
    ENCODERS = {0: _write_txn_share_acknowledge_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        topics: list[TxnShareAcknowledgeTopicResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags
