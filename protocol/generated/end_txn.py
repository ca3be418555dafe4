"""EndTxnRequest 0-5 and EndTxnResponse 0-5.

Generated from schemas/rpc/EndTxnRequest.json and schemas/rpc/EndTxnResponse.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    bad_length,
    not_in_version,
    put_compact_string,
    read_string_length,
    read_tags,
    tag_buffer,
)

_unpack_h = Struct(">h").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihqhB = Struct(">ihqhB").unpack_from
_unpack_qht = Struct(">qh?").unpack_from
_unpack_qhtB = Struct(">qh?B").unpack_from
_pack_h = Struct(">h").pack
_pack_ih = Struct(">ih").pack
_pack_ihqh = Struct(">ihqh").pack
_pack_qht = Struct(">qh?").pack


def _read_end_txn_request_0(data: bytes, pos: int) -> tuple[EndTxnRequest, int]:
    # EndTxnRequest, versions 0-2
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    transactional_id = data[pos:end].decode()
    pos = end
    producer_id, producer_epoch, committed = _unpack_qht(data, pos)
    pos += 11
    return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed), pos


def _write_end_txn_request_0(out: bytearray, item: EndTxnRequest) -> None:
    # EndTxnRequest, versions 0-2
    if item.unknown_tags:
        raise not_in_version("EndTxnRequest", "unknown_tags")
    raw = item.transactional_id.encode()
    out += _pack_h(len(raw))
    out += raw
    out += _pack_qht(item.producer_id, item.producer_epoch, item.committed)


def _read_end_txn_request_3(data: bytes, pos: int) -> tuple[EndTxnRequest, int]:
    # EndTxnRequest, versions 3-5
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    transactional_id = data[pos:end].decode()
    pos = end
    producer_id, producer_epoch, committed, n = _unpack_qhtB(data, pos)
    pos += 12
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed, unknown_tags), pos


def _write_end_txn_request_3(out: bytearray, item: EndTxnRequest) -> None:
    # EndTxnRequest, versions 3-5
    put_compact_string(out, item.transactional_id)
    out += _pack_qht(item.producer_id, item.producer_epoch, item.committed)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class EndTxnRequest(Message):
    """Commits or aborts a transaction.

    * `committed`: True to commit, false to abort.
    """

    API_KEY = 26
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_end_txn_request_0,
        1: _read_end_txn_request_0,
        2: _read_end_txn_request_0,
        3: _read_end_txn_request_3,
        4: _read_end_txn_request_3,
        5: _read_end_txn_request_3,
    }
    ENCODERS = {
        0: _write_end_txn_request_0,
        1: _write_end_txn_request_0,
        2: _write_end_txn_request_0,
        3: _write_end_txn_request_3,
        4: _write_end_txn_request_3,
        5: _write_end_txn_request_3,
    }

    FIELDS = ("transactional_id", "producer_id", "producer_epoch", "committed", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed
        self.unknown_tags = unknown_tags


def _read_end_txn_response_0(data: bytes, pos: int) -> tuple[EndTxnResponse, int]:
    # EndTxnResponse, versions 0-2
    throttle_time_ms, error_code = _unpack_ih(data, pos)
    pos += 6
    return EndTxnResponse(throttle_time_ms, error_code, -1, -1), pos


def _write_end_txn_response_0(out: bytearray, item: EndTxnResponse) -> None:
    # EndTxnResponse, versions 0-2
    if item.unknown_tags:
        raise not_in_version("EndTxnResponse", "unknown_tags")
    out += _pack_ih(item.throttle_time_ms, item.error_code)


def _read_end_txn_response_3(data: bytes, pos: int) -> tuple[EndTxnResponse, int]:
    # EndTxnResponse, versions 3-4
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return EndTxnResponse(throttle_time_ms, error_code, -1, -1, unknown_tags), pos


def _write_end_txn_response_3(out: bytearray, item: EndTxnResponse) -> None:
    # EndTxnResponse, versions 3-4
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_end_txn_response_5(data: bytes, pos: int) -> tuple[EndTxnResponse, int]:
    # EndTxnResponse, version 5
    throttle_time_ms, error_code, producer_id, producer_epoch, n = _unpack_ihqhB(data, pos)
    pos += 17
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return EndTxnResponse(throttle_time_ms, error_code, producer_id, producer_epoch, unknown_tags), pos


def _write_end_txn_response_5(out: bytearray, item: EndTxnResponse) -> None:
    # EndTxnResponse, version 5
    out += _pack_ihqh(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class EndTxnResponse(Message):
    """Whether the transaction was ended; from version 5 on with the producer's next epoch.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `producer_id`: -1 if the request failed.
    """

    API_KEY = 26
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_end_txn_response_0,
        1: _read_end_txn_response_0,
        2: _read_end_txn_response_0,
        3: _read_end_txn_response_3,
        4: _read_end_txn_response_3,
        5: _read_end_txn_response_5,
    }
    ENCODERS = {
        0: _write_end_txn_response_0,
        1: _write_end_txn_response_0,
        2: _write_end_txn_response_0,
        3: _write_end_txn_response_3,
        4: _write_end_txn_response_3,
        5: _write_end_txn_response_5,
    }

    FIELDS = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.unknown_tags = unknown_tags
