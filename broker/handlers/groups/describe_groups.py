"""DescribeGroups: v0-6, of classic groups.

Behaviour: returns the state, protocol and members of each group, with their assignments. An unknown group, or one of
another kind, has the state Dead. DESCRIBE on the group is needed. v3: authorized operations. v4: instance ids. v6: a
group that is Dead has the error GROUP_ID_NOT_FOUND (KIP-1043).
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.handlers.shared.group_descriptions import described_groups
from shareq.coordinator.group.classic.describe import classic_group_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse


async def handle(ctx: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    classic = ctx.services.groups.classic
    groups = await described_groups(
        ctx,
        request.groups,
        lambda group_id: classic.describe(group_id, ctx.api_version),
        classic_group_error_entry,
        lambda _group: (),
        with_operations=request.include_authorized_operations,
    )
    return DescribeGroupsResponse(groups=groups)


def failed(request: DescribeGroupsRequest, error: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[classic_group_error_entry(group_id, error) for group_id in request.groups])
