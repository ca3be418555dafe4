"""The share session with one broker: epochs, partitions, acquisitions and acknowledgements (KIP-932). Sans-IO.

ShareFetch and ShareAcknowledge increment the same epoch, so at most one of them may be pending. The broker binds a
session to the connection that opened it and releases its locks when that connection ends; the session's driver then
calls `session_lost`. After that, and after every error of a whole request, the next fetch opens a new one with epoch 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.primitives import Tags
from shareq.protocol.share import FINAL_EPOCH, INITIAL_EPOCH, AcknowledgeType

TopicIdPartition = tuple[bytes, int]
"""Topic id and partition."""

MAX_BATCHES: Final = 2000
"""Acknowledgement batches of one request: some 40 KB, and a bounded state write at the broker."""

LEAST_BYTES: Final = 1 << 20
FIRST_BYTES: Final = 4 << 20
"""Bounds of an answer: the smallest, and that of a session's first."""

_MAX_INT32: Final = (1 << 31) - 1


class AckRange(NamedTuple):
    """Offsets of one partition to acknowledge; both ends are included."""

    topic_id: bytes
    partition: int
    first: int
    last: int


class AcquiredRange(NamedTuple):
    """Offsets that were acquired together; both ends are included. `delivery_count` is 1 at the first delivery."""

    topic: str
    topic_id: bytes
    partition: int
    first: int
    last: int
    delivery_count: int


class AcquiredOffsets(NamedTuple):
    """An `AcquiredRange` without the topic's name, which does not come with an answer."""

    topic_partition: TopicIdPartition
    first: int
    last: int
    delivery_count: int


class FetchLimits(NamedTuple):
    """The limits of one ShareFetch: how much it may acquire, and how long it may wait for the first record.

    `max_bytes` limits the bytes that the session agrees on. Without `strict` the broker rounds `max_records` up to
    whole batches of the log; with it, which needs version 2 (KIP-1206), it does not.
    """

    max_records: int
    max_wait_ms: int
    max_bytes: int
    strict: bool = False


class FetchOutcome(NamedTuple):
    """The outcome of a ShareFetch. `error` is that of the whole request: then all else is empty."""

    error: ErrorCode
    acquired: Sequence[AcquiredOffsets] = ()
    errors: Mapping[TopicIdPartition, ErrorCode] = {}
    lock_timeout_ms: int = 0


class AckOutcome(NamedTuple):
    """The outcome of a ShareAcknowledge. `error` is the error of the whole request, `errors` has failed partitions."""

    error: ErrorCode
    errors: Mapping[TopicIdPartition, ErrorCode] = {}


class ShareSession:
    """One member's session with one broker. Owned by one driver, which sends one request at a time."""

    __slots__ = ("_added", "_bytes", "_group_id", "_known", "_member_id", "_removed", "_stale", "_wanted", "epoch")

    def __init__(self, group_id: str, member_id: str) -> None:
        self._group_id = group_id
        self._member_id = member_id
        self._wanted: frozenset[TopicIdPartition] = frozenset()
        self._known: set[TopicIdPartition] = set()  # what the broker has in the session
        self._stale: set[TopicIdPartition] = set()  # to be forgotten once, though wanted
        self._added: Collection[TopicIdPartition] = ()
        self._removed: Collection[TopicIdPartition] = ()
        self._bytes = FIRST_BYTES  # what the next answer may take
        self.epoch = INITIAL_EPOCH

    @property
    def is_open(self) -> bool:
        """True if the broker seems to hold a session."""
        return self.epoch != INITIAL_EPOCH

    @property
    def partitions(self) -> frozenset[TopicIdPartition]:
        """The partitions that are wanted."""
        return self._wanted

    @property
    def needs_fetch(self) -> bool:
        """True if there is a partition to fetch from, or one to take out of the session."""
        return bool(self._wanted or self._known)

    def assign(self, partitions: Iterable[TopicIdPartition]) -> None:
        """Set the partitions of the session, from the next fetch on."""
        self._wanted = frozenset(partitions)

    def renew_entry(self, topic_partition: TopicIdPartition) -> None:
        """Let the next fetch take the partition out, and the one after it put it in again.

        The broker resolves a topic id when a partition enters a session, and keeps what it found.
        """
        if topic_partition in self._known:
            self._stale.add(topic_partition)

    def session_lost(self) -> None:
        """Begin a new session: the last one ended with its connection or by an error."""
        self.epoch = INITIAL_EPOCH
        self._known.clear()
        self._stale.clear()

    # -- requests and what their answers mean

    def fetch_request(self, limits: FetchLimits) -> ShareFetchRequest:
        """Return the next ShareFetch: it opens the session, or names the partitions that were added and removed."""
        wanted = self._wanted - self._stale
        self._added = wanted - self._known
        self._removed = self._known - wanted
        max_records = min(limits.max_records, _MAX_INT32)
        return ShareFetchRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=self.epoch,
            max_wait_ms=limits.max_wait_ms,
            min_bytes=1,
            max_bytes=min(limits.max_bytes, self._bytes),
            max_records=max_records,
            batch_size=max_records,  # ranges as wide as they can be: nothing is decoded here
            share_acquire_mode=int(limits.strict),
            topics=[
                share_fetch.FetchTopic(topic_id, [share_fetch.FetchPartition(partition) for partition in partitions])
                for topic_id, partitions in _by_topic(self._added)
            ],
            forgotten_topics_data=[
                share_fetch.ForgottenTopic(topic_id, partitions) for topic_id, partitions in _by_topic(self._removed)
            ],
        )

    def fetched(self, answer: ShareFetchResponse) -> FetchOutcome:
        """Take in the answer to the last `fetch_request`. The bytes of its records are not looked at."""
        if answer.error_code:
            self.session_lost()
            return FetchOutcome(error_of(answer.error_code))
        self._count_on()
        self._known.update(self._added)
        self._known.difference_update(self._removed)
        self._stale.clear()
        acquired: list[AcquiredOffsets] = []
        errors: dict[TopicIdPartition, ErrorCode] = {}
        size = 0
        for topic in answer.responses:
            for partition in topic.partitions:
                topic_partition = topic.topic_id, partition.partition_index
                if partition.error_code:
                    errors[topic_partition] = error_of(partition.error_code)
                size += len(partition.records or b"")
                acquired += [
                    AcquiredOffsets(topic_partition, one.first_offset, one.last_offset, one.delivery_count)
                    for one in partition.acquired_records
                ]
        if size:
            self._bytes = self._next_bytes(size)
        return FetchOutcome(ErrorCode.NONE, acquired, errors, answer.acquisition_lock_timeout_ms)

    def batches_request(
        self,
        batches: Mapping[TopicIdPartition, list[AcknowledgementBatch]],
        renews: bool,
        tags: Mapping[TopicIdPartition, Tags] | None = None,
    ) -> ShareAcknowledgeRequest:
        """Return the next ShareAcknowledge; the session must be open, and batches ascending within each partition.

        `renews`: one of them is RENEW; `tags` are those of partitions (`protocol/ack_reasons.py`).
        """
        topics = [
            share_acknowledge.AcknowledgeTopic(
                topic_id,
                [
                    share_acknowledge.AcknowledgePartition(
                        partition, batches[topic_id, partition], (tags or {}).get((topic_id, partition), ())
                    )
                    for partition in partitions
                ],
            )
            for topic_id, partitions in _by_topic(batches)
        ]
        return ShareAcknowledgeRequest(self._group_id, self._member_id, self.epoch, renews, topics)

    def acknowledged(self, answer: ShareAcknowledgeResponse) -> AckOutcome:
        """Take in the answer to the last `batches_request`."""
        if answer.error_code:
            self.session_lost()
            return AckOutcome(error_of(answer.error_code))
        self._count_on()
        return AckOutcome(
            ErrorCode.NONE,
            {
                (topic.topic_id, partition.partition_index): error_of(partition.error_code)
                for topic in answer.responses
                for partition in topic.partitions
                if partition.error_code
            },
        )

    def close_request(self) -> ShareAcknowledgeRequest:
        """Return the request that ends the session and releases its locks; whatever is answered,
        the session is closed.
        """
        self.session_lost()
        return ShareAcknowledgeRequest(self._group_id, self._member_id, FINAL_EPOCH, False, [])

    def _next_bytes(self, size: int) -> int:
        """Return twice the size of the last answer; a smaller value than before is approached in steps.

        A broker reads as much as a fetch allows, even if limits of records and locks leave little of it.
        """
        wanted = min(max(LEAST_BYTES, 2 * size), _MAX_INT32)
        return wanted if wanted > self._bytes else (self._bytes + wanted) // 2

    def _count_on(self) -> None:
        self.epoch = 1 if self.epoch == _MAX_INT32 else self.epoch + 1


def batches_of(ranges: Iterable[AckRange], kind: AcknowledgeType) -> dict[TopicIdPartition, list[AcknowledgementBatch]]:
    """Return ranges, which are ascending within each partition, as a request has them."""
    batches: dict[TopicIdPartition, list[AcknowledgementBatch]] = {}
    for one in ranges:
        batch = AcknowledgementBatch(one.first, one.last, [int(kind)])
        batches.setdefault((one.topic_id, one.partition), []).append(batch)
    return batches


def portions(ranges: Iterable[AckRange], size: int = MAX_BATCHES) -> Iterator[list[AckRange]]:
    """Yield ranges in the order of requests, in lists of at most `size`."""
    ordered = sorted(ranges)
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def _by_topic(partitions: Iterable[TopicIdPartition]) -> Iterator[tuple[bytes, list[int]]]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        topics.setdefault(topic_id, []).append(partition)
    yield from topics.items()
