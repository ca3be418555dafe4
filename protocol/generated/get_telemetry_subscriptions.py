"""GetTelemetrySubscriptionsRequest 0 and GetTelemetrySubscriptionsResponse 0.

Generated from schemas/rpc/GetTelemetrySubscriptionsRequest.json and schemas/rpc/GetTelemetrySubscriptionsResponse.json
(Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    ZERO_UUID,
    Message,
    Tags,
    bad_uuid,
    put_compact_strings,
    put_int8s,
    read_compact_int8s,
    read_compact_strings,
    read_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_uB = Struct(">16sB").unpack_from
_unpack_ihuiB = Struct(">ih16siB").unpack_from
_unpack_iitB = Struct(">ii?B").unpack_from
_pack_u = Struct(">16s").pack
_pack_ihui = Struct(">ih16si").pack
_pack_iit = Struct(">ii?").pack


def _read_get_telemetry_subscriptions_request_0(data: bytes, pos: int) -> tuple[GetTelemetrySubscriptionsRequest, int]:
    # GetTelemetrySubscriptionsRequest, version 0
    client_instance_id, n = _unpack_uB(data, pos)
    pos += 17
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return GetTelemetrySubscriptionsRequest(client_instance_id, unknown_tags), pos


def _write_get_telemetry_subscriptions_request_0(out: bytearray, item: GetTelemetrySubscriptionsRequest) -> None:
    # GetTelemetrySubscriptionsRequest, version 0
    if len(item.client_instance_id) != 16:
        raise bad_uuid(item.client_instance_id)
    out += _pack_u(item.client_instance_id)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class GetTelemetrySubscriptionsRequest(Message):
    """A client asks which of its metrics the broker wants (KIP-714).

    * `client_instance_id`: The zero id on the first request; the answer carries the one to use.
    """

    API_KEY = 71
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_get_telemetry_subscriptions_request_0}
    ENCODERS = {0: _write_get_telemetry_subscriptions_request_0}

    FIELDS = ("client_instance_id", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, client_instance_id: bytes = ZERO_UUID, unknown_tags: Tags = ()) -> None:
        self.client_instance_id = client_instance_id
        self.unknown_tags = unknown_tags


def _read_get_telemetry_subscriptions_response_0(
    data: bytes, pos: int
) -> tuple[GetTelemetrySubscriptionsResponse, int]:
    # GetTelemetrySubscriptionsResponse, version 0
    throttle_time_ms, error_code, client_instance_id, subscription_id, n = _unpack_ihuiB(data, pos)
    pos += 27
    if n == 2 and data[pos] < 128:
        accepted_compression_types = [data[pos]]
        pos += 1
    else:
        accepted_compression_types, pos = read_compact_int8s(data, pos, n)
    push_interval_ms, telemetry_max_bytes, delta_temporality, n = _unpack_iitB(data, pos)
    pos += 10
    if n > 127:
        n, pos = read_length(data, pos)
    requested_metrics, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = GetTelemetrySubscriptionsResponse(
        throttle_time_ms,
        error_code,
        client_instance_id,
        subscription_id,
        accepted_compression_types,
        push_interval_ms,
        telemetry_max_bytes,
        delta_temporality,
        requested_metrics,
        unknown_tags,
    )
    return item, pos


def _write_get_telemetry_subscriptions_response_0(out: bytearray, item: GetTelemetrySubscriptionsResponse) -> None:
    # GetTelemetrySubscriptionsResponse, version 0
    if len(item.client_instance_id) != 16:
        raise bad_uuid(item.client_instance_id)
    out += _pack_ihui(item.throttle_time_ms, item.error_code, item.client_instance_id, item.subscription_id)
    n = len(item.accepted_compression_types) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_int8s(out, item.accepted_compression_types)
    out += _pack_iit(item.push_interval_ms, item.telemetry_max_bytes, item.delta_temporality)
    n = len(item.requested_metrics) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.requested_metrics)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class GetTelemetrySubscriptionsResponse(Message):
    """Which metrics to push, and how often.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `requested_metrics`: Prefixes of metric names; an empty list for none, one empty prefix for all.
    """

    API_KEY = 71
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_get_telemetry_subscriptions_response_0}
    ENCODERS = {0: _write_get_telemetry_subscriptions_response_0}

    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "client_instance_id",
        "subscription_id",
        "accepted_compression_types",
        "push_interval_ms",
        "telemetry_max_bytes",
        "delta_temporality",
        "requested_metrics",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: list[int] = EMPTY,
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: list[str] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types = [] if accepted_compression_types is EMPTY else accepted_compression_types
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics = [] if requested_metrics is EMPTY else requested_metrics
        self.unknown_tags = unknown_tags
