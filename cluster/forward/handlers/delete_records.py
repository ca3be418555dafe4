"""DeleteRecords, forwarded to the leaders of the partitions: v0-2, cut to the cluster's.

Behaviour: as the cluster's. Records of a node's own topics are not deleted for clients: INVALID_TOPIC_EXCEPTION.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shareq.broker.security.rights import DELETE_TOPIC
from shareq.cluster.forward.forwarding import ForwardContext, Place, is_hidden
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)

CONTEXT = ForwardContext
_NO_LOW_WATERMARK: Final = -1


async def handle(ctx: ForwardContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Have the leaders delete records. A partition that is named more than once gets the last offset, and one row."""
    offsets: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        wanted = offsets.setdefault(topic.name, {})
        for part in topic.partitions:
            wanted[part.partition_index] = part.offset
            await ctx.breathe()
    refused = {name: error for name in offsets if (error := _refusal(ctx, name))}

    def ask(asked: Mapping[str, Sequence[int]]) -> DeleteRecordsRequest:
        topics = [
            DeleteRecordsTopic(name, [DeleteRecordsPartition(index, offsets[name][index]) for index in partitions])
            for name, partitions in asked.items()
        ]
        return DeleteRecordsRequest(topics, request.timeout_ms)

    places = [(name, index) for name, wanted in offsets.items() if name not in refused for index in wanted]
    found = await ctx.ask_leaders(places, ask, DeleteRecordsResponse, _rows, timeout_ms=request.timeout_ms)
    response = DeleteRecordsResponse()
    for name, wanted in offsets.items():
        rows = [_row(index, refused.get(name) or found[name, index]) for index in wanted]
        for row in rows:
            if not row.error_code:
                ctx.forwarding.begins_at(name, row.partition_index, row.low_watermark)
        response.topics.append(DeleteRecordsTopicResult(name, rows))
        await ctx.breathe(1 + len(rows))
    return response


def failed(request: DeleteRecordsRequest, error: ErrorCode) -> DeleteRecordsResponse:
    """Return one error for every partition."""
    named: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        named.setdefault(topic.name, {}).update((part.partition_index, None) for part in topic.partitions)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(name, [_row(index, error) for index in partitions])
            for name, partitions in named.items()
        ]
    )


def _refusal(ctx: ForwardContext, topic: str) -> ErrorCode:
    if not ctx.may(DELETE_TOPIC, topic):
        return DELETE_TOPIC.error
    return ErrorCode.INVALID_TOPIC_EXCEPTION if is_hidden(topic) else ErrorCode.NONE


def _rows(answer: DeleteRecordsResponse) -> Iterator[tuple[Place, DeleteRecordsPartitionResult]]:
    for topic in answer.topics:
        for row in topic.partitions:
            yield (topic.name, row.partition_index), row


def _row(partition: int, found: DeleteRecordsPartitionResult | ApiError | ErrorCode) -> DeleteRecordsPartitionResult:
    if isinstance(found, DeleteRecordsPartitionResult):
        return found
    return DeleteRecordsPartitionResult(
        partition, _NO_LOW_WATERMARK, found.code if isinstance(found, ApiError) else found
    )
