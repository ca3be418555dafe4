"""PushTelemetryRequest 0 and PushTelemetryResponse 0.

Generated from schemas/rpc/PushTelemetryRequest.json and schemas/rpc/PushTelemetryResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    SMALL,
    ZERO_UUID,
    Message,
    Tags,
    bad_uuid,
    read_bytes_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_uitbB = Struct(">16si?bB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_uitb = Struct(">16si?b").pack
_pack_ih = Struct(">ih").pack


def _read_push_telemetry_request_0(data: bytes, pos: int) -> tuple[PushTelemetryRequest, int]:
    # PushTelemetryRequest, version 0
    client_instance_id, subscription_id, terminating, compression_type, n = _unpack_uitbB(data, pos)
    pos += 23
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    metrics = data[pos:end]
    pos = end
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = PushTelemetryRequest(
        client_instance_id, subscription_id, terminating, compression_type, metrics, unknown_tags
    )
    return item, pos


def _write_push_telemetry_request_0(out: bytearray, item: PushTelemetryRequest) -> None:
    # PushTelemetryRequest, version 0
    if len(item.client_instance_id) != 16:
        raise bad_uuid(item.client_instance_id)
    out += _pack_uitb(item.client_instance_id, item.subscription_id, item.terminating, item.compression_type)
    n = len(item.metrics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.metrics
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class PushTelemetryRequest(Message):
    """A client's metrics, in OpenTelemetry's format.

    * `terminating`: The last push of a client that closes.
    """

    API_KEY = 72
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_push_telemetry_request_0}
    ENCODERS = {0: _write_push_telemetry_request_0}

    FIELDS = ("client_instance_id", "subscription_id", "terminating", "compression_type", "metrics", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics
        self.unknown_tags = unknown_tags


def _read_push_telemetry_response_0(data: bytes, pos: int) -> tuple[PushTelemetryResponse, int]:
    # PushTelemetryResponse, version 0
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return PushTelemetryResponse(throttle_time_ms, error_code, unknown_tags), pos


def _write_push_telemetry_response_0(out: bytearray, item: PushTelemetryResponse) -> None:
    # PushTelemetryResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class PushTelemetryResponse(Message):
    """Whether the metrics were taken.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 72
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_push_telemetry_response_0}
    ENCODERS = {0: _write_push_telemetry_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tags = unknown_tags
