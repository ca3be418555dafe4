"""ListOffsets: v1-11.

Behaviour: timestamp -1 is the latest offset (the last stable offset for read_committed), -2 the earliest; from 0 on, it
is the first record at or after that time, or offset -1 without an error if there is none. A partition named twice gets
INVALID_REQUEST. v4: leader epochs. v7: -3 record with the largest timestamp, also below the log start as long as its
segment exists. v8: -4 earliest local. v9: -5 latest tiered. v10: timeout (not needed). v11: -6 earliest pending upload.

Here: there is no tiered storage: -4 is the log start, -5 and -6 find nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.dispatch.rows import Rows
from shareq.broker.foundation.loop.effort import AT_ONCE, elements_of
from shareq.broker.foundation.turn_budget import PIECE, in_pieces
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.segments.reader import Found
from shareq.broker.security.rights import DESCRIBE_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)

CONTEXT = FolderContext


LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
_READ_COMMITTED = 1
_EPOCHS_FROM = 4
_FIRST_VERSION = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_NEVER = 2**15  # beyond every version

_LOOKED_INTO: Final = elements_of(AT_ONCE)
"""The number of elements that a partition counts as if its records have to be read, since its batch may be large."""

_Partition = tuple[str, int]


async def handle(ctx: FolderContext, request: ListOffsetsRequest) -> ListOffsetsResponse | Rows[ListOffsetsResponse]:
    """Return the offset of every partition. Topics that the client may see come first."""
    twice = await _named_twice(ctx, request.topics)
    committed = request.isolation_level == _READ_COMMITTED
    rows = Rows(ctx, ListOffsetsResponse(), "topics")
    hidden: list[ListOffsetsTopic] = []
    for topic in request.topics:
        if not ctx.may(DESCRIBE_TOPIC, topic.name):
            hidden.append(topic)
            await rows.breathe()
            continue
        parts: list[ListOffsetsPartitionResponse] = []
        for some in in_pieces(topic.partitions):
            for part in some:
                log = _log(ctx, topic.name, part, twice)
                if isinstance(log, ErrorCode):
                    parts.append(_error(part.partition_index, log))
                    continue
                upto = log.last_stable_offset if committed else log.high_watermark
                if part.timestamp >= 0 or part.timestamp == MAX_TIMESTAMP:
                    found = await _sought(ctx, log, part.timestamp, upto)
                    await rows.breathe(_LOOKED_INTO)
                else:
                    found = _named(log, part.timestamp, upto)
                parts.append(_row(ctx, part.partition_index, log, found))
            await rows.breathe(len(some))
        await rows.add(ListOffsetsTopicResponse(topic.name, parts))
    for topic in hidden:
        parts = []
        for some in in_pieces(topic.partitions):
            parts += [_error(part.partition_index, DESCRIBE_TOPIC.error) for part in some]
            await rows.breathe(len(some))
        await rows.add(ListOffsetsTopicResponse(topic.name, parts))
    return await rows.end()


async def _named_twice(ctx: FolderContext, topics: Sequence[ListOffsetsTopic]) -> set[_Partition]:
    """Return the partitions that the request names more than once."""
    seen: dict[_Partition, None] = {}
    twice: set[_Partition] = set()
    for topic in topics:
        for some in in_pieces(topic.partitions):
            for part in some:
                at = topic.name, part.partition_index
                if at in seen:
                    twice.add(at)
                seen[at] = None
            await ctx.breathe(1 + len(some))
    if len(seen) > PIECE:
        await ctx.give_back(seen)
    return twice


def failed(request: ListOffsetsRequest, error: ErrorCode) -> ListOffsetsResponse:
    """Return the answer with the same error for every partition."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(topic.name, [_error(part.partition_index, error) for part in topic.partitions])
            for topic in request.topics
        ]
    )


def _log(
    ctx: FolderContext, topic: str, part: ListOffsetsPartition, twice: set[_Partition]
) -> PartitionLog | ErrorCode:
    """Return the log to look into, or the error if there is none."""
    if (topic, part.partition_index) in twice:
        return ErrorCode.INVALID_REQUEST
    if part.timestamp < 0 and ctx.api_version < _FIRST_VERSION.get(part.timestamp, _NEVER):
        return ErrorCode.UNSUPPORTED_VERSION
    return ctx.ground.lookup.log(topic, part.partition_index, part.current_leader_epoch)


def _named(log: PartitionLog, timestamp: int, upto: int) -> Found | None:
    """Return the offset that a negative timestamp stands for."""
    if timestamp == LATEST:
        return Found(-1, upto)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return Found(-1, log.log_start_offset)
    return None


async def _sought(ctx: FolderContext, log: PartitionLog, timestamp: int, upto: int) -> Found | None:
    """Return the first record at or after that time, below `upto` (exclusive); None if there is none."""
    if timestamp == MAX_TIMESTAMP:
        found = await log.seek_max_timestamp(ctx.breathe)
    else:
        found = await log.seek_timestamp(timestamp, ctx.breathe)
    return None if found is None or found.offset >= upto else found


def _row(ctx: FolderContext, partition: int, log: PartitionLog, found: Found | None) -> ListOffsetsPartitionResponse:
    if found is None:
        return ListOffsetsPartitionResponse(partition)
    epoch = log.leader_epoch if ctx.api_version >= _EPOCHS_FROM else -1
    return ListOffsetsPartitionResponse(partition, ErrorCode.NONE, found.timestamp, found.offset, epoch)


def _error(partition: int, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition, error)
