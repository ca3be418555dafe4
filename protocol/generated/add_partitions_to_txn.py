"""AddPartitionsToTxnRequest 0-5 and AddPartitionsToTxnResponse 0-5.

Generated from schemas/rpc/AddPartitionsToTxnRequest.json and schemas/rpc/AddPartitionsToTxnResponse.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_ih = Struct(">ih").iter_unpack
_iterate_ihB = Struct(">ihB").iter_unpack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_qhtB = Struct(">qh?B").unpack_from
_unpack_qhB = Struct(">qhB").unpack_from
_unpack_qhi = Struct(">qhi").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_qh = Struct(">qh").pack
_pack_qht = Struct(">qh?").pack
_pack_qhi = Struct(">qhi").pack


class AddPartitionsToTxnTopic(Structure):
    """An element of AddPartitionsToTxnRequest.V3AndBelowTopics."""

    FIELDS = ("name", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


class AddPartitionsToTxnTransaction(Structure):
    """An element of AddPartitionsToTxnRequest.Transactions.

    * `verify_only`: Only check that the partitions are part of the transaction.
    """

    FIELDS = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


def _read_add_partitions_to_txn_topic_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AddPartitionsToTxnTopic], int]:
    # AddPartitionsToTxnTopic, versions 0-2
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[AddPartitionsToTxnTopic] = []
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
        partitions, pos = read_numbers(data, pos, n, "i")
        items.append(AddPartitionsToTxnTopic(name, partitions))
    return items, pos


def _write_add_partitions_to_txn_topic_array_0(out: bytearray, items: list[AddPartitionsToTxnTopic]) -> None:
    # AddPartitionsToTxnTopic, versions 0-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AddPartitionsToTxnTopic", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.partitions))
        put_numbers(out, item.partitions, "i")


def _read_add_partitions_to_txn_request_0(data: bytes, pos: int) -> tuple[AddPartitionsToTxnRequest, int]:
    # AddPartitionsToTxnRequest, versions 0-2
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    v3_and_below_transactional_id = data[pos:end].decode()
    pos = end
    v3_and_below_producer_id, v3_and_below_producer_epoch, n = _unpack_qhi(data, pos)
    pos += 14
    v3_and_below_topics, pos = _read_add_partitions_to_txn_topic_array_0(data, pos, n)
    item = AddPartitionsToTxnRequest(
        [], v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics
    )
    return item, pos


def _write_add_partitions_to_txn_request_0(out: bytearray, item: AddPartitionsToTxnRequest) -> None:
    # AddPartitionsToTxnRequest, versions 0-2
    if item.transactions:
        raise not_in_version("AddPartitionsToTxnRequest", "transactions")
    if item.unknown_tags:
        raise not_in_version("AddPartitionsToTxnRequest", "unknown_tags")
    raw = item.v3_and_below_transactional_id.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_qhi(item.v3_and_below_producer_id, item.v3_and_below_producer_epoch, len(item.v3_and_below_topics))
    _write_add_partitions_to_txn_topic_array_0(out, item.v3_and_below_topics)


def _read_add_partitions_to_txn_topic_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[AddPartitionsToTxnTopic], int]:
    # AddPartitionsToTxnTopic, versions 3-5
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AddPartitionsToTxnTopic] = []
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
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AddPartitionsToTxnTopic(name, partitions, unknown_tags))
    return items, pos


def _write_add_partitions_to_txn_topic_array_3(out: bytearray, items: list[AddPartitionsToTxnTopic]) -> None:
    # AddPartitionsToTxnTopic, versions 3-5
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_add_partitions_to_txn_request_3(data: bytes, pos: int) -> tuple[AddPartitionsToTxnRequest, int]:
    # AddPartitionsToTxnRequest, version 3
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    v3_and_below_transactional_id = data[pos:end].decode()
    pos = end
    v3_and_below_producer_id, v3_and_below_producer_epoch, n = _unpack_qhB(data, pos)
    pos += 11
    if n > 127:
        n, pos = read_length(data, pos)
    v3_and_below_topics, pos = _read_add_partitions_to_txn_topic_array_3(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = AddPartitionsToTxnRequest(
        [],
        v3_and_below_transactional_id,
        v3_and_below_producer_id,
        v3_and_below_producer_epoch,
        v3_and_below_topics,
        unknown_tags,
    )
    return item, pos


def _write_add_partitions_to_txn_request_3(out: bytearray, item: AddPartitionsToTxnRequest) -> None:
    # AddPartitionsToTxnRequest, version 3
    if item.transactions:
        raise not_in_version("AddPartitionsToTxnRequest", "transactions")
    put_compact_string(out, item.v3_and_below_transactional_id)
    out += _pack_qh(item.v3_and_below_producer_id, item.v3_and_below_producer_epoch)
    n = len(item.v3_and_below_topics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_add_partitions_to_txn_topic_array_3(out, item.v3_and_below_topics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_add_partitions_to_txn_transaction_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[AddPartitionsToTxnTransaction], int]:
    # AddPartitionsToTxnTransaction, versions 4-5
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[AddPartitionsToTxnTransaction] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transactional_id = data[pos:end].decode()
        pos = end
        producer_id, producer_epoch, verify_only, n = _unpack_qhtB(data, pos)
        pos += 12
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_add_partitions_to_txn_topic_array_3(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = AddPartitionsToTxnTransaction(
            transactional_id, producer_id, producer_epoch, verify_only, topics, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_add_partitions_to_txn_transaction_array_4(
    out: bytearray, items: list[AddPartitionsToTxnTransaction]
) -> None:
    # AddPartitionsToTxnTransaction, versions 4-5
    for item in items:
        put_compact_string(out, item.transactional_id)
        out += _pack_qht(item.producer_id, item.producer_epoch, item.verify_only)
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_add_partitions_to_txn_topic_array_3(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_add_partitions_to_txn_request_4(data: bytes, pos: int) -> tuple[AddPartitionsToTxnRequest, int]:
    # AddPartitionsToTxnRequest, versions 4-5
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    transactions, pos = _read_add_partitions_to_txn_transaction_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AddPartitionsToTxnRequest(transactions, "", 0, 0, [], unknown_tags), pos


def _write_add_partitions_to_txn_request_4(out: bytearray, item: AddPartitionsToTxnRequest) -> None:
    # AddPartitionsToTxnRequest, versions 4-5
    if item.v3_and_below_transactional_id != "":
        raise not_in_version("AddPartitionsToTxnRequest", "v3_and_below_transactional_id")
    if item.v3_and_below_producer_id != 0:
        raise not_in_version("AddPartitionsToTxnRequest", "v3_and_below_producer_id")
    if item.v3_and_below_producer_epoch != 0:
        raise not_in_version("AddPartitionsToTxnRequest", "v3_and_below_producer_epoch")
    if item.v3_and_below_topics:
        raise not_in_version("AddPartitionsToTxnRequest", "v3_and_below_topics")
    n = len(item.transactions) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_add_partitions_to_txn_transaction_array_4(out, item.transactions)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AddPartitionsToTxnRequest(Message):
    """Adds partitions to transactions; brokers use it to verify, too."""

    API_KEY = 24
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_add_partitions_to_txn_request_0,
        1: _read_add_partitions_to_txn_request_0,
        2: _read_add_partitions_to_txn_request_0,
        3: _read_add_partitions_to_txn_request_3,
        4: _read_add_partitions_to_txn_request_4,
        5: _read_add_partitions_to_txn_request_4,
    }
    ENCODERS = {
        0: _write_add_partitions_to_txn_request_0,
        1: _write_add_partitions_to_txn_request_0,
        2: _write_add_partitions_to_txn_request_0,
        3: _write_add_partitions_to_txn_request_3,
        4: _write_add_partitions_to_txn_request_4,
        5: _write_add_partitions_to_txn_request_4,
    }

    FIELDS = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        transactions: list[AddPartitionsToTxnTransaction] = EMPTY,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.transactions = [] if transactions is EMPTY else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = [] if v3_and_below_topics is EMPTY else v3_and_below_topics
        self.unknown_tags = unknown_tags


class AddPartitionsToTxnTopicResult(Structure):
    """An element of AddPartitionsToTxnResponse.ResultsByTopicV3AndBelow."""

    FIELDS = ("name", "results_by_partition", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.results_by_partition = [] if results_by_partition is EMPTY else results_by_partition
        self.unknown_tags = unknown_tags


class AddPartitionsToTxnPartitionResult(Structure):
    """An element of AddPartitionsToTxnTopicResult.ResultsByPartition."""

    FIELDS = ("partition_index", "partition_error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code
        self.unknown_tags = unknown_tags


class AddPartitionsToTxnResult(Structure):
    """An element of AddPartitionsToTxnResponse.ResultsByTransaction."""

    FIELDS = ("transactional_id", "topic_results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = [] if topic_results is EMPTY else topic_results
        self.unknown_tags = unknown_tags


def _read_add_partitions_to_txn_partition_result_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AddPartitionsToTxnPartitionResult], int]:
    # AddPartitionsToTxnPartitionResult, versions 0-2
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[AddPartitionsToTxnPartitionResult] = []
    if count > 3:
        elements = _iterate_ih(data[pos : pos + count * 6])
        for partition_index, partition_error_code in elements:
            items.append(AddPartitionsToTxnPartitionResult(partition_index, partition_error_code))
        pos += len(items) * 6
        count -= len(items)
    for _ in range(count):
        partition_index, partition_error_code = _unpack_ih(data, pos)
        pos += 6
        items.append(AddPartitionsToTxnPartitionResult(partition_index, partition_error_code))
    return items, pos


def _write_add_partitions_to_txn_partition_result_array_0(
    out: bytearray, items: list[AddPartitionsToTxnPartitionResult]
) -> None:
    # AddPartitionsToTxnPartitionResult, versions 0-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AddPartitionsToTxnPartitionResult", "unknown_tags")
        out += _pack_ih(item.partition_index, item.partition_error_code)


def _read_add_partitions_to_txn_topic_result_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AddPartitionsToTxnTopicResult], int]:
    # AddPartitionsToTxnTopicResult, versions 0-2
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[AddPartitionsToTxnTopicResult] = []
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
        results_by_partition, pos = _read_add_partitions_to_txn_partition_result_array_0(data, pos, n)
        items.append(AddPartitionsToTxnTopicResult(name, results_by_partition))
    return items, pos


def _write_add_partitions_to_txn_topic_result_array_0(
    out: bytearray, items: list[AddPartitionsToTxnTopicResult]
) -> None:
    # AddPartitionsToTxnTopicResult, versions 0-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AddPartitionsToTxnTopicResult", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_i(len(item.results_by_partition))
        _write_add_partitions_to_txn_partition_result_array_0(out, item.results_by_partition)


def _read_add_partitions_to_txn_response_0(data: bytes, pos: int) -> tuple[AddPartitionsToTxnResponse, int]:
    # AddPartitionsToTxnResponse, versions 0-2
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    results_by_topic_v3_and_below, pos = _read_add_partitions_to_txn_topic_result_array_0(data, pos, n)
    return AddPartitionsToTxnResponse(throttle_time_ms, 0, [], results_by_topic_v3_and_below), pos


def _write_add_partitions_to_txn_response_0(out: bytearray, item: AddPartitionsToTxnResponse) -> None:
    # AddPartitionsToTxnResponse, versions 0-2
    if item.results_by_transaction:
        raise not_in_version("AddPartitionsToTxnResponse", "results_by_transaction")
    if item.unknown_tags:
        raise not_in_version("AddPartitionsToTxnResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.results_by_topic_v3_and_below))
    _write_add_partitions_to_txn_topic_result_array_0(out, item.results_by_topic_v3_and_below)


def _read_add_partitions_to_txn_partition_result_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[AddPartitionsToTxnPartitionResult], int]:
    # AddPartitionsToTxnPartitionResult, versions 3-5
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[AddPartitionsToTxnPartitionResult] = []
    if count > 3 and count * 7 <= len(data) - pos:
        elements = _iterate_ihB(data[pos : pos + count * 7])
        for partition_index, partition_error_code, n in elements:
            if n:
                break
            items.append(AddPartitionsToTxnPartitionResult(partition_index, partition_error_code))
        pos += len(items) * 7
        count -= len(items)
    for _ in range(count):
        partition_index, partition_error_code, n = _unpack_ihB(data, pos)
        pos += 7
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AddPartitionsToTxnPartitionResult(partition_index, partition_error_code, unknown_tags))
    return items, pos


def _write_add_partitions_to_txn_partition_result_array_3(
    out: bytearray, items: list[AddPartitionsToTxnPartitionResult]
) -> None:
    # AddPartitionsToTxnPartitionResult, versions 3-5
    for item in items:
        out += _pack_ih(item.partition_index, item.partition_error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_add_partitions_to_txn_topic_result_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[AddPartitionsToTxnTopicResult], int]:
    # AddPartitionsToTxnTopicResult, versions 3-5
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AddPartitionsToTxnTopicResult] = []
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
        results_by_partition, pos = _read_add_partitions_to_txn_partition_result_array_3(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AddPartitionsToTxnTopicResult(name, results_by_partition, unknown_tags))
    return items, pos


def _write_add_partitions_to_txn_topic_result_array_3(
    out: bytearray, items: list[AddPartitionsToTxnTopicResult]
) -> None:
    # AddPartitionsToTxnTopicResult, versions 3-5
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.results_by_partition) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_add_partitions_to_txn_partition_result_array_3(out, item.results_by_partition)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_add_partitions_to_txn_response_3(data: bytes, pos: int) -> tuple[AddPartitionsToTxnResponse, int]:
    # AddPartitionsToTxnResponse, version 3
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    results_by_topic_v3_and_below, pos = _read_add_partitions_to_txn_topic_result_array_3(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AddPartitionsToTxnResponse(throttle_time_ms, 0, [], results_by_topic_v3_and_below, unknown_tags), pos


def _write_add_partitions_to_txn_response_3(out: bytearray, item: AddPartitionsToTxnResponse) -> None:
    # AddPartitionsToTxnResponse, version 3
    if item.results_by_transaction:
        raise not_in_version("AddPartitionsToTxnResponse", "results_by_transaction")
    out += _pack_i(item.throttle_time_ms)
    n = len(item.results_by_topic_v3_and_below) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_add_partitions_to_txn_topic_result_array_3(out, item.results_by_topic_v3_and_below)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_add_partitions_to_txn_result_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[AddPartitionsToTxnResult], int]:
    # AddPartitionsToTxnResult, versions 4-5
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AddPartitionsToTxnResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transactional_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        topic_results, pos = _read_add_partitions_to_txn_topic_result_array_3(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AddPartitionsToTxnResult(transactional_id, topic_results, unknown_tags))
    return items, pos


def _write_add_partitions_to_txn_result_array_4(out: bytearray, items: list[AddPartitionsToTxnResult]) -> None:
    # AddPartitionsToTxnResult, versions 4-5
    for item in items:
        put_compact_string(out, item.transactional_id)
        n = len(item.topic_results) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_add_partitions_to_txn_topic_result_array_3(out, item.topic_results)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_add_partitions_to_txn_response_4(data: bytes, pos: int) -> tuple[AddPartitionsToTxnResponse, int]:
    # AddPartitionsToTxnResponse, versions 4-5
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    results_by_transaction, pos = _read_add_partitions_to_txn_result_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AddPartitionsToTxnResponse(throttle_time_ms, error_code, results_by_transaction, [], unknown_tags), pos


def _write_add_partitions_to_txn_response_4(out: bytearray, item: AddPartitionsToTxnResponse) -> None:
    # AddPartitionsToTxnResponse, versions 4-5
    if item.results_by_topic_v3_and_below:
        raise not_in_version("AddPartitionsToTxnResponse", "results_by_topic_v3_and_below")
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.results_by_transaction) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_add_partitions_to_txn_result_array_4(out, item.results_by_transaction)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AddPartitionsToTxnResponse(Message):
    """What became of each partition.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 24
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_add_partitions_to_txn_response_0,
        1: _read_add_partitions_to_txn_response_0,
        2: _read_add_partitions_to_txn_response_0,
        3: _read_add_partitions_to_txn_response_3,
        4: _read_add_partitions_to_txn_response_4,
        5: _read_add_partitions_to_txn_response_4,
    }
    ENCODERS = {
        0: _write_add_partitions_to_txn_response_0,
        1: _write_add_partitions_to_txn_response_0,
        2: _write_add_partitions_to_txn_response_0,
        3: _write_add_partitions_to_txn_response_3,
        4: _write_add_partitions_to_txn_response_4,
        5: _write_add_partitions_to_txn_response_4,
    }

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "results_by_transaction",
        "results_by_topic_v3_and_below",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = EMPTY,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is EMPTY else results_by_transaction
        self.results_by_topic_v3_and_below = (
            [] if results_by_topic_v3_and_below is EMPTY else results_by_topic_v3_and_below
        )
        self.unknown_tags = unknown_tags
