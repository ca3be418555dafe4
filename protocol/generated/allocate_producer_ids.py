"""AllocateProducerIdsRequest 0 and AllocateProducerIdsResponse 0.

Generated from schemas/rpc/AllocateProducerIdsRequest.json and schemas/rpc/AllocateProducerIdsResponse.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    read_tags,
    tag_buffer,
)

_unpack_ihqiB = Struct(">ihqiB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_pack_ihqi = Struct(">ihqi").pack
_pack_iq = Struct(">iq").pack


def _read_allocate_producer_ids_request_0(data: bytes, pos: int) -> tuple[AllocateProducerIdsRequest, int]:
    # AllocateProducerIdsRequest, version 0
    broker_id, broker_epoch, n = _unpack_iqB(data, pos)
    pos += 13
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AllocateProducerIdsRequest(broker_id, broker_epoch, unknown_tags), pos


def _write_allocate_producer_ids_request_0(out: bytearray, item: AllocateProducerIdsRequest) -> None:
    # AllocateProducerIdsRequest, version 0
    out += _pack_iq(item.broker_id, item.broker_epoch)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AllocateProducerIdsRequest(Message):
    """A broker asks the controller for a block of producer ids."""

    API_KEY = 67
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_allocate_producer_ids_request_0}
    ENCODERS = {0: _write_allocate_producer_ids_request_0}

    FIELDS = ("broker_id", "broker_epoch", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tags = unknown_tags


def _read_allocate_producer_ids_response_0(data: bytes, pos: int) -> tuple[AllocateProducerIdsResponse, int]:
    # AllocateProducerIdsResponse, version 0
    throttle_time_ms, error_code, producer_id_start, producer_id_len, n = _unpack_ihqiB(data, pos)
    pos += 19
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = AllocateProducerIdsResponse(throttle_time_ms, error_code, producer_id_start, producer_id_len, unknown_tags)
    return item, pos


def _write_allocate_producer_ids_response_0(out: bytearray, item: AllocateProducerIdsResponse) -> None:
    # AllocateProducerIdsResponse, version 0
    out += _pack_ihqi(item.throttle_time_ms, item.error_code, item.producer_id_start, item.producer_id_len)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AllocateProducerIdsResponse(Message):
    """The block.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 67
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_allocate_producer_ids_response_0}
    ENCODERS = {0: _write_allocate_producer_ids_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "producer_id_start", "producer_id_len", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len
        self.unknown_tags = unknown_tags
