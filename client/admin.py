"""Questions about partitions and share groups: where logs start and end, how far a group is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from shareq.client.errors import BrokerError, ClientError, Unreachable
from shareq.client.network import Exchange, Network
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

_START: Final = -2
_END: Final = -1
_CONSUMER: Final = -1

Partition = tuple[str, int]
"""A topic's name and a partition of it."""


class LogRange(NamedTuple):
    """What a log holds: from `start`, inclusive, to `end`, the high watermark, exclusive."""

    start: int
    end: int


class ShareOffset(NamedTuple):
    """How far a share group is in a partition.

    `start`: the first offset that is not done with; None if the group has not begun there. `lag`: records that are not
    done with; None where the broker does not say.
    """

    topic_id: bytes
    start: int | None
    lag: int | None


class Admin:
    """Asks over a `Network`, whose rules on threads hold. Every call tries again within default.api.timeout.ms."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def log_ranges(self, topics: Mapping[str, Collection[int]]) -> dict[Partition, LogRange]:
        """Start and end of partitions, by ListOffsets at their leaders. Raises BrokerError, Unreachable."""
        tries = self._network.tries()
        missing = {(name, partition) for name, partitions in topics.items() for partition in partitions}
        found: dict[Partition, LogRange] = {}
        while True:
            failure = self._ask_leaders(missing, found)
            missing -= found.keys()
            if not missing:
                return found
            tries.wait(failure or Unreachable("no leader"))
            self._network.refresh({name for name, _ in missing})

    def share_offsets(
        self, group_id: str, topics: Mapping[str, Collection[int]] | None = None
    ) -> dict[Partition, ShareOffset]:
        """How far a group is, by its coordinator; without `topics`, in all partitions it has begun.

        What is stored trails what members have acknowledged by one write. A group or topic that does not exist has not
        begun anywhere. Raises BrokerError, Unreachable, UnsupportedApi.
        """
        rows = None
        if topics is not None:
            rows = [DescribeShareGroupOffsetsRequestTopic(name, list(numbers)) for name, numbers in topics.items()]
        request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group_id, rows)])
        tries = self._network.tries()
        while True:
            try:
                return _share_offsets(self._ask_coordinator(group_id, request))
            except BrokerError as error:
                if not is_retriable(error.code):
                    raise
                self._network.forget_coordinator(group_id)
                tries.wait(error)
            except Unreachable as error:
                # Whoever was the coordinator may be gone for good, and another broker have taken over.
                self._network.forget_coordinator(group_id)
                tries.wait(error)

    def _ask_coordinator(
        self, group_id: str, request: DescribeShareGroupOffsetsRequest
    ) -> DescribeShareGroupOffsetsResponseGroup:
        answer = self._network.submit(self._network.coordinator(group_id), request).result()
        assert isinstance(answer, DescribeShareGroupOffsetsResponse)
        group = answer.groups[0]
        if group.error_code:
            raise BrokerError(group.error_code, f"share group {group_id}", group.error_message)
        return group

    def _ask_leaders(self, partitions: set[Partition], found: dict[Partition, LogRange]) -> ClientError | None:
        """Adds to `found` what could be had; returns what stood in the way of the rest."""
        by_leader, failure = self._by_leader(partitions)
        asked: list[tuple[Exchange, Exchange]] = []
        for leader, rows in by_leader.items():
            try:
                starts, ends = (self._network.submit(leader, _list_offsets(rows, which)) for which in (_START, _END))
                asked.append((starts, ends))
            except Unreachable as error:
                failure = error
        for both in asked:
            try:
                starts_at, ends_at = (dict(_offsets(exchange)) for exchange in both)
            except Unreachable as error:
                failure = error
                continue
            for partition, (error_code, start) in starts_at.items():
                error_code = error_code or ends_at[partition][0]
                if not error_code:
                    found[partition] = LogRange(start, ends_at[partition][1])
                    continue
                failure = BrokerError(error_code, f"partition {partition[0]}-{partition[1]}")
                if not is_retriable(error_code):
                    raise failure
        return failure

    def _by_leader(self, partitions: set[Partition]) -> tuple[dict[int, list[Partition]], ClientError | None]:
        ids = self._network.topic_ids({name for name, _ in partitions})
        leaders: dict[int, list[Partition]] = {}
        failure: ClientError | None = None
        for name, number in sorted(partitions):
            leader = self._network.leader(ids[name], number) if name in ids else None
            if leader is None:
                missing = ErrorCode.LEADER_NOT_AVAILABLE if name in ids else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                failure = BrokerError(missing, f"partition {name}-{number}")
            else:
                leaders.setdefault(leader, []).append((name, number))
        return leaders, failure


def _list_offsets(partitions: list[Partition], which: int) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for name, number in partitions:
        topics.setdefault(name, []).append(ListOffsetsPartition(number, timestamp=which))
    return ListOffsetsRequest(_CONSUMER, topics=[ListOffsetsTopic(name, rows) for name, rows in topics.items()])


def _offsets(exchange: Exchange) -> Iterator[tuple[Partition, tuple[int, int]]]:
    answer = exchange.result()
    assert isinstance(answer, ListOffsetsResponse)
    for topic in answer.topics:
        for row in topic.partitions:
            yield (topic.name, row.partition_index), (row.error_code, row.offset)


def _share_offsets(group: DescribeShareGroupOffsetsResponseGroup) -> dict[Partition, ShareOffset]:
    found: dict[Partition, ShareOffset] = {}
    for topic in group.topics:
        for row in topic.partitions:
            if row.error_code:
                what = f"partition {topic.topic_name}-{row.partition_index} of share group {group.group_id}"
                raise BrokerError(row.error_code, what, row.error_message)
            start, lag = (None if value < 0 else value for value in (row.start_offset, row.lag))
            found[topic.topic_name, row.partition_index] = ShareOffset(topic.topic_id, start, lag)
    return found
