"""UnregisterBrokerRequest 0 and UnregisterBrokerResponse 0.

Generated from schemas/rpc/UnregisterBrokerRequest.json and schemas/rpc/UnregisterBrokerResponse.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    put_compact_string,
    read_string_length,
    read_tags,
    tag_buffer,
)

_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


def _read_unregister_broker_request_0(data: bytes, pos: int) -> tuple[UnregisterBrokerRequest, int]:
    # UnregisterBrokerRequest, version 0
    broker_id, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return UnregisterBrokerRequest(broker_id, unknown_tags), pos


def _write_unregister_broker_request_0(out: bytearray, item: UnregisterBrokerRequest) -> None:
    # UnregisterBrokerRequest, version 0
    out += _pack_i(item.broker_id)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class UnregisterBrokerRequest(Message):
    """Removes a broker that will not come back."""

    API_KEY = 64
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_unregister_broker_request_0}
    ENCODERS = {0: _write_unregister_broker_request_0}

    FIELDS = ("broker_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, broker_id: int = 0, unknown_tags: Tags = ()) -> None:
        self.broker_id = broker_id
        self.unknown_tags = unknown_tags


def _read_unregister_broker_response_0(data: bytes, pos: int) -> tuple[UnregisterBrokerResponse, int]:
    # UnregisterBrokerResponse, version 0
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
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return UnregisterBrokerResponse(throttle_time_ms, error_code, error_message, unknown_tags), pos


def _write_unregister_broker_response_0(out: bytearray, item: UnregisterBrokerResponse) -> None:
    # UnregisterBrokerResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class UnregisterBrokerResponse(Message):
    """Whether the broker was removed.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 64
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_unregister_broker_response_0}
    ENCODERS = {0: _write_unregister_broker_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags
