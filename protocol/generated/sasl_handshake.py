"""SaslHandshakeRequest 0-1 and SaslHandshakeResponse 0-1.

Generated from schemas/rpc/SaslHandshakeRequest.json and schemas/rpc/SaslHandshakeResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    Message,
    bad_length,
    put_strings,
    read_strings,
)

_unpack_h = Struct(">h").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack


def _read_sasl_handshake_request_0(data: bytes, pos: int) -> tuple[SaslHandshakeRequest, int]:
    # SaslHandshakeRequest, versions 0-1
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    mechanism = data[pos:end].decode()
    pos = end
    return SaslHandshakeRequest(mechanism), pos


def _write_sasl_handshake_request_0(out: bytearray, item: SaslHandshakeRequest) -> None:
    # SaslHandshakeRequest, versions 0-1
    raw = item.mechanism.encode()
    out += _pack_h(len(raw))
    out += raw


class SaslHandshakeRequest(Message):
    """Chooses a SASL mechanism."""

    API_KEY = 17
    MIN_VERSION = 0
    MAX_VERSION = 1
    DECODERS = {0: _read_sasl_handshake_request_0, 1: _read_sasl_handshake_request_0}
    ENCODERS = {0: _write_sasl_handshake_request_0, 1: _write_sasl_handshake_request_0}

    FIELDS = ("mechanism",)
    __slots__ = FIELDS

    def __init__(self, mechanism: str = "") -> None:
        self.mechanism = mechanism


def _read_sasl_handshake_response_0(data: bytes, pos: int) -> tuple[SaslHandshakeResponse, int]:
    # SaslHandshakeResponse, versions 0-1
    error_code, n = _unpack_hi(data, pos)
    pos += 6
    mechanisms, pos = read_strings(data, pos, n)
    return SaslHandshakeResponse(error_code, mechanisms), pos


def _write_sasl_handshake_response_0(out: bytearray, item: SaslHandshakeResponse) -> None:
    # SaslHandshakeResponse, versions 0-1
    out += _pack_hi(item.error_code, len(item.mechanisms))
    put_strings(out, item.mechanisms)


class SaslHandshakeResponse(Message):
    """The mechanisms the broker offers."""

    API_KEY = 17
    MIN_VERSION = 0
    MAX_VERSION = 1
    DECODERS = {0: _read_sasl_handshake_response_0, 1: _read_sasl_handshake_response_0}
    ENCODERS = {0: _write_sasl_handshake_response_0, 1: _write_sasl_handshake_response_0}

    FIELDS = ("error_code", "mechanisms")
    __slots__ = FIELDS

    def __init__(self, error_code: int = 0, mechanisms: list[str] = EMPTY) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is EMPTY else mechanisms
