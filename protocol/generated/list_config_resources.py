"""ListConfigResourcesRequest 0-1 and ListConfigResourcesResponse 0-1.

Generated from schemas/rpc/ListConfigResourcesRequest.json and schemas/rpc/ListConfigResourcesResponse.json (Apache
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
    not_in_version,
    put_compact_string,
    put_int8s,
    read_compact_int8s,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_bB = Struct(">bB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_b = Struct(">b").pack
_pack_ih = Struct(">ih").pack


def _read_list_config_resources_request_0(data: bytes, pos: int) -> tuple[ListConfigResourcesRequest, int]:
    # ListConfigResourcesRequest, version 0
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListConfigResourcesRequest([], unknown_tags), pos


def _write_list_config_resources_request_0(out: bytearray, item: ListConfigResourcesRequest) -> None:
    # ListConfigResourcesRequest, version 0
    if item.resource_types:
        raise not_in_version("ListConfigResourcesRequest", "resource_types")
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_config_resources_request_1(data: bytes, pos: int) -> tuple[ListConfigResourcesRequest, int]:
    # ListConfigResourcesRequest, version 1
    n = data[pos]
    pos += 1
    if n == 2 and data[pos] < 128:
        resource_types = [data[pos]]
        pos += 1
    else:
        resource_types, pos = read_compact_int8s(data, pos, n)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListConfigResourcesRequest(resource_types, unknown_tags), pos


def _write_list_config_resources_request_1(out: bytearray, item: ListConfigResourcesRequest) -> None:
    # ListConfigResourcesRequest, version 1
    n = len(item.resource_types) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_int8s(out, item.resource_types)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListConfigResourcesRequest(Message):
    """Lists the resources that have configurations.

    * `resource_types`: Empty for all types.
    """

    API_KEY = 74
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_list_config_resources_request_0, 1: _read_list_config_resources_request_1}
    ENCODERS = {0: _write_list_config_resources_request_0, 1: _write_list_config_resources_request_1}

    FIELDS = ("resource_types", "unknown_tags")
    __slots__ = FIELDS

    def __init__(self, resource_types: list[int] = EMPTY, unknown_tags: Tags = ()) -> None:
        self.resource_types = [] if resource_types is EMPTY else resource_types
        self.unknown_tags = unknown_tags


class ConfigResource(Structure):
    """An element of ListConfigResourcesResponse.ConfigResources."""

    FIELDS = ("resource_name", "resource_type", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        resource_name: str = "",
        resource_type: int = 16,
        unknown_tags: Tags = (),
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type
        self.unknown_tags = unknown_tags


def _read_config_resource_array_0(data: bytes, pos: int, count: int) -> tuple[list[ConfigResource], int]:
    # ConfigResource, version 0
    if not 0 <= count * 2 <= len(data) - pos:
        raise bad_count(count)
    items: list[ConfigResource] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        resource_name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ConfigResource(resource_name, 16, unknown_tags))
    return items, pos


def _write_config_resource_array_0(out: bytearray, items: list[ConfigResource]) -> None:
    # ConfigResource, version 0
    for item in items:
        put_compact_string(out, item.resource_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_config_resources_response_0(data: bytes, pos: int) -> tuple[ListConfigResourcesResponse, int]:
    # ListConfigResourcesResponse, version 0
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    config_resources, pos = _read_config_resource_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources, unknown_tags), pos


def _write_list_config_resources_response_0(out: bytearray, item: ListConfigResourcesResponse) -> None:
    # ListConfigResourcesResponse, version 0
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.config_resources) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_config_resource_array_0(out, item.config_resources)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_config_resource_array_1(data: bytes, pos: int, count: int) -> tuple[list[ConfigResource], int]:
    # ConfigResource, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ConfigResource] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        resource_name = data[pos:end].decode()
        pos = end
        resource_type, n = _unpack_bB(data, pos)
        pos += 2
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ConfigResource(resource_name, resource_type, unknown_tags))
    return items, pos


def _write_config_resource_array_1(out: bytearray, items: list[ConfigResource]) -> None:
    # ConfigResource, version 1
    for item in items:
        put_compact_string(out, item.resource_name)
        out += _pack_b(item.resource_type)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_list_config_resources_response_1(data: bytes, pos: int) -> tuple[ListConfigResourcesResponse, int]:
    # ListConfigResourcesResponse, version 1
    throttle_time_ms, error_code, n = _unpack_ihB(data, pos)
    pos += 7
    if n > 127:
        n, pos = read_length(data, pos)
    config_resources, pos = _read_config_resource_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources, unknown_tags), pos


def _write_list_config_resources_response_1(out: bytearray, item: ListConfigResourcesResponse) -> None:
    # ListConfigResourcesResponse, version 1
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    n = len(item.config_resources) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_config_resource_array_1(out, item.config_resources)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ListConfigResourcesResponse(Message):
    """The resources, by type.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 74
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_list_config_resources_response_0, 1: _read_list_config_resources_response_1}
    ENCODERS = {0: _write_list_config_resources_response_0, 1: _write_list_config_resources_response_1}

    FIELDS = ("throttle_time_ms", "error_code", "config_resources", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ConfigResource] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = [] if config_resources is EMPTY else config_resources
        self.unknown_tags = unknown_tags
