"""ShareGroupDescribe: v1 (KIP-932).

Behaviour: state, epochs and members of each group asked for; a group of another kind, or none, is GROUP_ID_NOT_FOUND.
DESCRIBE on the group is needed, and on every topic that is assigned in it: else nothing is returned of the group.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending, gather
from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, HIDDEN_TOPICS
from shareq.coordinator.group.share.describe import share_group_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)


def handle(
    ctx: RequestContext, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse | Pending[ShareGroupDescribeResponse]:
    if not ctx.services.metadata.share_groups_enabled:
        return ShareGroupDescribeResponse(
            groups=[share_group_error_entry(group, ErrorCode.UNSUPPORTED_VERSION, None) for group in request.group_ids]
        )
    hidden = ctx.lacking(DESCRIBE_GROUP, request.group_ids)
    refused = [share_group_error_entry(group, DESCRIBE_GROUP.error) for group in request.group_ids if group in hidden]
    asked = [group for group in request.group_ids if group not in hidden]
    described = gather([ctx.services.groups.share.describe(group) for group in asked])

    def respond(groups: list[DescribedGroup]) -> ShareGroupDescribeResponse:
        if request.include_authorized_operations:
            authorized_operations.fill_in_group_operations(ctx, groups)
        if ctx.services.authorizer is not None:
            groups = [_visible(ctx, group) for group in groups]
        return ShareGroupDescribeResponse(groups=refused + groups)

    return described.then(respond)


def _visible(ctx: RequestContext, group: DescribedGroup) -> DescribedGroup:
    topics = {part.topic_name for member in group.members for part in member.assignment.topic_partitions}
    if not ctx.lacking(DESCRIBE_TOPIC, topics):
        return group
    return share_group_error_entry(group.group_id, DESCRIBE_TOPIC.error, HIDDEN_TOPICS)
