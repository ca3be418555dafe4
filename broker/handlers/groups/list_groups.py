"""ListGroups: v0-5.

Behaviour: returns the groups of every kind that this broker coordinates. Filters ignore case; an empty filter matches
all groups. v4: states. v5: types. Share groups are listed in every version, but only v5 shows their type.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import DESCRIBE_CLUSTER, DESCRIBE_GROUP
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse


async def handle(ctx: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    listed = await ctx.services.groups.administration.list_groups(request.states_filter, request.types_filter)
    see_all = ctx.sees(DESCRIBE_CLUSTER)
    response = ListGroupsResponse(error_code=listed.error)
    for group in listed.groups:
        if see_all or ctx.sees(DESCRIBE_GROUP, group.group_id):
            response.groups.append(group)
        await ctx.breathe()
    return response
