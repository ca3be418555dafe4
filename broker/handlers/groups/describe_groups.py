"""DescribeGroups: v0-6, of classic groups.

Behaviour: state, protocol and members with their assignments. A group of another kind, or none, is Dead. DESCRIBE on
the group is needed.
v3: authorized operations. v4: instance ids. v6: a group that is Dead has the error GROUP_ID_NOT_FOUND (KIP-1043).
"""

from __future__ import annotations

from itertools import chain
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import each_in_turns
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.security.rights import DESCRIBE_GROUP
from shareq.coordinator.group.classic.describe import classic_group_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

TURN_GROUPS: Final = 250
"""So many are described in one turn, 10 µs each beside their members."""


def handle(ctx: RequestContext, request: DescribeGroupsRequest) -> Pending[DescribeGroupsResponse]:
    refused: list[DescribedGroup] = []

    def describe(group_id: str) -> Pending[list[DescribedGroup]]:
        if ctx.may(DESCRIBE_GROUP, group_id):
            return ctx.services.groups.classic.describe((group_id,), ctx.api_version).then(with_operations)
        refused.append(classic_group_error_entry(group_id, DESCRIBE_GROUP.error))
        return completed([])

    def with_operations(groups: list[DescribedGroup]) -> list[DescribedGroup]:
        if request.include_authorized_operations:
            authorized_operations.fill_in_group_operations(ctx, groups)
        return groups

    return each_in_turns(ctx, request.groups, describe, TURN_GROUPS).then(
        lambda groups: DescribeGroupsResponse(groups=[*refused, *chain.from_iterable(groups)])
    )


def failed(request: DescribeGroupsRequest, error: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[classic_group_error_entry(group_id, error) for group_id in request.groups])
