"""StreamsGroupMetadataKey 0 and StreamsGroupMetadataValue 0.

Generated from schemas/records/StreamsGroupMetadataKey.json and schemas/records/StreamsGroupMetadataValue.json (Apache
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
    bad_tag_size,
    put_compact_string,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iq = Struct(">iq").pack


def _read_streams_group_metadata_key_0(data: bytes, pos: int) -> tuple[StreamsGroupMetadataKey, int]:
    # StreamsGroupMetadataKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    return StreamsGroupMetadataKey(group_id), pos


def _write_streams_group_metadata_key_0(out: bytearray, item: StreamsGroupMetadataKey) -> None:
    # StreamsGroupMetadataKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw


class StreamsGroupMetadataKey(Message):
    """__consumer_offsets, type 17: a Streams group."""

    API_KEY = 17
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_streams_group_metadata_key_0}
    ENCODERS = {0: _write_streams_group_metadata_key_0}

    FIELDS = ("group_id",)
    __slots__ = FIELDS

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id


class LastAssignmentConfig(Structure):
    """An element of StreamsGroupMetadataValue.LastAssignmentConfigs."""

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


def _read_last_assignment_config_array_0(data: bytes, pos: int, count: int) -> tuple[list[LastAssignmentConfig], int]:
    # LastAssignmentConfig, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[LastAssignmentConfig] = []
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
        items.append(LastAssignmentConfig(key, value, unknown_tags))
    return items, pos


def _write_last_assignment_config_array_0(out: bytearray, items: list[LastAssignmentConfig]) -> None:
    # LastAssignmentConfig, version 0
    for item in items:
        put_compact_string(out, item.key)
        put_compact_string(out, item.value)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_metadata_value_0(data: bytes, pos: int) -> tuple[StreamsGroupMetadataValue, int]:
    # StreamsGroupMetadataValue, version 0
    epoch, metadata_hash, n = _unpack_iqB(data, pos)
    pos += 13
    item = StreamsGroupMetadataValue(epoch, metadata_hash, -1, [], -1, -1)
    if n:
        pos = _read_streams_group_metadata_value_tags_0(item, data, pos, n)
    return item, pos


def _read_streams_group_metadata_value_tags_0(
    item: StreamsGroupMetadataValue, data: bytes, pos: int, first: int
) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (validated_topology_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.validated_topology_epoch = validated_topology_epoch
        elif tag == 1:
            n = data[pos]
            pos += 1
            last_assignment_configs: list[LastAssignmentConfig] | None = None
            if n:
                if n > 127:
                    n, pos = read_length(data, pos)
                last_assignment_configs, pos = _read_last_assignment_config_array_0(data, pos, n - 1)
            item.last_assignment_configs = last_assignment_configs
        elif tag == 2:
            (stored_description_topology_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.stored_description_topology_epoch = stored_description_topology_epoch
        elif tag == 3:
            (failed_description_topology_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.failed_description_topology_epoch = failed_description_topology_epoch
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("StreamsGroupMetadataValue", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_streams_group_metadata_value_0(out: bytearray, item: StreamsGroupMetadataValue) -> None:
    # StreamsGroupMetadataValue, version 0
    out += _pack_iq(item.epoch, item.metadata_hash)
    tags = item.unknown_tags
    if item.validated_topology_epoch != -1:
        body = bytearray()
        body += _pack_i(item.validated_topology_epoch)
        tags += ((0, bytes(body)),)
    if item.last_assignment_configs != []:
        body = bytearray()
        if item.last_assignment_configs is None:
            body.append(0)
        else:
            n = len(item.last_assignment_configs) + 1
            body += SMALL[n] if n < 128 else uvarint(n)
            _write_last_assignment_config_array_0(body, item.last_assignment_configs)
        tags += ((1, bytes(body)),)
    if item.stored_description_topology_epoch != -1:
        body = bytearray()
        body += _pack_i(item.stored_description_topology_epoch)
        tags += ((2, bytes(body)),)
    if item.failed_description_topology_epoch != -1:
        body = bytearray()
        body += _pack_i(item.failed_description_topology_epoch)
        tags += ((3, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class StreamsGroupMetadataValue(Message):
    """__consumer_offsets, type 17: the group's epoch.

    * `metadata_hash`: Hash over the topics the group is subscribed to; a change of it makes the assignor run.
    """

    API_KEY = 17
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_metadata_value_0}
    ENCODERS = {0: _write_streams_group_metadata_value_0}

    FIELDS = (
        "epoch",
        "metadata_hash",
        "validated_topology_epoch",
        "last_assignment_configs",
        "stored_description_topology_epoch",
        "failed_description_topology_epoch",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: list[LastAssignmentConfig] | None = EMPTY,
        stored_description_topology_epoch: int = -1,
        failed_description_topology_epoch: int = -1,
        unknown_tags: Tags = (),
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs = [] if last_assignment_configs is EMPTY else last_assignment_configs
        self.stored_description_topology_epoch = stored_description_topology_epoch
        self.failed_description_topology_epoch = failed_description_topology_epoch
        self.unknown_tags = unknown_tags
