"""ListPartitionReassignments, forwarded to the broker that takes changes of the cluster: v0.

Behaviour: as the cluster's, without a node's own topics.
"""

from __future__ import annotations

from shareq.broker.security.rights import DESCRIBE_CLUSTER
from shareq.cluster.forward.forwarding import ForwardContext, failure_error, is_hidden
from shareq.cluster.link.ports import LinkFailure
from shareq.protocol.errors import text_of
from shareq.protocol.generated.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

CONTEXT = ForwardContext


async def handle(ctx: ForwardContext, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    """List the reassignments that are under way in the cluster."""
    if not ctx.may(DESCRIBE_CLUSTER):
        error = DESCRIBE_CLUSTER.error
        return ListPartitionReassignmentsResponse(error_code=error, error_message=text_of(error))
    answer = await ctx.send_to_controller(request, ListPartitionReassignmentsResponse, timeout_ms=request.timeout_ms)
    if isinstance(answer, LinkFailure):
        return ListPartitionReassignmentsResponse(error_code=failure_error(answer).code, error_message=answer.text)
    answer.topics = [topic for topic in answer.topics if not is_hidden(topic.name)]
    return answer
