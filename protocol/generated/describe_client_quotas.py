"""DescribeClientQuotasRequest 0-1 and DescribeClientQuotasResponse 0-1.

Generated from schemas/rpc/DescribeClientQuotasRequest.json and schemas/rpc/DescribeClientQuotasResponse.json (Apache
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
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_tB = Struct(">?B").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_d = Struct(">d").unpack_from
_unpack_dB = Struct(">dB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from
_pack_t = Struct(">?").pack
_pack_b = Struct(">b").pack
_pack_d = Struct(">d").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


class ComponentData(Structure):
    """An element of DescribeClientQuotasRequest.Components.

    * `match_type`: 0 the given name, 1 the default, 2 any.
    """

    FIELDS = ("entity_type", "match_type", "match", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match
        self.unknown_tags = unknown_tags


def _read_component_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[ComponentData], int]:
    # ComponentData, version 0
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[ComponentData] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        entity_type = data[pos:end].decode()
        pos = end
        match_type, n = _unpack_bh(data, pos)
        pos += 3
        match: str | None = None
        if n >= 0:
            end = pos + n
            match = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(ComponentData(entity_type, match_type, match))
    return items, pos


def _write_component_data_array_0(out: bytearray, items: list[ComponentData]) -> None:
    # ComponentData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ComponentData", "unknown_tags")
        raw = item.entity_type.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_b(item.match_type)
        if item.match is None:
            out += _pack_h(-1)
        else:
            raw = item.match.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_describe_client_quotas_request_0(data: bytes, pos: int) -> tuple[DescribeClientQuotasRequest, int]:
    # DescribeClientQuotasRequest, version 0
    (n,) = _unpack_i(data, pos)
    pos += 4
    components, pos = _read_component_data_array_0(data, pos, n)
    strict = data[pos] != 0
    pos += 1
    return DescribeClientQuotasRequest(components, strict), pos


def _write_describe_client_quotas_request_0(out: bytearray, item: DescribeClientQuotasRequest) -> None:
    # DescribeClientQuotasRequest, version 0
    if item.unknown_tags:
        raise not_in_version("DescribeClientQuotasRequest", "unknown_tags")
    out += _pack_i(len(item.components))
    _write_component_data_array_0(out, item.components)
    out += _pack_t(item.strict)


def _read_component_data_array_1(data: bytes, pos: int, count: int) -> tuple[list[ComponentData], int]:
    # ComponentData, version 1
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[ComponentData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        entity_type = data[pos:end].decode()
        pos = end
        match_type, n = _unpack_bB(data, pos)
        pos += 2
        match: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            match = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ComponentData(entity_type, match_type, match, unknown_tags))
    return items, pos


def _write_component_data_array_1(out: bytearray, items: list[ComponentData]) -> None:
    # ComponentData, version 1
    for item in items:
        put_compact_string(out, item.entity_type)
        out += _pack_b(item.match_type)
        if item.match is None:
            out.append(0)
        else:
            put_compact_string(out, item.match)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_client_quotas_request_1(data: bytes, pos: int) -> tuple[DescribeClientQuotasRequest, int]:
    # DescribeClientQuotasRequest, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    components, pos = _read_component_data_array_1(data, pos, n - 1)
    strict, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeClientQuotasRequest(components, strict, unknown_tags), pos


def _write_describe_client_quotas_request_1(out: bytearray, item: DescribeClientQuotasRequest) -> None:
    # DescribeClientQuotasRequest, version 1
    n = len(item.components) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_component_data_array_1(out, item.components)
    out += _pack_t(item.strict)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeClientQuotasRequest(Message):
    """Reads quotas."""

    API_KEY = 48
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_describe_client_quotas_request_0, 1: _read_describe_client_quotas_request_1}
    ENCODERS = {0: _write_describe_client_quotas_request_0, 1: _write_describe_client_quotas_request_1}

    FIELDS = ("components", "strict", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        components: list[ComponentData] = EMPTY,
        strict: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.components = [] if components is EMPTY else components
        self.strict = strict
        self.unknown_tags = unknown_tags


class EntryData(Structure):
    """An element of DescribeClientQuotasResponse.Entries."""

    FIELDS = ("entity", "values", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        entity: list[EntityData] = EMPTY,
        values: list[ValueData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.entity = [] if entity is EMPTY else entity
        self.values = [] if values is EMPTY else values
        self.unknown_tags = unknown_tags


class EntityData(Structure):
    """An element of EntryData.Entity."""

    FIELDS = ("entity_type", "entity_name", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name
        self.unknown_tags = unknown_tags


class ValueData(Structure):
    """An element of EntryData.Values."""

    FIELDS = ("key", "value", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        unknown_tags: Tags = (),
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tags = unknown_tags


def _read_entity_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[EntityData], int]:
    # EntityData, version 0
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[EntityData] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        entity_type = data[pos:end].decode()
        pos = end
        (n,) = _unpack_h(data, pos)
        pos += 2
        entity_name: str | None = None
        if n >= 0:
            end = pos + n
            entity_name = data[pos:end].decode()
            pos = end
        elif n != -1:
            raise bad_length(n)
        items.append(EntityData(entity_type, entity_name))
    return items, pos


def _write_entity_data_array_0(out: bytearray, items: list[EntityData]) -> None:
    # EntityData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("EntityData", "unknown_tags")
        raw = item.entity_type.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.entity_name is None:
            out += _pack_h(-1)
        else:
            raw = item.entity_name.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_value_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[ValueData], int]:
    # ValueData, version 0
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[ValueData] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        key = data[pos:end].decode()
        pos = end
        (value,) = _unpack_d(data, pos)
        pos += 8
        items.append(ValueData(key, value))
    return items, pos


def _write_value_data_array_0(out: bytearray, items: list[ValueData]) -> None:
    # ValueData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("ValueData", "unknown_tags")
        raw = item.key.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_d(item.value)


def _read_entry_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[EntryData], int]:
    # EntryData, version 0
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[EntryData] = []
    for _ in range(count):
        (n,) = _unpack_i(data, pos)
        pos += 4
        entity, pos = _read_entity_data_array_0(data, pos, n)
        (n,) = _unpack_i(data, pos)
        pos += 4
        values, pos = _read_value_data_array_0(data, pos, n)
        items.append(EntryData(entity, values))
    return items, pos


def _write_entry_data_array_0(out: bytearray, items: list[EntryData]) -> None:
    # EntryData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("EntryData", "unknown_tags")
        out += _pack_i(len(item.entity))
        _write_entity_data_array_0(out, item.entity)
        out += _pack_i(len(item.values))
        _write_value_data_array_0(out, item.values)


def _read_describe_client_quotas_response_0(data: bytes, pos: int) -> tuple[DescribeClientQuotasResponse, int]:
    # DescribeClientQuotasResponse, version 0
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
    entries: list[EntryData] | None = None
    if n != -1:
        entries, pos = _read_entry_data_array_0(data, pos, n)
    return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries), pos


def _write_describe_client_quotas_response_0(out: bytearray, item: DescribeClientQuotasResponse) -> None:
    # DescribeClientQuotasResponse, version 0
    if item.unknown_tags:
        raise not_in_version("DescribeClientQuotasResponse", "unknown_tags")
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out += _pack_h(-1)
    else:
        raw = item.error_message.encode()
        out += _pack_h(len(raw))
        out += raw
    if item.entries is None:
        out += _pack_i(-1)
    else:
        out += _pack_i(len(item.entries))
        _write_entry_data_array_0(out, item.entries)


def _read_entity_data_array_1(data: bytes, pos: int, count: int) -> tuple[list[EntityData], int]:
    # EntityData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[EntityData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        entity_type = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        entity_name: str | None = None
        if n:
            if n > 127:
                n, pos = read_string_length(data, pos)
            end = pos + n - 1
            entity_name = data[pos:end].decode()
            pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(EntityData(entity_type, entity_name, unknown_tags))
    return items, pos


def _write_entity_data_array_1(out: bytearray, items: list[EntityData]) -> None:
    # EntityData, version 1
    for item in items:
        put_compact_string(out, item.entity_type)
        if item.entity_name is None:
            out.append(0)
        else:
            put_compact_string(out, item.entity_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_value_data_array_1(data: bytes, pos: int, count: int) -> tuple[list[ValueData], int]:
    # ValueData, version 1
    if not 0 <= count * 10 <= len(data) - pos:
        raise bad_count(count)
    items: list[ValueData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        key = data[pos:end].decode()
        pos = end
        value, n = _unpack_dB(data, pos)
        pos += 9
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ValueData(key, value, unknown_tags))
    return items, pos


def _write_value_data_array_1(out: bytearray, items: list[ValueData]) -> None:
    # ValueData, version 1
    for item in items:
        put_compact_string(out, item.key)
        out += _pack_d(item.value)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_entry_data_array_1(data: bytes, pos: int, count: int) -> tuple[list[EntryData], int]:
    # EntryData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[EntryData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        entity, pos = _read_entity_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        values, pos = _read_value_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(EntryData(entity, values, unknown_tags))
    return items, pos


def _write_entry_data_array_1(out: bytearray, items: list[EntryData]) -> None:
    # EntryData, version 1
    for item in items:
        n = len(item.entity) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_entity_data_array_1(out, item.entity)
        n = len(item.values) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_value_data_array_1(out, item.values)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_describe_client_quotas_response_1(data: bytes, pos: int) -> tuple[DescribeClientQuotasResponse, int]:
    # DescribeClientQuotasResponse, version 1
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
    entries: list[EntryData] | None = None
    if n:
        if n > 127:
            n, pos = read_length(data, pos)
        entries, pos = _read_entry_data_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries, unknown_tags), pos


def _write_describe_client_quotas_response_1(out: bytearray, item: DescribeClientQuotasResponse) -> None:
    # DescribeClientQuotasResponse, version 1
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    if item.error_message is None:
        out.append(0)
    else:
        put_compact_string(out, item.error_message)
    if item.entries is None:
        out.append(0)
    else:
        n = len(item.entries) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_entry_data_array_1(out, item.entries)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class DescribeClientQuotasResponse(Message):
    """The quotas that match.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 48
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_describe_client_quotas_response_0, 1: _read_describe_client_quotas_response_1}
    ENCODERS = {0: _write_describe_client_quotas_response_0, 1: _write_describe_client_quotas_response_1}

    FIELDS = ("throttle_time_ms", "error_code", "error_message", "entries", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is EMPTY else entries
        self.unknown_tags = unknown_tags
