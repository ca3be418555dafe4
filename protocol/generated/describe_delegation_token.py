"""DescribeDelegationTokenRequest 1-3 and DescribeDelegationTokenResponse 1-3.

Generated from schemas/rpc/DescribeDelegationTokenRequest.json and schemas/rpc/DescribeDelegationTokenResponse.json
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
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_qqqB = Struct(">qqqB").unpack_from
_unpack_qqqh = Struct(">qqqh").unpack_from
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_qqq = Struct(">qqq").pack
_pack_qqqh = Struct(">qqqh").pack


class DescribeDelegationTokenOwner(Structure):
    """An element of DescribeDelegationTokenRequest.Owners."""

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


def _read_describe_delegation_token_owner_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeDelegationTokenOwner], int]:
    # DescribeDelegationTokenOwner, version 1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeDelegationTokenOwner] = []
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
        items.append(DescribeDelegationTokenOwner(principal_type, principal_name))
    return items, pos


def _write_describe_delegation_token_owner_array_1(out: bytearray, items: list[DescribeDelegationTokenOwner]) -> None:
    # DescribeDelegationTokenOwner, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeDelegationTokenOwner", "unknown_tags")
        raw = item.principal_type.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.principal_name.encode()
        out += _pack_h(len(raw))
        out += raw


def _read_describe_delegation_token_request_1(data: bytes, pos: int) -> tuple[DescribeDelegationTokenRequest, int]:
    # DescribeDelegationTokenRequest, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    owners: list[DescribeDelegationTokenOwner] | None = None
    if n != -1:
        owners, pos = _read_describe_delegation_token_owner_array_1(data, pos, n)
    return DescribeDelegationTokenRequest(owners), pos


def _write_describe_delegation_token_request_1(out: bytearray, item: DescribeDelegationTokenRequest) -> None:
    # DescribeDelegationTokenRequest, version 1
    if item.unknown_tags:
        raise not_in_version("DescribeDelegationTokenRequest", "unknown_tags")
    if item.owners is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.owners))
        _write_describe_delegation_token_owner_array_1(out, item.owners)


def _read_describe_delegation_token_owner_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeDelegationTokenOwner], int]:
    # DescribeDelegationTokenOwner, versions 2-3
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeDelegationTokenOwner] = []
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
        items.append(DescribeDelegationTokenOwner(principal_type, principal_name, unknown_tags))
    return items, pos


def _write_describe_delegation_token_owner_array_2(out: bytearray, items: list[DescribeDelegationTokenOwner]) -> None:
    # DescribeDelegationTokenOwner, versions 2-3
    for item in items:
        put_compact_string(out, item.principal_type)
        put_compact_string(out, item.principal_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_delegation_token_request_2(data: bytes, pos: int) -> tuple[DescribeDelegationTokenRequest, int]:
    # DescribeDelegationTokenRequest, versions 2-3
    n = data[pos]
    pos += 1
    owners: list[DescribeDelegationTokenOwner] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        owners, pos = _read_describe_delegation_token_owner_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeDelegationTokenRequest(owners, unknown_tags), pos


def _write_describe_delegation_token_request_2(out: bytearray, item: DescribeDelegationTokenRequest) -> None:
    # DescribeDelegationTokenRequest, versions 2-3
    if item.owners is None:
        out.append(0)
    else:
        n = len(item.owners) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_delegation_token_owner_array_2(out, item.owners)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeDelegationTokenRequest(Message):
    """Lists delegation tokens.

    * `owners`: Null for all.
    """

    API_KEY = 41
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {
        1: _read_describe_delegation_token_request_1,
        2: _read_describe_delegation_token_request_2,
        3: _read_describe_delegation_token_request_2,
    }
    ENCODERS = {
        1: _write_describe_delegation_token_request_1,
        2: _write_describe_delegation_token_request_2,
        3: _write_describe_delegation_token_request_2,
    }

    FIELDS = ("owners", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, owners: list[DescribeDelegationTokenOwner] | None = EMPTY, unknown_tags: Tags = ()) -> None:
        self.owners = [] if owners is EMPTY else owners
        self.unknown_tags = unknown_tags


class DescribedDelegationToken(Structure):
    """An element of DescribeDelegationTokenResponse.Tokens."""

    FIELDS = (
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp",
        "expiry_timestamp",
        "max_timestamp",
        "token_id",
        "hmac",
        "renewers",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: list[DescribedDelegationTokenRenewer] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers = [] if renewers is EMPTY else renewers
        self.unknown_tags = unknown_tags


class DescribedDelegationTokenRenewer(Structure):
    """An element of DescribedDelegationToken.Renewers."""

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


def _read_described_delegation_token_renewer_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribedDelegationTokenRenewer], int]:
    # DescribedDelegationTokenRenewer, version 1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedDelegationTokenRenewer] = []
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
        items.append(DescribedDelegationTokenRenewer(principal_type, principal_name))
    return items, pos


def _write_described_delegation_token_renewer_array_1(
    out: bytearray, items: list[DescribedDelegationTokenRenewer]
) -> None:
    # DescribedDelegationTokenRenewer, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribedDelegationTokenRenewer", "unknown_tags")
        raw = item.principal_type.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.principal_name.encode()
        out += _pack_h(len(raw))
        out += raw


def _read_described_delegation_token_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribedDelegationToken], int]:
    # DescribedDelegationToken, version 1
    if not 0 <= count * 38 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedDelegationToken] = []
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
        issue_timestamp, expiry_timestamp, max_timestamp, n = _unpack_qqqh(data, pos)
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
        (n,) = _unpack_i(data, pos)
        pos += 4
        renewers, pos = _read_described_delegation_token_renewer_array_1(data, pos, n)
        item = DescribedDelegationToken(
            principal_type,
            principal_name,
            "",
            "",
            issue_timestamp,
            expiry_timestamp,
            max_timestamp,
            token_id,
            hmac,
            renewers,
        )
        items.append(item)
    return items, pos


def _write_described_delegation_token_array_1(out: bytearray, items: list[DescribedDelegationToken]) -> None:
    # DescribedDelegationToken, version 1
    for item in items:
        if item.token_requester_principal_type != "":
            raise not_in_version("DescribedDelegationToken", "token_requester_principal_type")
        if item.token_requester_principal_name != "":
            raise not_in_version("DescribedDelegationToken", "token_requester_principal_name")
        if item.unknown_tags:
            raise not_in_version("DescribedDelegationToken", "unknown_tags")
        raw = item.principal_type.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.principal_name.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.token_id.encode()
        out += _pack_qqqh(item.issue_timestamp, item.expiry_timestamp, item.max_timestamp, len(raw))
        out += raw
        out += _pack_i(len(item.hmac))
        out += item.hmac
        out += _pack_i(len(item.renewers))
        _write_described_delegation_token_renewer_array_1(out, item.renewers)


def _read_describe_delegation_token_response_1(data: bytes, pos: int) -> tuple[DescribeDelegationTokenResponse, int]:
    # DescribeDelegationTokenResponse, version 1
    error_code, n = _unpack_hi(data, pos)
    pos += 6
    tokens, pos = _read_described_delegation_token_array_1(data, pos, n)
    (throttle_time_ms,) = _unpack_i(data, pos)
    pos += 4
    return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms), pos


def _write_describe_delegation_token_response_1(out: bytearray, item: DescribeDelegationTokenResponse) -> None:
    # DescribeDelegationTokenResponse, version 1
    if item.unknown_tags:
        raise not_in_version("DescribeDelegationTokenResponse", "unknown_tags")
    out += _pack_hi(item.error_code, len(item.tokens))
    _write_described_delegation_token_array_1(out, item.tokens)
    out += _pack_i(item.throttle_time_ms)


def _read_described_delegation_token_renewer_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribedDelegationTokenRenewer], int]:
    # DescribedDelegationTokenRenewer, versions 2-3
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedDelegationTokenRenewer] = []
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
        items.append(DescribedDelegationTokenRenewer(principal_type, principal_name, unknown_tags))
    return items, pos


def _write_described_delegation_token_renewer_array_2(
    out: bytearray, items: list[DescribedDelegationTokenRenewer]
) -> None:
    # DescribedDelegationTokenRenewer, versions 2-3
    for item in items:
        put_compact_string(out, item.principal_type)
        put_compact_string(out, item.principal_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_described_delegation_token_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribedDelegationToken], int]:
    # DescribedDelegationToken, version 2
    if not 0 <= count * 30 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedDelegationToken] = []
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
        issue_timestamp, expiry_timestamp, max_timestamp, n = _unpack_qqqB(data, pos)
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
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        renewers, pos = _read_described_delegation_token_renewer_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribedDelegationToken(
            principal_type,
            principal_name,
            "",
            "",
            issue_timestamp,
            expiry_timestamp,
            max_timestamp,
            token_id,
            hmac,
            renewers,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_described_delegation_token_array_2(out: bytearray, items: list[DescribedDelegationToken]) -> None:
    # DescribedDelegationToken, version 2
    for item in items:
        if item.token_requester_principal_type != "":
            raise not_in_version("DescribedDelegationToken", "token_requester_principal_type")
        if item.token_requester_principal_name != "":
            raise not_in_version("DescribedDelegationToken", "token_requester_principal_name")
        put_compact_string(out, item.principal_type)
        put_compact_string(out, item.principal_name)
        out += _pack_qqq(item.issue_timestamp, item.expiry_timestamp, item.max_timestamp)
        put_compact_string(out, item.token_id)
        n = len(item.hmac) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.hmac
        n = len(item.renewers) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_described_delegation_token_renewer_array_2(out, item.renewers)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_delegation_token_response_2(data: bytes, pos: int) -> tuple[DescribeDelegationTokenResponse, int]:
    # DescribeDelegationTokenResponse, version 2
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    tokens, pos = _read_described_delegation_token_array_2(data, pos, n - 1)
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms, unknown_tags), pos


def _write_describe_delegation_token_response_2(out: bytearray, item: DescribeDelegationTokenResponse) -> None:
    # DescribeDelegationTokenResponse, version 2
    out += _pack_h(item.error_code)
    n = len(item.tokens) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_described_delegation_token_array_2(out, item.tokens)
    out += _pack_i(item.throttle_time_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_described_delegation_token_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribedDelegationToken], int]:
    # DescribedDelegationToken, version 3
    if not 0 <= count * 32 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribedDelegationToken] = []
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
        issue_timestamp, expiry_timestamp, max_timestamp, n = _unpack_qqqB(data, pos)
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
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        renewers, pos = _read_described_delegation_token_renewer_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribedDelegationToken(
            principal_type,
            principal_name,
            token_requester_principal_type,
            token_requester_principal_name,
            issue_timestamp,
            expiry_timestamp,
            max_timestamp,
            token_id,
            hmac,
            renewers,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_described_delegation_token_array_3(out: bytearray, items: list[DescribedDelegationToken]) -> None:
    # DescribedDelegationToken, version 3
    for item in items:
        put_compact_string(out, item.principal_type)
        put_compact_string(out, item.principal_name)
        put_compact_string(out, item.token_requester_principal_type)
        put_compact_string(out, item.token_requester_principal_name)
        out += _pack_qqq(item.issue_timestamp, item.expiry_timestamp, item.max_timestamp)
        put_compact_string(out, item.token_id)
        n = len(item.hmac) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.hmac
        n = len(item.renewers) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_described_delegation_token_renewer_array_2(out, item.renewers)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_delegation_token_response_3(data: bytes, pos: int) -> tuple[DescribeDelegationTokenResponse, int]:
    # DescribeDelegationTokenResponse, version 3
    error_code, n = _unpack_hB(data, pos)
    pos += 3
    if n > 127:
        n, pos = read_length(data, pos)
    tokens, pos = _read_described_delegation_token_array_3(data, pos, n - 1)
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms, unknown_tags), pos


def _write_describe_delegation_token_response_3(out: bytearray, item: DescribeDelegationTokenResponse) -> None:
    # DescribeDelegationTokenResponse, version 3
    out += _pack_h(item.error_code)
    n = len(item.tokens) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_described_delegation_token_array_3(out, item.tokens)
    out += _pack_i(item.throttle_time_ms)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeDelegationTokenResponse(Message):
    """The tokens the client may see.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 41
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {
        1: _read_describe_delegation_token_response_1,
        2: _read_describe_delegation_token_response_2,
        3: _read_describe_delegation_token_response_3,
    }
    ENCODERS = {
        1: _write_describe_delegation_token_response_1,
        2: _write_describe_delegation_token_response_2,
        3: _write_describe_delegation_token_response_3,
    }

    FIELDS = ("error_code", "tokens", "throttle_time_ms", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        tokens: list[DescribedDelegationToken] = EMPTY,
        throttle_time_ms: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.tokens = [] if tokens is EMPTY else tokens
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tags = unknown_tags
