"""ListTransactionsRequest 0-2 and ListTransactionsResponse 0-2.

Generated from schemas/rpc/ListTransactionsRequest.json and schemas/rpc/ListTransactionsResponse.json (Apache Kafka
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
    not_in_version,
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

_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_pack_ih = Struct(">ih").pack
_pack_q = Struct(">q").pack


def _read_list_transactions_request_0(data: bytes, pos: int) -> tuple[ListTransactionsRequest, int]:
    # ListTransactionsRequest, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    state_filters, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    producer_id_filters, pos = read_numbers(data, pos, n - 1, "q")
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListTransactionsRequest(state_filters, producer_id_filters, -1, None, unknown_tags), pos


def _write_list_transactions_request_0(out: bytearray, item: ListTransactionsRequest) -> None:
    # ListTransactionsRequest, version 0
    if item.duration_filter != -1:
        raise not_in_version("ListTransactionsRequest", "duration_filter")
    if item.transactional_id_pattern is not None:
        raise not_in_version("ListTransactionsRequest", "transactional_id_pattern")
    n = len(item.state_filters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.state_filters)
    n = len(item.producer_id_filters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_numbers(out, item.producer_id_filters, "q")
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_transactions_request_1(data: bytes, pos: int) -> tuple[ListTransactionsRequest, int]:
    # ListTransactionsRequest, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    state_filters, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    producer_id_filters, pos = read_numbers(data, pos, n - 1, "q")
    duration_filter, n = _unpack_qB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, None, unknown_tags), pos


def _write_list_transactions_request_1(out: bytearray, item: ListTransactionsRequest) -> None:
    # ListTransactionsRequest, version 1
    if item.transactional_id_pattern is not None:
        raise not_in_version("ListTransactionsRequest", "transactional_id_pattern")
    n = len(item.state_filters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.state_filters)
    n = len(item.producer_id_filters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_numbers(out, item.producer_id_filters, "q")
    out += _pack_q(item.duration_filter)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_transactions_request_2(data: bytes, pos: int) -> tuple[ListTransactionsRequest, int]:
    # ListTransactionsRequest, version 2
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    state_filters, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    producer_id_filters, pos = read_numbers(data, pos, n - 1, "q")
    duration_filter, n = _unpack_qB(data, pos)
    pos += 9
    transactional_id_pattern: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transactional_id_pattern = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ListTransactionsRequest(
        state_filters, producer_id_filters, duration_filter, transactional_id_pattern, unknown_tags
    )
    return item, pos


def _write_list_transactions_request_2(out: bytearray, item: ListTransactionsRequest) -> None:
    # ListTransactionsRequest, version 2
    n = len(item.state_filters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.state_filters)
    n = len(item.producer_id_filters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_numbers(out, item.producer_id_filters, "q")
    out += _pack_q(item.duration_filter)
    if item.transactional_id_pattern is None:
        out.append(0)
    else:
        put_compact_string(out, item.transactional_id_pattern)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListTransactionsRequest(Message):
    """Lists transactions.

    * `duration_filter`: Only those that have been open for longer, milliseconds; negative for all.
    * `transactional_id_pattern`: A regular expression; null or empty for all.
    """

    API_KEY = 66
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_list_transactions_request_0,
        1: _read_list_transactions_request_1,
        2: _read_list_transactions_request_2,
    }
    ENCODERS = {
        0: _write_list_transactions_request_0,
        1: _write_list_transactions_request_1,
        2: _write_list_transactions_request_2,
    }

    FIELDS = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        state_filters: list[str] = EMPTY,
        producer_id_filters: list[int] = EMPTY,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.state_filters = [] if state_filters is EMPTY else state_filters
        self.producer_id_filters = [] if producer_id_filters is EMPTY else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern
        self.unknown_tags = unknown_tags


class TransactionState(Structure):
    """An element of ListTransactionsResponse.TransactionStates."""

    FIELDS = ("transactional_id", "producer_id", "transaction_state", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state
        self.unknown_tags = unknown_tags


def _read_transaction_state_array_0(data: bytes, pos: int, count: int) -> tuple[list[TransactionState], int]:
    # TransactionState, versions 0-2
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[TransactionState] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transactional_id = data[pos:end].decode()
        pos = end
        producer_id, n = _unpack_qB(data, pos)
        pos += 9
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transaction_state = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TransactionState(transactional_id, producer_id, transaction_state, unknown_tags))
    return items, pos


def _write_transaction_state_array_0(out: bytearray, items: list[TransactionState]) -> None:
    # TransactionState, versions 0-2
    for item in items:
        put_compact_string(out, item.transactional_id)
        out += _pack_q(item.producer_id)
        put_compact_string(out, item.transaction_state)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_transactions_response_0(data: bytes, pos: int) -> tuple[ListTransactionsResponse, int]:
    # ListTransactionsResponse, versions 0-2
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    unknown_state_filters, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    transaction_states, pos = _read_transaction_state_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = ListTransactionsResponse(
        throttle_time_ms, error_code, unknown_state_filters, transaction_states, unknown_tags
    )
    return item, pos


def _write_list_transactions_response_0(out: bytearray, item: ListTransactionsResponse) -> None:
    # ListTransactionsResponse, versions 0-2
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.unknown_state_filters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.unknown_state_filters)
    n = len(item.transaction_states) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_transaction_state_array_0(out, item.transaction_states)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListTransactionsResponse(Message):
    """The transactions this broker coordinates.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 66
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    DECODERS = {
        0: _read_list_transactions_response_0,
        1: _read_list_transactions_response_0,
        2: _read_list_transactions_response_0,
    }
    ENCODERS = {
        0: _write_list_transactions_response_0,
        1: _write_list_transactions_response_0,
        2: _write_list_transactions_response_0,
    }

    FIELDS = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = EMPTY,
        transaction_states: list[TransactionState] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = [] if unknown_state_filters is EMPTY else unknown_state_filters
        self.transaction_states = [] if transaction_states is EMPTY else transaction_states
        self.unknown_tags = unknown_tags
