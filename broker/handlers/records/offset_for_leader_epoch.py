"""OffsetForLeaderEpoch: v2-4 (KIP-320).

Behaviour: returns the latest epoch that is not above the requested one, and its end offset; both are -1 if there is
none. v3: replica id, ignored.

Here: a single broker has only one epoch, so the offset is the log's end or -1.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.dispatch.rows import Rows
from shareq.broker.security.rights import CLUSTER_ACTION, DESCRIBE_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

CONTEXT = FolderContext


_LOG_ELEMENTS: Final = 3  # the elements that a partition counts as: 20 µs if its log has to be opened


async def handle(
    ctx: FolderContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse | Rows[OffsetForLeaderEpochResponse]:
    """Return the epoch and end offset of every partition. Topics that the client may see come first."""
    rows = Rows(ctx, OffsetForLeaderEpochResponse(), "topics")
    hidden: list[OffsetForLeaderTopicResult] = []
    sees_all = ctx.sees(CLUSTER_ACTION)
    seen: dict[str, bool] = {}
    for topic in request.topics:
        name = topic.topic
        may = sees_all or seen.get(name)
        if may is None:
            may = seen[name] = ctx.may(DESCRIBE_TOPIC, name)
        results: list[EpochEndOffset] = []
        for part in topic.partitions:
            results.append(
                _end_offset(ctx, name, part) if may else EpochEndOffset(DESCRIBE_TOPIC.error, part.partition)
            )
            await ctx.breathe(_LOG_ELEMENTS if may else 1)
        row = OffsetForLeaderTopicResult(name, results)
        if may:
            await rows.add(row)
        else:
            hidden.append(row)
            await rows.breathe()
    for row in hidden:
        await rows.add(row, 1 + len(row.partitions))
    return await rows.end()


def failed(request: OffsetForLeaderEpochRequest, error: ErrorCode) -> OffsetForLeaderEpochResponse:
    """Return the answer with the same error for every partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic.topic, [EpochEndOffset(error, part.partition) for part in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _end_offset(ctx: FolderContext, topic: str, part: OffsetForLeaderPartition) -> EpochEndOffset:
    log = ctx.ground.lookup.log(topic, part.partition, part.current_leader_epoch)
    if isinstance(log, ErrorCode):
        return EpochEndOffset(log, part.partition)
    if part.leader_epoch != log.leader_epoch:
        return EpochEndOffset(ErrorCode.NONE, part.partition)
    return EpochEndOffset(ErrorCode.NONE, part.partition, log.leader_epoch, log.high_watermark)
