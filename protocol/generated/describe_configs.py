"""DescribeConfigsRequest 1-4 and DescribeConfigsResponse 1-4.

Generated from schemas/rpc/DescribeConfigsRequest.json and schemas/rpc/DescribeConfigsResponse.json (Apache Kafka 4.4.0)
by `python -m shareq.protocol.generator`. Do not edit.
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

_unpack_tt = Struct(">??").unpack_from
_unpack_ttB = Struct(">??B").unpack_from
_unpack_tbtB = Struct(">?b?B").unpack_from
_unpack_tbti = Struct(">?b?i").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_t = Struct(">?").pack
_pack_tt = Struct(">??").pack
_pack_tbt = Struct(">?b?").pack
_pack_tbti = Struct(">?b?i").pack
_pack_b = Struct(">b").pack
_pack_bh = Struct(">bh").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack


class DescribeConfigsResource(Structure):
    """An element of DescribeConfigsRequest.Resources.

    * `resource_type`: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    * `configuration_keys`: Null for all.
    """

    FIELDS = ("resource_type", "resource_name", "configuration_keys", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is EMPTY else configuration_keys
        self.unknown_tags = unknown_tags


def _read_describe_configs_resource_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeConfigsResource], int]:
    # DescribeConfigsResource, versions 1-3
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsResource] = []
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
        configuration_keys: list[str] | None = None
        if n != -1:
            configuration_keys, pos = read_strings(data, pos, n)
        items.append(DescribeConfigsResource(resource_type, resource_name, configuration_keys))
    return items, pos


def _write_describe_configs_resource_array_1(out: bytearray, items: list[DescribeConfigsResource]) -> None:
    # DescribeConfigsResource, versions 1-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeConfigsResource", "unknown_tags")
        raw = item.resource_name.encode()
        out += _pack_bh(item.resource_type, len(raw))
        out += raw
        if item.configuration_keys is None:
            out += _pack_i(-1)
        else:
            out += _pack_i(len(item.configuration_keys))
            put_strings(out, item.configuration_keys)


def _read_describe_configs_request_1(data: bytes, pos: int) -> tuple[DescribeConfigsRequest, int]:
    # DescribeConfigsRequest, versions 1-2
    (n,) = _unpack_i(data, pos)
    pos += 4
    resources, pos = _read_describe_configs_resource_array_1(data, pos, n)
    include_synonyms = data[pos] != 0
    pos += 1
    return DescribeConfigsRequest(resources, include_synonyms, False), pos


def _write_describe_configs_request_1(out: bytearray, item: DescribeConfigsRequest) -> None:
    # DescribeConfigsRequest, versions 1-2
    if item.include_documentation:
        raise not_in_version("DescribeConfigsRequest", "include_documentation")
    if item.unknown_tags:
        raise not_in_version("DescribeConfigsRequest", "unknown_tags")
    out += _pack_i(len(item.resources))
    _write_describe_configs_resource_array_1(out, item.resources)
    out += _pack_t(item.include_synonyms)


def _read_describe_configs_request_3(data: bytes, pos: int) -> tuple[DescribeConfigsRequest, int]:
    # DescribeConfigsRequest, version 3
    (n,) = _unpack_i(data, pos)
    pos += 4
    resources, pos = _read_describe_configs_resource_array_1(data, pos, n)
    include_synonyms, include_documentation = _unpack_tt(data, pos)
    pos += 2
    return DescribeConfigsRequest(resources, include_synonyms, include_documentation), pos


def _write_describe_configs_request_3(out: bytearray, item: DescribeConfigsRequest) -> None:
    # DescribeConfigsRequest, version 3
    if item.unknown_tags:
        raise not_in_version("DescribeConfigsRequest", "unknown_tags")
    out += _pack_i(len(item.resources))
    _write_describe_configs_resource_array_1(out, item.resources)
    out += _pack_tt(item.include_synonyms, item.include_documentation)


def _read_describe_configs_resource_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeConfigsResource], int]:
    # DescribeConfigsResource, version 4
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsResource] = []
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
        configuration_keys: list[str] | None = None
        if n:
            if n > 127:
                n, pos = read_length(data, pos)
            configuration_keys, pos = read_compact_strings(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeConfigsResource(resource_type, resource_name, configuration_keys, unknown_tags))
    return items, pos


def _write_describe_configs_resource_array_4(out: bytearray, items: list[DescribeConfigsResource]) -> None:
    # DescribeConfigsResource, version 4
    for item in items:
        out += _pack_b(item.resource_type)
        put_compact_string(out, item.resource_name)
        if item.configuration_keys is None:
            out.append(0)
        else:
            n = len(item.configuration_keys) + 1
            out += SMALL[n] if n < 128 else uvarint(n)
            put_compact_strings(out, item.configuration_keys)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_configs_request_4(data: bytes, pos: int) -> tuple[DescribeConfigsRequest, int]:
    # DescribeConfigsRequest, version 4
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    resources, pos = _read_describe_configs_resource_array_4(data, pos, n - 1)
    include_synonyms, include_documentation, n = _unpack_ttB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeConfigsRequest(resources, include_synonyms, include_documentation, unknown_tags), pos


def _write_describe_configs_request_4(out: bytearray, item: DescribeConfigsRequest) -> None:
    # DescribeConfigsRequest, version 4
    n = len(item.resources) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_configs_resource_array_4(out, item.resources)
    out += _pack_tt(item.include_synonyms, item.include_documentation)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeConfigsRequest(Message):
    """Reads configurations."""

    API_KEY = 32
    MIN_VERSION = 1
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    DECODERS = {
        1: _read_describe_configs_request_1,
        2: _read_describe_configs_request_1,
        3: _read_describe_configs_request_3,
        4: _read_describe_configs_request_4,
    }
    ENCODERS = {
        1: _write_describe_configs_request_1,
        2: _write_describe_configs_request_1,
        3: _write_describe_configs_request_3,
        4: _write_describe_configs_request_4,
    }

    FIELDS = ("resources", "include_synonyms", "include_documentation", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        resources: list[DescribeConfigsResource] = EMPTY,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.resources = [] if resources is EMPTY else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation
        self.unknown_tags = unknown_tags


class DescribeConfigsResult(Structure):
    """An element of DescribeConfigsResponse.Results."""

    FIELDS = ("error_code", "error_message", "resource_type", "resource_name", "configs", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is EMPTY else configs
        self.unknown_tags = unknown_tags


class DescribeConfigsResourceResult(Structure):
    """An element of DescribeConfigsResult.Configs.

    * `config_source`: 1 topic, 2 broker, 3 default for all brokers, 4 server.properties, 5 default, 6 broker logger, 7
    client metrics, 8 group.
    * `synonyms`: Where else the value may come from, the strongest first.
    """

    FIELDS = (
        "name",
        "value",
        "read_only",
        "config_source",
        "is_sensitive",
        "synonyms",
        "config_type",
        "documentation",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = EMPTY,
        config_type: int = 0,
        documentation: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is EMPTY else synonyms
        self.config_type = config_type
        self.documentation = documentation
        self.unknown_tags = unknown_tags


class DescribeConfigsSynonym(Structure):
    """An element of DescribeConfigsResourceResult.Synonyms."""

    FIELDS = ("name", "value", "source", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.unknown_tags = unknown_tags


def _read_describe_configs_synonym_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeConfigsSynonym], int]:
    # DescribeConfigsSynonym, versions 1-3
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsSynonym] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        value: str | None = None
        if n >= 0:
            end = pos + n
            value = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        (source,) = _unpack_b(data, pos)
        pos += 1
        items.append(DescribeConfigsSynonym(name, value, source))
    return items, pos


def _write_describe_configs_synonym_array_1(out: bytearray, items: list[DescribeConfigsSynonym]) -> None:
    # DescribeConfigsSynonym, versions 1-3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeConfigsSynonym", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.value is None:
            out += _pack_h(-1)
        else:
            raw = item.value.encode()
            out += _pack_h(len(raw))
            out += raw
        out += _pack_b(item.source)


def _read_describe_configs_resource_result_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeConfigsResourceResult], int]:
    # DescribeConfigsResourceResult, versions 1-2
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        value: str | None = None
        if n >= 0:
            end = pos + n
            value = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        read_only, config_source, is_sensitive, n = _unpack_tbti(data, pos)
        pos += 7
        synonyms, pos = _read_describe_configs_synonym_array_1(data, pos, n)
        item = DescribeConfigsResourceResult(name, value, read_only, config_source, is_sensitive, synonyms, 0, "")
        items.append(item)
    return items, pos


def _write_describe_configs_resource_result_array_1(out: bytearray, items: list[DescribeConfigsResourceResult]) -> None:
    # DescribeConfigsResourceResult, versions 1-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeConfigsResourceResult", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.value is None:
            out += _pack_h(-1)
        else:
            raw = item.value.encode()
            out += _pack_h(len(raw))
            out += raw
        out += _pack_tbti(item.read_only, item.config_source, item.is_sensitive, len(item.synonyms))
        _write_describe_configs_synonym_array_1(out, item.synonyms)


def _read_describe_configs_result_array_1(data: bytes, pos: int, count: int) -> tuple[list[DescribeConfigsResult], int]:
    # DescribeConfigsResult, versions 1-2
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsResult] = []
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
        (n,) = _unpack_i(data, pos)
        pos += 4
        configs, pos = _read_describe_configs_resource_result_array_1(data, pos, n)
        items.append(DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs))
    return items, pos


def _write_describe_configs_result_array_1(out: bytearray, items: list[DescribeConfigsResult]) -> None:
    # DescribeConfigsResult, versions 1-2
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeConfigsResult", "unknown_tags")
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
        out += _pack_i(len(item.configs))
        _write_describe_configs_resource_result_array_1(out, item.configs)


def _read_describe_configs_response_1(data: bytes, pos: int) -> tuple[DescribeConfigsResponse, int]:
    # DescribeConfigsResponse, versions 1-2
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    results, pos = _read_describe_configs_result_array_1(data, pos, n)
    return DescribeConfigsResponse(throttle_time_ms, results), pos


def _write_describe_configs_response_1(out: bytearray, item: DescribeConfigsResponse) -> None:
    # DescribeConfigsResponse, versions 1-2
    if item.unknown_tags:
        raise not_in_version("DescribeConfigsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.results))
    _write_describe_configs_result_array_1(out, item.results)


def _read_describe_configs_resource_result_array_3(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeConfigsResourceResult], int]:
    # DescribeConfigsResourceResult, version 3
    if not 0 <= count * 14 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        name = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        value: str | None = None
        if n >= 0:
            end = pos + n
            value = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        read_only, config_source, is_sensitive, n = _unpack_tbti(data, pos)
        pos += 7
        synonyms, pos = _read_describe_configs_synonym_array_1(data, pos, n)
        config_type, n = _unpack_bh(data, pos)
        pos += 3
        documentation: str | None = None
        if n >= 0:
            end = pos + n
            documentation = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        item = DescribeConfigsResourceResult(
            name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation
        )
        items.append(item)
    return items, pos


def _write_describe_configs_resource_result_array_3(out: bytearray, items: list[DescribeConfigsResourceResult]) -> None:
    # DescribeConfigsResourceResult, version 3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeConfigsResourceResult", "unknown_tags")
        raw = item.name.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.value is None:
            out += _pack_h(-1)
        else:
            raw = item.value.encode()
            out += _pack_h(len(raw))
            out += raw
        out += _pack_tbti(item.read_only, item.config_source, item.is_sensitive, len(item.synonyms))
        _write_describe_configs_synonym_array_1(out, item.synonyms)
        out += _pack_b(item.config_type)
        if item.documentation is None:
            out += _pack_h(-1)
        else:
            raw = item.documentation.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_describe_configs_result_array_3(data: bytes, pos: int, count: int) -> tuple[list[DescribeConfigsResult], int]:
    # DescribeConfigsResult, version 3
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsResult] = []
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
        (n,) = _unpack_i(data, pos)
        pos += 4
        configs, pos = _read_describe_configs_resource_result_array_3(data, pos, n)
        items.append(DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs))
    return items, pos


def _write_describe_configs_result_array_3(out: bytearray, items: list[DescribeConfigsResult]) -> None:
    # DescribeConfigsResult, version 3
    for item in items:
        if item.unknown_tags:
            raise not_in_version("DescribeConfigsResult", "unknown_tags")
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
        out += _pack_i(len(item.configs))
        _write_describe_configs_resource_result_array_3(out, item.configs)


def _read_describe_configs_response_3(data: bytes, pos: int) -> tuple[DescribeConfigsResponse, int]:
    # DescribeConfigsResponse, version 3
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    results, pos = _read_describe_configs_result_array_3(data, pos, n)
    return DescribeConfigsResponse(throttle_time_ms, results), pos


def _write_describe_configs_response_3(out: bytearray, item: DescribeConfigsResponse) -> None:
    # DescribeConfigsResponse, version 3
    if item.unknown_tags:
        raise not_in_version("DescribeConfigsResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.results))
    _write_describe_configs_result_array_3(out, item.results)


def _read_describe_configs_synonym_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeConfigsSynonym], int]:
    # DescribeConfigsSynonym, version 4
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsSynonym] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        value: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            value = data[pos:end].decode()
            pos = end
        source, n = _unpack_bB(data, pos)
        pos += 2
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(DescribeConfigsSynonym(name, value, source, unknown_tags))
    return items, pos


def _write_describe_configs_synonym_array_4(out: bytearray, items: list[DescribeConfigsSynonym]) -> None:
    # DescribeConfigsSynonym, version 4
    for item in items:
        put_compact_string(out, item.name)
        if item.value is None:
            out.append(0)
        else:
            put_compact_string(out, item.value)
        out += _pack_b(item.source)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_configs_resource_result_array_4(
    data: bytes, pos: int, count: int
) -> tuple[list[DescribeConfigsResourceResult], int]:
    # DescribeConfigsResourceResult, version 4
    if not 0 <= count * 9 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        name = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        value: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            value = data[pos:end].decode()
            pos = end
        read_only, config_source, is_sensitive, n = _unpack_tbtB(data, pos)
        pos += 4
        if n > 127:
            n, pos = read_length(data, pos)
        synonyms, pos = _read_describe_configs_synonym_array_4(data, pos, n - 1)
        config_type, n = _unpack_bB(data, pos)
        pos += 2
        documentation: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            documentation = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeConfigsResourceResult(
            name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation, unknown_tags
        )
        items.append(item)
    return items, pos


def _write_describe_configs_resource_result_array_4(out: bytearray, items: list[DescribeConfigsResourceResult]) -> None:
    # DescribeConfigsResourceResult, version 4
    for item in items:
        put_compact_string(out, item.name)
        if item.value is None:
            out.append(0)
        else:
            put_compact_string(out, item.value)
        out += _pack_tbt(item.read_only, item.config_source, item.is_sensitive)
        n = len(item.synonyms) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_configs_synonym_array_4(out, item.synonyms)
        out += _pack_b(item.config_type)
        if item.documentation is None:
            out.append(0)
        else:
            put_compact_string(out, item.documentation)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_configs_result_array_4(data: bytes, pos: int, count: int) -> tuple[list[DescribeConfigsResult], int]:
    # DescribeConfigsResult, version 4
    if not 0 <= count * 7 <= len(data) - pos:
        raise bad_count(count)
    items: list[DescribeConfigsResult] = []
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
        if n > 127:
            n, pos = read_length(data, pos)
        configs, pos = _read_describe_configs_resource_result_array_4(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        item = DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs, unknown_tags)
        items.append(item)
    return items, pos


def _write_describe_configs_result_array_4(out: bytearray, items: list[DescribeConfigsResult]) -> None:
    # DescribeConfigsResult, version 4
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        out += _pack_b(item.resource_type)
        put_compact_string(out, item.resource_name)
        n = len(item.configs) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_describe_configs_resource_result_array_4(out, item.configs)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_configs_response_4(data: bytes, pos: int) -> tuple[DescribeConfigsResponse, int]:
    # DescribeConfigsResponse, version 4
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    results, pos = _read_describe_configs_result_array_4(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeConfigsResponse(throttle_time_ms, results, unknown_tags), pos


def _write_describe_configs_response_4(out: bytearray, item: DescribeConfigsResponse) -> None:
    # DescribeConfigsResponse, version 4
    out += _pack_i(item.throttle_time_ms)
    n = len(item.results) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_describe_configs_result_array_4(out, item.results)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeConfigsResponse(Message):
    """The configuration of each resource.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 32
    MIN_VERSION = 1
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    DECODERS = {
        1: _read_describe_configs_response_1,
        2: _read_describe_configs_response_1,
        3: _read_describe_configs_response_3,
        4: _read_describe_configs_response_4,
    }
    ENCODERS = {
        1: _write_describe_configs_response_1,
        2: _write_describe_configs_response_1,
        3: _write_describe_configs_response_3,
        4: _write_describe_configs_response_4,
    }

    FIELDS = ("throttle_time_ms", "results", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results
        self.unknown_tags = unknown_tags
