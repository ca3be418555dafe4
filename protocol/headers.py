"""Request and response headers, and the one rule that gives the header version of each request.

    request header 1    api_key int16 | api_version int16 | correlation_id int32 | client_id nullable string (int16)
    request header 2    the same, then a tag buffer; the client id keeps its int16 length
    response header 0   correlation_id int32
    response header 1   the same, then a tag buffer

Flexible versions have request header 2 and response header 1. The only exception: ApiVersions responses always have
header 0, since a client that does not know the broker's versions yet must be able to read them (KIP-511).
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.index import APIS
from shareq.protocol.generated.request_header import RequestHeader as RequestHeaderMessage
from shareq.protocol.primitives import Gathered, MalformedMessage, Message, Tags, read_tags

_START_AND_CLIENT: Final = Struct(">hhih")
_CORRELATION_ID: Final = Struct(">i")


class RequestHeader(NamedTuple):
    """A request's header. `body_offset` is the offset in the frame at which the request itself begins."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    unknown_tags: Tags
    body_offset: int


class ResponseHeader(NamedTuple):
    """A response's header. `body_offset` is the offset in the frame at which the response itself begins."""

    correlation_id: int
    unknown_tags: Tags
    body_offset: int


def request_header_version(api_key: int, api_version: int) -> int:
    """Return 1, or 2 for flexible versions. Raises KeyError for an unknown key."""
    return 2 if api_version >= APIS[api_key][4] else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """Return 0, or 1 for flexible versions of all APIs but ApiVersions. Raises KeyError for an unknown key."""
    return 1 if api_version >= APIS[api_key][4] and api_key != ApiKey.API_VERSIONS else 0


def decode_request_header(frame: bytes) -> RequestHeader:
    """Return the header at the start of a request frame (without its size).

    Raises `MalformedMessage`, also for an unknown key.

    The version is not checked: one above the highest is read as flexible, if the API has flexible versions.
    """
    if len(frame) < _START_AND_CLIENT.size:
        raise MalformedMessage(f"request of {len(frame)} bytes")
    api_key, api_version, correlation_id, length = _START_AND_CLIENT.unpack_from(frame)
    row = APIS.get(api_key)
    if row is None:
        raise MalformedMessage(f"unknown api key {api_key}")
    pos = _START_AND_CLIENT.size
    client_id: str | None = None
    try:
        if length >= 0:
            end = pos + length
            client_id = frame[pos:end].decode()
            pos = end
        elif length != -1:
            raise MalformedMessage(f"client id of {length} bytes")
        tags: Tags = ()
        if api_version >= row[4]:
            first = frame[pos]
            pos += 1
            if first:
                tags, pos = read_tags(frame, pos, first)
    except (IndexError, UnicodeDecodeError) as error:
        raise MalformedMessage(f"request header: {error}") from error
    if pos > len(frame):
        raise MalformedMessage("request header cut short")
    return RequestHeader(api_key, api_version, correlation_id, client_id, tags, pos)


def encode_request(api_version: int, correlation_id: int, client_id: str | None, request: Message) -> bytes:
    """Return a whole request, header and body, without the frame's size. Raises `UnencodableMessage`."""
    header = RequestHeaderMessage(request.API_KEY, api_version, correlation_id, client_id)
    out = Gathered()
    header.encode_into(out, request_header_version(request.API_KEY, api_version))
    request.encode_into(out, api_version)
    return b"".join(out.pieces()) if out.left else bytes(out)  # large records are copied once


def response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """Return the header of a response, in the version that belongs to the request's. Raises KeyError for an unknown
    key.
    """
    start = _CORRELATION_ID.pack(correlation_id)
    return start + b"\0" if response_header_version(api_key, api_version) else start


def decode_response_header(frame: bytes, api_key: int, api_version: int) -> ResponseHeader:
    """Return the header at the start of a response frame (without its size). Raises `MalformedMessage`."""
    if len(frame) < _CORRELATION_ID.size:
        raise MalformedMessage(f"response of {len(frame)} bytes")
    (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
    pos = _CORRELATION_ID.size
    tags: Tags = ()
    if response_header_version(api_key, api_version):
        if len(frame) == pos:
            raise MalformedMessage("response header cut short")
        first = frame[pos]
        pos += 1
        if first:
            try:
                tags, pos = read_tags(frame, pos, first)
            except IndexError as error:
                raise MalformedMessage("response header cut short") from error
    return ResponseHeader(correlation_id, tags, pos)
