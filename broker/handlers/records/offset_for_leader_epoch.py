"""OffsetForLeaderEpoch: v2-4 (KIP-320).

Behaviour: the end offset of the newest epoch not above the one asked for; epoch and offset -1 when there is none. One
broker has one epoch, so that is the log's end or nothing.
v3: replica id, ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.parts import Parts, in_order, in_parts
from shareq.broker.security.rights import CLUSTER_ACTION, DESCRIBE_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

TURN_PARTITIONS: Final = 500
"""So many are looked up in one turn of the loop; a topic counts as one more. 20 µs each where logs are opened."""


def handle(ctx: RequestContext, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse | Parts:
    """Look every partition's epoch up."""
    return in_parts(OffsetForLeaderEpochResponse(), "topics", _parts(ctx, request))


def _parts(ctx: RequestContext, request: OffsetForLeaderEpochRequest) -> Iterator[list[OffsetForLeaderTopicResult]]:
    """The topics, those that the client may see first. Some parts are empty: others may have their turn."""
    sees_all = ctx.sees(CLUSTER_ACTION)
    seen: dict[str, bool] = {}
    rows: list[OffsetForLeaderTopicResult] = []
    hidden: list[OffsetForLeaderTopicResult] = []
    looked_at = 0
    for topic in request.topics:
        name = topic.topic
        may = sees_all or seen.get(name)
        if may is None:
            may = seen[name] = ctx.may(DESCRIBE_TOPIC, name)
        results: list[EpochEndOffset] = []
        for part in topic.partitions:
            if looked_at >= TURN_PARTITIONS:
                yield rows
                rows, looked_at = [], 0
            results.append(
                _end_offset(ctx, name, part) if may else EpochEndOffset(DESCRIBE_TOPIC.error, part.partition)
            )
            looked_at += 1
        (rows if may else hidden).append(OffsetForLeaderTopicResult(name, results))
        looked_at += 1
    yield from in_order(rows, hidden, TURN_PARTITIONS)


def failed(request: OffsetForLeaderEpochRequest, error: ErrorCode) -> OffsetForLeaderEpochResponse:
    """The answer when the request could not be handled."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic.topic, [EpochEndOffset(error, part.partition) for part in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _end_offset(ctx: RequestContext, topic: str, part: OffsetForLeaderPartition) -> EpochEndOffset:
    log = ctx.services.lookup.log(topic, part.partition, part.current_leader_epoch)
    if isinstance(log, ErrorCode):
        return EpochEndOffset(log, part.partition)
    if part.leader_epoch != log.leader_epoch:
        return EpochEndOffset(ErrorCode.NONE, part.partition)
    return EpochEndOffset(ErrorCode.NONE, part.partition, log.leader_epoch, log.high_watermark)
