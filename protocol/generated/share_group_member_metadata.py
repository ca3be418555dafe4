"""ShareGroupMemberMetadataKey 0 and ShareGroupMemberMetadataValue 0.

Generated from schemas/records/ShareGroupMemberMetadataKey.json and schemas/records/ShareGroupMemberMetadataValue.json
(Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    Message,
    Tags,
    bad_length,
    put_compact_string,
    put_compact_strings,
    read_compact_strings,
    read_length,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_pack_h = Struct(">h").pack


def _read_share_group_member_metadata_key_0(data: bytes, pos: int) -> tuple[ShareGroupMemberMetadataKey, int]:
    # ShareGroupMemberMetadataKey, version 0
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
    return ShareGroupMemberMetadataKey(group_id, member_id), pos


def _write_share_group_member_metadata_key_0(out: bytearray, item: ShareGroupMemberMetadataKey) -> None:
    # ShareGroupMemberMetadataKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw


class ShareGroupMemberMetadataKey(Message):
    """__consumer_offsets, type 10: a share group's member."""

    API_KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_share_group_member_metadata_key_0}
    ENCODERS = {0: _write_share_group_member_metadata_key_0}

    FIELDS = ("group_id", "member_id")
    __slots__ = FIELDS

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id


def _read_share_group_member_metadata_value_0(data: bytes, pos: int) -> tuple[ShareGroupMemberMetadataValue, int]:
    # ShareGroupMemberMetadataValue, version 0
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
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return ShareGroupMemberMetadataValue(rack_id, client_id, client_host, subscribed_topic_names, unknown_tags), pos


def _write_share_group_member_metadata_value_0(out: bytearray, item: ShareGroupMemberMetadataValue) -> None:
    # ShareGroupMemberMetadataValue, version 0
    if item.rack_id is None:
        out.append(0)
    else:
        put_compact_string(out, item.rack_id)
    put_compact_string(out, item.client_id)
    put_compact_string(out, item.client_host)
    n = len(item.subscribed_topic_names) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    put_compact_strings(out, item.subscribed_topic_names)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class ShareGroupMemberMetadataValue(Message):
    """__consumer_offsets, type 10: what a member told of itself."""

    API_KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_share_group_member_metadata_value_0}
    ENCODERS = {0: _write_share_group_member_metadata_value_0}

    FIELDS = ("rack_id", "client_id", "client_host", "subscribed_topic_names", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        self.unknown_tags = unknown_tags
