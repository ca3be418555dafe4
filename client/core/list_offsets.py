"""ListOffsets, by name and partition: the request, the meaning of the answer, and one offset of one partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from shareq.client.core.network import NetworkCore
from shareq.client.errors import BrokerError, understood
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.primitives import Message

EARLIEST: Final = -2
LATEST: Final = -1
"""Special times, besides milliseconds since the epoch."""
_CONSUMER: Final = -1
_BY_TIME: Final = 1
"""The first version that answers one offset for a time."""

Partition = tuple[str, int]


class OffsetAt(NamedTuple):
    """An offset, and the time of its record in milliseconds; `offset` is None if no record has so late a time."""

    offset: int | None
    timestamp: int


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """Return numbers of partitions by topic."""
    found: dict[str, list[int]] = {}
    for name, number in partitions:
        found.setdefault(name, []).append(number)
    return found


def list_offsets(times: Mapping[Partition, int], *, committed_only: bool = False) -> ListOffsetsRequest:
    """Return the request for the first offset at or after each of these times."""
    topics = [
        ListOffsetsTopic(name, [ListOffsetsPartition(number, timestamp=times[name, number]) for number in numbers])
        for name, numbers in by_topic(times).items()
    ]
    return ListOffsetsRequest(_CONSUMER, int(committed_only), topics)


def listed(answer: Message) -> dict[Partition, OffsetAt | BrokerError]:
    """Return the offsets of an answer, with errors in place of refused ones."""
    assert isinstance(answer, ListOffsetsResponse)
    return {
        (topic.name, row.partition_index): BrokerError(row.error_code, f"partition {topic.name}-{row.partition_index}")
        if row.error_code
        else OffsetAt(None if row.offset < 0 else row.offset, row.timestamp)
        for topic in answer.topics
        for row in topic.partitions
    }


async def offset_at(
    network: NetworkCore, leader: int, partition: Partition, time: int, *, timeout_ms: int | None = None
) -> int:
    """Ask a leader once for the first offset at or after a time; -1 if no record has so late a time.

    Raises BrokerError, and the errors of `NetworkCore.request_once`.
    """
    request = list_offsets({partition: time})
    answer = await network.request_once(leader, request, timeout_ms=timeout_ms, min_version=_BY_TIME)
    with understood(f"an offset of partition {partition[0]}-{partition[1]}"):
        found = listed(answer)[partition]
    if isinstance(found, BrokerError):
        raise found
    return -1 if found.offset is None else found.offset
