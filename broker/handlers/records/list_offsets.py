"""ListOffsets: v1-11.

Behaviour: -1 latest (the last stable offset for read_committed), -2 earliest, from 0 on the first record at or after
that time; nothing found is offset -1 without an error. A partition named twice is INVALID_REQUEST.
v4: leader epochs. v7: -3 record with the largest timestamp, also below the log start as long as its segment exists.
v8: -4 earliest local. v9: -5 latest tiered.
v10: timeout (not needed). v11: -6 earliest pending upload. There is no tiered storage: -4 is the log start, -5 and -6
find nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import TurnCount, emptied, pieces
from shareq.broker.dispatch.parts import Parts, in_order, in_parts
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.security.rights import DESCRIBE_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

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

PART_PARTITIONS = 500
"""Partitions that are looked at in one turn, and a topic counts as one more: 20 µs where the log has to be opened. One
where records have to be read ends it: its batch may be large.
"""
COUNTED_PARTITIONS = 5_000
"""Partitions that are counted in one turn, to find those that are named twice; a topic as five more."""


def handle(ctx: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse | Parts:
    """Look every partition's offset up."""
    return in_parts(ListOffsetsResponse(), "topics", _parts(ctx, request))


def _parts(ctx: RequestContext, request: ListOffsetsRequest) -> Iterator[list[ListOffsetsTopicResponse]]:
    """The topics, those that the client may see first. Some parts are empty: others may have their turn."""
    seen: dict[tuple[str, int], int] = {}
    counted = TurnCount(COUNTED_PARTITIONS)
    for topic in request.topics:
        for some in pieces(topic.partitions, COUNTED_PARTITIONS):
            for part in some:
                at = topic.name, part.partition_index
                seen[at] = seen.get(at, 0) + 1
            if counted.full(5 + len(some)):
                yield []
    committed = request.isolation_level == _READ_COMMITTED
    rows: list[ListOffsetsTopicResponse] = []
    hidden: list[ListOffsetsTopicResponse] = []
    looked_at = 0
    for topic in request.topics:
        may = ctx.may(DESCRIBE_TOPIC, topic.name)
        parts: list[ListOffsetsPartitionResponse] = []
        for part in topic.partitions:
            if looked_at >= PART_PARTITIONS:
                yield rows
                rows, looked_at = [], 0
            if not may:
                parts.append(_error(part.partition_index, DESCRIBE_TOPIC.error))
            elif seen[topic.name, part.partition_index] > 1:
                parts.append(_error(part.partition_index, ErrorCode.INVALID_REQUEST))
            else:
                parts.append((yield from _offset(ctx, topic.name, part, committed)))
            reads = may and (part.timestamp >= 0 or part.timestamp == MAX_TIMESTAMP)
            looked_at += PART_PARTITIONS if reads else 1
        looked_at += 1
        (rows if may else hidden).append(ListOffsetsTopicResponse(topic.name, parts))
    yield from in_order(rows, hidden, PART_PARTITIONS)
    if len(seen) > COUNTED_PARTITIONS:
        for _ in emptied(seen):
            yield []


def failed(request: ListOffsetsRequest, error: ErrorCode) -> ListOffsetsResponse:
    """The answer when the request could not be handled."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(topic.name, [_error(part.partition_index, error) for part in topic.partitions])
            for topic in request.topics
        ]
    )


def _offset(
    ctx: RequestContext, topic: str, part: ListOffsetsPartition, committed: bool
) -> Generator[list[ListOffsetsTopicResponse], None, ListOffsetsPartitionResponse]:
    """The row of a partition; pauses where a large batch is looked into."""
    if part.timestamp < 0 and ctx.api_version < _FIRST_VERSION.get(part.timestamp, _NEVER):
        return _error(part.partition_index, ErrorCode.UNSUPPORTED_VERSION)
    log = ctx.services.lookup.log(topic, part.partition_index, part.current_leader_epoch)
    if isinstance(log, ErrorCode):
        return _error(part.partition_index, log)
    upto = log.last_stable_offset if committed else log.high_watermark
    looking, found = _find(log, part.timestamp, upto), None
    while True:
        try:
            next(looking)
        except StopIteration as end:
            found = end.value
            break
        yield []
    if found is None:
        return ListOffsetsPartitionResponse(part.partition_index)
    timestamp, offset = found
    epoch = log.leader_epoch if ctx.api_version >= _EPOCHS_FROM else -1
    return ListOffsetsPartitionResponse(part.partition_index, ErrorCode.NONE, timestamp, offset, epoch)


def _find(log: PartitionLog, timestamp: int, upto: int) -> Generator[None, None, tuple[int, int] | None]:
    """(timestamp, offset); the timestamp is -1 for the named offsets. Records from `upto` on do not count."""
    if timestamp == LATEST:
        return -1, upto
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.log_start_offset
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return None
    found = yield from log.seek_max_timestamp() if timestamp == MAX_TIMESTAMP else log.seek_timestamp(timestamp)
    if found is None or found.offset >= upto:
        return None
    return found.timestamp, found.offset


def _error(partition: int, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition, error)
