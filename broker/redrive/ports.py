"""The ports from redrives to the rest of the broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import OnDurable
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.redrive.progress import PartitionProgress, State
from shareq.broker.redrive.spec import Owner, RedriveSpec
from shareq.broker.security.rights import Right
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.records.batch import BatchHeader


class AppendedBatch(Protocol):
    """A batch of a producer that a log remembers."""

    @property
    def last_sequence(self) -> int: ...


class KnownProducer(Protocol):
    """The state of a producer id that a log remembers. Its batches are ordered from the oldest; it has none if it
    only wrote a marker.
    """

    @property
    def batches(self) -> Sequence[AppendedBatch]: ...


class KnownProducers(Protocol):
    """The producers of one log."""

    def get(self, producer_id: int) -> KnownProducer | None: ...


class RedriveLog(Protocol):
    """The log of a partition, as `PartitionLog` is one."""

    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def producers(self) -> KnownProducers: ...

    def read(
        self, offset: int, max_bytes: int, *, upto: int, max_records: int | None = None
    ) -> ReadResult | ErrorCode | BeingRead: ...
    def unreadable_range(self, offset: int) -> tuple[int, int] | None: ...
    def next_header(self, offset: int) -> BatchHeader | None: ...


class Committed(NamedTuple):
    """A group's committed offset and text for one partition of a topic."""

    topic: str
    partition: int
    offset: int
    text: str


class RedriveWorld(Protocol):
    """The topics, logs, rights and committed offsets that redrives use. Everything is looked up at each use."""

    def partitions(self, topic: str) -> int | None:
        """Return the topic's number of partitions; None if it does not exist."""

    def log(self, topic: str, partition: int) -> RedriveLog | ErrorCode:
        """Return the log of a partition. Errors: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER,
        KAFKA_STORAGE_ERROR.
        """

    def append(
        self, topic: str, partition: int, batch: bytearray, now_wall_ms: int, on_durable: OnDurable
    ) -> ErrorCode:
        """Append a batch to the log of a partition, as for a client. Return the error that a client would get, or
        that of `log`.

        After NONE, `on_durable` is called later, perhaps with an error.
        """

    def may(self, owner: Owner, right: Right, name: str) -> bool:
        """Return True if the owner has the right now. The answer is written to the audit log."""

    def new_producer_id(self) -> Pending[int | ErrorCode]:
        """Return an unused producer id."""

    def begins_at_the_start(self, group_id: str) -> bool:
        """Return True if the share group begins a topic that is new to it at the first record."""

    def create_topic(self, name: str) -> Pending[ApiError]:
        """Create a topic with the broker's defaults, once that may be done, unless it exists by then."""

    def longest_text(self) -> int:
        """Return how many characters may be committed with an offset."""

    def sign(self, text: str) -> str:
        """Return a signature that only this broker can make. It is the same after each start."""

    def commit(
        self, spec: RedriveSpec, state: State, progress: Sequence[PartitionProgress], why: str = ""
    ) -> Pending[ErrorCode]:
        """Commit the progress of all partitions together. The result comes when the commit is durable: the first
        error, or NONE.

        A RUNNING redrive does not expire, and neither does one whose sent letters are still in the queue; others
        expire as groups' offsets do.
        """

    def load(self, group_id: str) -> Pending[Sequence[Committed] | ErrorCode]:
        """Return a group's committed offsets; none if the group does not exist."""

    def group_ids(self, prefix: str) -> list[str]:
        """Return the groups that have committed offsets and whose ids begin with `prefix`."""
