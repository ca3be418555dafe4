"""ListGroups, forwarded to all brokers, with a node's own groups: v0-5.

Behaviour: each node lists a part of the cluster's groups.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.handlers.groups import list_groups
from shareq.broker.security.rights import DESCRIBE_CLUSTER, DESCRIBE_GROUP
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse

CONTEXT = ForwardContext
_CLASSIC: Final = "classic"
_STATES_FROM: Final = 4


async def handle(ctx: ForwardContext, request: ListGroupsRequest) -> ListGroupsResponse:
    """List the node's groups and the cluster's."""
    response = await list_groups.handle(ctx, request)
    types = {each.lower() for each in request.types_filter}
    asked = ListGroupsRequest(request.states_filter)  # types are filtered here, whatever a broker knows of them
    see_all = ctx.sees(DESCRIBE_CLUSTER)
    lowest = _STATES_FROM if request.states_filter else 0
    for answer in await ctx.ask_all(asked, ListGroupsResponse, lowest=lowest):
        if isinstance(answer, ErrorCode):
            response.error_code = response.error_code or answer
            continue
        response.error_code = response.error_code or error_of(answer.error_code)
        for group in answer.groups:
            group.group_type = group.group_type or _CLASSIC
            is_asked_for = not types or group.group_type.lower() in types
            is_here = ctx.lists(group.group_id) and not ctx.is_nodes(group.group_id)
            if is_asked_for and is_here and (see_all or ctx.sees(DESCRIBE_GROUP, group.group_id)):
                response.groups.append(group)
            await ctx.breathe()
    return response
