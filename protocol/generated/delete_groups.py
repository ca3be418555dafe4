"""DeleteGroupsRequest 0-3 and DeleteGroupsResponse 0-3.

Generated from schemas/rpc/DeleteGroupsRequest.json and schemas/rpc/DeleteGroupsResponse.json (Apache Kafka 4.4.0) by
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
    put_compact_strings,
    put_strings,
    read_compact_strings,
    read_length,
    read_string_length,
    read_strings,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack


def _read_delete_groups_request_0(data: bytes, pos: int) -> tuple[DeleteGroupsRequest, int]:
    # DeleteGroupsRequest, versions 0-1
    (n,) = _unpack_i(data, pos)
    pos += 4
    groups_names, pos = read_strings(data, pos, n)
    return DeleteGroupsRequest(groups_names), pos


def _write_delete_groups_request_0(out: bytearray, item: DeleteGroupsRequest) -> None:
    # DeleteGroupsRequest, versions 0-1
    if item.unknown_tags:
        raise not_in_version("DeleteGroupsRequest", "unknown_tags")
    out += _pack_i(len(item.groups_names))
    put_strings(out, item.groups_names)


def _read_delete_groups_request_2(data: bytes, pos: int) -> tuple[DeleteGroupsRequest, int]:
    # DeleteGroupsRequest, versions 2-3
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    groups_names, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteGroupsRequest(groups_names, unknown_tags), pos


def _write_delete_groups_request_2(out: bytearray, item: DeleteGroupsRequest) -> None:
    # DeleteGroupsRequest, versions 2-3
    n = len(item.groups_names) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.groups_names)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteGroupsRequest(Message):
    """Deletes groups without members."""

    API_KEY = 42
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {
        0: _read_delete_groups_request_0,
        1: _read_delete_groups_request_0,
        2: _read_delete_groups_request_2,
        3: _read_delete_groups_request_2,
    }
    ENCODERS = {
        0: _write_delete_groups_request_0,
        1: _write_delete_groups_request_0,
        2: _write_delete_groups_request_2,
        3: _write_delete_groups_request_2,
    }

    FIELDS = ("groups_names", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, groups_names: list[str] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.groups_names = [] if groups_names is EMPTY else groups_names
        self.unknown_tags = unknown_tags


class DeletableGroupResult(Structure):
    """An element of DeleteGroupsResponse.Results.

    * `error_message`: More than the code says; null for nothing.
    """

    FIELDS = ("group_id", "error_code", "error_message", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = unknown_tags


def _read_deletable_group_result_array_0(data: bytes, pos: int, count: int) -> tuple[list[DeletableGroupResult], int]:
    # DeletableGroupResult, versions 0-1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeletableGroupResult] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        group_id = data[pos:end].decode()
        pos = end
        (error_code,) = _unpack_h(data, pos)
        pos += 2
        items.append(DeletableGroupResult(group_id, error_code, None))
    return items, pos


def _write_deletable_group_result_array_0(out: bytearray, items: list[DeletableGroupResult]) -> None:
    # DeletableGroupResult, versions 0-1
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DeletableGroupResult", "unknown_tags")
        raw = item.group_id.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_h(item.error_code)


def _read_delete_groups_response_0(data: bytes, pos: int) -> tuple[DeleteGroupsResponse, int]:
    # DeleteGroupsResponse, versions 0-1
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    results, pos = _read_deletable_group_result_array_0(data, pos, n)
    return DeleteGroupsResponse(throttle_time_ms, results), pos


def _write_delete_groups_response_0(out: bytearray, item: DeleteGroupsResponse) -> None:
    # DeleteGroupsResponse, versions 0-1
    if item.unknown_tags:
        raise not_in_version("DeleteGroupsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.results))
    _write_deletable_group_result_array_0(out, item.results)


def _read_deletable_group_result_array_2(data: bytes, pos: int, count: int) -> tuple[list[DeletableGroupResult], int]:
    # DeletableGroupResult, version 2
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeletableGroupResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        error_code, n = _unpack_hB(data, pos)
        pos += 3
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DeletableGroupResult(group_id, error_code, None, unknown_tags))
    return items, pos


def _write_deletable_group_result_array_2(out: bytearray, items: list[DeletableGroupResult]) -> None:
    # DeletableGroupResult, version 2
    for item in items:
        put_compact_string(out, item.group_id)
        out += _pack_h(item.error_code)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_groups_response_2(data: bytes, pos: int) -> tuple[DeleteGroupsResponse, int]:
    # DeleteGroupsResponse, version 2
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_deletable_group_result_array_2(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteGroupsResponse(throttle_time_ms, results, unknown_tags), pos


def _write_delete_groups_response_2(out: bytearray, item: DeleteGroupsResponse) -> None:
    # DeleteGroupsResponse, version 2
    out += _pack_i(item.throttle_time_ms)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_deletable_group_result_array_2(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_deletable_group_result_array_3(data: bytes, pos: int, count: int) -> tuple[list[DeletableGroupResult], int]:
    # DeletableGroupResult, version 3
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[DeletableGroupResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
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
        items.append(DeletableGroupResult(group_id, error_code, error_message, unknown_tags))
    return items, pos


def _write_deletable_group_result_array_3(out: bytearray, items: list[DeletableGroupResult]) -> None:
    # DeletableGroupResult, version 3
    for item in items:
        put_compact_string(out, item.group_id)
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_delete_groups_response_3(data: bytes, pos: int) -> tuple[DeleteGroupsResponse, int]:
    # DeleteGroupsResponse, version 3
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_deletable_group_result_array_3(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DeleteGroupsResponse(throttle_time_ms, results, unknown_tags), pos


def _write_delete_groups_response_3(out: bytearray, item: DeleteGroupsResponse) -> None:
    # DeleteGroupsResponse, version 3
    out += _pack_i(item.throttle_time_ms)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_deletable_group_result_array_3(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DeleteGroupsResponse(Message):
    """What became of each group.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 42
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    DECODERS = {
        0: _read_delete_groups_response_0,
        1: _read_delete_groups_response_0,
        2: _read_delete_groups_response_2,
        3: _read_delete_groups_response_3,
    }
    ENCODERS = {
        0: _write_delete_groups_response_0,
        1: _write_delete_groups_response_0,
        2: _write_delete_groups_response_2,
        3: _write_delete_groups_response_3,
    }

    FIELDS = ("throttle_time_ms", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
