"""DeleteGroups: v0-3.

Behaviour: every group is handled separately. DELETE on it is needed. A group with members gets NON_EMPTY_GROUP, an
unknown one GROUP_ID_NOT_FOUND. The share state of a share group is deleted first; if that fails the group stays, and
deleting it again completes the deletion. v3: a message for each group, which only Streams groups would have.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import DELETE_GROUP
from shareq.coordinator.group.share.change_plans import DeleteGroupPlan
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


async def handle(ctx: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    administration = ctx.services.groups.administration
    allowed: list[str] = []
    refused: list[str] = []
    begun: list[Pending[DeleteGroupPlan | ApiError]] = []
    for group_id in dict.fromkeys(request.groups_names):
        if ctx.may(DELETE_GROUP, group_id):
            begun.append(administration.begin_delete_group(group_id))
            allowed.append(group_id)
        else:
            refused.append(group_id)
        await ctx.breathe()
    outcomes = await administration.finish_delete_groups(allowed, begun)
    response = DeleteGroupsResponse()
    for group_id, outcome in zip(allowed, outcomes, strict=True):
        response.results.append(DeletableGroupResult(group_id, outcome.code))
        await ctx.breathe()
    for group_id in refused:
        response.results.append(DeletableGroupResult(group_id, DELETE_GROUP.error))
        await ctx.breathe()
    return response


def failed(request: DeleteGroupsRequest, error: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(group_id, error) for group_id in request.groups_names])
