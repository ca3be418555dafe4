"""DeleteAclsRequest 1-3 and DeleteAclsResponse 1-3.

Generated from schemas/rpc/DeleteAclsRequest.json and schemas/rpc/DeleteAclsResponse.json (Apache Kafka 4.4.0) by
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


class DeleteAclsFilter(Structure):
    """An element of DeleteAclsRequest.Filters."""

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


def _read_delete_acls_filter_array_1(data: bytes, pos: int, count: int) -> tuple[list[DeleteAclsFilter], int]:
    # DeleteAclsFilter, version 1
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteAclsFilter] = []
    for _ in range(count):
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
        item = DeleteAclsFilter(
            resource_type_filter,
            resource_name_filter,
            pattern_type_filter,
            principal_filter,
            host_filter,
            operation,
            permission_type,
        )
        items.append(item)
    return items, pos


def _write_delete_acls_filter_array_1(out: bytearray, items: list[DeleteAclsFilter]) -> None:
    # DeleteAclsFilter, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DeleteAclsFilter", "unknown_tags")
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


def _read_delete_acls_request_1(data: bytes, pos: int) -> tuple[DeleteAclsRequest, int]:
    # DeleteAclsRequest, version 1
    (n,) = _unpack_i(data, pos)
    pos += 4
    filters, pos = _read_delete_acls_filter_array_1(data, pos, n)
    return DeleteAclsRequest(filters), pos


def _write_delete_acls_request_1(out: bytearray, item: DeleteAclsRequest) -> None:
    # DeleteAclsRequest, version 1
    if item.unknown_tags:
        raise not_in_version("DeleteAclsRequest", "unknown_tags")
    out += _pack_i(len(item.filters))
    _write_delete_acls_filter_array_1(out, item.filters)


def _read_delete_acls_filter_array_2(data: bytes, pos: int, count: int) -> tuple[list[DeleteAclsFilter], int]:
    # DeleteAclsFilter, versions 2-3
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteAclsFilter] = []
    for _ in range(count):
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
        item = DeleteAclsFilter(
            resource_type_filter,
            resource_name_filter,
            pattern_type_filter,
            principal_filter,
            host_filter,
            operation,
            permission_type,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_delete_acls_filter_array_2(out: bytearray, items: list[DeleteAclsFilter]) -> None:
    # DeleteAclsFilter, versions 2-3
    for item in items:
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


def _read_delete_acls_request_2(data: bytes, pos: int) -> tuple[DeleteAclsRequest, int]:
    # DeleteAclsRequest, versions 2-3
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    filters, pos = _read_delete_acls_filter_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteAclsRequest(filters, unknown_tags), pos


def _write_delete_acls_request_2(out: bytearray, item: DeleteAclsRequest) -> None:
    # DeleteAclsRequest, versions 2-3
    n = len(item.filters) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_delete_acls_filter_array_2(out, item.filters)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteAclsRequest(Message):
    """Removes the access rules that match filters."""

    API_KEY = 31
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_delete_acls_request_1, 2: _read_delete_acls_request_2, 3: _read_delete_acls_request_2}
    ENCODERS = {1: _write_delete_acls_request_1, 2: _write_delete_acls_request_2, 3: _write_delete_acls_request_2}

    FIELDS = ("filters", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, filters: list[DeleteAclsFilter] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.filters = [] if filters is EMPTY else filters
        self.unknown_tags = unknown_tags


class DeleteAclsFilterResult(Structure):
    """An element of DeleteAclsResponse.FilterResults."""

    FIELDS = ("error_code", "error_message", "matching_acls", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsMatchingAcl] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls = [] if matching_acls is EMPTY else matching_acls
        self.unknown_tags = unknown_tags


class DeleteAclsMatchingAcl(Structure):
    """An element of DeleteAclsFilterResult.MatchingAcls."""

    FIELDS = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tags = unknown_tags


def _read_delete_acls_matching_acl_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteAclsMatchingAcl], int]:
    # DeleteAclsMatchingAcl, version 1
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteAclsMatchingAcl] = []
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
        resource_type, n = _unpack_bh(data, pos)
        pos += 3
        if n < 0:
            raise bad_length(n)
        end = pos + n
        resource_name = data[pos:end].decode()
        pos = end
        pattern_type, n = _unpack_bh(data, pos)
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
        item = DeleteAclsMatchingAcl(
            error_code,
            error_message,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
        )
        items.append(item)
    return items, pos


def _write_delete_acls_matching_acl_array_1(out: bytearray, items: list[DeleteAclsMatchingAcl]) -> None:
    # DeleteAclsMatchingAcl, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DeleteAclsMatchingAcl", "unknown_tags")
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out += _pack_h(-1)
        else:
            raw = item.error_message.encode()
            out += _pack_h(len(raw))
            out += raw
        raw = item.resource_name.encode()
        out += _pack_bh(item.resource_type, len(raw))
        out += raw
        raw = item.principal.encode()
        out += _pack_bh(item.pattern_type, len(raw))
        out += raw
        raw = item.host.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_bb(item.operation, item.permission_type)


def _read_delete_acls_filter_result_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteAclsFilterResult], int]:
    # DeleteAclsFilterResult, version 1
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteAclsFilterResult] = []
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
        (n,) = _unpack_i(data, pos)
        pos += 4
        matching_acls, pos = _read_delete_acls_matching_acl_array_1(data, pos, n)
        items.append(DeleteAclsFilterResult(error_code, error_message, matching_acls))
    return items, pos


def _write_delete_acls_filter_result_array_1(out: bytearray, items: list[DeleteAclsFilterResult]) -> None:
    # DeleteAclsFilterResult, version 1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DeleteAclsFilterResult", "unknown_tags")
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out += _pack_h(-1)
        else:
            raw = item.error_message.encode()
            out += _pack_h(len(raw))
            out += raw
        out += _pack_i(len(item.matching_acls))
        _write_delete_acls_matching_acl_array_1(out, item.matching_acls)


def _read_delete_acls_response_1(data: bytes, pos: int) -> tuple[DeleteAclsResponse, int]:
    # DeleteAclsResponse, version 1
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    filter_results, pos = _read_delete_acls_filter_result_array_1(data, pos, n)
    return DeleteAclsResponse(throttle_time_ms, filter_results), pos


def _write_delete_acls_response_1(out: bytearray, item: DeleteAclsResponse) -> None:
    # DeleteAclsResponse, version 1
    if item.unknown_tags:
        raise not_in_version("DeleteAclsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.filter_results))
    _write_delete_acls_filter_result_array_1(out, item.filter_results)


def _read_delete_acls_matching_acl_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteAclsMatchingAcl], int]:
    # DeleteAclsMatchingAcl, versions 2-3
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteAclsMatchingAcl] = []
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
        resource_type, n = _unpack_bB(data, pos)
        pos += 2
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        resource_name = data[pos:end].decode()
        pos = end
        pattern_type, n = _unpack_bB(data, pos)
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
        item = DeleteAclsMatchingAcl(
            error_code,
            error_message,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
            unknown_tags,
        )
        items.append(item)
    return items, pos


def _write_delete_acls_matching_acl_array_2(out: bytearray, items: list[DeleteAclsMatchingAcl]) -> None:
    # DeleteAclsMatchingAcl, versions 2-3
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        put_compact_string(out, item.resource_name)
        out += _pack_b(item.pattern_type)
        put_compact_string(out, item.principal)
        put_compact_string(out, item.host)
        out += _pack_bb(item.operation, item.permission_type)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_acls_filter_result_array_2(
    data: bytes, pos: int, count: int
) -> tuple[list[DeleteAclsFilterResult], int]:
    # DeleteAclsFilterResult, versions 2-3
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeleteAclsFilterResult] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        matching_acls, pos = _read_delete_acls_matching_acl_array_2(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeleteAclsFilterResult(error_code, error_message, matching_acls, unknown_tags))
    return items, pos


def _write_delete_acls_filter_result_array_2(out: bytearray, items: list[DeleteAclsFilterResult]) -> None:
    # DeleteAclsFilterResult, versions 2-3
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        n = len(item.matching_acls) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_delete_acls_matching_acl_array_2(out, item.matching_acls)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_acls_response_2(data: bytes, pos: int) -> tuple[DeleteAclsResponse, int]:
    # DeleteAclsResponse, versions 2-3
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    filter_results, pos = _read_delete_acls_filter_result_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteAclsResponse(throttle_time_ms, filter_results, unknown_tags), pos


def _write_delete_acls_response_2(out: bytearray, item: DeleteAclsResponse) -> None:
    # DeleteAclsResponse, versions 2-3
    out += _pack_i(item.throttle_time_ms)
    n = len(item.filter_results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_delete_acls_filter_result_array_2(out, item.filter_results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteAclsResponse(Message):
    """The rules each filter removed.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 31
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {1: _read_delete_acls_response_1, 2: _read_delete_acls_response_2, 3: _read_delete_acls_response_2}
    ENCODERS = {1: _write_delete_acls_response_1, 2: _write_delete_acls_response_2, 3: _write_delete_acls_response_2}

    FIELDS = ("throttle_time_ms", "filter_results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsFilterResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = [] if filter_results is EMPTY else filter_results
        self.unknown_tags = unknown_tags
