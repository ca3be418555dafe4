"""DescribeGroups: v0-6, of classic groups.

Behaviour: state, protocol and members with their assignments. A group of another kind, or none, is Dead. DESCRIBE on
the group is needed.
v3: authorized operations. v4: instance ids. v6: a group that is Dead has the error GROUP_ID_NOT_FOUND (KIP-1043).
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.security.rights import DESCRIBE_GROUP
from shareq.coordinator.group.classic.describe import classic_group_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse


def handle(ctx: RequestContext, request: DescribeGroupsRequest) -> Pending[DescribeGroupsResponse]:
    hidden = ctx.lacking(DESCRIBE_GROUP, request.groups)
    refused = [
        classic_group_error_entry(group_id, DESCRIBE_GROUP.error) for group_id in request.groups if group_id in hidden
    ]
    asked = [group_id for group_id in request.groups if group_id not in hidden]

    def respond(groups: list[DescribedGroup]) -> DescribeGroupsResponse:
        if request.include_authorized_operations:
            authorized_operations.fill_in_group_operations(ctx, groups)
        return DescribeGroupsResponse(groups=refused + groups)

    return ctx.services.groups.classic.describe(asked, ctx.api_version).then(respond)


def failed(request: DescribeGroupsRequest, error: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[classic_group_error_entry(group_id, error) for group_id in request.groups])
