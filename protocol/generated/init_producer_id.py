"""InitProducerIdRequest 0-6 and InitProducerIdResponse 0-6.

Generated from schemas/rpc/InitProducerIdRequest.json and schemas/rpc/InitProducerIdResponse.json (Apache Kafka 4.4.0)
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
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihqh = Struct(">ihqh").unpack_from
_unpack_ihqhB = Struct(">ihqhB").unpack_from
_unpack_ihqhqhB = Struct(">ihqhqhB").unpack_from
_unpack_iqhttB = Struct(">iqh??B").unpack_from
_unpack_iqhB = Struct(">iqhB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ihqh = Struct(">ihqh").pack
_pack_ihqhqh = Struct(">ihqhqh").pack
_pack_iqh = Struct(">iqh").pack
_pack_iqhtt = Struct(">iqh??").pack


def _read_init_producer_id_request_0(data: bytes, pos: int) -> tuple[InitProducerIdRequest, int]:
    # InitProducerIdRequest, versions 0-1
    (n,) = _unpack_h(data, pos)
    pos += 2
    transactional_id: str | None = None
    if n >= 0:
        end = pos + n
        transactional_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (transaction_timeout_ms,) = _unpack_i(data, pos)
    pos += 4
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, -1, -1, False, False), pos


def _write_init_producer_id_request_0(out: bytearray, item: InitProducerIdRequest) -> None:
    # InitProducerIdRequest, versions 0-1
    if item.producer_id != -1:
        raise not_in_version("InitProducerIdRequest", "producer_id")
    if item.producer_epoch != -1:
        raise not_in_version("InitProducerIdRequest", "producer_epoch")
    if item.enable_2pc:
        raise not_in_version("InitProducerIdRequest", "enable_2pc")
    if item.keep_prepared_txn:
        raise not_in_version("InitProducerIdRequest", "keep_prepared_txn")
    if item.unknown_tags:
        raise not_in_version("InitProducerIdRequest", "unknown_tags")
    if item.transactional_id is None:
        out += _pack_h(-1)
    else:
        raw = item.transactional_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_i(item.transaction_timeout_ms)


def _read_init_producer_id_request_2(data: bytes, pos: int) -> tuple[InitProducerIdRequest, int]:
    # InitProducerIdRequest, version 2
    n = data[pos]
    pos += 1
    transactional_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transactional_id = data[pos:end].decode()
        pos = end
    transaction_timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, -1, -1, False, False, unknown_tags), pos


def _write_init_producer_id_request_2(out: bytearray, item: InitProducerIdRequest) -> None:
    # InitProducerIdRequest, version 2
    if item.producer_id != -1:
        raise not_in_version("InitProducerIdRequest", "producer_id")
    if item.producer_epoch != -1:
        raise not_in_version("InitProducerIdRequest", "producer_epoch")
    if item.enable_2pc:
        raise not_in_version("InitProducerIdRequest", "enable_2pc")
    if item.keep_prepared_txn:
        raise not_in_version("InitProducerIdRequest", "keep_prepared_txn")
    if item.transactional_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.transactional_id)
    out += _pack_i(item.transaction_timeout_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_init_producer_id_request_3(data: bytes, pos: int) -> tuple[InitProducerIdRequest, int]:
    # InitProducerIdRequest, versions 3-5
    n = data[pos]
    pos += 1
    transactional_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transactional_id = data[pos:end].decode()
        pos = end
    transaction_timeout_ms, producer_id, producer_epoch, n = _unpack_iqhB(data, pos)
    pos += 15
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = InitProducerIdRequest(
        transactional_id, transaction_timeout_ms, producer_id, producer_epoch, False, False, unknown_tags
    )
    return item, pos


def _write_init_producer_id_request_3(out: bytearray, item: InitProducerIdRequest) -> None:
    # InitProducerIdRequest, versions 3-5
    if item.enable_2pc:
        raise not_in_version("InitProducerIdRequest", "enable_2pc")
    if item.keep_prepared_txn:
        raise not_in_version("InitProducerIdRequest", "keep_prepared_txn")
    if item.transactional_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.transactional_id)
    out += _pack_iqh(item.transaction_timeout_ms, item.producer_id, item.producer_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_init_producer_id_request_6(data: bytes, pos: int) -> tuple[InitProducerIdRequest, int]:
    # InitProducerIdRequest, version 6
    n = data[pos]
    pos += 1
    transactional_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        transactional_id = data[pos:end].decode()
        pos = end
    (
        transaction_timeout_ms,
        producer_id,
        producer_epoch,
        enable_2pc,
        keep_prepared_txn,
        n,
    ) = _unpack_iqhttB(data, pos)
    pos += 17
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = InitProducerIdRequest(
        transactional_id,
        transaction_timeout_ms,
        producer_id,
        producer_epoch,
        enable_2pc,
        keep_prepared_txn,
        unknown_tags,
    )
    return item, pos


def _write_init_producer_id_request_6(out: bytearray, item: InitProducerIdRequest) -> None:
    # InitProducerIdRequest, version 6
    if item.transactional_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.transactional_id)
    out += _pack_iqhtt(
        item.transaction_timeout_ms, item.producer_id, item.producer_epoch, item.enable_2pc, item.keep_prepared_txn
    )
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class InitProducerIdRequest(Message):
    """Gets a producer id; with a transactional id, also fences the previous producer.

    * `producer_id`: To raise the epoch of an id the producer has; -1 for a new one.
    * `enable_2pc`: The transaction may stay prepared without a timeout (KIP-939).
    * `keep_prepared_txn`: Do not abort a transaction that is prepared (KIP-939).
    """

    API_KEY = 22
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 2
    DECODERS = {
        0: _read_init_producer_id_request_0,
        1: _read_init_producer_id_request_0,
        2: _read_init_producer_id_request_2,
        3: _read_init_producer_id_request_3,
        4: _read_init_producer_id_request_3,
        5: _read_init_producer_id_request_3,
        6: _read_init_producer_id_request_6,
    }
    ENCODERS = {
        0: _write_init_producer_id_request_0,
        1: _write_init_producer_id_request_0,
        2: _write_init_producer_id_request_2,
        3: _write_init_producer_id_request_3,
        4: _write_init_producer_id_request_3,
        5: _write_init_producer_id_request_3,
        6: _write_init_producer_id_request_6,
    }

    FIELDS = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",
        "producer_epoch",
        "enable_2pc",
        "keep_prepared_txn",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable_2pc: bool = False,
        keep_prepared_txn: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable_2pc = enable_2pc
        self.keep_prepared_txn = keep_prepared_txn
        self.unknown_tags = unknown_tags


def _read_init_producer_id_response_0(data: bytes, pos: int) -> tuple[InitProducerIdResponse, int]:
    # InitProducerIdResponse, versions 0-1
    throttle_time_ms, error_code, producer_id, producer_epoch = _unpack_ihqh(data, pos)
    pos += 16
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, -1, -1), pos


def _write_init_producer_id_response_0(out: bytearray, item: InitProducerIdResponse) -> None:
    # InitProducerIdResponse, versions 0-1
    if item.ongoing_txn_producer_id != -1:
        raise not_in_version("InitProducerIdResponse", "ongoing_txn_producer_id")
    if item.ongoing_txn_producer_epoch != -1:
        raise not_in_version("InitProducerIdResponse", "ongoing_txn_producer_epoch")
    if item.unknown_tags:
        raise not_in_version("InitProducerIdResponse", "unknown_tags")
    out += _pack_ihqh(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch)


def _read_init_producer_id_response_2(data: bytes, pos: int) -> tuple[InitProducerIdResponse, int]:
    # InitProducerIdResponse, versions 2-5
    throttle_time_ms, error_code, producer_id, producer_epoch, n = _unpack_ihqhB(data, pos)
    pos += 17
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, -1, -1, unknown_tags), pos


def _write_init_producer_id_response_2(out: bytearray, item: InitProducerIdResponse) -> None:
    # InitProducerIdResponse, versions 2-5
    if item.ongoing_txn_producer_id != -1:
        raise not_in_version("InitProducerIdResponse", "ongoing_txn_producer_id")
    if item.ongoing_txn_producer_epoch != -1:
        raise not_in_version("InitProducerIdResponse", "ongoing_txn_producer_epoch")
    out += _pack_ihqh(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_init_producer_id_response_6(data: bytes, pos: int) -> tuple[InitProducerIdResponse, int]:
    # InitProducerIdResponse, version 6
    (
        throttle_time_ms,
        error_code,
        producer_id,
        producer_epoch,
        ongoing_txn_producer_id,
        ongoing_txn_producer_epoch,
        n,
    ) = _unpack_ihqhqhB(data, pos)
    pos += 27
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = InitProducerIdResponse(
        throttle_time_ms,
        error_code,
        producer_id,
        producer_epoch,
        ongoing_txn_producer_id,
        ongoing_txn_producer_epoch,
        unknown_tags,
    )
    return item, pos


def _write_init_producer_id_response_6(out: bytearray, item: InitProducerIdResponse) -> None:
    # InitProducerIdResponse, version 6
    out += _pack_ihqhqh(
        item.throttle_time_ms,
        item.error_code,
        item.producer_id,
        item.producer_epoch,
        item.ongoing_txn_producer_id,
        item.ongoing_txn_producer_epoch,
    )
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class InitProducerIdResponse(Message):
    """The producer's id and epoch.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 22
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 2
    DECODERS = {
        0: _read_init_producer_id_response_0,
        1: _read_init_producer_id_response_0,
        2: _read_init_producer_id_response_2,
        3: _read_init_producer_id_response_2,
        4: _read_init_producer_id_response_2,
        5: _read_init_producer_id_response_2,
        6: _read_init_producer_id_response_6,
    }
    ENCODERS = {
        0: _write_init_producer_id_response_0,
        1: _write_init_producer_id_response_0,
        2: _write_init_producer_id_response_2,
        3: _write_init_producer_id_response_2,
        4: _write_init_producer_id_response_2,
        5: _write_init_producer_id_response_2,
        6: _write_init_producer_id_response_6,
    }

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
        "ongoing_txn_producer_id",
        "ongoing_txn_producer_epoch",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch
        self.unknown_tags = unknown_tags
