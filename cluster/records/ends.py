"""Requests for the ends of partitions' logs: ListOffsets and OffsetForLeaderEpoch, with many partitions in one
request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.leaders import PartitionLeader
from shareq.cluster.link.ports import Link, LinkFailure, Purpose
from shareq.cluster.records.source import Anchor
from shareq.coordinator.ports import IsolationLevel
from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from shareq.protocol.primitives import Message

EARLIEST: Final = -2
LATEST: Final = -1
MOST_PARTITIONS: Final = 500
"""The most partitions in one request."""
LEAST_VERSION: Final = 2
"""The first version in which ListOffsets has an isolation level, and answers of OffsetForLeaderEpoch have the epoch."""
CONSUMER: Final = -1
"""The replica id of a client that is no replica."""


class Offset(NamedTuple):
    """The answer to ListOffsets: an offset, the timestamp of its record, and its leader epoch; -1 for a missing
    value.
    """

    error: ErrorCode
    offset: int = -1
    timestamp: int = -1
    epoch: int = -1


class EpochEnd(NamedTuple):
    """The highest leader epoch that is not above the requested one, and the offset where it ends (exclusive). -1:
    unknown.
    """

    error: ErrorCode
    epoch: int = -1
    end_offset: int = -1


class Partition(NamedTuple):
    """A partition by topic name, as both requests have it."""

    topic: str
    partition: int


class _Kind(NamedTuple):
    """The fields that all rows of one ListOffsets share."""

    node: int
    timestamp: int
    isolation: IsolationLevel


A = TypeVar("A", Offset, EpochEnd)


class _Asked(Generic[A]):
    """The questions that wait for the end of the tick, by partition."""

    def __init__(self) -> None:
        self.rows: dict[Partition, tuple[PartitionLeader, int, Pending[A]]] = {}


class EndQuestions:
    """The requests for ends of logs to leaders. Those of one tick are sent together.

    Nothing is retried: an error is returned as it is, a lost answer as REQUEST_TIMED_OUT.
    """

    def __init__(self, env: Environment, link: Link) -> None:
        self._clock: Final = env.clock
        self._link: Final = link
        self._offsets: dict[_Kind, _Asked[Offset]] = {}
        self._epochs: dict[tuple[int, bool], _Asked[EpochEnd]] = {}
        self._is_due = False

    def offset_at(
        self, at: Partition, leader: PartitionLeader, timestamp: int, isolation: IsolationLevel
    ) -> Pending[Offset]:
        """Ask for the first record with this timestamp or a later one, or for EARLIEST or LATEST. With READ_COMMITTED,
        LATEST is the last stable offset.
        """
        asked = self._offsets.setdefault(_Kind(leader.node, timestamp, isolation), _Asked())
        return self._add(asked, at, leader, 0)

    def epoch_end(self, at: Partition, leader: PartitionLeader, epoch: int) -> Pending[EpochEnd]:
        """Ask where a leader epoch ended. The leader's own epoch ends with its log, even if the last records cannot be
        read yet.
        """
        asked = self._epochs.setdefault((leader.node, epoch == leader.epoch), _Asked())
        return self._add(asked, at, leader, epoch)

    def _add(self, asked: _Asked[A], at: Partition, leader: PartitionLeader, epoch: int) -> Pending[A]:
        row = asked.rows.get(at)
        if row is not None:
            return row[2]
        answer: Pending[A] = Pending()
        asked.rows[at] = (leader, epoch, answer)
        if not self._is_due:
            self._is_due = True
            self._clock.call_soon(self._send)
        return answer

    def _send(self) -> None:
        offsets, self._offsets = self._offsets, {}
        epochs, self._epochs = self._epochs, {}
        self._is_due = False
        for kind, asked in offsets.items():
            for part in _parts(asked):
                self._exchange(kind.node, _list_offsets(kind, part), part, _offsets_in, Offset)
        for (node, _), ends in epochs.items():
            for rows in _parts(ends):
                self._exchange(node, _epoch_request(rows), rows, _epochs_in, EpochEnd)

    def _exchange(
        self,
        node: int,
        request: Message,
        rows: dict[Partition, tuple[PartitionLeader, int, Pending[A]]],
        read: Callable[[Message], Iterator[tuple[Partition, A]]],
        failed: Callable[[ErrorCode], A],
    ) -> None:
        def answered(answer: Message | LinkFailure) -> None:
            found = {} if isinstance(answer, LinkFailure) else dict(read(answer))
            for at, (_, _, pending) in rows.items():
                pending.complete(found.get(at) or failed(ErrorCode.REQUEST_TIMED_OUT))

        self._link.send(node, request, purpose=Purpose.BEHIND, min_version=LEAST_VERSION).on_complete(answered)


def _parts(asked: _Asked[A]) -> Iterator[dict[Partition, tuple[PartitionLeader, int, Pending[A]]]]:
    rows = list(asked.rows.items())
    for start in range(0, len(rows), MOST_PARTITIONS):
        yield dict(rows[start : start + MOST_PARTITIONS])


def _list_offsets(kind: _Kind, rows: dict[Partition, tuple[PartitionLeader, int, Pending[Offset]]]) -> Message:
    topics: dict[str, ListOffsetsTopic] = {}
    for at, (leader, _, _) in rows.items():
        topic = topics.setdefault(at.topic, ListOffsetsTopic(at.topic))
        topic.partitions.append(ListOffsetsPartition(at.partition, leader.epoch, kind.timestamp))
    return ListOffsetsRequest(CONSUMER, kind.isolation, list(topics.values()))


def _offsets_in(answer: Message) -> Iterator[tuple[Partition, Offset]]:
    assert isinstance(answer, ListOffsetsResponse)
    for topic in answer.topics:
        for row in topic.partitions:
            offset = Offset(error_of(row.error_code), row.offset, row.timestamp, row.leader_epoch)
            yield Partition(topic.name, row.partition_index), offset


def _epoch_request(rows: dict[Partition, tuple[PartitionLeader, int, Pending[EpochEnd]]]) -> Message:
    topics: dict[str, OffsetForLeaderTopic] = {}
    for at, (leader, epoch, _) in rows.items():
        topic = topics.setdefault(at.topic, OffsetForLeaderTopic(at.topic))
        topic.partitions.append(OffsetForLeaderPartition(at.partition, leader.epoch, epoch))
    return OffsetForLeaderEpochRequest(CONSUMER, list(topics.values()))


def _epochs_in(answer: Message) -> Iterator[tuple[Partition, EpochEnd]]:
    assert isinstance(answer, OffsetForLeaderEpochResponse)
    for topic in answer.topics:
        for row in topic.partitions:
            yield (
                Partition(topic.topic, row.partition),
                EpochEnd(error_of(row.error_code), row.leader_epoch, row.end_offset),
            )


def common_end(anchor: Anchor, epochs: Mapping[int, int], known: EpochEnd, log_end: EpochEnd) -> int:
    """Return the end (exclusive) of the part that a leader's log has in common with the known one; if nothing is
    missing, the end of the leader's log. `known` is the leader's answer for the anchor's epoch, `log_end` its answer
    for its own epoch; `epochs` has the first known offset of each leader epoch.

    An answer for an older epoch than the anchor's means that the leader never had the anchor's epoch: the logs differ
    from where the older epoch ends at the leader, or a newer one begins here. An answer without an offset proves
    nothing. (KIP-101, KIP-320.)
    """
    if known.end_offset < 0:
        return log_end.end_offset
    if known.epoch < anchor.epoch and anchor.is_record:
        begins = min((offset for epoch, offset in epochs.items() if epoch > known.epoch), default=anchor.offset)
        return min(known.end_offset, begins, log_end.end_offset)
    return min(known.end_offset, log_end.end_offset) if known.end_offset < anchor.offset else log_end.end_offset
