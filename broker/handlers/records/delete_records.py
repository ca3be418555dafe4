"""DeleteRecords: v0-2 (KIP-107).

Behaviour: moves the log start offset, durably before the answer; consumers and share groups follow with their next
fetch. Offset -1 means the high watermark; an offset below the log start changes nothing. The low watermark in the
answer is the log start offset, or -1 with an error. Errors: OFFSET_OUT_OF_RANGE beyond the high watermark,
POLICY_VIOLATION for topics that are only compacted, INVALID_TOPIC_EXCEPTION for the coordinators' topics. If a
partition is named twice, the last offset is used. The request's timeout is not needed, since there are no replicas.
"""

from __future__ import annotations

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.foundation.turn_budget import in_pieces
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

CONTEXT = FolderContext

_NO_LOW_WATERMARK = -1


async def handle(ctx: FolderContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Move the log start offsets."""
    topics: list[DeleteRecordsTopicResult] = []
    cuts: dict[PartitionLog, int] = {}
    rows: list[tuple[DeleteRecordsPartitionResult, PartitionLog]] = []
    for topic, offsets in (await _offsets(ctx, request)).items():
        results: list[DeleteRecordsPartitionResult] = []
        topics.append(DeleteRecordsTopicResult(topic, results))
        may = ctx.may(DELETE_TOPIC, topic)
        for partition, offset in offsets.items():
            found = _deletable(ctx, topic, partition) if may else DELETE_TOPIC.error
            row = DeleteRecordsPartitionResult(partition, _NO_LOW_WATERMARK)
            results.append(row)
            if isinstance(found, PartitionLog):
                cuts[found] = offset
                rows.append((row, found))
            else:
                row.error_code = found
            await ctx.breathe()
        await ctx.give_back(offsets)
    errors = await ctx.ground.logs.truncate_many(cuts)
    for row, log in rows:
        row.error_code = errors[log]
        if not row.error_code:
            row.low_watermark = log.log_start_offset
        await ctx.breathe()
    return DeleteRecordsResponse(topics=topics)


def failed(request: DeleteRecordsRequest, error: ErrorCode) -> DeleteRecordsResponse:
    """Return the answer with the same error for every partition, as often as it is named, as Apache Kafka does."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name,
                [
                    DeleteRecordsPartitionResult(part.partition_index, _NO_LOW_WATERMARK, error)
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def _offsets(ctx: FolderContext, request: DeleteRecordsRequest) -> dict[str, dict[int, int]]:
    """Return the offsets by topic and partition; for a partition named twice, the last one, since it is
    answered once.
    """
    offsets: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        wanted = offsets.setdefault(topic.name, {})
        for some in in_pieces(topic.partitions):
            wanted.update((part.partition_index, part.offset) for part in some)
            await ctx.breathe(1 + len(some))
    return offsets


def _deletable(ctx: FolderContext, topic: str, partition: int) -> PartitionLog | ErrorCode:
    log = ctx.ground.lookup.log(topic, partition)
    if isinstance(log, ErrorCode):
        return log
    if topic in INTERNAL_TOPICS:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if log.settings.compact and not log.settings.delete:
        return ErrorCode.POLICY_VIOLATION
    return log
