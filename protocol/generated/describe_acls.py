"""DescribeAclsRequest 1-3 and DescribeAclsResponse 1-3.

Generated from schemas/rpc/DescribeAclsRequest.json and schemas/rpc/DescribeAclsResponse.json (Apache Kafka 4.4.0) by
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
_unpack_bi = Struct(">bi").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from
_pack_b = Struct(">b").pack
_pack_bb = Struct(">bb").pack
_pack_bh = Struct(">bh").pack
_pack_bi = Struct(">bi").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


def _read_describe_acls_request_1(data: bytes, pos: int) -> tuple[DescribeAclsRequest, int]:
    # DescribeAclsRequest, version 1
    resource_type_filter, n = _unpack_bh(data, pos)
    pos += 3
    resource_name_filter: str | None = None
    if n >= 0:
        end = pos + n
        resource_name_filter = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    pattern_type_filter, n = _unpack_bh(data, pos)
    pos += 3
    principal_filter: str | None = None
    if n >= 0:
        end = pos + n
        principal_filter = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_h(data, pos)
    pos += 2
    host_filter: str | None = None
    if n >= 0:
        end = pos + n
        host_filter = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    operation, permission_type = _unpack_bb(data, pos)
    pos += 2
    item = DescribeAclsRequest(
        resource_type_filter,
        resource_name_filter,
        pattern_type_filter,
        principal_filter,
        host_filter,
        operation,
        permission_type,
    )
    return item, pos


def _write_describe_acls_request_1(out: bytearray, item: DescribeAclsRequest) -> None:
    # DescribeAclsRequest, version 1
    if item.unknown_tags:
        raise not_in_version("DescribeAclsRequest", "unknown_tags")
    out += _pack_b(item.resource_type_filter)
    if item.resource_name_filter is None:
        out += _pack_h(-1)
    else:
        raw = item.resource_name_filter.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_b(item.pattern_type_filter)
    if item.principal_filter is None:
        out += _pack_h(-1)
    else:
        raw = item.principal_filter.encode()
        out += _pack_h(len(raw))
        out += raw
    if item.host_filter is None:
        out += _pack_h(-1)
    else:
        raw = item.host_filter.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_bb(item.operation, item.permission_type)


def _read_describe_acls_request_2(data: bytes, pos: int) -> tuple[DescribeAclsRequest, int]:
    # DescribeAclsRequest, versions 2-3
    resource_type_filter, n = _unpack_bB(data, pos)
    pos += 2
    resource_name_filter: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        resource_name_filter = data[pos:end].decode()
        pos = end
    pattern_type_filter, n = _unpack_bB(data, pos)
    pos += 2
    principal_filter: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        principal_filter = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    host_filter: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        host_filter = data[pos:end].decode()
        pos = end
    operation, permission_type, n = _unpack_bbB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = DescribeAclsRequest(
        resource_type_filter,
        resource_name_filter,
        pattern_type_filter,
        principal_filter,
        host_filter,
        operation,
        permission_type,
        unknown_tags,
    )
    return item, pos


def _write_describe_acls_request_2(out: bytearray, item: DescribeAclsRequest) -> None:
    # DescribeAclsRequest, versions 2-3
    out += _pack_b(item.resource_type_filter)
    if item.resource_name_filter is None:
        out.append(0)
    else:
        put_compact_string(out, item.resource_name_filter)
    out += _pack_b(item.pattern_type_filter)
    if item.principal_filter is None:
        out.append(0)
    else:
        put_compact_string(out, item.principal_filter)
    if item.host_filter is None:
        out.append(0)
    else:
        put_compact_string(out, item.host_filter)
    out += _pack_bb(item.operation, item.permission_type)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeAclsRequest(Message):
    """Finds access rules.

    * `resource_type_filter`: 1 any, 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.
    * `pattern_type_filter`: 1 any, 2 whatever matches the name, 3 literal, 4 prefixed.
    * `operation`: 1 any, 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action, 10 describe
    configs, 11 alter configs, 12 idempotent write, 13 create tokens, 14 describe tokens, 15 two-phase commit.
    * `permission_type`: 1 any, 2 deny, 3 allow.
    """

    API_KEY = 29
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_describe_acls_request_1, 2: _read_describe_acls_request_2, 3: _read_describe_acls_request_2}
    ENCODERS = {1: _write_describe_acls_request_1, 2: _write_describe_acls_request_2, 3: _write_describe_acls_request_2}

    FIELDS = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tags = unknown_tags


class DescribeAclsResource(Structure):
    """An element of DescribeAclsResponse.Resources."""

    FIELDS = ("resource_type", "resource_name", "pattern_type", "acls", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[AclDescription] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls = [] if acls is EMPTY else acls
        self.unknown_tags = unknown_tags


class AclDescription(Structure):
    """An element of DescribeAclsResource.Acls."""

    FIELDS = ("principal", "host", "operation", "permission_type", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tags = unknown_tags


def _read_acl_description_array_1(data: bytes, pos: int, count: int) -> tuple[list[AclDescription], int]:
    # AclDescription, version 1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[AclDescription] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
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
        items.append(AclDescription(principal, host, operation, permission_type))
    return items, pos


def _write_acl_description_array_1(out: bytearray, items: list[AclDescription]) -> None:
    # AclDescription, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AclDescription", "unknown_tags")
        raw = item.principal.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.host.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_bb(item.operation, item.permission_type)


def _read_describe_acls_resource_array_1(data: bytes, pos: int, count: int) -> tuple[list[DescribeAclsResource], int]:
    # DescribeAclsResource, version 1
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeAclsResource] = []
    for _ in range(count):
        resource_type, n = _unpack_bh(data, pos)
        pos += 3
        if n < 0:
            raise bad_length(n)
        end = pos + n
        resource_name = data[pos:end].decode()
        pos = end
        pattern_type, n = _unpack_bi(data, pos)
        pos += 5
        acls, pos = _read_acl_description_array_1(data, pos, n)
        items.append(DescribeAclsResource(resource_type, resource_name, pattern_type, acls))
    return items, pos


def _write_describe_acls_resource_array_1(out: bytearray, items: list[DescribeAclsResource]) -> None:
    # DescribeAclsResource, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeAclsResource", "unknown_tags")
        raw = item.resource_name.encode()
        out += _pack_bh(item.resource_type, len(raw))
        out += raw
        out += _pack_bi(item.pattern_type, len(item.acls))
        _write_acl_description_array_1(out, item.acls)


def _read_describe_acls_response_1(data: bytes, pos: int) -> tuple[DescribeAclsResponse, int]:
    # DescribeAclsResponse, version 1
    throttle_time_ms, error_code, n = _unpack_ihh(data, pos)
    pos += 8
    error_message: str | None = None
    if n >= 0:
        end = pos + n
        error_message = data[pos:end].decode()
        pos = end
    elif n != -1:
        raise bad_length(n)
    (n,) = _unpack_i(data, pos)
    pos += 4
    resources, pos = _read_describe_acls_resource_array_1(data, pos, n)
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources), pos


def _write_describe_acls_response_1(out: bytearray, item: DescribeAclsResponse) -> None:
    # DescribeAclsResponse, version 1
    if item.unknown_tags:
        raise not_in_version("DescribeAclsResponse", "unknown_tags")
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out += _pack_h(-1)
    else:
        raw = item.error_message.encode()
        out += _pack_h(len(raw))
        out += raw
    out += _pack_i(len(item.resources))
    _write_describe_acls_resource_array_1(out, item.resources)


def _read_acl_description_array_2(data: bytes, pos: int, count: int) -> tuple[list[AclDescription], int]:
    # AclDescription, versions 2-3
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[AclDescription] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
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
        items.append(AclDescription(principal, host, operation, permission_type, unknown_tags))
    return items, pos


def _write_acl_description_array_2(out: bytearray, items: list[AclDescription]) -> None:
    # AclDescription, versions 2-3
    for item in items:
        put_compact_string(out, item.principal)
        put_compact_string(out, item.host)
        out += _pack_bb(item.operation, item.permission_type)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_acls_resource_array_2(data: bytes, pos: int, count: int) -> tuple[list[DescribeAclsResource], int]:
    # DescribeAclsResource, versions 2-3
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeAclsResource] = []
    for _ in range(count):
        resource_type, n = _unpack_bB(data, pos)
        pos += 2
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        resource_name = data[pos:end].decode()
        pos = end
        pattern_type, n = _unpack_bB(data, pos)
        pos += 2
        if n > 127:
            n, pos = read_length(data, pos)
        acls, pos = _read_acl_description_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeAclsResource(resource_type, resource_name, pattern_type, acls, unknown_tags))
    return items, pos


def _write_describe_acls_resource_array_2(out: bytearray, items: list[DescribeAclsResource]) -> None:
    # DescribeAclsResource, versions 2-3
    for item in items:
        out += _pack_b(item.resource_type)
        put_compact_string(out, item.resource_name)
        out += _pack_b(item.pattern_type)
        n = len(item.acls) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_acl_description_array_2(out, item.acls)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_acls_response_2(data: bytes, pos: int) -> tuple[DescribeAclsResponse, int]:
    # DescribeAclsResponse, versions 2-3
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
    resources, pos = _read_describe_acls_resource_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources, unknown_tags), pos


def _write_describe_acls_response_2(out: bytearray, item: DescribeAclsResponse) -> None:
    # DescribeAclsResponse, versions 2-3
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    n = len(item.resources) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_acls_resource_array_2(out, item.resources)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeAclsResponse(Message):
    """The rules that match, by resource.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 29
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_describe_acls_response_1, 2: _read_describe_acls_response_2, 3: _read_describe_acls_response_2}
    ENCODERS = {
        1: _write_describe_acls_response_1,
        2: _write_describe_acls_response_2,
        3: _write_describe_acls_response_2,
    }

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "resources", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = [] if resources is EMPTY else resources
        self.unknown_tags = unknown_tags
