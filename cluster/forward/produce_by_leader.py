"""Batches that producers sent to a node, on their way to the brokers that lead their partitions.

    add ---> of an unknown topic: held, in order, until the mirror has it
      |
      +----> queue of (leader, acks, transaction): at the end of the tick, or of a producer's request if its broker has
                 |                    nothing else to do, one request with one batch of each partition
                 |
                 +-- while the broker has enough requests to work on: new batches wait, and are sent together

A request has at most one batch of a partition, so batches of one partition are sent one after the other, in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Clock
from shareq.cluster.forward.ports import GRACE_MS, Topic, Topics, leader_of
from shareq.cluster.link.leaders import STALE
from shareq.cluster.link.ports import Failure, Link, LinkFailure, Purpose
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode, error_of, text_of
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.primitives import Message

IN_FLIGHT: Final = 5
"""The most requests to one broker that may be under way; a broker handles those of a connection one after the other."""
MOST_BYTES: Final = 4 << 20
"""The most bytes of batches in one request, unless it has one batch only."""
ALL: Final = -1
"""The value of acks with which an answer means that all in-sync replicas have the batch."""
IDS_FROM: Final = 13
"""The first version in which Produce names topics by id."""


class Transaction(NamedTuple):
    """The transaction of a batch. `version` is that of the producer's request, because it decides how the broker adds
    partitions to the transaction.
    """

    transactional_id: str
    version: int


class Batch(NamedTuple):
    """A producer's batch, and the callback for its answer. `acks` are -1 or 1."""

    topic: Topic
    partition: int
    records: bytes | memoryview
    acks: int
    timeout_ms: int
    done: Callable[[PartitionProduceResponse], None]
    transaction: Transaction | None = None


Committed = Callable[[Topic, int, int, int, bytes | memoryview], None]
"""A function that is called with topic, partition, leader, base offset and bytes of a batch that all in-sync replicas
have, with the bytes as stored.
"""


class _Queue:
    """Batches for one broker that may share a request, by partition."""

    __slots__ = ("in_flight", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[tuple[Topic, int], deque[Batch]] = {}
        self.in_flight = 0

    def add(self, batch: Batch) -> None:
        """Add a batch behind those of its partition."""
        self.waiting.setdefault((batch.topic, batch.partition), deque()).append(batch)

    def take(self) -> list[Batch]:
        """Take the first batch of each partition, up to MOST_BYTES. A partition with more batches moves to the end of
        the queue.
        """
        taken: list[Batch] = []
        size = 0
        for place in list(self.waiting):
            first = self.waiting[place][0]
            size += len(first.records)
            if taken and size > MOST_BYTES:
                break
            taken.append(first)
            rest = self.waiting.pop(place)
            rest.popleft()
            if rest:  # behind the others, so that none waits for one that has many
                self.waiting[place] = rest
        return taken


class _Route(NamedTuple):
    node: int
    acks: int
    by_id: bool
    transaction: Transaction | None

    @property
    def versions(self) -> tuple[int, int | None]:
        """The lowest and the highest version to send; None as highest: whatever the broker serves."""
        if self.transaction is not None:
            return self.transaction.version, self.transaction.version
        return (IDS_FROM, None) if self.by_id else (0, IDS_FROM - 1)


class Batches:
    """Forwards batches to leaders. The row that a batch's `done` is called with names no broker of the cluster."""

    def __init__(self, link: Link, topics: Topics, clock: Clock, committed: Committed | None = None) -> None:
        self._committed = committed
        self._link = link
        self._topics = topics
        self._clock = clock
        self._held: dict[Topic, list[Batch]] = {}  # of topics that are being asked for
        self._queues: dict[_Route, _Queue] = {}
        self._added: dict[_Route, None] = {}  # those that got batches in this tick

    def add(self, batch: Batch) -> None:
        """Accept a batch. It is sent at the end of the tick, earlier by `hurry`, or later if its topic or its broker
        has to be waited for.
        """
        held = self._held.get(batch.topic)
        if held is not None:
            held.append(batch)
            return
        found = self._topics.find(batch.topic)
        if found.done:
            self._enqueue(batch, found.value)
        else:
            self._held[batch.topic] = [batch]
            found.on_complete(partial(self._found, batch.topic))

    def _found(self, topic: Topic, found: TopicImage | ErrorCode) -> None:
        for batch in self._held.pop(topic):
            self._enqueue(batch, found)

    def _enqueue(self, batch: Batch, topic: TopicImage | ErrorCode) -> None:
        leader = leader_of(self._topics, topic, batch.partition)
        if isinstance(leader, ErrorCode):
            batch.done(refused(batch.partition, leader))
            return
        route = _Route(leader, batch.acks, isinstance(batch.topic, bytes), batch.transaction)
        self._queues.setdefault(route, _Queue()).add(batch)
        self._note(route)

    def _note(self, route: _Route) -> None:
        if not self._added:
            self._clock.call_soon(self._flush)
        self._added[route] = None

    def hurry(self) -> None:
        """Send this tick's batches now to those brokers that have no such request under way."""
        for route in list(self._added):
            queue = self._queues.get(route)
            if queue is not None and not queue.in_flight:
                self._send(route)

    def _flush(self) -> None:
        added, self._added = deque(self._added), {}
        try:
            while added:
                route = added.popleft()
                if route in self._queues:
                    self._send(route)
        finally:  # one that fails must not keep the others here
            for route in added:
                self._note(route)

    def _send(self, route: _Route) -> None:
        """Send waiting batches, up to IN_FLIGHT requests."""
        queue = self._queues[route]
        while queue.in_flight < IN_FLIGHT and queue.waiting:
            batches = queue.take()
            queue.in_flight += 1
            lowest, highest = route.versions
            answer = self._link.send(
                route.node,
                _request(route, batches),
                purpose=Purpose.FORWARD,
                timeout_ms=max(batch.timeout_ms for batch in batches) + GRACE_MS,
                min_version=lowest,
                max_version=highest,
            )
            answer.on_complete(partial(self._answered, route, queue, batches))
        if not queue.in_flight and not queue.waiting and self._queues.get(route) is queue:
            del self._queues[route]

    def _answered(self, route: _Route, queue: _Queue, batches: list[Batch], outcome: Message | LinkFailure) -> None:
        queue.in_flight -= 1
        if isinstance(outcome, LinkFailure):
            error = _error_of(outcome)
            for batch in batches:
                self._look_again(batch.topic)
                batch.done(refused(batch.partition, error, outcome.text))
        else:
            assert isinstance(outcome, ProduceResponse)
            rows = {
                (topic.topic_id if route.by_id else topic.name, row.index): row
                for topic in outcome.responses
                for row in topic.partition_responses
            }
            for batch in batches:
                row = rows.get((batch.topic, batch.partition))
                if row is not None and self._committed is not None and _is_committed_as_sent(batch, row):
                    self._committed(batch.topic, batch.partition, route.node, row.base_offset, batch.records)
                self._give(batch, row)
        if route in self._queues:
            self._send(route)

    def _look_again(self, topic: Topic) -> None:
        found = self._topics.find(topic)
        if found.done and isinstance(found.value, TopicImage):
            self._topics.refresh(found.value.topic_id)

    def _give(self, batch: Batch, row: PartitionProduceResponse | None) -> None:
        """Call `done` with the broker's row, from which the current leader is left out."""
        if row is None:
            batch.done(refused(batch.partition, ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        if row.error_code in STALE:
            self._look_again(batch.topic)
        batch.done(
            PartitionProduceResponse(
                row.index,
                error_of(row.error_code),
                row.base_offset,
                row.log_append_time_ms,
                row.log_start_offset,
                record_errors=row.record_errors,
                error_message=row.error_message,
            )
        )


def _is_committed_as_sent(batch: Batch, row: PartitionProduceResponse) -> bool:
    """Return True if all in-sync replicas have the batch, outside of any transaction, with the timestamps that the
    producer gave it.
    """
    return (
        batch.transaction is None
        and batch.acks == ALL
        and not row.error_code
        and row.base_offset >= 0
        and row.log_append_time_ms < 0
    )


def refused(partition: int, error: ErrorCode, text: str | None = None) -> PartitionProduceResponse:
    """Return the row of a batch that was not appended, or whose outcome is unknown."""
    return PartitionProduceResponse(
        partition,
        error,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        error_message=text or text_of(error),
    )


def _request(route: _Route, batches: list[Batch]) -> ProduceRequest:
    topics: dict[Topic, list[PartitionProduceData]] = {}
    for batch in batches:
        topics.setdefault(batch.topic, []).append(PartitionProduceData(batch.partition, batch.records))
    return ProduceRequest(
        transactional_id=None if route.transaction is None else route.transaction.transactional_id,
        acks=route.acks,
        timeout_ms=max(batch.timeout_ms for batch in batches),
        topic_data=[
            TopicProduceData(topic_id=topic, partition_data=parts)
            if isinstance(topic, bytes)
            else TopicProduceData(name=topic, partition_data=parts)
            for topic, parts in topics.items()
        ],
    )


def _error_of(failure: LinkFailure) -> ErrorCode:
    """Return the error for a producer. It retries on REQUEST_TIMED_OUT, after which the batch may be in the log, and on
    NOT_LEADER_OR_FOLLOWER.
    """
    match failure.failure:
        case Failure.LOST:
            return ErrorCode.REQUEST_TIMED_OUT
        case Failure.UNSUPPORTED:
            return ErrorCode.UNSUPPORTED_VERSION
        case Failure.NOT_SENT | Failure.REFUSED:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
