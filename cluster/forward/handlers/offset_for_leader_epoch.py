"""OffsetForLeaderEpoch, forwarded to the leaders of the partitions: v2-4, cut to the cluster's.

Behaviour: as the cluster's. The leader's epoch in the request, which is a node's, is not forwarded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shareq.broker.security.rights import CLUSTER_ACTION, DESCRIBE_TOPIC
from shareq.cluster.forward.forwarding import ForwardContext, Place
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)

CONTEXT = ForwardContext
_NOT_CHECKED: Final = -1


async def handle(ctx: ForwardContext, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """Ask the leaders of all partitions whose topics the client may see."""
    epochs: dict[Place, int] = {}
    refused: dict[str, ErrorCode] = {}
    sees_all = ctx.sees(CLUSTER_ACTION)
    for topic in request.topics:
        if error := ctx.refusal(DESCRIBE_TOPIC, topic.topic, may_all=sees_all):
            refused[topic.topic] = error
        else:
            for part in topic.partitions:
                epochs[topic.topic, part.partition] = part.leader_epoch
                await ctx.breathe()

    def ask(asked: Mapping[str, Sequence[int]]) -> OffsetForLeaderEpochRequest:
        return OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderTopic(
                    name, [OffsetForLeaderPartition(index, _NOT_CHECKED, epochs[name, index]) for index in partitions]
                )
                for name, partitions in asked.items()
            ]
        )

    found = await ctx.ask_leaders(epochs, ask, OffsetForLeaderEpochResponse, _rows)
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        rows = [
            _row(part.partition, refused.get(topic.topic) or found[topic.topic, part.partition])
            for part in topic.partitions
        ]
        response.topics.append(OffsetForLeaderTopicResult(topic.topic, rows))
        await ctx.breathe(1 + len(rows))
    return response


def failed(request: OffsetForLeaderEpochRequest, error: ErrorCode) -> OffsetForLeaderEpochResponse:
    """Return the answer when the request could not be handled."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(topic.topic, [_row(part.partition, error) for part in topic.partitions])
            for topic in request.topics
        ]
    )


def _rows(answer: OffsetForLeaderEpochResponse) -> Iterator[tuple[Place, EpochEndOffset]]:
    for topic in answer.topics:
        for row in topic.partitions:
            yield (topic.topic, row.partition), row


def _row(partition: int, found: EpochEndOffset | ApiError | ErrorCode) -> EpochEndOffset:
    if isinstance(found, ApiError):
        return EpochEndOffset(found.code, partition)
    return EpochEndOffset(found, partition) if isinstance(found, ErrorCode) else found
