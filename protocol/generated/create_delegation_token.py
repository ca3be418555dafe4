"""CreateDelegationTokenRequest 1-3 and CreateDelegationTokenResponse 1-3.

Generated from schemas/rpc/CreateDelegationTokenRequest.json and schemas/rpc/CreateDelegationTokenResponse.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
    bad_length,
    not_in_version,
    put_compact_string,
    read_bytes_length,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_unpack_qqqB = Struct(">qqqB").unpack_from
_unpack_qqqh = Struct(">qqqh").unpack_from
_pack_h = Struct(">h").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack
_pack_qqq = Struct(">qqq").pack
_pack_qqqh = Struct(">qqqh").pack


class CreatableRenewers(Structure):
    """An element of CreateDelegationTokenRequest.Renewers."""

    FIELDS = ("principal_type", "principal_name", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.unknown_tags = unknown_tags


def _read_creatable_renewers_array_1(data: bytes, pos: int, count: int) -> tuple[list[CreatableRenewers], int]:
    # CreatableRenewers, version 1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableRenewers] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        principal_type = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        principal_name = data[pos:end].decode()
        pos = end
        items.append(CreatableRenewers(principal_type, principal_name))
    return items, pos


def _write_creatable_renewers_array_1(out: bytearray, items: list[CreatableRenewers]) -> None:
    # CreatableRenewers, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("CreatableRenewers", "unknown_tags")
        raw = item.principal_type.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.principal_name.encode()
        out += _pack_h(len(raw))
        out += raw


def _read_create_delegation_token_request_1(data: bytes, pos: int) -> tuple[CreateDelegationTokenRequest, int]:
    # CreateDelegationTokenRequest, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    renewers, pos = _read_creatable_renewers_array_1(data, pos, n)
    (max_lifetime_ms,) = _unpack_q(data, pos)
    pos += 8
    return CreateDelegationTokenRequest("", "", renewers, max_lifetime_ms), pos


def _write_create_delegation_token_request_1(out: bytearray, item: CreateDelegationTokenRequest) -> None:
    # CreateDelegationTokenRequest, version 1
    if item.owner_principal_type != "":
        raise not_in_version("CreateDelegationTokenRequest", "owner_principal_type")
    if item.owner_principal_name != "":
        raise not_in_version("CreateDelegationTokenRequest", "owner_principal_name")
    if item.unknown_tags:
        raise not_in_version("CreateDelegationTokenRequest", "unknown_tags")
    out += _pack_i(len(item.renewers))
    _write_creatable_renewers_array_1(out, item.renewers)
    out += _pack_q(item.max_lifetime_ms)


def _read_creatable_renewers_array_2(data: bytes, pos: int, count: int) -> tuple[list[CreatableRenewers], int]:
    # CreatableRenewers, versions 2-3
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[CreatableRenewers] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        principal_type = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        principal_name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(CreatableRenewers(principal_type, principal_name, unknown_tags))
    return items, pos


def _write_creatable_renewers_array_2(out: bytearray, items: list[CreatableRenewers]) -> None:
    # CreatableRenewers, versions 2-3
    for item in items:
        put_compact_string(out, item.principal_type)
        put_compact_string(out, item.principal_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_create_delegation_token_request_2(data: bytes, pos: int) -> tuple[CreateDelegationTokenRequest, int]:
    # CreateDelegationTokenRequest, version 2
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    renewers, pos = _read_creatable_renewers_array_2(data, pos, n - 1)
    max_lifetime_ms, n = _unpack_qB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CreateDelegationTokenRequest("", "", renewers, max_lifetime_ms, unknown_tags), pos


def _write_create_delegation_token_request_2(out: bytearray, item: CreateDelegationTokenRequest) -> None:
    # CreateDelegationTokenRequest, version 2
    if item.owner_principal_type != "":
        raise not_in_version("CreateDelegationTokenRequest", "owner_principal_type")
    if item.owner_principal_name != "":
        raise not_in_version("CreateDelegationTokenRequest", "owner_principal_name")
    n = len(item.renewers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_creatable_renewers_array_2(out, item.renewers)
    out += _pack_q(item.max_lifetime_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_create_delegation_token_request_3(data: bytes, pos: int) -> tuple[CreateDelegationTokenRequest, int]:
    # CreateDelegationTokenRequest, version 3
    n = data[pos]
    pos += 1
    owner_principal_type: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        owner_principal_type = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    owner_principal_name: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        owner_principal_name = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    renewers, pos = _read_creatable_renewers_array_2(data, pos, n - 1)
    max_lifetime_ms, n = _unpack_qB(data, pos)
    pos += 9
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = CreateDelegationTokenRequest(
        owner_principal_type, owner_principal_name, renewers, max_lifetime_ms, unknown_tags
    )
    return item, pos


def _write_create_delegation_token_request_3(out: bytearray, item: CreateDelegationTokenRequest) -> None:
    # CreateDelegationTokenRequest, version 3
    if item.owner_principal_type is None:
        out.append(0)
    else:
        put_compact_string(out, item.owner_principal_type)
    if item.owner_principal_name is None:
        out.append(0)
    else:
        put_compact_string(out, item.owner_principal_name)
    n = len(item.renewers) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_creatable_renewers_array_2(out, item.renewers)
    out += _pack_q(item.max_lifetime_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CreateDelegationTokenRequest(Message):
    """Creates a delegation token."""

    API_KEY = 38
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {
        1: _read_create_delegation_token_request_1,
        2: _read_create_delegation_token_request_2,
        3: _read_create_delegation_token_request_3,
    }
    ENCODERS = {
        1: _write_create_delegation_token_request_1,
        2: _write_create_delegation_token_request_2,
        3: _write_create_delegation_token_request_3,
    }

    FIELDS = ("owner_principal_type", "owner_principal_name", "renewers", "max_lifetime_ms", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreatableRenewers] = EMPTY,
        max_lifetime_ms: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers = [] if renewers is EMPTY else renewers
        self.max_lifetime_ms = max_lifetime_ms
        self.unknown_tags = unknown_tags


def _read_create_delegation_token_response_1(data: bytes, pos: int) -> tuple[CreateDelegationTokenResponse, int]:
    # CreateDelegationTokenResponse, version 1
    error_code, n = _unpack_hh(data, pos)
    pos += 4
    if n < 0:
        raise bad_length(n)
    end = pos + n
    principal_type = data[pos:end].decode()
    pos = end
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    principal_name = data[pos:end].decode()
    pos = end
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, n = _unpack_qqqh(data, pos)
    pos += 26
    if n < 0:
        raise bad_length(n)
    end = pos + n
    token_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_i(data, pos)
    pos += 4
    if n < 0:
        raise bad_length(n)
    end = pos + n
    hmac = data[pos:end]
    pos = end
    (throttle_time_ms,) = _unpack_i(data, pos)
    pos += 4
    item = CreateDelegationTokenResponse(
        error_code,
        principal_type,
        principal_name,
        "",
        "",
        issue_timestamp_ms,
        expiry_timestamp_ms,
        max_timestamp_ms,
        token_id,
        hmac,
        throttle_time_ms,
    )
    return item, pos


def _write_create_delegation_token_response_1(out: bytearray, item: CreateDelegationTokenResponse) -> None:
    # CreateDelegationTokenResponse, version 1
    if item.token_requester_principal_type != "":
        raise not_in_version("CreateDelegationTokenResponse", "token_requester_principal_type")
    if item.token_requester_principal_name != "":
        raise not_in_version("CreateDelegationTokenResponse", "token_requester_principal_name")
    if item.unknown_tags:
        raise not_in_version("CreateDelegationTokenResponse", "unknown_tags")
    raw = item.principal_type.encode()
    out += _pack_hh(item.error_code, len(raw))
    out += raw
    raw = item.principal_name.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.token_id.encode()
    out += _pack_qqqh(item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms, len(raw))
    out += raw
    out += _pack_i(len(item.hmac))
    out += item.hmac
    out += _pack_i(item.throttle_time_ms)


def _read_create_delegation_token_response_2(data: bytes, pos: int) -> tuple[CreateDelegationTokenResponse, int]:
    # CreateDelegationTokenResponse, version 2
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    principal_type = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    principal_name = data[pos:end].decode()
    pos = end
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, n = _unpack_qqqB(data, pos)
    pos += 25
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    token_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    hmac = data[pos:end]
    pos = end
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = CreateDelegationTokenResponse(
        error_code,
        principal_type,
        principal_name,
        "",
        "",
        issue_timestamp_ms,
        expiry_timestamp_ms,
        max_timestamp_ms,
        token_id,
        hmac,
        throttle_time_ms,
        unknown_tags,
    )
    return item, pos


def _write_create_delegation_token_response_2(out: bytearray, item: CreateDelegationTokenResponse) -> None:
    # CreateDelegationTokenResponse, version 2
    if item.token_requester_principal_type != "":
        raise not_in_version("CreateDelegationTokenResponse", "token_requester_principal_type")
    if item.token_requester_principal_name != "":
        raise not_in_version("CreateDelegationTokenResponse", "token_requester_principal_name")
    out += _pack_h(item.error_code)
    put_compact_string(out, item.principal_type)
    put_compact_string(out, item.principal_name)
    out += _pack_qqq(item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms)
    put_compact_string(out, item.token_id)
    n = len(item.hmac) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.hmac
    out += _pack_i(item.throttle_time_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_create_delegation_token_response_3(data: bytes, pos: int) -> tuple[CreateDelegationTokenResponse, int]:
    # CreateDelegationTokenResponse, version 3
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    principal_type = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    principal_name = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    token_requester_principal_type = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    token_requester_principal_name = data[pos:end].decode()
    pos = end
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, n = _unpack_qqqB(data, pos)
    pos += 25
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    token_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_bytes_length(data, pos)
    end = pos + n - 1
    hmac = data[pos:end]
    pos = end
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = CreateDelegationTokenResponse(
        error_code,
        principal_type,
        principal_name,
        token_requester_principal_type,
        token_requester_principal_name,
        issue_timestamp_ms,
        expiry_timestamp_ms,
        max_timestamp_ms,
        token_id,
        hmac,
        throttle_time_ms,
        unknown_tags,
    )
    return item, pos


def _write_create_delegation_token_response_3(out: bytearray, item: CreateDelegationTokenResponse) -> None:
    # CreateDelegationTokenResponse, version 3
    out += _pack_h(item.error_code)
    put_compact_string(out, item.principal_type)
    put_compact_string(out, item.principal_name)
    put_compact_string(out, item.token_requester_principal_type)
    put_compact_string(out, item.token_requester_principal_name)
    out += _pack_qqq(item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms)
    put_compact_string(out, item.token_id)
    n = len(item.hmac) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    out += item.hmac
    out += _pack_i(item.throttle_time_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CreateDelegationTokenResponse(Message):
    """The token and its secret.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 38
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {
        1: _read_create_delegation_token_response_1,
        2: _read_create_delegation_token_response_2,
        3: _read_create_delegation_token_response_3,
    }
    ENCODERS = {
        1: _write_create_delegation_token_response_1,
        2: _write_create_delegation_token_response_2,
        3: _write_create_delegation_token_response_3,
    }

    FIELDS = (
        "error_code",
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "token_id",
        "hmac",
        "throttle_time_ms",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tags = unknown_tags
