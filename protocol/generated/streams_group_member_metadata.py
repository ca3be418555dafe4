"""StreamsGroupMemberMetadataKey 0 and StreamsGroupMemberMetadataValue 0.

Generated from schemas/records/StreamsGroupMemberMetadataKey.json and
schemas/records/StreamsGroupMemberMetadataValue.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do
not edit.
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
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_HB = Struct(">HB").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_pack_H = Struct(">H").pack
_pack_h = Struct(">h").pack
_pack_ii = Struct(">ii").pack


def _read_streams_group_member_metadata_key_0(data: bytes, pos: int) -> tuple[StreamsGroupMemberMetadataKey, int]:
    # StreamsGroupMemberMetadataKey, version 0
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
    member_id = data[pos:end].decode()
    pos = end
    return StreamsGroupMemberMetadataKey(group_id, member_id), pos


def _write_streams_group_member_metadata_key_0(out: bytearray, item: StreamsGroupMemberMetadataKey) -> None:
    # StreamsGroupMemberMetadataKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw


class StreamsGroupMemberMetadataKey(Message):
    """__consumer_offsets, type 19: a Streams group's member."""

    API_KEY = 19
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_streams_group_member_metadata_key_0}
    ENCODERS = {0: _write_streams_group_member_metadata_key_0}

    FIELDS = ("group_id", "member_id")
    __slots__ = FIELDS

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id


class Endpoint(Structure):
    """The value of StreamsGroupMemberMetadataValue.UserEndpoint."""

    FIELDS = ("host", "port", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        host: str = "",
        port: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.host = host
        self.port = port
        self.unknown_tags = unknown_tags


class KeyValue(Structure):
    """An element of StreamsGroupMemberMetadataValue.ClientTags."""

    FIELDS = ("key", "value", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        key: str = "",
        value: str = "",
        unknown_tags: Tags = (),
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tags = unknown_tags


def _read_endpoint_0(data: bytes, pos: int) -> tuple[Endpoint, int]:
    # Endpoint, version 0
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    host = data[pos:end].decode()
    pos = end
    port, n = _unpack_HB(data, pos)
    pos += 3
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return Endpoint(host, port, unknown_tags), pos


def _write_endpoint_0(out: bytearray, item: Endpoint) -> None:
    # Endpoint, version 0
    put_compact_string(out, item.host)
    out += _pack_H(item.port)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_key_value_array_0(data: bytes, pos: int, count: int) -> tuple[list[KeyValue], int]:
    # KeyValue, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[KeyValue] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        key = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        value = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(KeyValue(key, value, unknown_tags))
    return items, pos


def _write_key_value_array_0(out: bytearray, items: list[KeyValue]) -> None:
    # KeyValue, version 0
    for item in items:
        put_compact_string(out, item.key)
        put_compact_string(out, item.value)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_member_metadata_value_0(data: bytes, pos: int) -> tuple[StreamsGroupMemberMetadataValue, int]:
    # StreamsGroupMemberMetadataValue, version 0
    n = data[pos]
    pos += 1
    instance_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        instance_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    rack_id: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        rack_id = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    client_id = data[pos:end].decode()
    pos = end
    n = data[pos]
    pos += 1
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    client_host = data[pos:end].decode()
    pos = end
    rebalance_timeout_ms, topology_epoch, n = _unpack_iiB(data, pos)
    pos += 9
    if not 0 < n < 128:
        n, pos = read_string_length(data, pos)
    end = pos + n - 1
    process_id = data[pos:end].decode()
    pos = end
    (n,) = _unpack_b(data, pos)
    pos += 1
    user_endpoint: Endpoint | None = None
    if n >= 0:
        user_endpoint, pos = _read_endpoint_0(data, pos)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    client_tags, pos = _read_key_value_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = StreamsGroupMemberMetadataValue(
        instance_id,
        rack_id,
        client_id,
        client_host,
        rebalance_timeout_ms,
        topology_epoch,
        process_id,
        user_endpoint,
        client_tags,
        unknown_tags,
    )
    return item, pos


def _write_streams_group_member_metadata_value_0(out: bytearray, item: StreamsGroupMemberMetadataValue) -> None:
    # StreamsGroupMemberMetadataValue, version 0
    if item.instance_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.instance_id)
    if item.rack_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack_id)
    put_compact_string(out, item.client_id)
    put_compact_string(out, item.client_host)
    out += _pack_ii(item.rebalance_timeout_ms, item.topology_epoch)
    put_compact_string(out, item.process_id)
    if item.user_endpoint is None:
        out.append(255)
    else:
        out.append(1)
        _write_endpoint_0(out, item.user_endpoint)
    n = len(item.client_tags) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_key_value_array_0(out, item.client_tags)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupMemberMetadataValue(Message):
    """__consumer_offsets, type 19: what a member told of itself."""

    API_KEY = 19
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_member_metadata_value_0}
    ENCODERS = {0: _write_streams_group_member_metadata_value_0}

    FIELDS = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "rebalance_timeout_ms",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is EMPTY else client_tags
        self.unknown_tags = unknown_tags
