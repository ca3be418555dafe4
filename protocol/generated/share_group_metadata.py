"""ShareGroupMetadataKey 0 and ShareGroupMetadataValue 0.

Generated from schemas/records/ShareGroupMetadataKey.json and schemas/records/ShareGroupMetadataValue.json (Apache Kafka
4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    NO_TAGS,
    Message,
    Tags,
    bad_length,
    read_tags,
    tag_buffer,
)

_unpack_h = Struct(">h").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_pack_h = Struct(">h").pack
_pack_iq = Struct(">iq").pack


def _read_share_group_metadata_key_0(data: bytes, pos: int) -> tuple[ShareGroupMetadataKey, int]:
    # ShareGroupMetadataKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    return ShareGroupMetadataKey(group_id), pos


def _write_share_group_metadata_key_0(out: bytearray, item: ShareGroupMetadataKey) -> None:
    # ShareGroupMetadataKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw


class ShareGroupMetadataKey(Message):
    """__consumer_offsets, type 11: a share group."""

    API_KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_share_group_metadata_key_0}
    ENCODERS = {0: _write_share_group_metadata_key_0}

    FIELDS = ("group_id",)
    __slots__ = FIELDS

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id


def _read_share_group_metadata_value_0(data: bytes, pos: int) -> tuple[ShareGroupMetadataValue, int]:
    # ShareGroupMetadataValue, version 0
    epoch, metadata_hash, n = _unpack_iqB(data, pos)
    pos += 13
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ShareGroupMetadataValue(epoch, metadata_hash, unknown_tags), pos


def _write_share_group_metadata_value_0(out: bytearray, item: ShareGroupMetadataValue) -> None:
    # ShareGroupMetadataValue, version 0
    out += _pack_iq(item.epoch, item.metadata_hash)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareGroupMetadataValue(Message):
    """__consumer_offsets, type 11: the group's epoch.

    * `epoch`: Rises when members or their subscriptions change.
    * `metadata_hash`: Hash over the topics the group is subscribed to; a change of it makes the assignor run.
    """

    API_KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_share_group_metadata_value_0}
    ENCODERS = {0: _write_share_group_metadata_value_0}

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
