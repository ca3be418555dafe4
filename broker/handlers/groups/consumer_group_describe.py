"""ConsumerGroupDescribe: v0-1 (KIP-848).

Behaviour: state, epochs and members of each requested group, with their current and target assignment; a group of
another kind, or none, is GROUP_ID_NOT_FOUND. DESCRIBE on the group is needed, and on every topic that is assigned in
it: else nothing is returned of the group.
v1: which protocol a member speaks.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.handlers.shared.group_descriptions import described_groups
from shareq.coordinator.group.consumer.describe import consumer_group_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


async def handle(ctx: RequestContext, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    if not ctx.services.metadata.consumer_groups_enabled:
        return ConsumerGroupDescribeResponse(
            groups=[consumer_group_error_entry(group, ErrorCode.UNSUPPORTED_VERSION) for group in request.group_ids]
        )
    groups = await described_groups(
        ctx,
        request.group_ids,
        ctx.services.groups.consumer.describe,
        consumer_group_error_entry,
        _assigned_topics,
        with_operations=request.include_authorized_operations,
    )
    return ConsumerGroupDescribeResponse(groups=groups)


def failed(request: ConsumerGroupDescribeRequest, error: ErrorCode) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[consumer_group_error_entry(group, error) for group in request.group_ids]
    )


def _assigned_topics(group: DescribedGroup) -> set[str]:
    return {
        part.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for part in assignment.topic_partitions
    }
