"""ShareGroupDescribe: v1 (KIP-932).

Behaviour: state, epochs and members of each group asked for; a group of another kind, or none, is GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from shareq.broker.context import RequestContext
from shareq.broker.handlers import VersionRange
from shareq.broker.pending import Pending, gather
from shareq.coordinator.group.describe import not_described
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

VERSIONS = VersionRange(1, 1)

# AclOperation codes of a group: READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11, as a bit set.
# Without an authorizer everybody may do all of them.
ALL_GROUP_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))


def handle(
    ctx: RequestContext, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse | Pending[ShareGroupDescribeResponse]:
    if not ctx.broker.metadata.share_groups_enabled:
        return ShareGroupDescribeResponse(
            groups=[not_described(group, ErrorCode.UNSUPPORTED_VERSION, None) for group in request.group_ids]
        )
    described = gather([ctx.broker.group_coordinator.describe_share_group(group) for group in request.group_ids])

    def respond(groups: list[DescribedGroup]) -> ShareGroupDescribeResponse:
        if request.include_authorized_operations:
            for group in groups:
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = ALL_GROUP_OPERATIONS
        return ShareGroupDescribeResponse(groups=groups)

    return described.then(respond)
