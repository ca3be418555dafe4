"""AlterPartitionReassignments, forwarded to the broker that takes changes of the cluster: v0-1, cut to the cluster's.

Behaviour: as the cluster's. Replicas are the cluster's brokers, whose ids a node's Metadata does not name.
"""

from __future__ import annotations

from shareq.broker.handlers.cluster.alter_partition_reassignments import failed
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.cluster.forward.forwarding import ForwardContext, failure_error
from shareq.cluster.link.ports import LinkFailure
from shareq.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)

__all__ = ["CONTEXT", "failed", "handle"]

CONTEXT = ForwardContext


async def handle(
    ctx: ForwardContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Have the cluster move replicas."""
    if not ctx.may(ALTER_CLUSTER):
        return failed(request, ALTER_CLUSTER.error)
    answer = await ctx.send_to_controller(request, AlterPartitionReassignmentsResponse, timeout_ms=request.timeout_ms)
    return failed(request, failure_error(answer).code) if isinstance(answer, LinkFailure) else answer
