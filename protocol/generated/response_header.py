"""ResponseHeader 0-1.

Generated from schemas/rpc/ResponseHeader.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not
edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    not_in_version,
    read_tags,
    tag_buffer,
)

_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_i = Struct(">i").pack


def _read_response_header_0(data: bytes, pos: int) -> tuple[ResponseHeader, int]:
    # ResponseHeader, version 0
    (correlation_id,) = _unpack_i(data, pos)
    pos += 4
    return ResponseHeader(correlation_id), pos


def _write_response_header_0(out: bytearray, item: ResponseHeader) -> None:
    # ResponseHeader, version 0
    if item.unknown_tags:
        raise not_in_version("ResponseHeader", "unknown_tags")
    out += _pack_i(item.correlation_id)


def _read_response_header_1(data: bytes, pos: int) -> tuple[ResponseHeader, int]:
    # ResponseHeader, version 1
    correlation_id, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ResponseHeader(correlation_id, unknown_tags), pos


def _write_response_header_1(out: bytearray, item: ResponseHeader) -> None:
    # ResponseHeader, version 1
    out += _pack_i(item.correlation_id)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ResponseHeader(Message):
    """In front of every response: version 1 if the response's version is flexible, else 0; for ApiVersions always 0."""

    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_response_header_0, 1: _read_response_header_1}
    ENCODERS = {0: _write_response_header_0, 1: _write_response_header_1}

    FIELDS = ("correlation_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, correlation_id: int = 0, unknown_tags: Tags = ()) -> None:
        self.correlation_id = correlation_id
        self.unknown_tags = unknown_tags
