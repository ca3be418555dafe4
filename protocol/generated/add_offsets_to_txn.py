"""AddOffsetsToTxnRequest 0-4 and AddOffsetsToTxnResponse 0-4.

Generated from schemas/rpc/AddOffsetsToTxnRequest.json and schemas/rpc/AddOffsetsToTxnResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
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
_unpack_qhB = Struct(">qhB").unpack_from
_unpack_qhh = Struct(">qhh").unpack_from
_pack_h = Struct(">h").pack
_pack_ih = Struct(">ih").pack
_pack_qh = Struct(">qh").pack
_pack_qhh = Struct(">qhh").pack


def _read_add_offsets_to_txn_request_0(data: bytes, pos: int) -> tuple[AddOffsetsToTxnRequest, int]:
    # AddOffsetsToTxnRequest, versions 0-2
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    transactional_id = data[pos:end].decode()
    pos = end
    producer_id, producer_epoch, n = _unpack_qhh(data, pos)
    pos += 12
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id), pos


def _write_add_offsets_to_txn_request_0(out: bytearray, item: AddOffsetsToTxnRequest) -> None:
    # AddOffsetsToTxnRequest, versions 0-2
    if item.unknown_tags:
        raise not_in_version("AddOffsetsToTxnRequest", "unknown_tags")
    raw = item.transactional_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.group_id.encode()
    out += _pack_qhh(item.producer_id, item.producer_epoch, len(raw))
    out += raw


def _read_add_offsets_to_txn_request_3(data: bytes, pos: int) -> tuple[AddOffsetsToTxnRequest, int]:
    # AddOffsetsToTxnRequest, versions 3-4
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    transactional_id = data[pos:end].decode()
    pos = end
    producer_id, producer_epoch, n = _unpack_qhB(data, pos)
    pos += 11
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    group_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id, unknown_tags), pos


def _write_add_offsets_to_txn_request_3(out: bytearray, item: AddOffsetsToTxnRequest) -> None:
    # AddOffsetsToTxnRequest, versions 3-4
    put_compact_string(out, item.transactional_id)
    out += _pack_qh(item.producer_id, item.producer_epoch)
    put_compact_string(out, item.group_id)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AddOffsetsToTxnRequest(Message):
    """Adds a group's offsets to a transaction."""

    API_KEY = 25
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_add_offsets_to_txn_request_0,
        1: _read_add_offsets_to_txn_request_0,
        2: _read_add_offsets_to_txn_request_0,
        3: _read_add_offsets_to_txn_request_3,
        4: _read_add_offsets_to_txn_request_3,
    }
    ENCODERS = {
        0: _write_add_offsets_to_txn_request_0,
        1: _write_add_offsets_to_txn_request_0,
        2: _write_add_offsets_to_txn_request_0,
        3: _write_add_offsets_to_txn_request_3,
        4: _write_add_offsets_to_txn_request_3,
    }

    FIELDS = ("transactional_id", "producer_id", "producer_epoch", "group_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id
        self.unknown_tags = unknown_tags


def _read_add_offsets_to_txn_response_0(data: bytes, pos: int) -> tuple[AddOffsetsToTxnResponse, int]:
    # AddOffsetsToTxnResponse, versions 0-2
    throttle_time_ms, error_code = _unpack_ih(data, pos)
    pos += 6
    return AddOffsetsToTxnResponse(throttle_time_ms, error_code), pos


def _write_add_offsets_to_txn_response_0(out: bytearray, item: AddOffsetsToTxnResponse) -> None:
    # AddOffsetsToTxnResponse, versions 0-2
    if item.unknown_tags:
        raise not_in_version("AddOffsetsToTxnResponse", "unknown_tags")
    out += _pack_ih(item.throttle_time_ms, item.error_code)


def _read_add_offsets_to_txn_response_3(data: bytes, pos: int) -> tuple[AddOffsetsToTxnResponse, int]:
    # AddOffsetsToTxnResponse, versions 3-4
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AddOffsetsToTxnResponse(throttle_time_ms, error_code, unknown_tags), pos


def _write_add_offsets_to_txn_response_3(out: bytearray, item: AddOffsetsToTxnResponse) -> None:
    # AddOffsetsToTxnResponse, versions 3-4
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AddOffsetsToTxnResponse(Message):
    """Whether the group's offsets were added.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 25
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_add_offsets_to_txn_response_0,
        1: _read_add_offsets_to_txn_response_0,
        2: _read_add_offsets_to_txn_response_0,
        3: _read_add_offsets_to_txn_response_3,
        4: _read_add_offsets_to_txn_response_3,
    }
    ENCODERS = {
        0: _write_add_offsets_to_txn_response_0,
        1: _write_add_offsets_to_txn_response_0,
        2: _write_add_offsets_to_txn_response_0,
        3: _write_add_offsets_to_txn_response_3,
        4: _write_add_offsets_to_txn_response_3,
    }

    FIELDS = ("throttle_time_ms", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tags = unknown_tags
