"""OffsetDelete: v0.

Behaviour: forgets offsets of single partitions. A topic that members of the group read is GROUP_SUBSCRIBED_TO_TOPIC;
if the broker cannot see what they read, the whole group is NON_EMPTY_GROUP. DELETE on the group is needed, and READ
on each topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, TurnCount, lacking_in_turns, pending_in_turns, pieces
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.security.rights import DELETE_GROUP, READ_TOPIC
from shareq.coordinator.group.offsets.deletion import DeletedOffsets
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

TURN_PARTITIONS: Final = 500
"""So many are looked up in one turn, or answered, 6 µs each; a topic counts as one more. All that have an offset are
deleted in one.
"""

_Topics = list[tuple[str, list[int]]]


def handle(ctx: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse | Pending[OffsetDeleteResponse]:
    if not ctx.may(DELETE_GROUP, request.group_id):
        return OffsetDeleteResponse(error_code=DELETE_GROUP.error)
    return pending_in_turns(ctx, _steps(ctx, request))


def _steps(ctx: RequestContext, request: OffsetDeleteRequest) -> Steps[Pending[OffsetDeleteResponse]]:
    hidden = yield from lacking_in_turns(ctx, READ_TOPIC, (topic.name for topic in request.topics))
    offsets = ctx.services.groups.offsets
    deletion = offsets.begin_delete(request.group_id)
    if isinstance(deletion, ErrorCode):
        return completed(OffsetDeleteResponse(error_code=deletion))
    turn = TurnCount(TURN_PARTITIONS)
    refused: _Topics = []
    unknown: _Topics = []
    existing: _Topics = []
    for topic in request.topics:
        name = topic.name
        count = 0 if name in hidden else offsets.partitions_of(name)
        there: list[int] = []
        others: list[int] = []
        for some in pieces(topic.partitions, TURN_PARTITIONS):
            before = len(there)
            for each in some:
                (there if 0 <= each.partition_index < count else others).append(each.partition_index)
            deletion.add(name, there[before:])
            if turn.full(len(some)):
                yield
        if others or not count:
            (refused if name in hidden else unknown).append((name, others))
        if there:
            existing.append((name, there))
        if turn.full():
            yield
    deleted = offsets.delete(deletion)
    return deleted.chain(lambda deleted: pending_in_turns(ctx, _response(refused, unknown, existing, deleted)))


def _response(
    refused: _Topics, unknown: _Topics, existing: _Topics, deleted: DeletedOffsets
) -> Steps[Pending[OffsetDeleteResponse]]:
    """What the client may not see, and what does not exist, comes first, as in Apache Kafka; none of it beside an error
    for all. Where something does not exist, each topic has one entry.
    """
    if deleted.error:
        return completed(OffsetDeleteResponse(error_code=deleted.error))
    turn = TurnCount(TURN_PARTITIONS)
    topics: list[OffsetDeleteResponseTopic] = []
    known: dict[str, OffsetDeleteResponseTopic] = {}
    for name, numbers, error in _rows(refused, unknown, existing, deleted):
        entry = known.get(name) if unknown and error is not READ_TOPIC.error else None
        if entry is None:
            entry = OffsetDeleteResponseTopic(name, [])
            topics.append(entry)
            if error is not READ_TOPIC.error:
                known[name] = entry
        for some in pieces(numbers, TURN_PARTITIONS):
            entry.partitions += [OffsetDeleteResponsePartition(each, error) for each in some]
            if turn.full(len(some)):
                yield
        if turn.full():
            yield
    return completed(OffsetDeleteResponse(topics=topics))


def _rows(
    refused: _Topics, unknown: _Topics, existing: _Topics, deleted: DeletedOffsets
) -> Iterator[tuple[str, list[int], ErrorCode]]:
    """Topics and partitions in the order in which they are answered, and their errors."""
    for name, numbers in refused:
        yield name, numbers, READ_TOPIC.error
    for name, numbers in unknown:
        yield name, numbers, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for name, numbers in existing:
        subscribed = name in deleted.subscribed
        yield name, numbers, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
