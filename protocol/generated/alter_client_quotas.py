"""AlterClientQuotasRequest 0-1 and AlterClientQuotasResponse 0-1.

Generated from schemas/rpc/AlterClientQuotasRequest.json and schemas/rpc/AlterClientQuotasResponse.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
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
_unpack_dt = Struct(">d?").unpack_from
_unpack_dtB = Struct(">d?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_t = Struct(">?").pack
_pack_dt = Struct(">d?").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack


class AlterClientQuotasRequestEntryData(Structure):
    """An element of AlterClientQuotasRequest.Entries."""

    FIELDS = ("entity", "ops", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        entity: list[AlterClientQuotasRequestEntityData] = EMPTY,
        ops: list[OpData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.entity = [] if entity is EMPTY else entity
        self.ops = [] if ops is EMPTY else ops
        self.unknown_tags = unknown_tags


class AlterClientQuotasRequestEntityData(Structure):
    """An element of EntryData.Entity.

    * `entity_name`: Null for the default.
    """

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


class OpData(Structure):
    """An element of EntryData.Ops."""

    FIELDS = ("key", "value", "remove", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove
        self.unknown_tags = unknown_tags


def _read_alter_client_quotas_request_entity_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterClientQuotasRequestEntityData], int]:
    # EntityData, version 0
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterClientQuotasRequestEntityData] = []
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
        items.append(AlterClientQuotasRequestEntityData(entity_type, entity_name))
    return items, pos


def _write_alter_client_quotas_request_entity_data_array_0(
    out: bytearray, items: list[AlterClientQuotasRequestEntityData]
) -> None:
    # EntityData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterClientQuotasRequestEntityData", "unknown_tags")
        raw = item.entity_type.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.entity_name is None:
            out += _pack_h(-1)
        else:
            raw = item.entity_name.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_op_data_array_0(data: bytes, pos: int, count: int) -> tuple[list[OpData], int]:
    # OpData, version 0
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[OpData] = []
    for _ in range(count):
        (n,) = _unpack_h(data, pos)
        pos += 2
        if n < 0:
            raise bad_length(n)
        end = pos + n
        key = data[pos:end].decode()
        pos = end
        value, remove = _unpack_dt(data, pos)
        pos += 9
        items.append(OpData(key, value, remove))
    return items, pos


def _write_op_data_array_0(out: bytearray, items: list[OpData]) -> None:
    # OpData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("OpData", "unknown_tags")
        raw = item.key.encode()
        out += _pack_h(len(raw))
        out += raw
        out += _pack_dt(item.value, item.remove)


def _read_alter_client_quotas_request_entry_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterClientQuotasRequestEntryData], int]:
    # EntryData, version 0
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterClientQuotasRequestEntryData] = []
    for _ in range(count):
        (n,) = _unpack_i(data, pos)
        pos += 4
        entity, pos = _read_alter_client_quotas_request_entity_data_array_0(data, pos, n)
        (n,) = _unpack_i(data, pos)
        pos += 4
        ops, pos = _read_op_data_array_0(data, pos, n)
        items.append(AlterClientQuotasRequestEntryData(entity, ops))
    return items, pos


def _write_alter_client_quotas_request_entry_data_array_0(
    out: bytearray, items: list[AlterClientQuotasRequestEntryData]
) -> None:
    # EntryData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterClientQuotasRequestEntryData", "unknown_tags")
        out += _pack_i(len(item.entity))
        _write_alter_client_quotas_request_entity_data_array_0(out, item.entity)
        out += _pack_i(len(item.ops))
        _write_op_data_array_0(out, item.ops)


def _read_alter_client_quotas_request_0(data: bytes, pos: int) -> tuple[AlterClientQuotasRequest, int]:
    # AlterClientQuotasRequest, version 0
    (n,) = _unpack_i(data, pos)
    pos += 4
    entries, pos = _read_alter_client_quotas_request_entry_data_array_0(data, pos, n)
    validate_only = data[pos] != 0
    pos += 1
    return AlterClientQuotasRequest(entries, validate_only), pos


def _write_alter_client_quotas_request_0(out: bytearray, item: AlterClientQuotasRequest) -> None:
    # AlterClientQuotasRequest, version 0
    if item.unknown_tags:
        raise not_in_version("AlterClientQuotasRequest", "unknown_tags")
    out += _pack_i(len(item.entries))
    _write_alter_client_quotas_request_entry_data_array_0(out, item.entries)
    out += _pack_t(item.validate_only)


def _read_alter_client_quotas_request_entity_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterClientQuotasRequestEntityData], int]:
    # EntityData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterClientQuotasRequestEntityData] = []
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
        items.append(AlterClientQuotasRequestEntityData(entity_type, entity_name, unknown_tags))
    return items, pos


def _write_alter_client_quotas_request_entity_data_array_1(
    out: bytearray, items: list[AlterClientQuotasRequestEntityData]
) -> None:
    # EntityData, version 1
    for item in items:
        put_compact_string(out, item.entity_type)
        if item.entity_name is None:
            out.append(0)
        else:
            put_compact_string(out, item.entity_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_op_data_array_1(data: bytes, pos: int, count: int) -> tuple[list[OpData], int]:
    # OpData, version 1
    if not 0 <= count * 11 <= len(data) - pos:
        raise bad_count(count)
    items: list[OpData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        key = data[pos:end].decode()
        pos = end
        value, remove, n = _unpack_dtB(data, pos)
        pos += 10
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(OpData(key, value, remove, unknown_tags))
    return items, pos


def _write_op_data_array_1(out: bytearray, items: list[OpData]) -> None:
    # OpData, version 1
    for item in items:
        put_compact_string(out, item.key)
        out += _pack_dt(item.value, item.remove)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_client_quotas_request_entry_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterClientQuotasRequestEntryData], int]:
    # EntryData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterClientQuotasRequestEntryData] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        entity, pos = _read_alter_client_quotas_request_entity_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        ops, pos = _read_op_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterClientQuotasRequestEntryData(entity, ops, unknown_tags))
    return items, pos


def _write_alter_client_quotas_request_entry_data_array_1(
    out: bytearray, items: list[AlterClientQuotasRequestEntryData]
) -> None:
    # EntryData, version 1
    for item in items:
        n = len(item.entity) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alter_client_quotas_request_entity_data_array_1(out, item.entity)
        n = len(item.ops) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_op_data_array_1(out, item.ops)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_client_quotas_request_1(data: bytes, pos: int) -> tuple[AlterClientQuotasRequest, int]:
    # AlterClientQuotasRequest, version 1
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    entries, pos = _read_alter_client_quotas_request_entry_data_array_1(data, pos, n - 1)
    validate_only, n = _unpack_tB(data, pos)
    pos += 2
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterClientQuotasRequest(entries, validate_only, unknown_tags), pos


def _write_alter_client_quotas_request_1(out: bytearray, item: AlterClientQuotasRequest) -> None:
    # AlterClientQuotasRequest, version 1
    n = len(item.entries) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_client_quotas_request_entry_data_array_1(out, item.entries)
    out += _pack_t(item.validate_only)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterClientQuotasRequest(Message):
    """Sets and removes quotas.

    * `validate_only`: Check everything, change nothing.
    """

    API_KEY = 49
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_alter_client_quotas_request_0, 1: _read_alter_client_quotas_request_1}
    ENCODERS = {0: _write_alter_client_quotas_request_0, 1: _write_alter_client_quotas_request_1}

    FIELDS = ("entries", "validate_only", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        entries: list[AlterClientQuotasRequestEntryData] = EMPTY,
        validate_only: bool = False,
        unknown_tags: Tags = (),
    ) -> None:
        self.entries = [] if entries is EMPTY else entries
        self.validate_only = validate_only
        self.unknown_tags = unknown_tags


class AlterClientQuotasResponseEntryData(Structure):
    """An element of AlterClientQuotasResponse.Entries."""

    FIELDS = ("error_code", "error_message", "entity", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[AlterClientQuotasResponseEntityData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity = [] if entity is EMPTY else entity
        self.unknown_tags = unknown_tags


class AlterClientQuotasResponseEntityData(Structure):
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


def _read_alter_client_quotas_response_entity_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterClientQuotasResponseEntityData], int]:
    # EntityData, version 0
    if not 0 <= count * 4 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterClientQuotasResponseEntityData] = []
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
        items.append(AlterClientQuotasResponseEntityData(entity_type, entity_name))
    return items, pos


def _write_alter_client_quotas_response_entity_data_array_0(
    out: bytearray, items: list[AlterClientQuotasResponseEntityData]
) -> None:
    # EntityData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterClientQuotasResponseEntityData", "unknown_tags")
        raw = item.entity_type.encode()
        out += _pack_h(len(raw))
        out += raw
        if item.entity_name is None:
            out += _pack_h(-1)
        else:
            raw = item.entity_name.encode()
            out += _pack_h(len(raw))
            out += raw


def _read_alter_client_quotas_response_entry_data_array_0(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterClientQuotasResponseEntryData], int]:
    # EntryData, version 0
    if not 0 <= count * 8 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterClientQuotasResponseEntryData] = []
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
        entity, pos = _read_alter_client_quotas_response_entity_data_array_0(data, pos, n)
        items.append(AlterClientQuotasResponseEntryData(error_code, error_message, entity))
    return items, pos


def _write_alter_client_quotas_response_entry_data_array_0(
    out: bytearray, items: list[AlterClientQuotasResponseEntryData]
) -> None:
    # EntryData, version 0
    for item in items:
        if item.unknown_tags:
            raise not_in_version("AlterClientQuotasResponseEntryData", "unknown_tags")
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out += _pack_h(-1)
        else:
            raw = item.error_message.encode()
            out += _pack_h(len(raw))
            out += raw
        out += _pack_i(len(item.entity))
        _write_alter_client_quotas_response_entity_data_array_0(out, item.entity)


def _read_alter_client_quotas_response_0(data: bytes, pos: int) -> tuple[AlterClientQuotasResponse, int]:
    # AlterClientQuotasResponse, version 0
    throttle_time_ms, n = _unpack_ii(data, pos)
    pos += 8
    entries, pos = _read_alter_client_quotas_response_entry_data_array_0(data, pos, n)
    return AlterClientQuotasResponse(throttle_time_ms, entries), pos


def _write_alter_client_quotas_response_0(out: bytearray, item: AlterClientQuotasResponse) -> None:
    # AlterClientQuotasResponse, version 0
    if item.unknown_tags:
        raise not_in_version("AlterClientQuotasResponse", "unknown_tags")
    out += _pack_ii(item.throttle_time_ms, len(item.entries))
    _write_alter_client_quotas_response_entry_data_array_0(out, item.entries)


def _read_alter_client_quotas_response_entity_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterClientQuotasResponseEntityData], int]:
    # EntityData, version 1
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterClientQuotasResponseEntityData] = []
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
        items.append(AlterClientQuotasResponseEntityData(entity_type, entity_name, unknown_tags))
    return items, pos


def _write_alter_client_quotas_response_entity_data_array_1(
    out: bytearray, items: list[AlterClientQuotasResponseEntityData]
) -> None:
    # EntityData, version 1
    for item in items:
        put_compact_string(out, item.entity_type)
        if item.entity_name is None:
            out.append(0)
        else:
            put_compact_string(out, item.entity_name)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_client_quotas_response_entry_data_array_1(
    data: bytes, pos: int, count: int
) -> tuple[list[AlterClientQuotasResponseEntryData], int]:
    # EntryData, version 1
    if not 0 <= count * 5 <= len(data) - pos:
        raise bad_count(count)
    items: list[AlterClientQuotasResponseEntryData] = []
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
        entity, pos = _read_alter_client_quotas_response_entity_data_array_1(data, pos, n - 1)
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(AlterClientQuotasResponseEntryData(error_code, error_message, entity, unknown_tags))
    return items, pos


def _write_alter_client_quotas_response_entry_data_array_1(
    out: bytearray, items: list[AlterClientQuotasResponseEntryData]
) -> None:
    # EntryData, version 1
    for item in items:
        out += _pack_h(item.error_code)
        if item.error_message is None:
            out.append(0)
        else:
            put_compact_string(out, item.error_message)
        n = len(item.entity) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        _write_alter_client_quotas_response_entity_data_array_1(out, item.entity)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_alter_client_quotas_response_1(data: bytes, pos: int) -> tuple[AlterClientQuotasResponse, int]:
    # AlterClientQuotasResponse, version 1
    throttle_time_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    entries, pos = _read_alter_client_quotas_response_entry_data_array_1(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return AlterClientQuotasResponse(throttle_time_ms, entries, unknown_tags), pos


def _write_alter_client_quotas_response_1(out: bytearray, item: AlterClientQuotasResponse) -> None:
    # AlterClientQuotasResponse, version 1
    out += _pack_i(item.throttle_time_ms)
    n = len(item.entries) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_alter_client_quotas_response_entry_data_array_1(out, item.entries)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class AlterClientQuotasResponse(Message):
    """What became of each entity.

    * `throttle_time_ms`: How long the client should hold back because of a quota; 0 for not at all.
    """

    API_KEY = 49
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    DECODERS = {0: _read_alter_client_quotas_response_0, 1: _read_alter_client_quotas_response_1}
    ENCODERS = {0: _write_alter_client_quotas_response_0, 1: _write_alter_client_quotas_response_1}

    FIELDS = ("throttle_time_ms", "entries", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: list[AlterClientQuotasResponseEntryData] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries = [] if entries is EMPTY else entries
        self.unknown_tags = unknown_tags
