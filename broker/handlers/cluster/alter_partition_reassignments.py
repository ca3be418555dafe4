"""AlterPartitionReassignments: v0-1 (KIP-455).

Behaviour: every partition is handled separately. v1: AllowReplicationFactorChange (KIP-860), which has no effect here,
since every possible target has one replica.

Here: a move to this broker succeeds at once; any other target gets INVALID_REPLICA_ASSIGNMENT. Null, which cancels a
move, gets NO_REASSIGNMENT_IN_PROGRESS.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


async def handle(
    ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    if not ctx.may(ALTER_CLUSTER):
        return failed(request, ALTER_CLUSTER.error)
    topics = []
    for topic in request.topics:
        rows = []
        for part in topic.partitions:
            error = _reassign(ctx, topic.name, part)
            rows.append(ReassignablePartitionResponse(part.partition_index, error.code, error.message))
            await ctx.breathe()
        topics.append(ReassignableTopicResponse(topic.name, rows))
        await ctx.breathe()
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=topics,
    )


def failed(request: AlterPartitionReassignmentsRequest, error: ErrorCode) -> AlterPartitionReassignmentsResponse:
    """Return the answer with the same error for the request and every partition."""
    message = text_of(error)
    topics = [
        ReassignableTopicResponse(
            topic.name,
            [ReassignablePartitionResponse(part.partition_index, error, message) for part in topic.partitions],
        )
        for topic in request.topics
    ]
    return AlterPartitionReassignmentsResponse(error_code=error, error_message=message, responses=topics)


def _reassign(ctx: RequestContext, name: str, target: ReassignablePartition) -> ApiError:
    topic = ctx.services.metadata.topic(name)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'")
    if not 0 <= target.partition_index < topic.partitions:
        message = f"There is no partition {target.partition_index} of topic '{name}'"
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    if target.replicas is None:
        return ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, text_of(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS))
    node_id = ctx.services.started_with.node_id
    if target.replicas == [node_id]:
        return NO_ERROR
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, _wrong_assignment(target.replicas, node_id))


def _wrong_assignment(replicas: list[int], node_id: int) -> str:
    if not replicas:
        return "The list of replicas is empty"
    others = [each for each in replicas if each != node_id]
    if others:
        return f"There is no broker {min(others)}"
    return f"Broker {node_id} is named more than once"
