"""OffsetFetch: v1-10 (KIP-88).

Behaviour: returns the committed offsets of a group, for the named partitions or for all; null topics mean all, an empty
list means none. A partition without an offset has -1, as have all partitions of a group that does not exist. DESCRIBE
on the group is needed, and on each named topic; a request for all returns the topics that the client may describe. v1:
no null list; an error of the group is in every row. v2: null lists, and a field for errors of the group. v5: leader
epochs. v7: `require_stable`. v8: many groups at once. v9: member id and epoch. v10: topics by their ids.
"""

from __future__ import annotations

from functools import partial

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.turn_budget import in_pieces
from shareq.broker.groups.offsets import AskedOffsets
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC
from shareq.coordinator.group.offsets.fetch import NO_OFFSET
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
)

_MANY_GROUPS_FROM = 8


async def handle(ctx: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    offsets, version = ctx.services.groups.offsets, ctx.api_version
    if version < _MANY_GROUPS_FROM:
        asked = await _ask(ctx, await _only_group(ctx, request), require_stable=request.require_stable)
        return await _earlier_form(ctx, await offsets.answer(asked, version))
    every = [await _ask(ctx, group, require_stable=request.require_stable) for group in request.groups]
    return OffsetFetchResponse(groups=[await offsets.answer(asked, version) for asked in every])


def failed(request: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    """Return the answer with the error wherever its version has a place for it: in v1's rows, for the group, or for
    each of many groups.
    """
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [OffsetFetchResponsePartition(at, NO_OFFSET, error_code=error) for at in topic.partition_indexes],
            )
            for topic in request.topics or ()
        ],
        error_code=error,
        groups=[OffsetFetchResponseGroup(group.group_id, error_code=error) for group in request.groups],
    )


async def _ask(ctx: RequestContext, group: OffsetFetchRequestGroup, *, require_stable: bool) -> AskedOffsets:
    offsets, version = ctx.services.groups.offsets, ctx.api_version
    if not ctx.may(DESCRIBE_GROUP, group.group_id):
        return await offsets.refuse(group, version, DESCRIBE_GROUP.error)
    return await offsets.ask(
        group,
        version,
        require_stable=require_stable,
        may_describe=partial(ctx.may, DESCRIBE_TOPIC),
        sees=partial(ctx.sees, DESCRIBE_TOPIC),
    )


async def _only_group(ctx: RequestContext, request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """Return the one group of a request before v8, in the form of later versions."""
    if request.topics is None:
        return OffsetFetchRequestGroup(request.group_id, topics=None)
    topics: list[OffsetFetchRequestTopics] = []
    for topic in request.topics:
        topics.append(_topic_of(topic))
        await ctx.breathe()
    return OffsetFetchRequestGroup(request.group_id, topics=topics)


def _topic_of(topic: OffsetFetchRequestTopic) -> OffsetFetchRequestTopics:
    return OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)


async def _earlier_form(ctx: RequestContext, group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    """Return the answer for one group, in the form of versions before 8."""
    response = OffsetFetchResponse(error_code=group.error_code)
    for topic in group.topics:
        rows: list[OffsetFetchResponsePartition] = []
        response.topics.append(OffsetFetchResponseTopic(topic.name, rows))
        for some in in_pieces(topic.partitions):
            rows += map(_row_of, some)
            await ctx.breathe(1 + len(some))
    return response


def _row_of(row: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        row.partition_index, row.committed_offset, row.committed_leader_epoch, row.metadata, row.error_code
    )
