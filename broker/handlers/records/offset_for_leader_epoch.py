"""OffsetForLeaderEpoch: v2-4 (KIP-320).

Behaviour: the end offset of the newest epoch not above the one asked for; epoch and offset -1 when there is none. One
broker has one epoch, so that is the log's end or nothing.
v3: replica id, ignored.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import CLUSTER_ACTION, DESCRIBE_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def handle(ctx: RequestContext, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """Look every partition's epoch up."""
    hidden = set() if ctx.sees(CLUSTER_ACTION) else ctx.lacking(DESCRIBE_TOPIC, (each.topic for each in request.topics))
    refused = failed(
        OffsetForLeaderEpochRequest(topics=[each for each in request.topics if each.topic in hidden]),
        DESCRIBE_TOPIC.error,
    )
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(topic.topic, [_end_offset(ctx, topic.topic, part) for part in topic.partitions])
            for topic in request.topics
            if topic.topic not in hidden
        ]
        + refused.topics
    )


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
