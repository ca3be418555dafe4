"""MoveUserScramCredentialsRequest 0 and MoveUserScramCredentialsResponse 0.

Generated from schemas/shareq/MoveUserScramCredentialsRequest.json and
schemas/shareq/MoveUserScramCredentialsResponse.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do
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
    read_bytes_length,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_bhB = Struct(">bhB").unpack_from
_unpack_biB = Struct(">biB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_bh = Struct(">bh").pack
_pack_bi = Struct(">bi").pack
_pack_ih = Struct(">ih").pack


class MovedScramCredential(Structure):
    """An element of MoveUserScramCredentialsRequest.Credentials.

    * `mechanism`: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    """

    FIELDS = ("user", "mechanism", "iterations", "salt", "stored_key", "server_key", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        user: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.user = user
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.unknown_tags = unknown_tags


def _read_moved_scram_credential_array_0(data: bytes, pos: int, count: int) -> tuple[list[MovedScramCredential], int]:
    # MovedScramCredential, version 0
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[MovedScramCredential] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        user = data[pos:end].decode()
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
        stored_key = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        server_key = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(MovedScramCredential(user, mechanism, iterations, salt, stored_key, server_key, unknown_tags))
    return items, pos


def _write_moved_scram_credential_array_0(out: bytearray, items: list[MovedScramCredential]) -> None:
    # MovedScramCredential, version 0
    for item in items:
        put_compact_string(out, item.user)
        out += _pack_bi(item.mechanism, item.iterations)
        n = len(item.salt) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.salt
        n = len(item.stored_key) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.stored_key
        n = len(item.server_key) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.server_key
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_move_user_scram_credentials_request_0(data: bytes, pos: int) -> tuple[MoveUserScramCredentialsRequest, int]:
    # MoveUserScramCredentialsRequest, version 0
    n = data[pos]
    pos += 1
    credentials: list[MovedScramCredential] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        credentials, pos = _read_moved_scram_credential_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return MoveUserScramCredentialsRequest(credentials, unknown_tags), pos


def _write_move_user_scram_credentials_request_0(out: bytearray, item: MoveUserScramCredentialsRequest) -> None:
    # MoveUserScramCredentialsRequest, version 0
    if item.credentials is None:
        out.append(0)
    else:
        n = len(item.credentials) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_moved_scram_credential_array_0(out, item.credentials)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class MoveUserScramCredentialsRequest(Message):
    """shareq's own: SCRAM credentials as they are kept, read from one broker and added to another.

    * `credentials`: The credentials to add; null to be shown all.
    """

    API_KEY = 29556
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_move_user_scram_credentials_request_0}
    ENCODERS = {0: _write_move_user_scram_credentials_request_0}

    FIELDS = ("credentials", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, credentials: list[MovedScramCredential] | None = None, unknown_tags: Tags = ()) -> None:
        self.credentials = credentials
        self.unknown_tags = unknown_tags


class ShownScramCredential(Structure):
    """An element of MoveUserScramCredentialsResponse.Credentials."""

    FIELDS = ("user", "mechanism", "iterations", "salt", "stored_key", "server_key", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        user: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.user = user
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.unknown_tags = unknown_tags


class MovedScramResult(Structure):
    """An element of MoveUserScramCredentialsResponse.Results."""

    FIELDS = ("user", "mechanism", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        user: str = "",
        mechanism: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.user = user
        self.mechanism = mechanism
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_shown_scram_credential_array_0(data: bytes, pos: int, count: int) -> tuple[list[ShownScramCredential], int]:
    # ShownScramCredential, version 0
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[ShownScramCredential] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        user = data[pos:end].decode()
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
        stored_key = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        server_key = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ShownScramCredential(user, mechanism, iterations, salt, stored_key, server_key, unknown_tags))
    return items, pos


def _write_shown_scram_credential_array_0(out: bytearray, items: list[ShownScramCredential]) -> None:
    # ShownScramCredential, version 0
    for item in items:
        put_compact_string(out, item.user)
        out += _pack_bi(item.mechanism, item.iterations)
        n = len(item.salt) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.salt
        n = len(item.stored_key) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.stored_key
        n = len(item.server_key) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.server_key
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_moved_scram_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[MovedScramResult], int]:
    # MovedScramResult, version 0
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[MovedScramResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        user = data[pos:end].decode()
        pos = end
        mechanism, error_code, n = _unpack_bhB(data, pos)
        pos += 4
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
        items.append(MovedScramResult(user, mechanism, error_code, error_message, unknown_tags))
    return items, pos


def _write_moved_scram_result_array_0(out: bytearray, items: list[MovedScramResult]) -> None:
    # MovedScramResult, version 0
    for item in items:
        put_compact_string(out, item.user)
        out += _pack_bh(item.mechanism, item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_move_user_scram_credentials_response_0(data: bytes, pos: int) -> tuple[MoveUserScramCredentialsResponse, int]:
    # MoveUserScramCredentialsResponse, version 0
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
    credentials, pos = _read_shown_scram_credential_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_moved_scram_result_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = MoveUserScramCredentialsResponse(
        throttle_time_ms, error_code, error_message, credentials, results, unknown_tags
    )
    return item, pos


def _write_move_user_scram_credentials_response_0(out: bytearray, item: MoveUserScramCredentialsResponse) -> None:
    # MoveUserScramCredentialsResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.credentials) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_shown_scram_credential_array_0(out, item.credentials)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_moved_scram_result_array_0(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class MoveUserScramCredentialsResponse(Message):
    """The credentials that there are, or what became of those that were to be added.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    * `results`: In the order of the request.
    """

    API_KEY = 29556
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_move_user_scram_credentials_response_0}
    ENCODERS = {0: _write_move_user_scram_credentials_response_0}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "credentials", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        credentials: list[ShownScramCredential] = EMPTY,
        results: list[MovedScramResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.credentials = [] if credentials is EMPTY else credentials
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
