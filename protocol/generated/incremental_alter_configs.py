"""IncrementalAlterConfigsRequest 0-1 and IncrementalAlterConfigsResponse 0-1.

Generated from schemas/rpc/IncrementalAlterConfigsRequest.json and schemas/rpc/IncrementalAlterConfigsResponse.json
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
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_tB = Struct(">?B").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_t = Struct(">?").pack
_pack_b = Struct(">b").pack
_pack_bh = Struct(">bh").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack


class AlterConfigsResource(Structure):
    """An element of IncrementalAlterConfigsRequest.Resources."""

    FIELDS = ("resource_type", "resource_name", "configs", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is EMPTY else configs
        self.unknown_tags = unknown_tags


class AlterableConfig(Structure):
    """An element of AlterConfigsResource.Configs.

    * `config_operation`: 0 set, 1 delete, 2 append to a list, 3 take out of a list.
    """

    FIELDS = ("name", "config_operation", "value", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        config_operation: int = 0,
        value: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.config_operation = config_operation
        self.value = value
        self.unknown_tags = unknown_tags


def _read_alterable_config_array_0(data: bytes, pos: int, count: int) -> tuple[list[AlterableConfig], int]:
    # AlterableConfig, version 0
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterableConfig] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        config_operation, n = _unpack_bh(data, pos)
        pos += 3
        value: str | None = None
        if n >= 0:
            end = pos + n
            value = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(AlterableConfig(name, config_operation, value))
    return items, pos


def _write_alterable_config_array_0(out: bytearray, items: list[AlterableConfig]) -> None:
    # AlterableConfig, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterableConfig", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_b(item.config_operation)
        if item.value is None:
            out += _pack_h(-1)
        else:
            raw = item.value.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_alter_configs_resource_array_0(data: bytes, pos: int, count: int) -> tuple[list[AlterConfigsResource], int]:
    # AlterConfigsResource, version 0
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterConfigsResource] = []
    for _ in range(count):
        resource_type, n = _unpack_bh(data, pos)
        pos += 3
        if n < 0:
            raise bad_length(n)
        end = pos + n
        resource_name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_i(data, pos)
        pos += 4
        configs, pos = _read_alterable_config_array_0(data, pos, n)
        items.append(AlterConfigsResource(resource_type, resource_name, configs))
    return items, pos


def _write_alter_configs_resource_array_0(out: bytearray, items: list[AlterConfigsResource]) -> None:
    # AlterConfigsResource, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterConfigsResource", "unknown_tags")
        raw = item.resource_name.encode()
        out += _pack_bh(item.resource_type, len(raw))
        out += raw
        out += _pack_i(len(item.configs))
        _write_alterable_config_array_0(out, item.configs)


def _read_incremental_alter_configs_request_0(data: bytes, pos: int) -> tuple[IncrementalAlterConfigsRequest, int]:
    # IncrementalAlterConfigsRequest, version 0
    (n,) = _unpack_i(data, pos)
    pos += 4
    resources, pos = _read_alter_configs_resource_array_0(data, pos, n)
    validate_only = data[pos] != 0
    pos += 1
    return IncrementalAlterConfigsRequest(resources, validate_only), pos


def _write_incremental_alter_configs_request_0(out: bytearray, item: IncrementalAlterConfigsRequest) -> None:
    # IncrementalAlterConfigsRequest, version 0
    if item.unknown_tags:
        raise not_in_version("IncrementalAlterConfigsRequest", "unknown_tags")
    out += _pack_i(len(item.resources))
    _write_alter_configs_resource_array_0(out, item.resources)
    out += _pack_t(item.validate_only)


def _read_alterable_config_array_1(data: bytes, pos: int, count: int) -> tuple[list[AlterableConfig], int]:
    # AlterableConfig, version 1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterableConfig] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        config_operation, n = _unpack_bB(data, pos)
        pos += 2
        value: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            value = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterableConfig(name, config_operation, value, unknown_tags))
    return items, pos


def _write_alterable_config_array_1(out: bytearray, items: list[AlterableConfig]) -> None:
    # AlterableConfig, version 1
    for item in items:
        put_compact_string(out, item.name)
        out += _pack_b(item.config_operation)
        if item.value is None:
            out.append(0)
        else:
            put_compact_string(out, item.value)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_configs_resource_array_1(data: bytes, pos: int, count: int) -> tuple[list[AlterConfigsResource], int]:
    # AlterConfigsResource, version 1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterConfigsResource] = []
    for _ in range(count):
        resource_type, n = _unpack_bB(data, pos)
        pos += 2
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        resource_name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        configs, pos = _read_alterable_config_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterConfigsResource(resource_type, resource_name, configs, unknown_tags))
    return items, pos


def _write_alter_configs_resource_array_1(out: bytearray, items: list[AlterConfigsResource]) -> None:
    # AlterConfigsResource, version 1
    for item in items:
        out += _pack_b(item.resource_type)
        put_compact_string(out, item.resource_name)
        n = len(item.configs) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alterable_config_array_1(out, item.configs)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_incremental_alter_configs_request_1(data: bytes, pos: int) -> tuple[IncrementalAlterConfigsRequest, int]:
    # IncrementalAlterConfigsRequest, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    resources, pos = _read_alter_configs_resource_array_1(data, pos, n - 1)
    validate_only, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return IncrementalAlterConfigsRequest(resources, validate_only, unknown_tags), pos


def _write_incremental_alter_configs_request_1(out: bytearray, item: IncrementalAlterConfigsRequest) -> None:
    # IncrementalAlterConfigsRequest, version 1
    n = len(item.resources) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_configs_resource_array_1(out, item.resources)
    out += _pack_t(item.validate_only)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class IncrementalAlterConfigsRequest(Message):
    """Changes single settings.

    * `validate_only`: Check everything, change nothing.
    """

    API_KEY = 44
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_incremental_alter_configs_request_0, 1: _read_incremental_alter_configs_request_1}
    ENCODERS = {0: _write_incremental_alter_configs_request_0, 1: _write_incremental_alter_configs_request_1}

    FIELDS = ("resources", "validate_only", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        resources: list[AlterConfigsResource] = EMPTY,
        validate_only: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.resources = [] if resources is EMPTY else resources
        self.validate_only = validate_only
        self.unknown_tags = unknown_tags


class AlterConfigsResourceResponse(Structure):
    """An element of IncrementalAlterConfigsResponse.Responses."""

    FIELDS = ("error_code", "error_message", "resource_type", "resource_name", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.unknown_tags = unknown_tags


def _read_alter_configs_resource_response_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterConfigsResourceResponse], int]:
    # AlterConfigsResourceResponse, version 0
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterConfigsResourceResponse] = []
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
        items.append(AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name))
    return items, pos


def _write_alter_configs_resource_response_array_0(out: bytearray, items: list[AlterConfigsResourceResponse]) -> None:
    # AlterConfigsResourceResponse, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterConfigsResourceResponse", "unknown_tags")
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


def _read_incremental_alter_configs_response_0(data: bytes, pos: int) -> tuple[IncrementalAlterConfigsResponse, int]:
    # IncrementalAlterConfigsResponse, version 0
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    responses, pos = _read_alter_configs_resource_response_array_0(data, pos, n)
    return IncrementalAlterConfigsResponse(throttle_time_ms, responses), pos


def _write_incremental_alter_configs_response_0(out: bytearray, item: IncrementalAlterConfigsResponse) -> None:
    # IncrementalAlterConfigsResponse, version 0
    if item.unknown_tags:
        raise not_in_version("IncrementalAlterConfigsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.responses))
    _write_alter_configs_resource_response_array_0(out, item.responses)


def _read_alter_configs_resource_response_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterConfigsResourceResponse], int]:
    # AlterConfigsResourceResponse, version 1
    if not 0 <= count * 6 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterConfigsResourceResponse] = []
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
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name, unknown_tags)
        items.append(item)
    return items, pos


def _write_alter_configs_resource_response_array_1(out: bytearray, items: list[AlterConfigsResourceResponse]) -> None:
    # AlterConfigsResourceResponse, version 1
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        put_compact_string(out, item.resource_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_incremental_alter_configs_response_1(data: bytes, pos: int) -> tuple[IncrementalAlterConfigsResponse, int]:
    # IncrementalAlterConfigsResponse, version 1
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    responses, pos = _read_alter_configs_resource_response_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return IncrementalAlterConfigsResponse(throttle_time_ms, responses, unknown_tags), pos


def _write_incremental_alter_configs_response_1(out: bytearray, item: IncrementalAlterConfigsResponse) -> None:
    # IncrementalAlterConfigsResponse, version 1
    out += _pack_i(item.throttle_time_ms)
    n = len(item.responses) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_configs_resource_response_array_1(out, item.responses)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class IncrementalAlterConfigsResponse(Message):
    """What became of each resource.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 44
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_incremental_alter_configs_response_0, 1: _read_incremental_alter_configs_response_1}
    ENCODERS = {0: _write_incremental_alter_configs_response_0, 1: _write_incremental_alter_configs_response_1}

    FIELDS = ("throttle_time_ms", "responses", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResourceResponse] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is EMPTY else responses
        self.unknown_tags = unknown_tags
