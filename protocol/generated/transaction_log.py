"""TransactionLogKey 0 and TransactionLogValue 0-1.

Generated from schemas/records/TransactionLogKey.json and schemas/records/TransactionLogValue.json (Apache Kafka 4.4.0)
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
    bad_length,
    bad_tag_size,
    not_in_version,
    put_compact_string,
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qhibB = Struct(">qhibB").unpack_from
_unpack_qhibi = Struct(">qhibi").unpack_from
_unpack_qq = Struct(">qq").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack
_pack_qhib = Struct(">qhib").pack
_pack_qq = Struct(">qq").pack


def _read_transaction_log_key_0(data: bytes, pos: int) -> tuple[TransactionLogKey, int]:
    # TransactionLogKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    transactional_id = data[pos:end].decode()
    pos = end
    return TransactionLogKey(transactional_id), pos


def _write_transaction_log_key_0(out: bytearray, item: TransactionLogKey) -> None:
    # TransactionLogKey, version 0
    raw = item.transactional_id.encode()
    out += _pack_h(len(raw))
    out += raw


class TransactionLogKey(Message):
    """__transaction_state, type 0: a transactional id."""

    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_transaction_log_key_0}
    ENCODERS = {0: _write_transaction_log_key_0}

    FIELDS = ("transactional_id",)
    __slots__ = FIELDS

    def __init__(self, transactional_id: str = "") -> None:
        self.transactional_id = transactional_id


class PartitionsSchema(Structure):
    """An element of TransactionLogValue.TransactionPartitions."""

    FIELDS = ("topic", "partition_ids", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partition_ids: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.partition_ids = [] if partition_ids is EMPTY else partition_ids
        self.unknown_tags = unknown_tags


def _read_partitions_schema_array_0(data: bytes, pos: int, count: int) -> tuple[list[PartitionsSchema], int]:
    # PartitionsSchema, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionsSchema] = []
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
        partition_ids, pos = read_numbers(data, pos, n, "i")
        items.append(PartitionsSchema(topic, partition_ids))
    return items, pos


def _write_partitions_schema_array_0(out: bytearray, items: list[PartitionsSchema]) -> None:
    # PartitionsSchema, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("PartitionsSchema", "unknown_tags")
        raw = item.topic.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partition_ids))
        put_numbers(out, item.partition_ids, "i")


def _read_transaction_log_value_0(data: bytes, pos: int) -> tuple[TransactionLogValue, int]:
    # TransactionLogValue, version 0
    producer_id, producer_epoch, transaction_timeout_ms, transaction_status, n = _unpack_qhibi(data, pos)
    pos += 19
    transaction_partitions: list[PartitionsSchema] | None = None
    if n != -1:
        transaction_partitions, pos = _read_partitions_schema_array_0(data, pos, n)
    transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = _unpack_qq(data, pos)
    pos += 16
    item = TransactionLogValue(
        producer_id,
        -1,
        -1,
        producer_epoch,
        -1,
        transaction_timeout_ms,
        transaction_status,
        transaction_partitions,
        transaction_last_update_timestamp_ms,
        transaction_start_timestamp_ms,
        0,
    )
    return item, pos


def _write_transaction_log_value_0(out: bytearray, item: TransactionLogValue) -> None:
    # TransactionLogValue, version 0
    if item.previous_producer_id != -1:
        raise not_in_version("TransactionLogValue", "previous_producer_id")
    if item.next_producer_id != -1:
        raise not_in_version("TransactionLogValue", "next_producer_id")
    if item.next_producer_epoch != -1:
        raise not_in_version("TransactionLogValue", "next_producer_epoch")
    if item.client_transaction_version != 0:
        raise not_in_version("TransactionLogValue", "client_transaction_version")
    if item.unknown_tags:
        raise not_in_version("TransactionLogValue", "unknown_tags")
    out += _pack_qhib(item.producer_id, item.producer_epoch, item.transaction_timeout_ms, item.transaction_status)
    if item.transaction_partitions is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.transaction_partitions))
        _write_partitions_schema_array_0(out, item.transaction_partitions)
    out += _pack_qq(item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms)


def _read_partitions_schema_array_1(data: bytes, pos: int, count: int) -> tuple[list[PartitionsSchema], int]:
    # PartitionsSchema, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[PartitionsSchema] = []
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
        partition_ids, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(PartitionsSchema(topic, partition_ids, unknown_tags))
    return items, pos


def _write_partitions_schema_array_1(out: bytearray, items: list[PartitionsSchema]) -> None:
    # PartitionsSchema, version 1
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partition_ids) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partition_ids, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_transaction_log_value_1(data: bytes, pos: int) -> tuple[TransactionLogValue, int]:
    # TransactionLogValue, version 1
    producer_id, producer_epoch, transaction_timeout_ms, transaction_status, n = _unpack_qhibB(data, pos)
    pos += 16
    transaction_partitions: list[PartitionsSchema] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        transaction_partitions, pos = _read_partitions_schema_array_1(data, pos, n - 1)
    transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, n = _unpack_qqB(data, pos)
    pos += 17
    item = TransactionLogValue(
        producer_id,
        -1,
        -1,
        producer_epoch,
        -1,
        transaction_timeout_ms,
        transaction_status,
        transaction_partitions,
        transaction_last_update_timestamp_ms,
        transaction_start_timestamp_ms,
        0,
    )
    if n:
        pos = _read_transaction_log_value_tags_1(item, data, pos, n)
    return item, pos


def _read_transaction_log_value_tags_1(item: TransactionLogValue, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (previous_producer_id,) = _unpack_q(data, pos)
            pos += 8
            item.previous_producer_id = previous_producer_id
        elif tag == 1:
            (next_producer_id,) = _unpack_q(data, pos)
            pos += 8
            item.next_producer_id = next_producer_id
        elif tag == 2:
            (client_transaction_version,) = _unpack_h(data, pos)
            pos += 2
            item.client_transaction_version = client_transaction_version
        elif tag == 3:
            (next_producer_epoch,) = _unpack_h(data, pos)
            pos += 2
            item.next_producer_epoch = next_producer_epoch
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("TransactionLogValue", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_transaction_log_value_1(out: bytearray, item: TransactionLogValue) -> None:
    # TransactionLogValue, version 1
    out += _pack_qhib(item.producer_id, item.producer_epoch, item.transaction_timeout_ms, item.transaction_status)
    if item.transaction_partitions is None:
        out.append(0)
    else:
        n = len(item.transaction_partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_partitions_schema_array_1(out, item.transaction_partitions)
    out += _pack_qq(item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms)
    tags = item.unknown_tags
    if item.previous_producer_id != -1:
        body = bytearray()
        body += _pack_q(item.previous_producer_id)
        tags += ((0, bytes(body)),)
    if item.next_producer_id != -1:
        body = bytearray()
        body += _pack_q(item.next_producer_id)
        tags += ((1, bytes(body)),)
    if item.client_transaction_version != 0:
        body = bytearray()
        body += _pack_h(item.client_transaction_version)
        tags += ((2, bytes(body)),)
    if item.next_producer_epoch != -1:
        body = bytearray()
        body += _pack_h(item.next_producer_epoch)
        tags += ((3, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class TransactionLogValue(Message):
    """__transaction_state, type 0: written at version 1 under transaction.version 1 and above, else at 0.

    * `previous_producer_id`: The id before the last change of it, so that a retry is recognized; -1 if there is none.
    * `next_producer_id`: The id the next transaction will run under, if it changes; -1 if not.
    * `transaction_status`: 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete commit, 5 complete abort,
    6 dead, 7 prepare epoch fence.
    * `transaction_partitions`: Null if no transaction is open.
    """

    API_KEY = 0
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_transaction_log_value_0, 1: _read_transaction_log_value_1}
    ENCODERS = {0: _write_transaction_log_value_0, 1: _write_transaction_log_value_1}

    FIELDS = (
        "producer_id",
        "previous_producer_id",
        "next_producer_id",
        "producer_epoch",
        "next_producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
        "client_transaction_version",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[PartitionsSchema] | None = EMPTY,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions = [] if transaction_partitions is EMPTY else transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version
        self.unknown_tags = unknown_tags
