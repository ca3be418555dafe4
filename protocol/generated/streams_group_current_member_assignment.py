"""StreamsGroupCurrentMemberAssignmentKey 0 and StreamsGroupCurrentMemberAssignmentValue 0.

Generated from schemas/records/StreamsGroupCurrentMemberAssignmentKey.json and
schemas/records/StreamsGroupCurrentMemberAssignmentValue.json (Apache Kafka 4.4.0) by `python -m
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
    bad_tag_size,
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
_unpack_iibB = Struct(">iibB").unpack_from
_pack_h = Struct(">h").pack
_pack_iib = Struct(">iib").pack


def _read_streams_group_current_member_assignment_key_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupCurrentMemberAssignmentKey, int]:
    # StreamsGroupCurrentMemberAssignmentKey, version 0
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
    return StreamsGroupCurrentMemberAssignmentKey(group_id, member_id), pos


def _write_streams_group_current_member_assignment_key_0(
    out: bytearray, item: StreamsGroupCurrentMemberAssignmentKey
) -> None:
    # StreamsGroupCurrentMemberAssignmentKey, version 0
    raw = item.group_id.encode()
    out += _pack_h(len(raw))
    out += raw
    raw = item.member_id.encode()
    out += _pack_h(len(raw))
    out += raw


class StreamsGroupCurrentMemberAssignmentKey(Message):
    """__consumer_offsets, type 22: what a member has now."""

    API_KEY = 22
    MIN_VERSION = 0
    MAX_VERSION = 0
    DECODERS = {0: _read_streams_group_current_member_assignment_key_0}
    ENCODERS = {0: _write_streams_group_current_member_assignment_key_0}

    FIELDS = ("group_id", "member_id")
    __slots__ = FIELDS

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id


class TaskIds(Structure):
    """An element of StreamsGroupCurrentMemberAssignmentValue.ActiveTasks."""

    FIELDS = ("subtopology_id", "partitions", "assignment_epochs", "unknown_tags")
    __slots__ = FIELDS

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = EMPTY,
        assignment_epochs: list[int] | None = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.assignment_epochs = [] if assignment_epochs is EMPTY else assignment_epochs
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
        item = TaskIds(subtopology_id, partitions, [])
        if n:
            pos = _read_task_ids_tags_0(item, data, pos, n)
        items.append(item)
    return items, pos


def _read_task_ids_tags_0(item: TaskIds, data: bytes, pos: int, first: int) -> int:
    tags, after = read_tags(data, pos, first)
    unknown: list[tuple[int, bytes]] = []
    for tag, data in tags:
        pos = 0
        if tag == 0:
            n = data[pos]
            pos += 1
            assignment_epochs: list[int] | None = None
            if n:
                if n > 127:
                    n, pos = read_length(data, pos)
                assignment_epochs, pos = read_numbers(data, pos, n - 1, "i")
            item.assignment_epochs = assignment_epochs
        else:
            unknown.append((tag, data))
            continue
        if pos != len(data):
            raise bad_tag_size("TaskIds", tag, len(data), pos)
    item.unknown_tags = tuple(unknown)
    return after


def _write_task_ids_array_0(out: bytearray, items: list[TaskIds]) -> None:
    # TaskIds, version 0
    for item in items:
        put_compact_string(out, item.subtopology_id)
        n = len(item.partitions) + 1
        out += SMALL[n] if n < 128 else uvarint(n)
        put_numbers(out, item.partitions, "i")
        tags = item.unknown_tags
        if item.assignment_epochs != []:
            body = bytearray()
            if item.assignment_epochs is None:
                body.append(0)
            else:
                n = len(item.assignment_epochs) + 1
                body += SMALL[n] if n < 128 else uvarint(n)
                put_numbers(body, item.assignment_epochs, "i")
            tags += ((0, bytes(body)),)
        out += tag_buffer(tags) if tags else NO_TAGS


def _read_streams_group_current_member_assignment_value_0(
    data: bytes, pos: int
) -> tuple[StreamsGroupCurrentMemberAssignmentValue, int]:
    # StreamsGroupCurrentMemberAssignmentValue, version 0
    member_epoch, previous_member_epoch, state, n = _unpack_iibB(data, pos)
    pos += 10
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
    if n > 127:
        n, pos = read_length(data, pos)
    active_tasks_pending_revocation, pos = _read_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    standby_tasks_pending_revocation, pos = _read_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    if n > 127:
        n, pos = read_length(data, pos)
    warmup_tasks_pending_revocation, pos = _read_task_ids_array_0(data, pos, n - 1)
    n = data[pos]
    pos += 1
    unknown_tags: Tags = ()
    if n:
        unknown_tags, pos = read_tags(data, pos, n)
    item = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch,
        previous_member_epoch,
        state,
        active_tasks,
        standby_tasks,
        warmup_tasks,
        active_tasks_pending_revocation,
        standby_tasks_pending_revocation,
        warmup_tasks_pending_revocation,
        unknown_tags,
    )
    return item, pos


def _write_streams_group_current_member_assignment_value_0(
    out: bytearray, item: StreamsGroupCurrentMemberAssignmentValue
) -> None:
    # StreamsGroupCurrentMemberAssignmentValue, version 0
    out += _pack_iib(item.member_epoch, item.previous_member_epoch, item.state)
    n = len(item.active_tasks) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.active_tasks)
    n = len(item.standby_tasks) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.standby_tasks)
    n = len(item.warmup_tasks) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.warmup_tasks)
    n = len(item.active_tasks_pending_revocation) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.active_tasks_pending_revocation)
    n = len(item.standby_tasks_pending_revocation) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.standby_tasks_pending_revocation)
    n = len(item.warmup_tasks_pending_revocation) + 1
    out += SMALL[n] if n < 128 else uvarint(n)
    _write_task_ids_array_0(out, item.warmup_tasks_pending_revocation)
    out += tag_buffer(item.unknown_tags) if item.unknown_tags else NO_TAGS


class StreamsGroupCurrentMemberAssignmentValue(Message):
    """__consumer_offsets, type 22.

    * `previous_member_epoch`: The epoch before the current one; a member whose answer was lost may still use it.
    """

    API_KEY = 22
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    DECODERS = {0: _read_streams_group_current_member_assignment_value_0}
    ENCODERS = {0: _write_streams_group_current_member_assignment_value_0}

    FIELDS = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "active_tasks_pending_revocation",
        "standby_tasks_pending_revocation",
        "warmup_tasks_pending_revocation",
        "unknown_tags",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: list[TaskIds] = EMPTY,
        standby_tasks: list[TaskIds] = EMPTY,
        warmup_tasks: list[TaskIds] = EMPTY,
        active_tasks_pending_revocation: list[TaskIds] = EMPTY,
        standby_tasks_pending_revocation: list[TaskIds] = EMPTY,
        warmup_tasks_pending_revocation: list[TaskIds] = EMPTY,
        unknown_tags: Tags = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks = [] if active_tasks is EMPTY else active_tasks
        self.standby_tasks = [] if standby_tasks is EMPTY else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is EMPTY else warmup_tasks
        self.active_tasks_pending_revocation = (
            [] if active_tasks_pending_revocation is EMPTY else active_tasks_pending_revocation
        )
        self.standby_tasks_pending_revocation = (
            [] if standby_tasks_pending_revocation is EMPTY else standby_tasks_pending_revocation
        )
        self.warmup_tasks_pending_revocation = (
            [] if warmup_tasks_pending_revocation is EMPTY else warmup_tasks_pending_revocation
        )
        self.unknown_tags = unknown_tags
