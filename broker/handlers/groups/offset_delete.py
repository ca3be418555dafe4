"""OffsetDelete: v0.

Behaviour: forgets offsets of single partitions. A topic that members of the group read is GROUP_SUBSCRIBED_TO_TOPIC;
if the broker cannot see what they read, the whole group is NON_EMPTY_GROUP. DELETE on the group is needed, and READ
on each topic.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import DELETE_GROUP, READ_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(ctx: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse | Pending[OffsetDeleteResponse]:
    if not ctx.may(DELETE_GROUP, request.group_id):
        return OffsetDeleteResponse(error_code=DELETE_GROUP.error)
    hidden = ctx.lacking(READ_TOPIC, (topic.name for topic in request.topics))
    rows = [
        OffsetDeleteResponseTopic(
            topic.name,
            [OffsetDeleteResponsePartition(each.partition_index, READ_TOPIC.error) for each in topic.partitions],
        )
        for topic in request.topics
        if topic.name in hidden
    ]
    request.topics = [topic for topic in request.topics if topic.name not in hidden]

    def respond(response: OffsetDeleteResponse) -> OffsetDeleteResponse:
        if response.error_code == ErrorCode.NONE:
            response.topics = rows + response.topics
        return response

    return ctx.services.groups.offsets.delete(request).then(respond)
