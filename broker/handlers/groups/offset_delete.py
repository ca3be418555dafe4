"""OffsetDelete: v0.

Behaviour: deletes committed offsets of single partitions. A topic to which members of the group are subscribed gets
GROUP_SUBSCRIBED_TO_TOPIC; if the broker cannot know their subscriptions, the whole request gets NON_EMPTY_GROUP. DELETE
on the group is needed, and READ on each topic.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import DELETE_GROUP, READ_TOPIC
from shareq.coordinator.group.offsets.deletion import DeletedOffsets
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

_Topics = list[tuple[str, list[int]]]


async def handle(ctx: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    if not ctx.may(DELETE_GROUP, request.group_id):
        return OffsetDeleteResponse(error_code=DELETE_GROUP.error)
    hidden = await ctx.find_lacking(READ_TOPIC, (topic.name for topic in request.topics))
    offsets = ctx.services.groups.offsets
    deletion = offsets.begin_delete(request.group_id)
    if isinstance(deletion, ErrorCode):
        return OffsetDeleteResponse(error_code=deletion)
    refused: _Topics = []
    unknown: _Topics = []
    existing: _Topics = []
    for topic in request.topics:
        name = topic.name
        count = 0 if name in hidden else offsets.partitions_of(name)
        there: list[int] = []
        others: list[int] = []
        for partition in topic.partitions:
            number = partition.partition_index
            if 0 <= number < count:
                there.append(number)
                deletion.add(name, (number,))
            else:
                others.append(number)
            await ctx.breathe()
        if others or not count:
            (refused if name in hidden else unknown).append((name, others))
        if there:
            existing.append((name, there))
        await ctx.breathe()
    deleted = await offsets.delete(deletion)
    if deleted.error:
        return OffsetDeleteResponse(error_code=deleted.error)
    return OffsetDeleteResponse(topics=await _answered(ctx, refused, unknown, existing, deleted))


async def _answered(
    ctx: RequestContext, refused: _Topics, unknown: _Topics, existing: _Topics, deleted: DeletedOffsets
) -> list[OffsetDeleteResponseTopic]:
    """Return the topics of the answer: first those that do not exist or that the client may not see, as in Apache
    Kafka.

    If a topic or partition does not exist, the rows of each topic are in one entry.
    """
    topics: list[OffsetDeleteResponseTopic] = []
    known: dict[str, OffsetDeleteResponseTopic] = {}
    for name, numbers, error in _rows(refused, unknown, existing, deleted):
        entry = known.get(name) if unknown and error is not READ_TOPIC.error else None
        if entry is None:
            entry = OffsetDeleteResponseTopic(name, [])
            topics.append(entry)
            if error is not READ_TOPIC.error:
                known[name] = entry
        for number in numbers:
            entry.partitions.append(OffsetDeleteResponsePartition(number, error))
            await ctx.breathe()
        await ctx.breathe()
    return topics


def _rows(
    refused: _Topics, unknown: _Topics, existing: _Topics, deleted: DeletedOffsets
) -> list[tuple[str, list[int], ErrorCode]]:
    """Return the topics, their partitions and errors, in the order of the answer."""
    rows = [(name, numbers, READ_TOPIC.error) for name, numbers in refused]
    rows += [(name, numbers, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for name, numbers in unknown]
    rows += [
        (name, numbers, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if name in deleted.subscribed else ErrorCode.NONE)
        for name, numbers in existing
    ]
    return rows
