"""ElectLeaders: v0-2 (KIP-460).

Behaviour: null means all partitions; the answer then lists the topics without partitions, since none needs an election.
v1: unclean elections, which are never needed either, and a top-level error code: INVALID_REQUEST for an unknown
election type.

Here: ELECTION_NOT_NEEDED for each partition that exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.generated.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)

_ELECTION_TYPES = (0, 1)  # preferred, unclean


async def handle(ctx: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    if not ctx.may(ALTER_CLUSTER):
        return await _refused(ctx, request, ApiError(ALTER_CLUSTER.error, text_of(ALTER_CLUSTER.error)))
    if request.election_type not in _ELECTION_TYPES:
        message = f"Unknown election type {request.election_type}"
        return await _refused(ctx, request, ApiError(ErrorCode.INVALID_REQUEST, message))
    if request.topic_partitions is None:
        results = [ReplicaElectionResult(topic.name) for topic in ctx.services.metadata.topics()]
        return ElectLeadersResponse(replica_election_results=results)
    return await _answer(ctx, request.topic_partitions, partial(_not_elected, ctx))


async def _answer(
    ctx: RequestContext,
    topics: Sequence[TopicPartitions],
    why: Callable[[str, int], ApiError],
    top_level: ErrorCode = ErrorCode.NONE,
) -> ElectLeadersResponse:
    """Return the answer. `why` returns the error of a partition, from its topic and number."""
    response = ElectLeadersResponse(error_code=top_level)
    for topic in topics:
        rows: list[PartitionResult] = []
        response.replica_election_results.append(ReplicaElectionResult(topic.topic, rows))
        for each in topic.partitions:
            error = why(topic.topic, each)
            rows.append(PartitionResult(each, error.code, error.message))
            await ctx.breathe()
        await ctx.breathe()
    return response


def failed(request: ElectLeadersRequest, error: ErrorCode) -> ElectLeadersResponse:
    """Return the answer with the same error for every partition; version 0 has no top-level error."""
    return ElectLeadersResponse(replica_election_results=_rows(request, ApiError(error, text_of(error))))


async def _refused(ctx: RequestContext, request: ElectLeadersRequest, error: ApiError) -> ElectLeadersResponse:
    top_level = error.code if ctx.api_version >= 1 else ErrorCode.NONE
    return await _answer(ctx, request.topic_partitions or (), lambda _name, _partition: error, top_level)


def _rows(request: ElectLeadersRequest, error: ApiError) -> list[ReplicaElectionResult]:
    return [
        ReplicaElectionResult(
            topic.topic, [PartitionResult(each, error.code, error.message) for each in topic.partitions]
        )
        for topic in request.topic_partitions or ()
    ]


def _not_elected(ctx: RequestContext, name: str, partition: int) -> ApiError:
    topic = ctx.services.metadata.topic(name)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'")
    if not 0 <= partition < topic.partitions:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {partition} of topic '{name}'")
    return ApiError(ErrorCode.ELECTION_NOT_NEEDED, text_of(ErrorCode.ELECTION_NOT_NEEDED))
