"""What an OffsetFetch of one group found, as versions before 8 return it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from shareq.broker.dispatch.in_turns import Steps, TurnCount, pending_in_turns, pieces
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.security.rights import DESCRIBE_TOPIC
from shareq.coordinator.group.offsets.fetch import Joined
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

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext

_TURN_ROWS: Final = 5_000  # of version 1 that are made in one turn


def one_response(group: OffsetFetchResponseGroup) -> Steps[Pending[OffsetFetchResponse]]:
    """As `_response_of`, so many rows in a turn."""
    response = OffsetFetchResponse(error_code=group.error_code)
    turn = TurnCount(_TURN_ROWS)
    for topic in group.topics:
        rows: list[OffsetFetchResponsePartition] = []
        response.topics.append(OffsetFetchResponseTopic(topic.name, rows))
        for some in pieces(topic.partitions, _TURN_ROWS):
            rows += map(_row_of, some)
            if turn.full(len(some)):
                yield
        if turn.full():
            yield
    return completed(response)


def joined_in_turns(parts: Iterable[OffsetFetchResponseGroup]) -> Steps[Pending[OffsetFetchResponseGroup]]:
    """One answer of those of `parts_of`, each in a turn."""
    whole = Joined()
    for part in parts:
        whole.add(part)
        yield
    return completed(whole.group)


def committed_in_turns(
    ctx: RequestContext, parts: Iterable[OffsetFetchRequestGroup], *, require_stable: bool
) -> Steps[Pending[OffsetFetchResponseGroup]]:
    """The answer of a group whose offsets were asked for without their names: `parts` of all it has, each in a turn."""
    offsets, version = ctx.services.groups.offsets, ctx.api_version
    fetched: list[Pending[OffsetFetchResponseGroup]] = []
    for part in parts:
        part.topics = [topic for topic in part.topics or () if ctx.sees(DESCRIBE_TOPIC, topic.name)]
        fetched.append(offsets.fetch_committed(part, version, require_stable=require_stable))
        yield
    return gather(fetched).chain(lambda answers: pending_in_turns(ctx, joined_in_turns(answers)))


def _row_of(row: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        row.partition_index, row.committed_offset, row.committed_leader_epoch, row.metadata, row.error_code
    )


def response_of(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    topics = [
        OffsetFetchResponseTopic(
            topic.name,
            [_row_of(row) for row in topic.partitions],
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=group.error_code)


def topic_of(topic: OffsetFetchRequestTopic) -> OffsetFetchRequestTopics:
    """A topic of those versions, as later ones name it."""
    return OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)


def group_of(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """The one group of earlier versions."""
    topics = None
    if request.topics is not None:
        topics = list(map(topic_of, request.topics))
    return OffsetFetchRequestGroup(request.group_id, topics=topics)
