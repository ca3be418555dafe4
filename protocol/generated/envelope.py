"""EnvelopeRequest 0 and EnvelopeResponse 0.

Generated from schemas/rpc/EnvelopeRequest.json and schemas/rpc/EnvelopeResponse.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    SMALL,
    Message,
    Tags,
    read_bytes_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_hB = Struct(">hB").unpack_from
_pack_h = Struct(">h").pack


def _read_envelope_request_0(data: bytes, pos: int) -> tuple[EnvelopeRequest, int]:
    # EnvelopeRequest, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    request_data = data[pos:end]
    pos = end
    n = data[pos]
    pos += 1
    request_principal: bytes | None = None
    if n:
        if n > 127:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        request_principal = data[pos:end]
        pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    client_host_address = data[pos:end]
    pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return EnvelopeRequest(request_data, request_principal, client_host_address, unknown_tags), pos


def _write_envelope_request_0(out: bytearray, item: EnvelopeRequest) -> None:
    # EnvelopeRequest, version 0
    n = len(item.request_data) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.request_data
    if item.request_principal is None:
        out.append(0)
    else:
        n = len(item.request_principal) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.request_principal
    n = len(item.client_host_address) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.client_host_address
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class EnvelopeRequest(Message):
    """Carries a client's request from a broker to the controller."""

    API_KEY = 58
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_envelope_request_0}
    ENCODERS = {0: _write_envelope_request_0}

    FIELDS = ("request_data", "request_principal", "client_host_address", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address
        self.unknown_tags = unknown_tags


def _read_envelope_response_0(data: bytes, pos: int) -> tuple[EnvelopeResponse, int]:
    # EnvelopeResponse, version 0
    n = data[pos]
    pos += 1
    response_data: bytes | None = None
    if n:
        if n > 127:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        response_data = data[pos:end]
        pos = end
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return EnvelopeResponse(response_data, error_code, unknown_tags), pos


def _write_envelope_response_0(out: bytearray, item: EnvelopeResponse) -> None:
    # EnvelopeResponse, version 0
    if item.response_data is None:
        out.append(0)
    else:
        n = len(item.response_data) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.response_data
    out += _pack_h(item.error_code)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class EnvelopeResponse(Message):
    """Carries the answer back."""

    API_KEY = 58
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_envelope_response_0}
    ENCODERS = {0: _write_envelope_response_0}

    FIELDS = ("response_data", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        response_data: bytes | None = None,
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.response_data = response_data
        self.error_code = error_code
        self.unknown_tags = unknown_tags
