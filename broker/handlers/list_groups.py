"""ListGroups: v0-5.

Behaviour: the groups of every kind that this broker coordinates; filters disregard case, an empty one lets all pass.
v4: states. v5: types; share groups are listed in every version, and only here can be told by their type.
"""

from __future__ import annotations

from shareq.broker.context import RequestContext
from shareq.broker.handlers import VersionRange
from shareq.broker.pending import Pending
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse

VERSIONS = VersionRange(0, 5)


def handle(ctx: RequestContext, request: ListGroupsRequest) -> Pending[ListGroupsResponse]:
    listed = ctx.broker.group_administration.list_groups(request.states_filter, request.types_filter)
    return listed.then(lambda listed: ListGroupsResponse(error_code=listed.error, groups=list(listed.groups)))
