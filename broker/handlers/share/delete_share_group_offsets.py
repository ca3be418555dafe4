"""DeleteShareGroupOffsets: v0 (KIP-932).

Behaviour: deletes a group's state of whole topics, if the group has no members; the next member starts as if the group
had never read them. NON_EMPTY_GROUP, INVALID_GROUP_ID and GROUP_ID_NOT_FOUND are returned for the whole request. A
topic that does not exist, or of which the group has no state, gets UNKNOWN_TOPIC_OR_PARTITION; if the group has no
state at all, the answer has no topics.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import DELETE_GROUP, READ_TOPIC
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID

_FORBIDDEN: Final = ApiError(READ_TOPIC.error, text_of(READ_TOPIC.error))


async def handle(ctx: RequestContext, request: DeleteShareGroupOffsetsRequest) -> DeleteShareGroupOffsetsResponse:
    if not ctx.services.metadata.share_groups_enabled:
        return _refusal(ErrorCode.UNSUPPORTED_VERSION)
    if not ctx.may(DELETE_GROUP, request.group_id):
        return _refusal(DELETE_GROUP.error)
    names = list(dict.fromkeys(topic.topic_name for topic in request.topics))
    forbidden = await ctx.find_lacking(READ_TOPIC, names)
    allowed = [name for name in names if name not in forbidden]
    metadata = ctx.services.metadata
    if metadata.hearing is not None:
        await metadata.hearing.of(allowed)
    topic_ids = {name: image.topic_id for name in allowed if (image := metadata.topic(name)) is not None}
    deleted = await ctx.services.groups.administration.delete_offsets(request.group_id, allowed)
    if deleted.error:
        return DeleteShareGroupOffsetsResponse(error_code=deleted.error.code, error_message=deleted.error.message)
    hidden = [_topic(name, ZERO_UUID, _FORBIDDEN) for name in sorted(forbidden)]
    refused = [_topic(name, ZERO_UUID, deleted.refused[name]) for name in allowed if name in deleted.refused]
    found = [_topic(name, topic_ids[name], deleted.topics[name]) for name in allowed if name in deleted.topics]
    return DeleteShareGroupOffsetsResponse(responses=hidden + refused + found)


def _refusal(error: ErrorCode) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=error, error_message=text_of(error))


def _topic(name: str, topic_id: bytes, result: ApiError) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(name, topic_id, result.code, result.message)
