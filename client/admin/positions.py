"""Questions about partitions and share groups: where logs start and end, how far a group is."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
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
_Offsets = dict[Partition, tuple[int, int]]
"""Error code and offset."""


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


class Positions:
    """Asks over a `Network`, by its rules on threads. Every call tries again within default.api.timeout.ms."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def log_ranges(self, topics: Mapping[str, Collection[int]]) -> dict[Partition, LogRange]:
        """Start and end of partitions, by ListOffsets at their leaders. Raises BrokerError, Unreachable."""
        tries = self._network.tries()
        missing = {(name, partition) for name, partitions in topics.items() for partition in partitions}
        found: dict[Partition, LogRange] = {}
        while True:
            failure = self._ask_leaders(missing, found, tries.left_ms)
            missing -= found.keys()
            if not missing:
                return found
            self._network.wait(tries, failure or Unreachable("a broker left out partitions that it was asked for"))
            with contextlib.suppress(Unreachable):
                self._network.refresh({name for name, _ in missing}, timeout_ms=tries.left_ms)

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
                return _share_offsets(self._ask_coordinator(group_id, request, tries.left_ms))
            except BrokerError as error:
                if not is_retriable(error.code):
                    raise
                self._network.forget_coordinator(group_id)
                self._network.wait(tries, error)
            except Unreachable as error:
                # The broker that was the coordinator may be gone for good, and another one have taken over.
                self._network.forget_coordinator(group_id)
                self._network.wait(tries, error)

    def _ask_coordinator(
        self, group_id: str, request: DescribeShareGroupOffsetsRequest, timeout_ms: int
    ) -> DescribeShareGroupOffsetsResponseGroup:
        node = self._network.coordinator(group_id, timeout_ms=timeout_ms)
        answer = self._network.submit(node, request, timeout_ms=self._at_once(timeout_ms)).result()
        assert isinstance(answer, DescribeShareGroupOffsetsResponse)
        group = answer.groups[0]
        if group.error_code:
            raise BrokerError(group.error_code, f"share group {group_id}", group.error_message)
        return group

    def _ask_leaders(
        self, partitions: set[Partition], found: dict[Partition, LogRange], timeout_ms: int
    ) -> ClientError | None:
        """Adds to `found` what could be had; returns what stood in the way of the rest."""
        try:
            by_leader, failure = self._by_leader(partitions, timeout_ms)
        except Unreachable as error:
            return error
        asked: list[tuple[Exchange, Exchange]] = []
        for leader, rows in by_leader.items():
            try:
                asked.append((self._ask(leader, rows, _START, timeout_ms), self._ask(leader, rows, _END, timeout_ms)))
            except Unreachable as error:
                failure = error
        self._network.collect([exchange for both in asked for exchange in both])
        for starts, ends in asked:
            try:
                failure = _take_in(_offsets(starts), _offsets(ends), found) or failure
            except Unreachable as error:
                failure = error
        return failure

    def _ask(self, leader: int, partitions: list[Partition], which: int, timeout_ms: int) -> Exchange:
        request = _list_offsets(partitions, which)
        return self._network.submit(leader, request, timeout_ms=self._at_once(timeout_ms))

    def _at_once(self, timeout_ms: int) -> int:
        """How long one answer may take when a call has so long."""
        return min(timeout_ms, self._network.config.request_timeout_ms)

    def _by_leader(
        self, partitions: set[Partition], timeout_ms: int
    ) -> tuple[dict[int, list[Partition]], ClientError | None]:
        ids = self._network.topic_ids({name for name, _ in partitions}, timeout_ms=timeout_ms)
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


def _take_in(starts: _Offsets, ends: _Offsets, found: dict[Partition, LogRange]) -> ClientError | None:
    """What stood in the way of partitions that may be asked for again. BrokerError for one that may not."""
    failure: ClientError | None = None
    for partition, (start_error, start) in starts.items():
        end_error, end = ends.get(partition, (ErrorCode.UNKNOWN_SERVER_ERROR, -1))
        if error := start_error or end_error:
            failure = BrokerError(error, f"partition {partition[0]}-{partition[1]}")
            if not is_retriable(error):
                raise failure
        else:
            found[partition] = LogRange(start, end)
    return failure


def _list_offsets(partitions: list[Partition], which: int) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for name, number in partitions:
        topics.setdefault(name, []).append(ListOffsetsPartition(number, timestamp=which))
    return ListOffsetsRequest(_CONSUMER, topics=[ListOffsetsTopic(name, rows) for name, rows in topics.items()])


def _offsets(exchange: Exchange) -> _Offsets:
    answer = exchange.result()
    assert isinstance(answer, ListOffsetsResponse)
    return {
        (topic.name, row.partition_index): (row.error_code, row.offset)
        for topic in answer.topics
        for row in topic.partitions
    }


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
