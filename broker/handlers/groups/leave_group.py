"""LeaveGroup: v0-5.

Behaviour: every member is handled separately; the remaining ones rebalance once. READ on the group is needed. v3:
several members, static ones by only their instance id; before, one member, whose error is that of the response. v5: a
reason for each member, which is logged.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import READ_GROUP
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

_MEMBERS_FROM = 3


async def handle(ctx: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse:
    if not ctx.may(READ_GROUP, request.group_id):
        return LeaveGroupResponse(error_code=READ_GROUP.error)
    if ctx.api_version >= _MEMBERS_FROM:
        return await ctx.services.groups.classic.leave(request)
    one = LeaveGroupRequest(group_id=request.group_id, members=[MemberIdentity(request.member_id)])
    response = await ctx.services.groups.classic.leave(one)
    errors = [response.error_code, *(member.error_code for member in response.members)]
    return LeaveGroupResponse(error_code=next((error for error in errors if error), 0))
