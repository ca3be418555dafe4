"""ListPartitionReassignments: v0 (KIP-455).

Behaviour: lists the partitions that are being moved to other brokers.

Here: no partition ever moves.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import DESCRIBE_CLUSTER
from shareq.protocol.errors import text_of
from shareq.protocol.generated.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def handle(ctx: RequestContext, _request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    if not ctx.may(DESCRIBE_CLUSTER):
        error = DESCRIBE_CLUSTER.error
        return ListPartitionReassignmentsResponse(error_code=error, error_message=text_of(error))
    return ListPartitionReassignmentsResponse(error_message=None)
