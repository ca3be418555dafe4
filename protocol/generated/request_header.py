"""RequestHeader 1-2.

Generated from schemas/rpc/RequestHeader.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not
edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    bad_length,
    not_in_version,
    read_tags,
    tag_buffer,
)

_unpack_hhih = Struct(">hhih").unpack_from
_pack_h = Struct(">h").pack
_pack_hhi = Struct(">hhi").pack


def _read_request_header_1(data: bytes, pos: int) -> tuple[RequestHeader, int]:
    # RequestHeader, version 1
    request_api_key, request_api_version, correlation_id, n = _unpack_hhih(data, pos)
    pos += 10
    client_id: str | None = None
    if n >= 0:
        end = pos + n
        client_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    return RequestHeader(request_api_key, request_api_version, correlation_id, client_id), pos


def _write_request_header_1(out: bytearray, item: RequestHeader) -> None:
    # RequestHeader, version 1
    if item.unknown_tags:
        raise not_in_version("RequestHeader", "unknown_tags")
    out += _pack_hhi(item.request_api_key, item.request_api_version, item.correlation_id)
    if item.client_id is None:
        out += _pack_h(-1)
    else:
        raw = item.client_id.encode()
        out += _pack_h(len(raw))
        out += raw


def _read_request_header_2(data: bytes, pos: int) -> tuple[RequestHeader, int]:
    # RequestHeader, version 2
    request_api_key, request_api_version, correlation_id, n = _unpack_hhih(data, pos)
    pos += 10
    client_id: str | None = None
    if n >= 0:
        end = pos + n
        client_id = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return RequestHeader(request_api_key, request_api_version, correlation_id, client_id, unknown_tags), pos


def _write_request_header_2(out: bytearray, item: RequestHeader) -> None:
    # RequestHeader, version 2
    out += _pack_hhi(item.request_api_key, item.request_api_version, item.correlation_id)
    if item.client_id is None:
        out += _pack_h(-1)
    else:
        raw = item.client_id.encode()
        out += _pack_h(len(raw))
        out += raw
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class RequestHeader(Message):
    """In front of every request: version 2 if the request's version is flexible, else 1.

    * `client_id`: Keeps its int16 length in version 2, so that a broker can read it whatever it knows of the request.
    """

    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_request_header_1, 2: _read_request_header_2}
    ENCODERS = {1: _write_request_header_1, 2: _write_request_header_2}

    FIELDS = ("request_api_key", "request_api_version", "correlation_id", "client_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.unknown_tags = unknown_tags
