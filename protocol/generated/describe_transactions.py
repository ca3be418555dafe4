"""DescribeTransactionsRequest 0 and DescribeTransactionsResponse 0.

Generated from schemas/rpc/DescribeTransactionsRequest.json and schemas/rpc/DescribeTransactionsResponse.json (Apache
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
    put_compact_string,
    put_compact_strings,
    put_numbers,
    read_compact_strings,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iqqhB = Struct(">iqqhB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iqqh = Struct(">iqqh").pack


def _read_describe_transactions_request_0(data: bytes, pos: int) -> tuple[DescribeTransactionsRequest, int]:
    # DescribeTransactionsRequest, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    transactional_ids, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeTransactionsRequest(transactional_ids, unknown_tags), pos


def _write_describe_transactions_request_0(out: bytearray, item: DescribeTransactionsRequest) -> None:
    # DescribeTransactionsRequest, version 0
    n = len(item.transactional_ids) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.transactional_ids)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeTransactionsRequest(Message):
    """Describes transactions by transactional id."""

    API_KEY = 65
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_transactions_request_0}
    ENCODERS = {0: _write_describe_transactions_request_0}

    FIELDS = ("transactional_ids", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, transactional_ids: list[str] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.transactional_ids = [] if transactional_ids is EMPTY else transactional_ids
        self.unknown_tags = unknown_tags


class TransactionState(Structure):
    """An element of DescribeTransactionsResponse.TransactionStates.

    * `transaction_start_time_ms`: -1 if no transaction is open.
    """

    FIELDS = (
        "error_code",
        "transactional_id",
        "transaction_state",
        "transaction_timeout_ms",
        "transaction_start_time_ms",
        "producer_id",
        "producer_epoch",
        "topics",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics = [] if topics is EMPTY else topics
        self.unknown_tags = unknown_tags


class TopicData(Structure):
    """An element of TransactionState.Topics."""

    FIELDS = ("topic", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


def _read_topic_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[TopicData], int]:
    # TopicData, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TopicData] = []
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
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TopicData(topic, partitions, unknown_tags))
    return items, pos


def _write_topic_data_array_0(out: bytearray, items: list[TopicData]) -> None:
    # TopicData, version 0
    for item in items:
        put_compact_string(out, item.topic)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_transaction_state_array_0(data: bytes, pos: int, count: int) -> tuple[list[TransactionState], int]:
    # TransactionState, version 0
    if not 0 <= count * 28 <= len(data) - pos:
        raise bad_count(count)
    items: list[TransactionState] = []
    for _ in range(count):
        error_code, n = _unpack_hB(data, pos)
        pos += 3
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
        transaction_state = data[pos:end].decode()
        pos = end
        transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, n = _unpack_iqqhB(data, pos)
        pos += 23
        if n > 127:
            n, pos = read_length(data, pos)
        topics, pos = _read_topic_data_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = TransactionState(
            error_code,
            transactional_id,
            transaction_state,
            transaction_timeout_ms,
            transaction_start_time_ms,
            producer_id,
            producer_epoch,
            topics,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_transaction_state_array_0(out: bytearray, items: list[TransactionState]) -> None:
    # TransactionState, version 0
    for item in items:
        out += _pack_h(item.error_code)
        put_compact_string(out, item.transactional_id)
        put_compact_string(out, item.transaction_state)
        out += _pack_iqqh(
            item.transaction_timeout_ms, item.transaction_start_time_ms, item.producer_id, item.producer_epoch
        )
        n = len(item.topics) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_topic_data_array_0(out, item.topics)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_transactions_response_0(data: bytes, pos: int) -> tuple[DescribeTransactionsResponse, int]:
    # DescribeTransactionsResponse, version 0
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    transaction_states, pos = _read_transaction_state_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeTransactionsResponse(throttle_time_ms, transaction_states, unknown_tags), pos


def _write_describe_transactions_response_0(out: bytearray, item: DescribeTransactionsResponse) -> None:
    # DescribeTransactionsResponse, version 0
    out += _pack_i(item.throttle_time_ms)
    n = len(item.transaction_states) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_transaction_state_array_0(out, item.transaction_states)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeTransactionsResponse(Message):
    """The state of each transaction.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 65
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_transactions_response_0}
    ENCODERS = {0: _write_describe_transactions_response_0}

    FIELDS = ("throttle_time_ms", "transaction_states", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: list[TransactionState] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = [] if transaction_states is EMPTY else transaction_states
        self.unknown_tags = unknown_tags
