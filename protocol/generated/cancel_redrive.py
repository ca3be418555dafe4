"""CancelRedriveRequest 0 and CancelRedriveResponse 0.

Generated from schemas/shareq/CancelRedriveRequest.json and schemas/shareq/CancelRedriveResponse.json (Apache Kafka
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

_unpack_ihB = Struct(">ihB").unpack_from
_pack_ih = Struct(">ih").pack


def _read_cancel_redrive_request_0(data: bytes, pos: int) -> tuple[CancelRedriveRequest, int]:
    # CancelRedriveRequest, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    name = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CancelRedriveRequest(name, unknown_tags), pos


def _write_cancel_redrive_request_0(out: bytearray, item: CancelRedriveRequest) -> None:
    # CancelRedriveRequest, version 0
    put_compact_string(out, item.name)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CancelRedriveRequest(Message):
    """shareq's own: end a redrive where it is."""

    API_KEY = 29555
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_cancel_redrive_request_0}
    ENCODERS = {0: _write_cancel_redrive_request_0}

    FIELDS = ("name", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, name: str = "", unknown_tags: Tags = ()) -> None:
        self.name = name
        self.unknown_tags = unknown_tags


def _read_cancel_redrive_response_0(data: bytes, pos: int) -> tuple[CancelRedriveResponse, int]:
    # CancelRedriveResponse, version 0
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
    return CancelRedriveResponse(throttle_time_ms, error_code, error_message, unknown_tags), pos


def _write_cancel_redrive_response_0(out: bytearray, item: CancelRedriveResponse) -> None:
    # CancelRedriveResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CancelRedriveResponse(Message):
    """Whether it has ended; what it has sent back stays there.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 29555
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_cancel_redrive_response_0}
    ENCODERS = {0: _write_cancel_redrive_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags
