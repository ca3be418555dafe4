"""ListOffsets, forwarded to the leaders of the partitions: v1-11, cut to the cluster's.

Behaviour: as the cluster's. Leader epochs of requests are not passed on, and answers have none, since a node's epochs
differ from the cluster's. A partition that is named twice gets the same answer twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shareq.broker.security.rights import DESCRIBE_TOPIC
from shareq.cluster.forward.forwarding import ForwardContext, Place
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)

CONTEXT = ForwardContext
_NO_EPOCH: Final = -1


async def handle(ctx: ForwardContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Ask the leaders of all partitions whose topics the client may see."""
    times: dict[Place, int] = {}
    refused: dict[str, ErrorCode] = {}
    for topic in request.topics:
        if error := ctx.refusal(DESCRIBE_TOPIC, topic.name):
            refused[topic.name] = error
        else:
            for part in topic.partitions:
                times[topic.name, part.partition_index] = part.timestamp
                await ctx.breathe()

    def ask(asked: Mapping[str, Sequence[int]]) -> ListOffsetsRequest:
        topics = [
            ListOffsetsTopic(name, [ListOffsetsPartition(index, _NO_EPOCH, times[name, index]) for index in partitions])
            for name, partitions in asked.items()
        ]
        return ListOffsetsRequest(-1, request.isolation_level, topics, request.timeout_ms)

    found = await ctx.ask_leaders(times, ask, ListOffsetsResponse, _rows)
    response = ListOffsetsResponse()
    for topic in request.topics:
        rows = [
            _row(part.partition_index, refused.get(topic.name) or found[topic.name, part.partition_index])
            for part in topic.partitions
        ]
        response.topics.append(ListOffsetsTopicResponse(topic.name, rows))
        await ctx.breathe(1 + len(rows))
    return response


def failed(request: ListOffsetsRequest, error: ErrorCode) -> ListOffsetsResponse:
    """Return the answer when the request could not be handled."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(topic.name, [_row(part.partition_index, error) for part in topic.partitions])
            for topic in request.topics
        ]
    )


def _rows(answer: ListOffsetsResponse) -> Iterator[tuple[Place, ListOffsetsPartitionResponse]]:
    for topic in answer.topics:
        for row in topic.partitions:
            yield (topic.name, row.partition_index), row


def _row(partition: int, found: ListOffsetsPartitionResponse | ApiError | ErrorCode) -> ListOffsetsPartitionResponse:
    if isinstance(found, ApiError):
        return ListOffsetsPartitionResponse(partition, found.code)
    if isinstance(found, ErrorCode):
        return ListOffsetsPartitionResponse(partition, found)
    return ListOffsetsPartitionResponse(partition, found.error_code, found.timestamp, found.offset, _NO_EPOCH)
