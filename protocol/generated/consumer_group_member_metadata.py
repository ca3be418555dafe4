"""ConsumerGroupMemberMetadataKey 0 and ConsumerGroupMemberMetadataValue 0.

Generated from schemas/records/ConsumerGroupMemberMetadataKey.json and
schemas/records/ConsumerGroupMemberMetadataValue.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do
not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    UNSET,
    Message,
    Structure,
    Tags,
    Unset,
    bad_count,
    bad_length,
    bad_tag_size,
    put_compact_string,
    put_compact_strings,
    read_bytes_length,
    read_compact_strings,
    read_length,
    read_string_length,
    read_tags,
    read_uvarint,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


def _read_consumer_group_member_metadata_key_0(data: bytes, pos: int) -> tuple[ConsumerGroupMemberMetadataKey, int]:
    # ConsumerGroupMemberMetadataKey, version 0
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
    return ConsumerGroupMemberMetadataKey(group_id, member_id), pos


def _write_consumer_group_member_metadata_key_0(out: bytearray, item: ConsumerGroupMemberMetadataKey) -> None:
    # ConsumerGroupMemberMetadataKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw


class ConsumerGroupMemberMetadataKey(Message):
    """__consumer_offsets, type 5: a consumer group's member."""

    API_KEY = 5
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_consumer_group_member_metadata_key_0}
    ENCODERS = {0: _write_consumer_group_member_metadata_key_0}

    FIELDS = ("group_id", "member_id")
    __slots__ = FIELDS

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id


class ClassicMemberMetadata(Structure):
    """The value of ConsumerGroupMemberMetadataValue.ClassicMemberMetadata."""

    FIELDS = ("session_timeout_ms", "supported_protocols", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        session_timeout_ms: int = 0,
        supported_protocols: list[ClassicProtocol] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols = [] if supported_protocols is EMPTY else supported_protocols
        self.unknown_tags = unknown_tags


class ClassicProtocol(Structure):
    """An element of ClassicMemberMetadata.SupportedProtocols."""

    FIELDS = ("name", "metadata", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
        unknown_tags: Tags = (),
    ) -> None:
        self.name = name
        self.metadata = metadata
        self.unknown_tags = unknown_tags


def _read_classic_protocol_array_0(data: bytes, pos: int, count: int) -> tuple[list[ClassicProtocol], int]:
    # ClassicProtocol, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[ClassicProtocol] = []
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
        if not 0 < n < 128:
            n, pos = read_bytes_length(data, pos)
        end = pos + n - 1
        metadata = data[pos:end]
        pos = end
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(ClassicProtocol(name, metadata, unknown_tags))
    return items, pos


def _write_classic_protocol_array_0(out: bytearray, items: list[ClassicProtocol]) -> None:
    # ClassicProtocol, version 0
    for item in items:
        put_compact_string(out, item.name)
        n = len(item.metadata) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        out += item.metadata
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_classic_member_metadata_0(data: bytes, pos: int) -> tuple[ClassicMemberMetadata, int]:
    # ClassicMemberMetadata, version 0
    session_timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    if n > 127:
        n, pos = read_length(data, pos)
    supported_protocols, pos = _read_classic_protocol_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ClassicMemberMetadata(session_timeout_ms, supported_protocols, unknown_tags), pos


def _write_classic_member_metadata_0(out: bytearray, item: ClassicMemberMetadata) -> None:
    # ClassicMemberMetadata, version 0
    out += _pack_i(item.session_timeout_ms)
    n = len(item.supported_protocols) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_classic_protocol_array_0(out, item.supported_protocols)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_consumer_group_member_metadata_value_0(data: bytes, pos: int) -> tuple[ConsumerGroupMemberMetadataValue, int]:
    # ConsumerGroupMemberMetadataValue, version 0
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
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    subscribed_topic_names, pos = read_compact_strings(data, pos, n - 1)
    n = data[pos]
    pos += 1
    subscribed_topic_regex: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        subscribed_topic_regex = data[pos:end].decode()
        pos = end
    rebalance_timeout_ms, n = _unpack_iB(data, pos)
    pos += 5
    server_assignor: str | None = None
    if n:
        if n > 127:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        server_assignor = data[pos:end].decode()
        pos = end
    n = data[pos]
    pos += 1
    item = ConsumerGroupMemberMetadataValue(
        instance_id,
        rack_id,
        client_id,
        client_host,
        subscribed_topic_names,
        subscribed_topic_regex,
        rebalance_timeout_ms,
        server_assignor,
        ClassicMemberMetadata(),
    )
    if n:
        pos = _read_consumer_group_member_metadata_value_tags_0(item, data, pos, n)
    return item, pos


def _read_consumer_group_member_metadata_value_tags_0(
    item: ConsumerGroupMemberMetadataValue, data: bytes, pos: int, first: int
) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            classic_member_metadata: ClassicMemberMetadata | None = None
            n, pos = read_uvarint(data, pos)
            if n:
                classic_member_metadata, pos = _read_classic_member_metadata_0(data, pos)
            item.classic_member_metadata = classic_member_metadata
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("ConsumerGroupMemberMetadataValue", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_consumer_group_member_metadata_value_0(out: bytearray, item: ConsumerGroupMemberMetadataValue) -> None:
    # ConsumerGroupMemberMetadataValue, version 0
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
    n = len(item.subscribed_topic_names) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.subscribed_topic_names)
    if item.subscribed_topic_regex is None:
        out.append(0)
    else:
        put_compact_string(out, item.subscribed_topic_regex)
    out += _pack_i(item.rebalance_timeout_ms)
    if item.server_assignor is None:
        out.append(0)
    else:
        put_compact_string(out, item.server_assignor)
    tags = item.unknown_tags
    if item.classic_member_metadata is None or not _is_default_classic_member_metadata(item.classic_member_metadata):
        body = bytearray()
        if item.classic_member_metadata is None:
            body.append(0)
        else:
            body.append(1)
            _write_classic_member_metadata_0(body, item.classic_member_metadata)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class ConsumerGroupMemberMetadataValue(Message):
    """__consumer_offsets, type 5: what a member told of itself.

    * `classic_member_metadata`: What is needed of a member that speaks the classic protocol. Others say null: absent
    means one without protocols.
    """

    API_KEY = 5
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_consumer_group_member_metadata_value_0}
    ENCODERS = {0: _write_consumer_group_member_metadata_value_0}

    FIELDS = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = EMPTY,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None | Unset = UNSET,
        unknown_tags: Tags = (),
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata = (
            ClassicMemberMetadata() if isinstance(classic_member_metadata, Unset) else classic_member_metadata
        )
        self.unknown_tags = unknown_tags


def _is_default_classic_member_metadata(item: ClassicMemberMetadata) -> bool:
    return item.session_timeout_ms == 0 and not item.supported_protocols and not item.unknown_tags
