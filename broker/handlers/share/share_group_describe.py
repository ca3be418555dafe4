"""ShareGroupDescribe: v1 (KIP-932).

Behaviour: returns state, epochs and members of each requested group. A group that does not exist, or is of another
kind, gets GROUP_ID_NOT_FOUND. DESCRIBE is needed on the group and on every topic assigned in it; otherwise nothing of
the group is returned.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.handlers.shared.group_descriptions import described_groups
from shareq.coordinator.group.share.describe import share_group_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)


async def handle(ctx: RequestContext, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    if not ctx.services.metadata.share_groups_enabled:
        return ShareGroupDescribeResponse(
            groups=[share_group_error_entry(group, ErrorCode.UNSUPPORTED_VERSION, None) for group in request.group_ids]
        )
    groups = await described_groups(
        ctx,
        request.group_ids,
        ctx.services.groups.share.describe,
        share_group_error_entry,
        _assigned_topics,
        with_operations=request.include_authorized_operations,
    )
    return ShareGroupDescribeResponse(groups=groups)


def _assigned_topics(group: DescribedGroup) -> set[str]:
    return {part.topic_name for member in group.members for part in member.assignment.topic_partitions}
