"""RenewDelegationTokenRequest 1-2 and RenewDelegationTokenResponse 1-2.

Generated from schemas/rpc/RenewDelegationTokenRequest.json and schemas/rpc/RenewDelegationTokenResponse.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    read_bytes_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_hqi = Struct(">hqi").unpack_from
_unpack_hqiB = Struct(">hqiB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_pack_hqi = Struct(">hqi").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack


def _read_renew_delegation_token_request_1(data: bytes, pos: int) -> tuple[RenewDelegationTokenRequest, int]:
    # RenewDelegationTokenRequest, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    if n < 0:
        raise bad_length(n)
    end = pos + n
    hmac = data[pos:end]
    pos = end
    (renew_period_ms,) = _unpack_q(data, pos)
    pos += 8
    return RenewDelegationTokenRequest(hmac, renew_period_ms), pos


def _write_renew_delegation_token_request_1(out: bytearray, item: RenewDelegationTokenRequest) -> None:
    # RenewDelegationTokenRequest, version 1
    if item.unknown_tags:
        raise not_in_version("RenewDelegationTokenRequest", "unknown_tags")
    out += _pack_i(len(item.hmac))
    out += item.hmac
    out += _pack_q(item.renew_period_ms)


def _read_renew_delegation_token_request_2(data: bytes, pos: int) -> tuple[RenewDelegationTokenRequest, int]:
    # RenewDelegationTokenRequest, version 2
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    hmac = data[pos:end]
    pos = end
    renew_period_ms, n = _unpack_qB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return RenewDelegationTokenRequest(hmac, renew_period_ms, unknown_tags), pos


def _write_renew_delegation_token_request_2(out: bytearray, item: RenewDelegationTokenRequest) -> None:
    # RenewDelegationTokenRequest, version 2
    n = len(item.hmac) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.hmac
    out += _pack_q(item.renew_period_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class RenewDelegationTokenRequest(Message):
    """Prolongs a delegation token."""

    API_KEY = 39
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_renew_delegation_token_request_1, 2: _read_renew_delegation_token_request_2}
    ENCODERS = {1: _write_renew_delegation_token_request_1, 2: _write_renew_delegation_token_request_2}

    FIELDS = ("hmac", "renew_period_ms", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        hmac: bytes = b"",
        renew_period_ms: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.hmac = hmac
        self.renew_period_ms = renew_period_ms
        self.unknown_tags = unknown_tags


def _read_renew_delegation_token_response_1(data: bytes, pos: int) -> tuple[RenewDelegationTokenResponse, int]:
    # RenewDelegationTokenResponse, version 1
    error_code, expiry_timestamp_ms, throttle_time_ms = _unpack_hqi(data, pos)
    pos += 14
    return RenewDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms), pos


def _write_renew_delegation_token_response_1(out: bytearray, item: RenewDelegationTokenResponse) -> None:
    # RenewDelegationTokenResponse, version 1
    if item.unknown_tags:
        raise not_in_version("RenewDelegationTokenResponse", "unknown_tags")
    out += _pack_hqi(item.error_code, item.expiry_timestamp_ms, item.throttle_time_ms)


def _read_renew_delegation_token_response_2(data: bytes, pos: int) -> tuple[RenewDelegationTokenResponse, int]:
    # RenewDelegationTokenResponse, version 2
    error_code, expiry_timestamp_ms, throttle_time_ms, n = _unpack_hqiB(data, pos)
    pos += 15
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return RenewDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms, unknown_tags), pos


def _write_renew_delegation_token_response_2(out: bytearray, item: RenewDelegationTokenResponse) -> None:
    # RenewDelegationTokenResponse, version 2
    out += _pack_hqi(item.error_code, item.expiry_timestamp_ms, item.throttle_time_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class RenewDelegationTokenResponse(Message):
    """The new expiry.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 39
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_renew_delegation_token_response_1, 2: _read_renew_delegation_token_response_2}
    ENCODERS = {1: _write_renew_delegation_token_response_1, 2: _write_renew_delegation_token_response_2}

    FIELDS = ("error_code", "expiry_timestamp_ms", "throttle_time_ms", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tags = unknown_tags
