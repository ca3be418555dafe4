"""ElectLeaders: v0-2 (KIP-460).

Behaviour: this broker leads every partition and is its preferred leader, so ELECTION_NOT_NEEDED is the answer for each
that exists. Null stands for all partitions; then those are left out, and topics stay without any.
v1: unclean elections, which are not needed either, and a top-level error code: INVALID_REQUEST for an election type
that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, TurnCount, in_turns
from shareq.broker.foundation.pending import Pending
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


TURN_PARTITIONS: Final = 1_000
"""So many are looked at in one turn, 2 µs each; a topic counts as one more."""


def handle(ctx: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse | Pending[ElectLeadersResponse]:
    if not ctx.may(ALTER_CLUSTER):
        return _refused(ctx, request, ApiError(ALTER_CLUSTER.error, text_of(ALTER_CLUSTER.error)))
    if request.election_type not in _ELECTION_TYPES:
        message = f"Unknown election type {request.election_type}"
        return _refused(ctx, request, ApiError(ErrorCode.INVALID_REQUEST, message))
    if request.topic_partitions is None:
        results = [ReplicaElectionResult(topic.name) for topic in ctx.services.metadata.topics()]
        return ElectLeadersResponse(replica_election_results=results)
    return in_turns(ctx, _steps(request.topic_partitions, lambda name, each: _not_elected(ctx, name, each)))


def _steps(
    topics: Sequence[TopicPartitions], why: Callable[[str, int], ApiError], top_level: ErrorCode = ErrorCode.NONE
) -> Steps[ElectLeadersResponse]:
    """The answer; `why` returns the error of a topic's partition."""
    results = []
    turn = TurnCount(TURN_PARTITIONS)
    for topic in topics:
        rows: list[PartitionResult] = []
        results.append(ReplicaElectionResult(topic.topic, rows))
        for each in topic.partitions:
            error = why(topic.topic, each)
            rows.append(PartitionResult(each, error.code, error.message))
            if turn.full():
                yield
        if turn.full():
            yield
    return ElectLeadersResponse(error_code=top_level, replica_election_results=results)


def failed(request: ElectLeadersRequest, error: ErrorCode) -> ElectLeadersResponse:
    """The same for every partition: the first version has no place for more."""
    return ElectLeadersResponse(replica_election_results=_rows(request, ApiError(error, text_of(error))))


def _refused(
    ctx: RequestContext, request: ElectLeadersRequest, error: ApiError
) -> ElectLeadersResponse | Pending[ElectLeadersResponse]:
    top_level = error.code if ctx.api_version >= 1 else ErrorCode.NONE
    return in_turns(ctx, _steps(request.topic_partitions or (), lambda _name, _partition: error, top_level))


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
