"""DescribeShareGroupOffsets: v0-1 (KIP-932).

Behaviour: returns persisted start offsets, which lag one state write behind the members' acknowledgements. Null topics
mean all of which the group has state. DESCRIBE is needed on the group and on each topic; for null topics, those that
the client may not describe are left out. Neither the group nor the topic need exist: unknown values are -1, without an
error. v1: lag, the number of unfinished records from the start offset to the high watermark (KIP-1226).

Here: if the broker cannot know of which topics the group has state, the group gets NOT_COORDINATOR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.groups.administration import AskedTopic, ShareOffset
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC
from shareq.coordinator.group.share.group import TopicsById
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID

_HIDDEN: Final = ShareOffset(error=DESCRIBE_TOPIC.error)

Named = Mapping[str, Sequence[int]]


class _Group:
    """A requested group. Its topics are either `named` in the request, or all of which it has state, which `known` will
    have.
    """

    __slots__ = ("answer", "asked", "known", "named")

    def __init__(self, group_id: str) -> None:
        self.answer = DescribeShareGroupOffsetsResponseGroup(group_id, [])
        self.known: Pending[TopicsById | ErrorCode] | None = None
        self.named: Named = {}
        self.asked: list[AskedTopic] = []


async def handle(ctx: RequestContext, request: DescribeShareGroupOffsetsRequest) -> DescribeShareGroupOffsetsResponse:
    if not ctx.services.metadata.share_groups_enabled:
        return failed(request, ErrorCode.UNSUPPORTED_VERSION)
    # All groups are requested before the first answer is awaited, so that they wait for one write together.
    groups = [await _begin(ctx, group) for group in request.groups]
    for group in groups:
        await _ask(ctx, group)
    return DescribeShareGroupOffsetsResponse(groups=[await _describe(ctx, group) for group in groups])


def failed(request: DescribeShareGroupOffsetsRequest, error: ErrorCode) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(
        groups=[
            DescribeShareGroupOffsetsResponseGroup(group.group_id, [], error, text_of(error))
            for group in request.groups
        ]
    )


async def _begin(ctx: RequestContext, request: DescribeShareGroupOffsetsRequestGroup) -> _Group:
    group = _Group(request.group_id)
    await ctx.breathe()
    if not ctx.may(DESCRIBE_GROUP, request.group_id):
        group.answer.error_code = DESCRIBE_GROUP.error
    elif request.topics is None:
        group.known = ctx.services.groups.administration.topics_with_offsets(request.group_id)
    else:
        named: dict[str, dict[int, None]] = {}  # in order, each partition once
        for topic in request.topics:
            once = named.setdefault(topic.topic_name, {})
            for partition in topic.partitions:
                once[partition] = None
                await ctx.breathe()
            await ctx.breathe()
        group.named = {name: list(partitions) for name, partitions in named.items()}
    return group


async def _ask(ctx: RequestContext, group: _Group) -> None:
    """Ask for the offsets of the topics that the client may describe; add errors for the others, if they were named."""
    group_id, named = group.answer.group_id, group.named
    if group.known is not None:
        known = await group.known
        if isinstance(known, ErrorCode):
            group.answer.error_code, group.answer.error_message = known, text_of(known)
            return
        named = {topic.topic_name: sorted(topic.partitions) for topic in known.values()}
    hidden = await ctx.find_lacking(DESCRIBE_TOPIC, named)
    seen = {name: named[name] for name in named if name not in hidden}
    hearing = ctx.services.metadata.hearing
    if hearing is not None:
        await hearing.of(seen)
    group.asked = await ctx.services.groups.administration.ask_offsets(group_id, seen)
    group.named = {} if group.known is not None else {name: named[name] for name in named if name in hidden}


async def _describe(ctx: RequestContext, group: _Group) -> DescribeShareGroupOffsetsResponseGroup:
    metadata, administration = ctx.services.metadata, ctx.services.groups.administration
    for asked in group.asked:
        image = metadata.topic(asked.name)
        topic = DescribeShareGroupOffsetsResponseTopic(asked.name, ZERO_UUID if image is None else image.topic_id, [])
        group.answer.topics.append(topic)
        offsets = await administration.offsets_of(asked)
        for partition, offset in zip(asked.partitions, offsets, strict=True):
            topic.partitions.append(_row(partition, offset))
            await ctx.breathe()
        await ctx.breathe()
    for name, partitions in group.named.items():
        topic = DescribeShareGroupOffsetsResponseTopic(name, ZERO_UUID, [])
        group.answer.topics.append(topic)
        for partition in partitions:
            topic.partitions.append(_row(partition, _HIDDEN))
            await ctx.breathe()
        await ctx.breathe()
    return group.answer


def _row(partition: int, offset: ShareOffset) -> DescribeShareGroupOffsetsResponsePartition:
    message = text_of(offset.error) if offset.error else None
    return DescribeShareGroupOffsetsResponsePartition(
        partition, offset.start_offset, offset.leader_epoch, offset.lag, offset.error, message
    )
