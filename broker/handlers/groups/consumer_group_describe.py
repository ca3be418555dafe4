"""ConsumerGroupDescribe: v0-1 (KIP-848).

Behaviour: state, epochs and members of each group asked for, with what they have and are to have; a group of another
kind, or none, is GROUP_ID_NOT_FOUND. DESCRIBE on the group is needed, and on every topic that is assigned in it: else
nothing is returned of the group.
v1: which protocol a member speaks.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending, gather
from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, HIDDEN_TOPICS
from shareq.coordinator.group.consumer.describe import consumer_group_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def handle(
    ctx: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse | Pending[ConsumerGroupDescribeResponse]:
    if not ctx.services.metadata.consumer_groups_enabled:
        return ConsumerGroupDescribeResponse(
            groups=[consumer_group_error_entry(group, ErrorCode.UNSUPPORTED_VERSION) for group in request.group_ids]
        )
    hidden = ctx.lacking(DESCRIBE_GROUP, request.group_ids)
    refused = [
        consumer_group_error_entry(group, DESCRIBE_GROUP.error) for group in request.group_ids if group in hidden
    ]
    asked = [group for group in request.group_ids if group not in hidden]
    described = gather([ctx.services.groups.consumer.describe(group) for group in asked])

    def respond(groups: list[DescribedGroup]) -> ConsumerGroupDescribeResponse:
        if request.include_authorized_operations:
            authorized_operations.fill_in_group_operations(ctx, groups)
        if ctx.services.authorizer is not None:
            groups = [_visible(ctx, group) for group in groups]
        return ConsumerGroupDescribeResponse(groups=refused + groups)

    return described.then(respond)


def failed(request: ConsumerGroupDescribeRequest, error: ErrorCode) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[consumer_group_error_entry(group, error) for group in request.group_ids]
    )


def _visible(ctx: RequestContext, group: DescribedGroup) -> DescribedGroup:
    topics = {
        part.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for part in assignment.topic_partitions
    }
    if not ctx.lacking(DESCRIBE_TOPIC, topics):
        return group
    return consumer_group_error_entry(group.group_id, DESCRIBE_TOPIC.error, HIDDEN_TOPICS)
