"""DeleteGroups: v0-3.

Behaviour: each group stands alone, and DELETE on it is needed. A group with members is NON_EMPTY_GROUP, an unknown one
GROUP_ID_NOT_FOUND. The share state of a share group goes first; if that fails the group stays, and deleting it again
completes it.
v3: a message for each group, which only Streams groups would have.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, each_in_turns, made_in_turns, pending_in_turns, sorted_in_turns
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.security.rights import DELETE_GROUP
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

TURN_GROUPS: Final = 250
"""So many are deleted in one turn, 10 µs each; more where there are offsets of theirs."""
TURN_REFUSED: Final = 2_000
"""So many that the client may not delete are put in order, or answered, in one turn."""


def handle(ctx: RequestContext, request: DeleteGroupsRequest) -> Pending[DeleteGroupsResponse]:
    refused: set[str] = set()

    def delete(group_id: str) -> Pending[DeletableGroupResult | None]:
        if not ctx.may(DELETE_GROUP, group_id):
            refused.add(group_id)
            return completed(None)
        outcome = ctx.services.groups.administration.delete_group(group_id)
        return outcome.then(lambda outcome: DeletableGroupResult(group_id, outcome.code))

    def respond(results: list[DeletableGroupResult | None]) -> Pending[DeleteGroupsResponse]:
        deleted = [result for result in results if result is not None]
        if not refused:
            return completed(DeleteGroupsResponse(results=deleted))
        return pending_in_turns(ctx, _with_refused(deleted, refused))

    return each_in_turns(ctx, dict.fromkeys(request.groups_names), delete, TURN_GROUPS).chain(respond)


def _with_refused(deleted: list[DeletableGroupResult], refused: set[str]) -> Steps[Pending[DeleteGroupsResponse]]:
    names = yield from sorted_in_turns(refused, TURN_REFUSED)
    rows = yield from made_in_turns(names, lambda name: DeletableGroupResult(name, DELETE_GROUP.error), TURN_REFUSED)
    return completed(DeleteGroupsResponse(results=deleted + rows))


def failed(request: DeleteGroupsRequest, error: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(group_id, error) for group_id in request.groups_names])
