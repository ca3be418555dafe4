"""ShareUpdateKey 0 and ShareUpdateValue 0.

Generated from schemas/records/ShareUpdateKey.json and schemas/records/ShareUpdateValue.json (Apache Kafka 4.4.0) by
`python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from struct import Struct

from shareq.protocol.primitives import (
    EMPTY,
    NO_TAGS,
    SMALL,
    ZERO_UUID,
    Message,
    Structure,
    Tags,
    bad_count,
    bad_length,
    bad_tag_size,
    bad_uuid,
    read_length,
    read_tags,
    tag_buffer,
    uvarint,
)
from shareq.protocol.rows import put_rows

_iterate_qqbhB = Struct(">qqbhB").iter_unpack
_unpack_ui = Struct(">16si").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iiqB = Struct(">iiqB").unpack_from
_unpack_qqbhB = Struct(">qqbhB").unpack_from
_pack_ui = Struct(">16si").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iiq = Struct(">iiq").pack
_pack_qqbh = Struct(">qqbh").pack


def _read_share_update_key_0(data: bytes, pos: int) -> tuple[ShareUpdateKey, int]:
    # ShareUpdateKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    topic_id, partition = _unpack_ui(data, pos)
    pos += 20
    return ShareUpdateKey(group_id, topic_id, partition), pos


def _write_share_update_key_0(out: bytearray, item: ShareUpdateKey) -> None:
    # ShareUpdateKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    if len(item.topic_id) != 16:
        raise bad_uuid(item.topic_id)
    out += _pack_ui(item.topic_id, item.partition)


class ShareUpdateKey(Message):
    """__share_group_state, type 1: a change to a share partition's state."""

    API_KEY = 1
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_share_update_key_0}
    ENCODERS = {0: _write_share_update_key_0}

    FIELDS = ("group_id", "topic_id", "partition")
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        topic_id: bytes = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition


class StateBatch(Structure):
    """An element of ShareUpdateValue.StateBatches.

    * `delivery_state`: 0 available, 2 acknowledged, 4 archived; acquired records are not persisted.
    * `delivery_count`: How many times the records have been handed out.
    """

    FIELDS = ("first_offset", "last_offset", "delivery_state", "delivery_count", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count
        self.unknown_tags = unknown_tags


def _read_state_batch_array_0(data: bytes, pos: int, count: int) -> tuple[list[StateBatch], int]:
    # StateBatch, version 0
    if not 0 <= count * 20 <= len(data) - pos:
        raise bad_count(count)
    items: list[StateBatch] = []
    if count > 3 and count * 20 <= len(data) - pos:
        elements = _iterate_qqbhB(data[pos : pos + count * 20])
        for first_offset, last_offset, delivery_state, delivery_count, n in elements:
            if n:
                break
            items.append(StateBatch(first_offset, last_offset, delivery_state, delivery_count))
        pos += len(items) * 20
        count -= len(items)
    for _ in range(count):
        first_offset, last_offset, delivery_state, delivery_count, n = _unpack_qqbhB(data, pos)
        pos += 20
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(StateBatch(first_offset, last_offset, delivery_state, delivery_count, unknown_tags))
    return items, pos


def _write_state_batch_array_0(out: bytearray, items: list[StateBatch]) -> None:
    # StateBatch, version 0
    if items and isinstance(items[0], tuple):
        put_rows(out, items, "qqbhx")
        return
    for item in items:
        out += _pack_qqbh(item.first_offset, item.last_offset, item.delivery_state, item.delivery_count)
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_share_update_value_0(data: bytes, pos: int) -> tuple[ShareUpdateValue, int]:
    # ShareUpdateValue, version 0
    snapshot_epoch, leader_epoch, start_offset, n = _unpack_iiqB(data, pos)
    pos += 17
    if n > 127:
        n, pos = read_length(data, pos)
    state_batches, pos = _read_state_batch_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    item = ShareUpdateValue(snapshot_epoch, leader_epoch, start_offset, -1, state_batches)
    if n:
        pos = _read_share_update_value_tags_0(item, data, pos, n)
    return item, pos


def _read_share_update_value_tags_0(item: ShareUpdateValue, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (delivery_complete_count,) = _unpack_i(data, pos)
            pos += 4
            item.delivery_complete_count = delivery_complete_count
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("ShareUpdateValue", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_share_update_value_0(out: bytearray, item: ShareUpdateValue) -> None:
    # ShareUpdateValue, version 0
    out += _pack_iiq(item.snapshot_epoch, item.leader_epoch, item.start_offset)
    n = len(item.state_batches) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_state_batch_array_0(out, item.state_batches)
    tags = item.unknown_tags
    if item.delivery_complete_count != -1:
        body = bytearray()
        body += _pack_i(item.delivery_complete_count)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class ShareUpdateValue(Message):
    """__share_group_state, type 1, applied to the snapshot of the same SnapshotEpoch.

    * `snapshot_epoch`: Counts the snapshots of the share partition; an update belongs to the snapshot of the same
    epoch.
    * `leader_epoch`: -1 if unchanged.
    * `start_offset`: -1 if unchanged.
    * `delivery_complete_count`: Records from the start offset on that are acknowledged or archived; -1 if unknown.
    * `state_batches`: Ranges of offsets in one state, ascending, without overlap; records outside count as never handed
    out.
    """

    API_KEY = 1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_share_update_value_0}
    ENCODERS = {0: _write_share_update_value_0}

    FIELDS = (
        "snapshot_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "state_batches",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is EMPTY else state_batches
        self.unknown_tags = unknown_tags
