"""ConsumerGroupDescribe: v0-1 (KIP-848).

Behaviour: returns state, epochs and members of each requested group, with current and target assignments. A group that
does not exist, or is of another kind, gets GROUP_ID_NOT_FOUND. DESCRIBE is needed on the group and on every topic
assigned in it; otherwise nothing of the group is returned. v1: the protocol that each member uses.
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
