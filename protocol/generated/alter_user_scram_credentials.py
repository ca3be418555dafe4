"""AlterUserScramCredentialsRequest 0 and AlterUserScramCredentialsResponse 0.

Generated from schemas/rpc/AlterUserScramCredentialsRequest.json and schemas/rpc/AlterUserScramCredentialsResponse.json
(Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    read_bytes_length,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_bB = Struct(">bB").unpack_from
_unpack_biB = Struct(">biB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_b = Struct(">b").pack
_pack_bi = Struct(">bi").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


class ScramCredentialDeletion(Structure):
    """An element of AlterUserScramCredentialsRequest.Deletions."""

    FIELDS = ("name", "mechanism", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.unknown_tags = unknown_tags


class ScramCredentialUpsertion(Structure):
    """An element of AlterUserScramCredentialsRequest.Upsertions.

    * `mechanism`: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    """

    FIELDS = ("name", "mechanism", "iterations", "salt", "salted_password", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password
        self.unknown_tags = unknown_tags


def _read_scram_credential_deletion_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[ScramCredentialDeletion], int]:
    # ScramCredentialDeletion, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ScramCredentialDeletion] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        mechanism, n = _unpack_bB(data, pos)
        pos += 2
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ScramCredentialDeletion(name, mechanism, unknown_tags))
    return items, pos


def _write_scram_credential_deletion_array_0(out: bytearray, items: list[ScramCredentialDeletion]) -> None:
    # ScramCredentialDeletion, version 0
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_b(item.mechanism)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_scram_credential_upsertion_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[ScramCredentialUpsertion], int]:
    # ScramCredentialUpsertion, version 0
    if not 0 <= count * 9 <= len(data) - pos:
        raise bad_count(count)
    items: list[ScramCredentialUpsertion] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        mechanism, iterations, n = _unpack_biB(data, pos)
        pos += 6
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        salt = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        salted_password = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ScramCredentialUpsertion(name, mechanism, iterations, salt, salted_password, unknown_tags))
    return items, pos


def _write_scram_credential_upsertion_array_0(out: bytearray, items: list[ScramCredentialUpsertion]) -> None:
    # ScramCredentialUpsertion, version 0
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_bi(item.mechanism, item.iterations)
        n = len(item.salt) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.salt
        n = len(item.salted_password) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.salted_password
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_user_scram_credentials_request_0(data: bytes, pos: int) -> tuple[AlterUserScramCredentialsRequest, int]:
    # AlterUserScramCredentialsRequest, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    deletions, pos = _read_scram_credential_deletion_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    upsertions, pos = _read_scram_credential_upsertion_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterUserScramCredentialsRequest(deletions, upsertions, unknown_tags), pos


def _write_alter_user_scram_credentials_request_0(out: bytearray, item: AlterUserScramCredentialsRequest) -> None:
    # AlterUserScramCredentialsRequest, version 0
    n = len(item.deletions) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_scram_credential_deletion_array_0(out, item.deletions)
    n = len(item.upsertions) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_scram_credential_upsertion_array_0(out, item.upsertions)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterUserScramCredentialsRequest(Message):
    """Sets and removes SCRAM credentials."""

    API_KEY = 51
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_alter_user_scram_credentials_request_0}
    ENCODERS = {0: _write_alter_user_scram_credentials_request_0}

    FIELDS = ("deletions", "upsertions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        deletions: list[ScramCredentialDeletion] = EMPTY,
        upsertions: list[ScramCredentialUpsertion] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.deletions = [] if deletions is EMPTY else deletions
        self.upsertions = [] if upsertions is EMPTY else upsertions
        self.unknown_tags = unknown_tags


class AlterUserScramCredentialsResult(Structure):
    """An element of AlterUserScramCredentialsResponse.Results."""

    FIELDS = ("user", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_alter_user_scram_credentials_result_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterUserScramCredentialsResult], int]:
    # AlterUserScramCredentialsResult, version 0
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterUserScramCredentialsResult] = []
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
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterUserScramCredentialsResult(user, error_code, error_message, unknown_tags))
    return items, pos


def _write_alter_user_scram_credentials_result_array_0(
    out: bytearray, items: list[AlterUserScramCredentialsResult]
) -> None:
    # AlterUserScramCredentialsResult, version 0
    for item in items:
        put_compact_string(out, item.user)
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_user_scram_credentials_response_0(
    data: bytes, pos: int
) -> tuple[AlterUserScramCredentialsResponse, int]:
    # AlterUserScramCredentialsResponse, version 0
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_alter_user_scram_credentials_result_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterUserScramCredentialsResponse(throttle_time_ms, results, unknown_tags), pos


def _write_alter_user_scram_credentials_response_0(out: bytearray, item: AlterUserScramCredentialsResponse) -> None:
    # AlterUserScramCredentialsResponse, version 0
    out += _pack_i(item.throttle_time_ms)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_user_scram_credentials_result_array_0(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterUserScramCredentialsResponse(Message):
    """What became of each user.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 51
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_alter_user_scram_credentials_response_0}
    ENCODERS = {0: _write_alter_user_scram_credentials_response_0}

    FIELDS = ("throttle_time_ms", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
