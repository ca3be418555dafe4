"""OffsetCommit: v2-10.

Behaviour: topics and metadata are checked for each partition separately; an error of the group or its member is
returned in every row. A commit without a generation to a group that does not exist creates a group that only has
offsets. READ on the group is needed, and on each topic. v2-4: a retention time for these offsets. v6: leader epochs.
v7: static members. v9: member epochs; an unknown group gets GROUP_ID_NOT_FOUND (before, ILLEGAL_GENERATION). v10:
topics by their ids.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC
from shareq.coordinator.group.offsets.commit import refused
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitResponse


async def handle(ctx: RequestContext, request: OffsetCommitRequest) -> OffsetCommitResponse:
    groups, version = ctx.services.groups, ctx.api_version
    if not ctx.may(READ_GROUP, request.group_id):
        return await groups.offsets.refused_commit(request, READ_GROUP.error)
    may_read = partial(ctx.may, READ_TOPIC)
    if request.generation_id_or_member_epoch >= 0:  # makes no group
        return await groups.offsets.commit(request, version, may_read=may_read)
    names, owner = groups.names, ctx.owner

    async def ask(decide: Callable[[], Pending[ErrorCode]]) -> ErrorCode:
        if names.refusal(request.group_id, owner):
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        error = await decide()
        names.settle(request.group_id, owner)
        return error

    return await groups.offsets.commit(request, version, may_read=may_read, ask=ask)


def failed(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    return refused(request, error)
