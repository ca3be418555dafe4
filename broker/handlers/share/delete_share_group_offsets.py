"""DeleteShareGroupOffsets: v0 (KIP-932).

Behaviour: a group without members forgets whole topics; the next member finds them as if for the first time.
NON_EMPTY_GROUP, INVALID_GROUP_ID and GROUP_ID_NOT_FOUND concern the whole request. A topic that does not exist, or that
the group knows nothing of, is UNKNOWN_TOPIC_OR_PARTITION; a group that never knew any topic leaves them out.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, lacking_in_turns, pending_in_turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.groups.administration import DeletedOffsets
from shareq.broker.security.rights import DELETE_GROUP, READ_TOPIC
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID

_FORBIDDEN: Final = ApiError(READ_TOPIC.error, text_of(READ_TOPIC.error))


def handle(
    ctx: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse | Pending[DeleteShareGroupOffsetsResponse]:
    if not ctx.services.metadata.share_groups_enabled:
        error = ErrorCode.UNSUPPORTED_VERSION
        return DeleteShareGroupOffsetsResponse(error_code=error, error_message=text_of(error))
    if not ctx.may(DELETE_GROUP, request.group_id):
        error = DELETE_GROUP.error
        return DeleteShareGroupOffsetsResponse(error_code=error, error_message=text_of(error))
    return pending_in_turns(ctx, _steps(ctx, request))


def _steps(
    ctx: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> Steps[Pending[DeleteShareGroupOffsetsResponse]]:
    names = list(dict.fromkeys(topic.topic_name for topic in request.topics))
    forbidden = yield from lacking_in_turns(ctx, READ_TOPIC, names)
    names = [name for name in names if name not in forbidden]
    topic_ids = {name: image.topic_id for name in names if (image := ctx.services.metadata.topic(name)) is not None}

    def respond(deleted: DeletedOffsets) -> DeleteShareGroupOffsetsResponse:
        if deleted.error:
            return DeleteShareGroupOffsetsResponse(error_code=deleted.error.code, error_message=deleted.error.message)
        refused = [_topic(name, ZERO_UUID, deleted.refused[name]) for name in names if name in deleted.refused]
        found = [_topic(name, topic_ids[name], deleted.topics[name]) for name in names if name in deleted.topics]
        hidden = [_topic(name, ZERO_UUID, _FORBIDDEN) for name in sorted(forbidden)]
        return DeleteShareGroupOffsetsResponse(responses=hidden + refused + found)

    return ctx.services.groups.administration.delete_offsets(request.group_id, names).then(respond)


def _topic(name: str, topic_id: bytes, result: ApiError) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(name, topic_id, result.code, result.message)
