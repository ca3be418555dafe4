"""What an OffsetFetch of one group found, as versions before 8 return it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from shareq.broker.dispatch.in_turns import Steps, TurnCount, pieces
from shareq.broker.foundation.pending import Pending, completed
from shareq.coordinator.group.offsets.fetch import Joined
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
)

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
