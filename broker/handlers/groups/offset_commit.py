"""OffsetCommit: v2-10.

Behaviour: each partition stands alone where it concerns topics and metadata; what is wrong with the group or its
member stands in every row. Without a group and a generation it makes a group that only keeps offsets. READ on the
group is needed, and on each topic.
v2-4: a retention for these offsets. v6: leader epochs. v7: static members. v9: member epochs; an unknown group is
GROUP_ID_NOT_FOUND, before ILLEGAL_GENERATION. v10: topics by their ids.
"""

from __future__ import annotations

from collections.abc import Callable

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.groups.long_commit import TURN_PARTITIONS, LongCommit, count
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC
from shareq.coordinator.group.offsets.commit import refused
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic, OffsetCommitResponse

_IDS_FROM = 10


def handle(ctx: RequestContext, request: OffsetCommitRequest) -> OffsetCommitResponse | Pending[OffsetCommitResponse]:
    may_read = ctx.may(READ_GROUP, request.group_id)
    if len(request.topics) > TURN_PARTITIONS or count(request) > TURN_PARTITIONS:
        return _commit_in_turns(ctx, request, may_read=may_read)
    if not may_read:
        return refused(request, READ_GROUP.error)
    named: list[OffsetCommitRequestTopic] = []
    hidden: list[OffsetCommitRequestTopic] = []
    for topic in request.topics:
        (named if _may_read(ctx, topic) else hidden).append(topic)
    if not hidden:
        return _commit(ctx, request)
    rows = refused(OffsetCommitRequest(topics=hidden), READ_TOPIC.error).topics
    request.topics = named
    committed = _commit(ctx, request)
    return committed.then(lambda response: OffsetCommitResponse(topics=[*rows, *response.topics]))


def _commit(ctx: RequestContext, request: OffsetCommitRequest) -> Pending[OffsetCommitResponse]:
    groups = ctx.services.groups
    if request.generation_id_or_member_epoch >= 0:  # makes no group
        return groups.offsets.commit(request, ctx.api_version)
    return groups.names.make(
        request.group_id,
        ctx.owner,
        lambda: groups.offsets.commit(request, ctx.api_version),
        lambda _message: refused(request, ErrorCode.GROUP_MAX_SIZE_REACHED),
    )


def _commit_in_turns(
    ctx: RequestContext, request: OffsetCommitRequest, *, may_read: bool
) -> Pending[OffsetCommitResponse]:
    groups, clock = ctx.services.groups, ctx.services.env.clock

    def ask(group: Callable[[], Pending[ErrorCode]]) -> Pending[ErrorCode]:
        if request.generation_id_or_member_epoch >= 0:
            return group()
        return groups.names.make(request.group_id, ctx.owner, group, lambda _message: ErrorCode.GROUP_MAX_SIZE_REACHED)

    hidden = READ_TOPIC.error if may_read else READ_GROUP.error
    long = LongCommit(groups.offsets, clock.wall_ms, lambda topic: may_read and _may_read(ctx, topic), hidden, ask)
    return long.run(request, ctx.api_version, ctx.services.turns, ctx.failed)


def _may_read(ctx: RequestContext, topic: OffsetCommitRequestTopic) -> bool:
    """Of an unknown id there is nothing to hide."""
    if ctx.api_version < _IDS_FROM:
        return ctx.may(READ_TOPIC, topic.name)
    image = ctx.services.metadata.topic_by_id(topic.topic_id)
    return image is None or ctx.may(READ_TOPIC, image.name)


def failed(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    return refused(request, error)
