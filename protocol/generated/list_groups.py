"""ListGroupsRequest 0-5 and ListGroupsResponse 0-5.

Generated from schemas/rpc/ListGroupsRequest.json and schemas/rpc/ListGroupsResponse.json (Apache Kafka 4.4.0) by
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
    read_compact_strings,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_ih = Struct(">ih").pack
_pack_ihi = Struct(">ihi").pack


def _read_list_groups_request_0(data: bytes, pos: int) -> tuple[ListGroupsRequest, int]:
    # ListGroupsRequest, versions 0-2
    return ListGroupsRequest([], []), pos


def _write_list_groups_request_0(out: bytearray, item: ListGroupsRequest) -> None:
    # ListGroupsRequest, versions 0-2
    if item.states_filter:
        raise not_in_version("ListGroupsRequest", "states_filter")
    if item.types_filter:
        raise not_in_version("ListGroupsRequest", "types_filter")
    if item.unknown_tags:
        raise not_in_version("ListGroupsRequest", "unknown_tags")


def _read_list_groups_request_3(data: bytes, pos: int) -> tuple[ListGroupsRequest, int]:
    # ListGroupsRequest, version 3
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListGroupsRequest([], [], unknown_tags), pos


def _write_list_groups_request_3(out: bytearray, item: ListGroupsRequest) -> None:
    # ListGroupsRequest, version 3
    if item.states_filter:
        raise not_in_version("ListGroupsRequest", "states_filter")
    if item.types_filter:
        raise not_in_version("ListGroupsRequest", "types_filter")
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_groups_request_4(data: bytes, pos: int) -> tuple[ListGroupsRequest, int]:
    # ListGroupsRequest, version 4
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    states_filter, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListGroupsRequest(states_filter, [], unknown_tags), pos


def _write_list_groups_request_4(out: bytearray, item: ListGroupsRequest) -> None:
    # ListGroupsRequest, version 4
    if item.types_filter:
        raise not_in_version("ListGroupsRequest", "types_filter")
    n = len(item.states_filter) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.states_filter)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_groups_request_5(data: bytes, pos: int) -> tuple[ListGroupsRequest, int]:
    # ListGroupsRequest, version 5
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    states_filter, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    types_filter, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListGroupsRequest(states_filter, types_filter, unknown_tags), pos


def _write_list_groups_request_5(out: bytearray, item: ListGroupsRequest) -> None:
    # ListGroupsRequest, version 5
    n = len(item.states_filter) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.states_filter)
    n = len(item.types_filter) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.types_filter)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListGroupsRequest(Message):
    """Lists groups, optionally by state and type.

    * `states_filter`: Empty for all states.
    * `types_filter`: Empty for all types; classic, consumer, share, streams.
    """

    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_list_groups_request_0,
        1: _read_list_groups_request_0,
        2: _read_list_groups_request_0,
        3: _read_list_groups_request_3,
        4: _read_list_groups_request_4,
        5: _read_list_groups_request_5,
    }
    ENCODERS = {
        0: _write_list_groups_request_0,
        1: _write_list_groups_request_0,
        2: _write_list_groups_request_0,
        3: _write_list_groups_request_3,
        4: _write_list_groups_request_4,
        5: _write_list_groups_request_5,
    }

    FIELDS = ("states_filter", "types_filter", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        states_filter: list[str] = EMPTY,
        types_filter: list[str] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.states_filter = [] if states_filter is EMPTY else states_filter
        self.types_filter = [] if types_filter is EMPTY else types_filter
        self.unknown_tags = unknown_tags


class ListedGroup(Structure):
    """An element of ListGroupsResponse.Groups."""

    FIELDS = ("group_id", "protocol_type", "group_state", "group_type", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type
        self.unknown_tags = unknown_tags


def _read_listed_group_array_0(data: bytes, pos: int, count: int) -> tuple[list[ListedGroup], int]:
    # ListedGroup, versions 0-2
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListedGroup] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        group_id = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        protocol_type = data[pos:end].decode()
        pos = end
        items.append(ListedGroup(group_id, protocol_type, "", ""))
    return items, pos


def _write_listed_group_array_0(out: bytearray, items: list[ListedGroup]) -> None:
    # ListedGroup, versions 0-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ListedGroup", "unknown_tags")
        raw = item.group_id.encode()
        out += _pack_h(len(raw))
        out += raw
        raw = item.protocol_type.encode()
        out += _pack_h(len(raw))
        out += raw


def _read_list_groups_response_0(data: bytes, pos: int) -> tuple[ListGroupsResponse, int]:
    # ListGroupsResponse, version 0
    error_code, n = _unpack_hi(data, pos)
    pos += 6
    groups, pos = _read_listed_group_array_0(data, pos, n)
    return ListGroupsResponse(0, error_code, groups), pos


def _write_list_groups_response_0(out: bytearray, item: ListGroupsResponse) -> None:
    # ListGroupsResponse, version 0
    if item.unknown_tags:
        raise not_in_version("ListGroupsResponse", "unknown_tags")
    out += _pack_hi(item.error_code, len(item.groups))
    _write_listed_group_array_0(out, item.groups)


def _read_list_groups_response_1(data: bytes, pos: int) -> tuple[ListGroupsResponse, int]:
    # ListGroupsResponse, versions 1-2
    throttle_time_ms, error_code, n = _unpack_ihi(data, pos)
    pos += 10
    groups, pos = _read_listed_group_array_0(data, pos, n)
    return ListGroupsResponse(throttle_time_ms, error_code, groups), pos


def _write_list_groups_response_1(out: bytearray, item: ListGroupsResponse) -> None:
    # ListGroupsResponse, versions 1-2
    if item.unknown_tags:
        raise not_in_version("ListGroupsResponse", "unknown_tags")
    out += _pack_ihi(item.throttle_time_ms, item.error_code, len(item.groups))
    _write_listed_group_array_0(out, item.groups)


def _read_listed_group_array_3(data: bytes, pos: int, count: int) -> tuple[list[ListedGroup], int]:
    # ListedGroup, version 3
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListedGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol_type = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ListedGroup(group_id, protocol_type, "", "", unknown_tags))
    return items, pos


def _write_listed_group_array_3(out: bytearray, items: list[ListedGroup]) -> None:
    # ListedGroup, version 3
    for item in items:
        put_compact_string(out, item.group_id)
        put_compact_string(out, item.protocol_type)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_groups_response_3(data: bytes, pos: int) -> tuple[ListGroupsResponse, int]:
    # ListGroupsResponse, version 3
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_listed_group_array_3(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListGroupsResponse(throttle_time_ms, error_code, groups, unknown_tags), pos


def _write_list_groups_response_3(out: bytearray, item: ListGroupsResponse) -> None:
    # ListGroupsResponse, version 3
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listed_group_array_3(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_listed_group_array_4(data: bytes, pos: int, count: int) -> tuple[list[ListedGroup], int]:
    # ListedGroup, version 4
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListedGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol_type = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_state = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ListedGroup(group_id, protocol_type, group_state, "", unknown_tags))
    return items, pos


def _write_listed_group_array_4(out: bytearray, items: list[ListedGroup]) -> None:
    # ListedGroup, version 4
    for item in items:
        put_compact_string(out, item.group_id)
        put_compact_string(out, item.protocol_type)
        put_compact_string(out, item.group_state)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_groups_response_4(data: bytes, pos: int) -> tuple[ListGroupsResponse, int]:
    # ListGroupsResponse, version 4
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_listed_group_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListGroupsResponse(throttle_time_ms, error_code, groups, unknown_tags), pos


def _write_list_groups_response_4(out: bytearray, item: ListGroupsResponse) -> None:
    # ListGroupsResponse, version 4
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listed_group_array_4(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_listed_group_array_5(data: bytes, pos: int, count: int) -> tuple[list[ListedGroup], int]:
    # ListedGroup, version 5
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[ListedGroup] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        protocol_type = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_state = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        group_type = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ListedGroup(group_id, protocol_type, group_state, group_type, unknown_tags))
    return items, pos


def _write_listed_group_array_5(out: bytearray, items: list[ListedGroup]) -> None:
    # ListedGroup, version 5
    for item in items:
        put_compact_string(out, item.group_id)
        put_compact_string(out, item.protocol_type)
        put_compact_string(out, item.group_state)
        put_compact_string(out, item.group_type)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_groups_response_5(data: bytes, pos: int) -> tuple[ListGroupsResponse, int]:
    # ListGroupsResponse, version 5
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    groups, pos = _read_listed_group_array_5(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListGroupsResponse(throttle_time_ms, error_code, groups, unknown_tags), pos


def _write_list_groups_response_5(out: bytearray, item: ListGroupsResponse) -> None:
    # ListGroupsResponse, version 5
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.groups) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_listed_group_array_5(out, item.groups)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListGroupsResponse(Message):
    """The groups this broker coordinates.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    DECODERS = {
        0: _read_list_groups_response_0,
        1: _read_list_groups_response_1,
        2: _read_list_groups_response_1,
        3: _read_list_groups_response_3,
        4: _read_list_groups_response_4,
        5: _read_list_groups_response_5,
    }
    ENCODERS = {
        0: _write_list_groups_response_0,
        1: _write_list_groups_response_1,
        2: _write_list_groups_response_1,
        3: _write_list_groups_response_3,
        4: _write_list_groups_response_4,
        5: _write_list_groups_response_5,
    }

    FIELDS = ("throttle_time_ms", "error_code", "groups", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is EMPTY else groups
        self.unknown_tags = unknown_tags
