"""StreamsGroupTargetAssignmentMetadataKey 0 and StreamsGroupTargetAssignmentMetadataValue 0.

Generated from schemas/records/StreamsGroupTargetAssignmentMetadataKey.json and
schemas/records/StreamsGroupTargetAssignmentMetadataValue.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
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


def _read_streams_group_target_assignment_metadata_key_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupTargetAssignmentMetadataKey, int]:
    # StreamsGroupTargetAssignmentMetadataKey, version 0
    (n,) = _unpack_h(data, pos)
    pos += 2
    if n < 0:
        raise bad_length(n)
    end = pos + n
    group_id = data[pos:end].decode()
    pos = end
    return StreamsGroupTargetAssignmentMetadataKey(group_id), pos


def _write_streams_group_target_assignment_metadata_key_0(
    out: bytearray, item: StreamsGroupTargetAssignmentMetadataKey
) -> None:
    # StreamsGroupTargetAssignmentMetadataKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw


class StreamsGroupTargetAssignmentMetadataKey(Message):
    """__consumer_offsets, type 20: a Streams group's target assignment."""

    API_KEY = 20
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_streams_group_target_assignment_metadata_key_0}
    ENCODERS = {0: _write_streams_group_target_assignment_metadata_key_0}

    FIELDS = ("group_id",)
    __slots__ = FIELDS

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id


def _read_streams_group_target_assignment_metadata_value_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupTargetAssignmentMetadataValue, int]:
    # StreamsGroupTargetAssignmentMetadataValue, version 0
    assignment_epoch, n = _unpack_iB(data, pos)
    pos += 5
    item = StreamsGroupTargetAssignmentMetadataValue(assignment_epoch, 0)
    if n:
        pos = _read_streams_group_target_assignment_metadata_value_tags_0(item, data, pos, n)
    return item, pos


def _read_streams_group_target_assignment_metadata_value_tags_0(
    item: StreamsGroupTargetAssignmentMetadataValue, data: bytes, pos: int, first: int
) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            (assignment_timestamp,) = _unpack_q(data, pos)
            pos += 8
            item.assignment_timestamp = assignment_timestamp
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("StreamsGroupTargetAssignmentMetadataValue", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_streams_group_target_assignment_metadata_value_0(
    out: bytearray, item: StreamsGroupTargetAssignmentMetadataValue
) -> None:
    # StreamsGroupTargetAssignmentMetadataValue, version 0
    out += _pack_i(item.assignment_epoch)
    tags = item.unknown_tags
    if item.assignment_timestamp != 0:
        body = bytearray()
        body += _pack_q(item.assignment_timestamp)
        tags += ((0, bytes(body)),)
    out += tag_buffer(tags) if tags else NO_TAGS


class StreamsGroupTargetAssignmentMetadataValue(Message):
    """__consumer_offsets, type 20: the group epoch it was computed for.

    * `assignment_timestamp`: When the target assignment was computed, milliseconds since the epoch; 0 if unknown.
    """

    API_KEY = 20
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_target_assignment_metadata_value_0}
    ENCODERS = {0: _write_streams_group_target_assignment_metadata_value_0}

    FIELDS = ("assignment_epoch", "assignment_timestamp", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
        unknown_tags: Tags = (),
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
        self.unknown_tags = unknown_tags
