"""StreamsGroupTargetAssignmentMemberKey 0 and StreamsGroupTargetAssignmentMemberValue 0.

Generated from schemas/records/StreamsGroupTargetAssignmentMemberKey.json and
schemas/records/StreamsGroupTargetAssignmentMemberValue.json (Apache Kafka 4.4.0) by `python -m
shareq.protocol.generator`. Do not edit.
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
    put_numbers,
    read_length,
    read_numbers,
    read_string_length,
    read_tags,
    tag_buffer,
    uvarint,
)

_unpack_h = Struct(">h").unpack_from
_pack_h = Struct(">h").pack


def _read_streams_group_target_assignment_member_key_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupTargetAssignmentMemberKey, int]:
    # StreamsGroupTargetAssignmentMemberKey, version 0
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
    return StreamsGroupTargetAssignmentMemberKey(group_id, member_id), pos


def _write_streams_group_target_assignment_member_key_0(
    out: bytearray, item: StreamsGroupTargetAssignmentMemberKey
) -> None:
    # StreamsGroupTargetAssignmentMemberKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw


class StreamsGroupTargetAssignmentMemberKey(Message):
    """__consumer_offsets, type 21: a member's part of the target assignment."""

    API_KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_streams_group_target_assignment_member_key_0}
    ENCODERS = {0: _write_streams_group_target_assignment_member_key_0}

    FIELDS = ("group_id", "member_id")
    __slots__ = FIELDS

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id


class TaskIds(Structure):
    """An element of StreamsGroupTargetAssignmentMemberValue.ActiveTasks."""

    FIELDS = ("subtopology_id", "partitions", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.unknown_tags = unknown_tags


def _read_task_ids_array_0(data: bytes, pos: int, count: int) -> tuple[list[TaskIds], int]:
    # TaskIds, version 0
    if not 0 <= count * 3 <= len(data) - pos:
        raise bad_count(count)
    items: list[TaskIds] = []
    for _ in range(count):
        n = data[pos]
        pos += 1
        if not 0 < n < 128:
            n, pos = read_string_length(data, pos)
        end = pos + n - 1
        subtopology_id = data[pos:end].decode()
        pos = end
        n = data[pos]
        pos += 1
        if n > 127:
            n, pos = read_length(data, pos)
        partitions, pos = read_numbers(data, pos, n - 1, "i")
        n = data[pos]
        pos += 1
        unknown_tags: Tags = ()
        if n:
            unknown_tags, pos = read_tags(data, pos, n)
        items.append(TaskIds(subtopology_id, partitions, unknown_tags))
    return items, pos


def _write_task_ids_array_0(out: bytearray, items: list[TaskIds]) -> None:
    # TaskIds, version 0
    for item in items:
        put_compact_string(out, item.subtopology_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


def _read_streams_group_target_assignment_member_value_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupTargetAssignmentMemberValue, int]:
    # StreamsGroupTargetAssignmentMemberValue, version 0
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    active_tasks, pos = _read_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    standby_tasks, pos = _read_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    warmup_tasks, pos = _read_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    return StreamsGroupTargetAssignmentMemberValue(active_tasks, standby_tasks, warmup_tasks, unknown_tags), pos


def _write_streams_group_target_assignment_member_value_0(
    out: bytearray, item: StreamsGroupTargetAssignmentMemberValue
) -> None:
    # StreamsGroupTargetAssignmentMemberValue, version 0
    n = len(item.active_tasks) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.active_tasks)
    n = len(item.standby_tasks) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.standby_tasks)
    n = len(item.warmup_tasks) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.warmup_tasks)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupTargetAssignmentMemberValue(Message):
    """__consumer_offsets, type 21."""

    API_KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_target_assignment_member_value_0}
    ENCODERS = {0: _write_streams_group_target_assignment_member_value_0}

    FIELDS = ("active_tasks", "standby_tasks", "warmup_tasks", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        active_tasks: list[TaskIds] = EMPTY,
        standby_tasks: list[TaskIds] = EMPTY,
        warmup_tasks: list[TaskIds] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.active_tasks = [] if active_tasks is EMPTY else active_tasks
        self.standby_tasks = [] if standby_tasks is EMPTY else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is EMPTY else warmup_tasks
        self.unknown_tags = unknown_tags
