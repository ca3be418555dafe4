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
    """A batch that a log remembers of a producer."""

    @property
    def last_sequence(self) -> int: ...


class KnownProducer(Protocol):
    """A log's memory of a producer id. Oldest batch first; none for a producer that only left a marker."""

    @property
    def batches(self) -> Sequence[AppendedBatch]: ...


class KnownProducers(Protocol):
    """The producers of one log."""

    def get(self, producer_id: int) -> KnownProducer | None: ...


class RedriveLog(Protocol):
    """The log of a partition. As `PartitionLog`."""

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
    """Topics, logs, rights and committed offsets. Everything is looked up on every use."""

    def partitions(self, topic: str) -> int | None:
        """Return the topic's number of partitions; None if it does not exist."""

    def log(self, topic: str, partition: int) -> RedriveLog | ErrorCode:
        """Return the log of a partition. UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR."""

    def append(
        self, topic: str, partition: int, batch: bytearray, now_wall_ms: int, on_durable: OnDurable
    ) -> ErrorCode:
        """Append to the log of a partition as for a client. Return the error that a client would get, or that of `log`.

        With NONE, `on_durable` is called later, perhaps with an error.
        """

    def may(self, owner: Owner, right: Right, name: str) -> bool:
        """Return True if the owner has the right now. The audit log gets the answer."""

    def new_producer_id(self) -> Pending[int | ErrorCode]:
        """Return an unused producer id."""

    def begins_at_the_start(self, group_id: str) -> bool:
        """Return True if the share group reads a topic that is new to it from the first record on."""

    def create_topic(self, name: str) -> Pending[ApiError]:
        """Create a topic with the broker's defaults, unless it exists when that may be done."""

    def longest_text(self) -> int:
        """Return how many characters may be committed with an offset."""

    def sign(self, text: str) -> str:
        """Return a signature that only this broker can make, the same after each start."""

    def commit(
        self, spec: RedriveSpec, state: State, progress: Sequence[PartitionProgress], why: str = ""
    ) -> Pending[ErrorCode]:
        """Commit all together. The result comes when the commit is durable, and is the first error, if any.

        A RUNNING redrive does not expire, nor one whose sent letters are still in the queue; others expire as groups'
        offsets do.
        """

    def load(self, group_id: str) -> Pending[Sequence[Committed] | ErrorCode]:
        """Load a group's committed offsets; none for a group that does not exist."""

    def group_ids(self, prefix: str) -> list[str]:
        """Return the groups that have committed offsets and begin so."""
