"""DescribeProducers, forwarded to the leaders of the partitions: v0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shareq.broker.security.rights import READ_TOPIC
from shareq.cluster.forward.forwarding import ForwardContext, Place
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.generated.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
    TopicResponse,
)

CONTEXT = ForwardContext


async def handle(ctx: ForwardContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    """Ask the leaders of all partitions whose topics the client may read."""
    places: list[Place] = []
    refused: dict[str, ErrorCode] = {}
    for topic in request.topics:
        if error := ctx.refusal(READ_TOPIC, topic.name):
            refused[topic.name] = error
        else:
            places += [(topic.name, index) for index in topic.partition_indexes]
        await ctx.breathe(1 + len(topic.partition_indexes))
    found = await ctx.ask_leaders(places, _ask, DescribeProducersResponse, _rows)
    response = DescribeProducersResponse()
    for topic in request.topics:
        rows = [_row(index, refused.get(topic.name) or found[topic.name, index]) for index in topic.partition_indexes]
        response.topics.append(TopicResponse(topic.name, rows))
        await ctx.breathe(1 + len(rows))
    return response


def failed(request: DescribeProducersRequest, error: ErrorCode) -> DescribeProducersResponse:
    """Return the answer when the request could not be handled."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(topic.name, [_row(index, error) for index in topic.partition_indexes])
            for topic in request.topics
        ]
    )


def _ask(asked: Mapping[str, Sequence[int]]) -> DescribeProducersRequest:
    return DescribeProducersRequest([TopicRequest(name, list(partitions)) for name, partitions in asked.items()])


def _rows(answer: DescribeProducersResponse) -> Iterator[tuple[Place, PartitionResponse]]:
    for topic in answer.topics:
        for row in topic.partitions:
            yield (topic.name, row.partition_index), row


def _row(partition: int, found: PartitionResponse | ApiError | ErrorCode) -> PartitionResponse:
    if isinstance(found, PartitionResponse):
        return found
    error = ApiError(found, text_of(found)) if isinstance(found, ErrorCode) else found
    return PartitionResponse(partition, error.code, error.message)
