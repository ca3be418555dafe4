"""DescribeUserScramCredentialsRequest 0 and DescribeUserScramCredentialsResponse 0.

Generated from schemas/rpc/DescribeUserScramCredentialsRequest.json and
schemas/rpc/DescribeUserScramCredentialsResponse.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do
not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    Message,
    Structure,
    Tags,
    bad_count,
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_iterate_biB = Struct(">biB").iter_unpack
_unpack_biB = Struct(">biB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_bi = Struct(">bi").pack
_pack_h = Struct(">h").pack
_pack_ih = Struct(">ih").pack


class UserName(Structure):
    """An element of DescribeUserScramCredentialsRequest.Users."""

    FIELDS = ("name", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, name: str = "", unknown_tags: Tags = ()) -> None:
        self.name = name
        self.unknown_tags = unknown_tags


def _read_user_name_array_0(data: bytes, pos: int, count: int) -> tuple[list[UserName], int]:
    # UserName, version 0
    if not 0 <= count * 2 <= len(data) - pos:
        raise bad_count(count)
    items: list[UserName] = []
    for _ in range(count):
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
        items.append(UserName(name, unknown_tags))
    return items, pos


def _write_user_name_array_0(out: bytearray, items: list[UserName]) -> None:
    # UserName, version 0
    for item in items:
        put_compact_string(out, item.name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_user_scram_credentials_request_0(
    data: bytes, pos: int
) -> tuple[DescribeUserScramCredentialsRequest, int]:
    # DescribeUserScramCredentialsRequest, version 0
    n = data[pos]
    pos += 1
    users: list[UserName] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        users, pos = _read_user_name_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeUserScramCredentialsRequest(users, unknown_tags), pos


def _write_describe_user_scram_credentials_request_0(out: bytearray, item: DescribeUserScramCredentialsRequest) -> None:
    # DescribeUserScramCredentialsRequest, version 0
    if item.users is None:
        out.append(0)
    else:
        n = len(item.users) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_user_name_array_0(out, item.users)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeUserScramCredentialsRequest(Message):
    """Lists the SCRAM credentials users have, without their secrets."""

    API_KEY = 50
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_user_scram_credentials_request_0}
    ENCODERS = {0: _write_describe_user_scram_credentials_request_0}

    FIELDS = ("users", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, users: list[UserName] | None = EMPTY, unknown_tags: Tags = ()) -> None:
        self.users = [] if users is EMPTY else users
        self.unknown_tags = unknown_tags


class DescribeUserScramCredentialsResult(Structure):
    """An element of DescribeUserScramCredentialsResponse.Results."""

    FIELDS = ("user", "error_code", "error_message", "credential_infos", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = [] if credential_infos is EMPTY else credential_infos
        self.unknown_tags = unknown_tags


class CredentialInfo(Structure):
    """An element of DescribeUserScramCredentialsResult.CredentialInfos."""

    FIELDS = ("mechanism", "iterations", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        mechanism: int = 0,
        iterations: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations
        self.unknown_tags = unknown_tags


def _read_credential_info_array_0(data: bytes, pos: int, count: int) -> tuple[list[CredentialInfo], int]:
    # CredentialInfo, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[CredentialInfo] = []
    if count > 3 and count * 6 <= len(data) - pos:
        elements = _iterate_biB(data[pos : pos + count * 6])
        for mechanism, iterations, n in elements:
            if n:
                break
            items.append(CredentialInfo(mechanism, iterations))
        pos += len(items) * 6
        count -= len(items)
    for _ in range(count):
        mechanism, iterations, n = _unpack_biB(data, pos)
        pos += 6
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(CredentialInfo(mechanism, iterations, unknown_tags))
    return items, pos


def _write_credential_info_array_0(out: bytearray, items: list[CredentialInfo]) -> None:
    # CredentialInfo, version 0
    for item in items:
        out += _pack_bi(item.mechanism, item.iterations)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_user_scram_credentials_result_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeUserScramCredentialsResult], int]:
    # DescribeUserScramCredentialsResult, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeUserScramCredentialsResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        user = data[pos:end].decode()
        pos = end
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
        if n > 127:
            n, pos = read_length(data, pos)
        credential_infos, pos = _read_credential_info_array_0(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeUserScramCredentialsResult(user, error_code, error_message, credential_infos, unknown_tags)
        items.append(item)
    return items, pos


def _write_describe_user_scram_credentials_result_array_0(
    out: bytearray, items: list[DescribeUserScramCredentialsResult]
) -> None:
    # DescribeUserScramCredentialsResult, version 0
    for item in items:
        put_compact_string(out, item.user)
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        n = len(item.credential_infos) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_credential_info_array_0(out, item.credential_infos)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_user_scram_credentials_response_0(
    data: bytes, pos: int
) -> tuple[DescribeUserScramCredentialsResponse, int]:
    # DescribeUserScramCredentialsResponse, version 0
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
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_describe_user_scram_credentials_result_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeUserScramCredentialsResponse(throttle_time_ms, error_code, error_message, results, unknown_tags), pos


def _write_describe_user_scram_credentials_response_0(
    out: bytearray, item: DescribeUserScramCredentialsResponse
) -> None:
    # DescribeUserScramCredentialsResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_user_scram_credentials_result_array_0(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeUserScramCredentialsResponse(Message):
    """Mechanisms and iterations by user.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 50
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_describe_user_scram_credentials_response_0}
    ENCODERS = {0: _write_describe_user_scram_credentials_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
