"""DeleteGroups: v0-3.

Behaviour: each group stands alone, and DELETE on it is needed. A group with members is NON_EMPTY_GROUP, an unknown one
GROUP_ID_NOT_FOUND. The share state of a share group goes first; if that fails the group stays, and deleting it again
completes it.
v3: a message for each group, which only Streams groups would have.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending, gather
from shareq.broker.security.rights import DELETE_GROUP
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


def handle(ctx: RequestContext, request: DeleteGroupsRequest) -> Pending[DeleteGroupsResponse]:
    group_ids = list(dict.fromkeys(request.groups_names))
    refused = ctx.lacking(DELETE_GROUP, group_ids)
    group_ids = [group_id for group_id in group_ids if group_id not in refused]
    outcomes = gather([ctx.services.groups.administration.delete_group(group_id) for group_id in group_ids])

    def respond(outcomes: list[ApiError]) -> DeleteGroupsResponse:
        results = [
            DeletableGroupResult(group_id, outcome.code) for group_id, outcome in zip(group_ids, outcomes, strict=True)
        ]
        results += [DeletableGroupResult(group_id, DELETE_GROUP.error) for group_id in sorted(refused)]
        return DeleteGroupsResponse(results=results)

    return outcomes.then(respond)


def failed(request: DeleteGroupsRequest, error: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(group_id, error) for group_id in request.groups_names])
