"""DeleteRecords: v0-2 (KIP-107).

Behaviour: the log start offset moves, durably before the answer, and with it every reader: share groups follow when
they next read. Offset -1 stands for the high watermark; below the log start nothing happens. The low watermark in the
answer is the log start, -1 with an error: OFFSET_OUT_OF_RANGE beyond the high watermark, POLICY_VIOLATION for topics
that are only compacted, INVALID_TOPIC_EXCEPTION for the coordinators' topics. Of a partition named twice the last
offset counts. The timeout is for replicas, of which there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import emptied
from shareq.broker.dispatch.parts import Parts, in_parts
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.broker.security.rights import DELETE_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

_NO_LOW_WATERMARK = -1


TURN_PARTITIONS: Final = 1_000
"""So many are looked at in one turn of the loop; a topic counts as one more."""


def handle(ctx: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse | Parts:
    """Cut the logs."""
    return in_parts(DeleteRecordsResponse(), "topics", _parts(ctx, request))


def _parts(ctx: RequestContext, request: DeleteRecordsRequest) -> Iterator[list[DeleteRecordsTopicResult]]:
    """The topics; parts before the last one are empty, so that others have their turns."""
    offsets: dict[str, dict[int, int]] = {}
    looked_at = 0
    for named in request.topics:
        wanted = offsets.setdefault(named.name, {})
        looked_at += 1
        for part in named.partitions:
            wanted[part.partition_index] = part.offset
            looked_at += 1
            if looked_at >= TURN_PARTITIONS:
                yield []
                looked_at = 0
    topics: list[DeleteRecordsTopicResult] = []
    cuts: dict[PartitionLog, int] = {}
    rows: list[tuple[DeleteRecordsPartitionResult, PartitionLog]] = []
    for topic, wanted in offsets.items():
        results: list[DeleteRecordsPartitionResult] = []
        topics.append(DeleteRecordsTopicResult(topic, results))
        hidden = not ctx.may(DELETE_TOPIC, topic)
        looked_at += 1
        for partition, offset in wanted.items():
            found = DELETE_TOPIC.error if hidden else _deletable(ctx, topic, partition)
            row = DeleteRecordsPartitionResult(partition, _NO_LOW_WATERMARK)
            results.append(row)
            if isinstance(found, PartitionLog):
                cuts[found] = offset
                rows.append((row, found))
            else:
                row.error_code = found
            looked_at += 1
            if looked_at >= TURN_PARTITIONS:
                yield []
                looked_at = 0
    for _ in _cut(ctx, cuts, rows):
        yield []
    yield from _of_so_many(topics)
    if len(offsets) > TURN_PARTITIONS:
        for _ in emptied(offsets):
            yield []


def _cut(
    ctx: RequestContext, cuts: dict[PartitionLog, int], rows: list[tuple[DeleteRecordsPartitionResult, PartitionLog]]
) -> Iterator[None]:
    """Cut the logs, some in a turn, and fill in the rows."""
    errors = yield from ctx.services.logs.truncate_in_turns(cuts)
    for row, log in rows:
        row.error_code = errors[log]
        if not errors[log]:
            row.low_watermark = log.log_start_offset


def _of_so_many(topics: list[DeleteRecordsTopicResult]) -> Iterator[list[DeleteRecordsTopicResult]]:
    """In parts of about `TURN_PARTITIONS` partitions, with which they are given away; a topic is never in two."""
    part: list[DeleteRecordsTopicResult] = []
    rows = 0
    topics.reverse()
    while topics:
        topic = topics.pop()
        part.append(topic)
        rows += 1 + len(topic.partitions)
        if rows >= TURN_PARTITIONS:
            yield part
            part, rows = [], 0
    if part:
        yield part


def failed(request: DeleteRecordsRequest, error: ErrorCode) -> DeleteRecordsResponse:
    """The same for every partition."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic, [DeleteRecordsPartitionResult(partition, _NO_LOW_WATERMARK, error) for partition in partitions]
            )
            for topic, partitions in _offsets(request).items()
        ]
    )


def _offsets(request: DeleteRecordsRequest) -> dict[str, dict[int, int]]:
    """By topic and partition; in the answer each of them comes once."""
    offsets: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets.setdefault(topic.name, {}).update((part.partition_index, part.offset) for part in topic.partitions)
    return offsets


def _deletable(ctx: RequestContext, topic: str, partition: int) -> PartitionLog | ErrorCode:
    log = ctx.services.lookup.log(topic, partition)
    if isinstance(log, ErrorCode):
        return log
    if topic in INTERNAL_TOPICS:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if log.settings.compact and not log.settings.delete:
        return ErrorCode.POLICY_VIOLATION
    return log
