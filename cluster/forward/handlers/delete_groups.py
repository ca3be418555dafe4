"""DeleteGroups, forwarded except for a node's own groups: v0-3.

Behaviour: a group that the nodes do not have is deleted by its coordinator in the cluster.
"""

from __future__ import annotations

from shareq.broker.handlers.groups import delete_groups
from shareq.cluster.forward.coordinators import Kind
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

CONTEXT = ForwardContext
failed = delete_groups.failed


async def handle(ctx: ForwardContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """Delete the nodes' groups, then the cluster's, one after the other."""
    response = await delete_groups.handle(ctx, request)
    for at, row in enumerate(response.results):
        if row.error_code == ErrorCode.GROUP_ID_NOT_FOUND and not ctx.is_nodes(row.group_id):
            response.results[at] = await _deleted(ctx, row.group_id)
        await ctx.breathe()
    return response


async def _deleted(ctx: ForwardContext, group_id: str) -> DeletableGroupResult:
    request = DeleteGroupsRequest([group_id])
    answer = await ctx.ask_coordinator(Kind.GROUP, group_id, request, DeleteGroupsResponse, lowest=0)
    rows = failed(request, answer).results if isinstance(answer, ErrorCode) else answer.results
    return rows[0] if rows else DeletableGroupResult(group_id, ErrorCode.UNKNOWN_SERVER_ERROR)
