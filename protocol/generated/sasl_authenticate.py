"""SaslAuthenticateRequest 0-2 and SaslAuthenticateResponse 0-2.

Generated from schemas/rpc/SaslAuthenticateRequest.json and schemas/rpc/SaslAuthenticateResponse.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    SMALL,
    Message,
    Tags,
    bad_length,
    not_in_version,
    put_compact_string,
    read_bytes_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack


def _read_sasl_authenticate_request_0(data: bytes, pos: int) -> tuple[SaslAuthenticateRequest, int]:
    # SaslAuthenticateRequest, versions 0-1
    (n,) = _unpack_i(data, pos)
    pos += 4
    if n < 0:
        raise bad_length(n)
    end = pos + n
    auth_bytes = data[pos:end]
    pos = end
    return SaslAuthenticateRequest(auth_bytes), pos


def _write_sasl_authenticate_request_0(out: bytearray, item: SaslAuthenticateRequest) -> None:
    # SaslAuthenticateRequest, versions 0-1
    if item.unknown_tags:
        raise not_in_version("SaslAuthenticateRequest", "unknown_tags")
    out += _pack_i(len(item.auth_bytes))
    out += item.auth_bytes


def _read_sasl_authenticate_request_2(data: bytes, pos: int) -> tuple[SaslAuthenticateRequest, int]:
    # SaslAuthenticateRequest, version 2
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    auth_bytes = data[pos:end]
    pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return SaslAuthenticateRequest(auth_bytes, unknown_tags), pos


def _write_sasl_authenticate_request_2(out: bytearray, item: SaslAuthenticateRequest) -> None:
    # SaslAuthenticateRequest, version 2
    n = len(item.auth_bytes) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.auth_bytes
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class SaslAuthenticateRequest(Message):
    """One message of the SASL exchange from the client."""

    API_KEY = 36
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {
        0: _read_sasl_authenticate_request_0,
        1: _read_sasl_authenticate_request_0,
        2: _read_sasl_authenticate_request_2,
    }
    ENCODERS = {
        0: _write_sasl_authenticate_request_0,
        1: _write_sasl_authenticate_request_0,
        2: _write_sasl_authenticate_request_2,
    }

    FIELDS = ("auth_bytes", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, auth_bytes: bytes = b"", unknown_tags: Tags = ()) -> None:
        self.auth_bytes = auth_bytes
        self.unknown_tags = unknown_tags


def _read_sasl_authenticate_response_0(data: bytes, pos: int) -> tuple[SaslAuthenticateResponse, int]:
    # SaslAuthenticateResponse, version 0
    error_code, n = _unpack_hh(data, pos)
    pos += 4
    error_message: str | None = None
    if n >= 0:
        end = pos + n
        error_message = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    if n < 0:
        raise bad_length(n)
    end = pos + n
    auth_bytes = data[pos:end]
    pos = end
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes, 0), pos


def _write_sasl_authenticate_response_0(out: bytearray, item: SaslAuthenticateResponse) -> None:
    # SaslAuthenticateResponse, version 0
    if item.unknown_tags:
        raise not_in_version("SaslAuthenticateResponse", "unknown_tags")
    out += _pack_h(item.error_code)
    if item.error_message is None:
        out += _pack_h(-1)
    else:
        raw = item.error_message.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_i(len(item.auth_bytes))
    out += item.auth_bytes


def _read_sasl_authenticate_response_1(data: bytes, pos: int) -> tuple[SaslAuthenticateResponse, int]:
    # SaslAuthenticateResponse, version 1
    error_code, n = _unpack_hh(data, pos)
    pos += 4
    error_message: str | None = None
    if n >= 0:
        end = pos + n
        error_message = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    if n < 0:
        raise bad_length(n)
    end = pos + n
    auth_bytes = data[pos:end]
    pos = end
    (session_lifetime_ms,) = _unpack_q(data, pos)
    pos += 8
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms), pos


def _write_sasl_authenticate_response_1(out: bytearray, item: SaslAuthenticateResponse) -> None:
    # SaslAuthenticateResponse, version 1
    if item.unknown_tags:
        raise not_in_version("SaslAuthenticateResponse", "unknown_tags")
    out += _pack_h(item.error_code)
    if item.error_message is None:
        out += _pack_h(-1)
    else:
        raw = item.error_message.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_i(len(item.auth_bytes))
    out += item.auth_bytes
    out += _pack_q(item.session_lifetime_ms)


def _read_sasl_authenticate_response_2(data: bytes, pos: int) -> tuple[SaslAuthenticateResponse, int]:
    # SaslAuthenticateResponse, version 2
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    error_message: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        error_message = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    auth_bytes = data[pos:end]
    pos = end
    session_lifetime_ms, n = _unpack_qB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms, unknown_tags), pos


def _write_sasl_authenticate_response_2(out: bytearray, item: SaslAuthenticateResponse) -> None:
    # SaslAuthenticateResponse, version 2
    out += _pack_h(item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.auth_bytes) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.auth_bytes
    out += _pack_q(item.session_lifetime_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class SaslAuthenticateResponse(Message):
    """One message of the SASL exchange from the broker.

    * `session_lifetime_ms`: After this the client must authenticate again; 0 for never.
    """

    API_KEY = 36
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {
        0: _read_sasl_authenticate_response_0,
        1: _read_sasl_authenticate_response_1,
        2: _read_sasl_authenticate_response_2,
    }
    ENCODERS = {
        0: _write_sasl_authenticate_response_0,
        1: _write_sasl_authenticate_response_1,
        2: _write_sasl_authenticate_response_2,
    }

    FIELDS = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms
        self.unknown_tags = unknown_tags
