"""CreateAclsRequest 1-3 and CreateAclsResponse 1-3.

Generated from schemas/rpc/CreateAclsRequest.json and schemas/rpc/CreateAclsResponse.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
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
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_bB = Struct(">bB").unpack_from
_unpack_bb = Struct(">bb").unpack_from
_unpack_bbB = Struct(">bbB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_b = Struct(">b").pack
_pack_bb = Struct(">bb").pack
_pack_bh = Struct(">bh").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack


class AclCreation(Structure):
    """An element of CreateAclsRequest.Creations."""

    FIELDS = (
        "resource_type",
        "resource_name",
        "resource_pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tags = unknown_tags


def _read_acl_creation_array_1(data: bytes, pos: int, count: int) -> tuple[list[AclCreation], int]:
    # AclCreation, version 1
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[AclCreation] = []
    for _ in range(count):
        resource_type, n = _unpack_bh(data, pos)
        pos += 3
        if n < 0:
            raise bad_length(n)
        end = pos + n
        resource_name = data[pos:end].decode()
        pos = end
        resource_pattern_type, n = _unpack_bh(data, pos)
        pos += 3
        if n < 0:
            raise bad_length(n)
        end = pos + n
        principal = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        host = data[pos:end].decode()
        pos = end
        operation, permission_type = _unpack_bb(data, pos)
        pos += 2
        item = AclCreation(
            resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type
        )
        items.append(item)
    return items, pos


def _write_acl_creation_array_1(out: bytearray, items: list[AclCreation]) -> None:
    # AclCreation, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AclCreation", "unknown_tags")
        raw = item.resource_name.encode()
        out += _pack_bh(item.resource_type, len(raw))
        out += raw
        raw = item.principal.encode()
        out += _pack_bh(item.resource_pattern_type, len(raw))
        out += raw
        raw = item.host.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_bb(item.operation, item.permission_type)


def _read_create_acls_request_1(data: bytes, pos: int) -> tuple[CreateAclsRequest, int]:
    # CreateAclsRequest, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    creations, pos = _read_acl_creation_array_1(data, pos, n)
    return CreateAclsRequest(creations), pos


def _write_create_acls_request_1(out: bytearray, item: CreateAclsRequest) -> None:
    # CreateAclsRequest, version 1
    if item.unknown_tags:
        raise not_in_version("CreateAclsRequest", "unknown_tags")
    out += _pack_i(len(item.creations))
    _write_acl_creation_array_1(out, item.creations)


def _read_acl_creation_array_2(data: bytes, pos: int, count: int) -> tuple[list[AclCreation], int]:
    # AclCreation, versions 2-3
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[AclCreation] = []
    for _ in range(count):
        resource_type, n = _unpack_bB(data, pos)
        pos += 2
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        resource_name = data[pos:end].decode()
        pos = end
        resource_pattern_type, n = _unpack_bB(data, pos)
        pos += 2
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        principal = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        host = data[pos:end].decode()
        pos = end
        operation, permission_type, n = _unpack_bbB(data, pos)
        pos += 3
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = AclCreation(
            resource_type,
            resource_name,
            resource_pattern_type,
            principal,
            host,
            operation,
            permission_type,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_acl_creation_array_2(out: bytearray, items: list[AclCreation]) -> None:
    # AclCreation, versions 2-3
    for item in items:
        out += _pack_b(item.resource_type)
        put_compact_string(out, item.resource_name)
        out += _pack_b(item.resource_pattern_type)
        put_compact_string(out, item.principal)
        put_compact_string(out, item.host)
        out += _pack_bb(item.operation, item.permission_type)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_create_acls_request_2(data: bytes, pos: int) -> tuple[CreateAclsRequest, int]:
    # CreateAclsRequest, versions 2-3
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    creations, pos = _read_acl_creation_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CreateAclsRequest(creations, unknown_tags), pos


def _write_create_acls_request_2(out: bytearray, item: CreateAclsRequest) -> None:
    # CreateAclsRequest, versions 2-3
    n = len(item.creations) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_acl_creation_array_2(out, item.creations)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CreateAclsRequest(Message):
    """Adds access rules."""

    API_KEY = 30
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_create_acls_request_1, 2: _read_create_acls_request_2, 3: _read_create_acls_request_2}
    ENCODERS = {1: _write_create_acls_request_1, 2: _write_create_acls_request_2, 3: _write_create_acls_request_2}

    FIELDS = ("creations", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, creations: list[AclCreation] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.creations = [] if creations is EMPTY else creations
        self.unknown_tags = unknown_tags


class AclCreationResult(Structure):
    """An element of CreateAclsResponse.Results."""

    FIELDS = ("error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_acl_creation_result_array_1(data: bytes, pos: int, count: int) -> tuple[list[AclCreationResult], int]:
    # AclCreationResult, version 1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[AclCreationResult] = []
    for _ in range(count):
        error_code, n = _unpack_hh(data, pos)
        pos += 4
        error_message: str | None = None
        if n >= 0:
            end = pos + n
            error_message = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(AclCreationResult(error_code, error_message))
    return items, pos


def _write_acl_creation_result_array_1(out: bytearray, items: list[AclCreationResult]) -> None:
    # AclCreationResult, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AclCreationResult", "unknown_tags")
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out += _pack_h(-1)
        else:
            raw = item.error_message.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_create_acls_response_1(data: bytes, pos: int) -> tuple[CreateAclsResponse, int]:
    # CreateAclsResponse, version 1
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    results, pos = _read_acl_creation_result_array_1(data, pos, n)
    return CreateAclsResponse(throttle_time_ms, results), pos


def _write_create_acls_response_1(out: bytearray, item: CreateAclsResponse) -> None:
    # CreateAclsResponse, version 1
    if item.unknown_tags:
        raise not_in_version("CreateAclsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.results))
    _write_acl_creation_result_array_1(out, item.results)


def _read_acl_creation_result_array_2(data: bytes, pos: int, count: int) -> tuple[list[AclCreationResult], int]:
    # AclCreationResult, versions 2-3
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[AclCreationResult] = []
    for _ in range(count):
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
        items.append(AclCreationResult(error_code, error_message, unknown_tags))
    return items, pos


def _write_acl_creation_result_array_2(out: bytearray, items: list[AclCreationResult]) -> None:
    # AclCreationResult, versions 2-3
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_create_acls_response_2(data: bytes, pos: int) -> tuple[CreateAclsResponse, int]:
    # CreateAclsResponse, versions 2-3
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_acl_creation_result_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return CreateAclsResponse(throttle_time_ms, results, unknown_tags), pos


def _write_create_acls_response_2(out: bytearray, item: CreateAclsResponse) -> None:
    # CreateAclsResponse, versions 2-3
    out += _pack_i(item.throttle_time_ms)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_acl_creation_result_array_2(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class CreateAclsResponse(Message):
    """What became of each rule, in the order of the request.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 30
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_create_acls_response_1, 2: _read_create_acls_response_2, 3: _read_create_acls_response_2}
    ENCODERS = {1: _write_create_acls_response_1, 2: _write_create_acls_response_2, 3: _write_create_acls_response_2}

    FIELDS = ("throttle_time_ms", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AclCreationResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
