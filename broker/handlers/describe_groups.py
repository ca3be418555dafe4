"""DescribeGroups: v0-6, of classic groups.

Behaviour: state, protocol and members with their assignments. A group of another kind, or none, is Dead.
v3: authorized operations. v4: instance ids. v6: a group that is Dead has the error GROUP_ID_NOT_FOUND (KIP-1043).
"""

from __future__ import annotations

from shareq.broker.authorized_operations import GROUP
from shareq.broker.context import RequestContext
from shareq.broker.handlers import VersionRange
from shareq.broker.pending import Pending
from shareq.coordinator.group.classic.describe import not_described
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

VERSIONS = VersionRange(0, 6)


def handle(ctx: RequestContext, request: DescribeGroupsRequest) -> Pending[DescribeGroupsResponse]:
    def respond(groups: list[DescribedGroup]) -> DescribeGroupsResponse:
        if request.include_authorized_operations:
            for group in groups:
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = GROUP
        return DescribeGroupsResponse(groups=groups)

    return ctx.broker.classic_groups.describe(request.groups, ctx.api_version).then(respond)


def failed(request: DescribeGroupsRequest, error: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[not_described(group_id, error) for group_id in request.groups])
