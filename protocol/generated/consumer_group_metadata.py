"""ConsumerGroupMetadataKey 0 and ConsumerGroupMetadataValue 0.

Generated from schemas/records/ConsumerGroupMetadataKey.json and schemas/records/ConsumerGroupMetadataValue.json (Apache
Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    bad_length,
    bad_tag_size,
    read_tags,
    tag_buffer,
)

_unpack_h = Struct(">h").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_q = Struct(">q").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack


def _read_consumer_group_metadata_key_0(data: bytes, pos: int) -> tuple[ConsumerGroupMetadataKey, int]:
    # ConsumerGroupMetadataKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    return ConsumerGroupMetadataKey(group_id), pos


def _write_consumer_group_metadata_key_0(out: bytearray, item: ConsumerGroupMetadataKey) -> None:
    # ConsumerGroupMetadataKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw


class ConsumerGroupMetadataKey(Message):
    """__consumer_offsets, type 3: a consumer group."""

    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_consumer_group_metadata_key_0}
    ENCODERS = {0: _write_consumer_group_metadata_key_0}

    FIELDS = ("group_id",)
    __slots__ = FIELDS

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id


def _read_consumer_group_metadata_value_0(data: bytes, pos: int) -> tuple[ConsumerGroupMetadataValue, int]:
    # ConsumerGroupMetadataValue, version 0
    epoch, n = _unpack_iB(data, pos)
    pos += 5
    item = ConsumerGroupMetadataValue(epoch, 0)
    if n:
        pos = _read_consumer_group_metadata_value_tags_0(item, data, pos, n)
    return item, pos


def _read_consumer_group_metadata_value_tags_0(
    item: ConsumerGroupMetadataValue, data: bytes, pos: int, first: int
) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (metadata_hash,) = _unpack_q(data, pos)
            pos += 8
            item.metadata_hash = metadata_hash
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("ConsumerGroupMetadataValue", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_consumer_group_metadata_value_0(out: bytearray, item: ConsumerGroupMetadataValue) -> None:
    # ConsumerGroupMetadataValue, version 0
    out += _pack_i(item.epoch)
    tags = item.unknown_tags
    if item.metadata_hash != 0:
        body = bytearray()
        body += _pack_q(item.metadata_hash)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class ConsumerGroupMetadataValue(Message):
    """__consumer_offsets, type 3: the group's epoch.

    * `metadata_hash`: Hash over the topics the group is subscribed to; a change of it makes the assignor run.
    """

    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_consumer_group_metadata_value_0}
    ENCODERS = {0: _write_consumer_group_metadata_value_0}

    FIELDS = ("epoch", "metadata_hash", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.unknown_tags = unknown_tags
