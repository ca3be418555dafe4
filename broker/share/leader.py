"""One share partition in this broker's memory, and the fetches and acknowledgements that wait for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple, Protocol

from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.share.core.aborted import aborted_ranges
from shareq.broker.share.core.effects import DeadLetter
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.ports import RecordSource
from shareq.coordinator.ports import IsolationLevel
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.header_values import HeaderValues

NO_VISIT: Final = ("", -(2**62))

MOST_REASONS: Final = 500
"""The most reasons kept for one share partition. Each is needed until a dead letter is written, usually at once."""


class LeaderState(Enum):
    """The stages of a share partition's life in this broker's memory."""

    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()  # it could not be loaded, and was removed from memory
    FENCED = auto()  # it was removed from memory; remaining references finish pending operations


class OpenedBatch(NamedTuple):
    """The times in the compressed batch that was opened last for a header. A batch of which each fetch acquires only a
    few records is read many times.
    """

    base_offset: int
    crc: int
    found: HeaderValues


@dataclass(slots=True)
class Unreadable:
    """Offsets from `first_offset` to `next_offset` (exclusive) that cannot be read, and the number of attempts."""

    first_offset: int
    next_offset: int
    attempts: int = 0


class SharePartitionLeader:
    """One share partition in memory, with the fetches that wait for it. Owned by `SharePartitionManager`."""

    __slots__ = (
        "armed_at",
        "core",
        "error",
        "has_news",
        "key",
        "left",
        "log",
        "opened",
        "orphaned",
        "quiet",
        "reasons",
        "since_ns",
        "start_write_id",
        "state",
        "topic",
        "truncated_to",
        "unburied",
        "unreadable",
        "visits",
        "waiters",
        "writes",
    )

    def __init__(
        self, key: SharePartitionKey, topic: str, log: RecordSource, core: SharePartition, since_ns: int = 0
    ) -> None:
        self.since_ns = since_ns  # when loading began
        self.key = key
        self.topic = topic
        self.log = log
        self.core = core
        self.state = LeaderState.LOADING
        self.error = ErrorCode.NONE
        self.truncated_to: int | None = None  # where the log was cut (exclusive) while this was loaded, or before
        self.start_write_id: int | None = None  # the write of the resolved start offset, while under way
        self.armed_at: int | None = None  # the earliest deadline that the manager will look at
        self.reasons: dict[int, bytes] = {}  # by offset, why members gave records back, for dead letters; oldest first
        self.unburied = 0  # dead letters that are being written
        self.left = False  # no member uses it: it is dropped once it owes no dead letters
        self.orphaned = False  # the state was removed: no later leader will find the dead letters that are owed
        self.quiet: list[Callable[[], None]] = []  # called when no dead letter is owed, or the leader is dropped
        self.has_news = True  # since a look found that there is nothing to read
        self.unreadable: Unreadable | None = None  # where the last read failed
        self.opened: dict[bytes, OpenedBatch] = {}  # by the header's name
        self.visits = (NO_VISIT, NO_VISIT)  # the last two members that fetched, the latest first
        self.waiters: dict[Parked, None] = {}  # in the order they came
        self.writes: dict[int, Callable[[ErrorCode], None]] = {}  # acknowledgements by the state write they wait for

    def visited(self, member_id: str, now_ms: int) -> None:
        """Note that the member has fetched."""
        last, before = self.visits
        self.visits = ((member_id, now_ms), before if member_id == last[0] else last)

    def is_for_others(self, member_id: str, now_ms: int) -> bool:
        """Return True if the member's fetch has to leave the records to other members.

        That is so if a lock of the member has expired, and a member without an expired lock has fetched within the last
        lock duration, so that it is likely to fetch again.
        """
        lapsed = self.core.lapsed
        if member_id not in lapsed:
            return False
        since_ms = now_ms - self.core.settings.record_lock_duration_ms
        return any(ms > since_ms and other not in lapsed for other, ms in self.visits)

    def note_reason(self, offset: int, reason: bytes) -> None:
        """Keep the reason why a member gave a record back, for the record's dead letter if it gets one."""
        self.reasons.pop(offset, None)
        self.reasons[offset] = reason
        if len(self.reasons) > MOST_REASONS:
            del self.reasons[next(iter(self.reasons))]

    @property
    def is_active(self) -> bool:
        """True if the share partition is loaded, and this broker leads it."""
        return self.state is LeaderState.ACTIVE

    @property
    def hands_out(self) -> bool:
        """True if the share partition is loaded, and no other leader has begun since."""
        return self.state is LeaderState.ACTIVE and self.error is ErrorCode.NONE

    @property
    def is_quiet(self) -> bool:
        """True if a look has found nothing and nothing has changed since: a fetch that comes now can only wait."""
        if self.has_news or self.state is not LeaderState.ACTIVE or self.error is not ErrorCode.NONE:
            return False
        return self.log.refusal is ErrorCode.NONE

    @property
    def owes_letters(self) -> bool:
        """True while dead letters are still to be written, or a state write is under way that makes records dead."""
        return bool(self.unburied) or self.core.has_dying

    @property
    def is_gone(self) -> bool:
        """True if its topic was deleted, or another broker leads it; `error` says which."""
        return self.state is LeaderState.FENCED and self.error is not ErrorCode.NONE

    @property
    def fails_waiters(self) -> bool:
        """True if the leader has ended, or another one has begun."""
        return self.error is not ErrorCode.NONE and self.state in (LeaderState.ACTIVE, LeaderState.FENCED)

    def upto(self, *, committed: bool) -> int:
        """Return the offset (exclusive) up to which members may read: the last stable offset if `committed`, else the
        high watermark.
        """
        return self.log.last_stable_offset if committed else self.log.high_watermark

    def may_have_records(self) -> bool:
        """Return False if no fetch of the group could acquire records from the log now, or find an error there.

        Once the log was found to have nothing to read, return False until something changes.
        """
        core, log = self.core, self.log
        if not self.has_news:
            return False
        offset = core.next_fetch_offset()
        if offset >= log.high_watermark and log.refusal is ErrorCode.NONE:
            self.has_news = False
            return False
        if not core.can_acquire():
            return False
        committed = core.settings.isolation_level is IsolationLevel.READ_COMMITTED
        return not committed or offset < log.last_stable_offset or log.refusal is not ErrorCode.NONE

    def aborted(self, read: ReadResult) -> Sequence[tuple[int, int]]:
        """Return the offset ranges (inclusive) of the read's record batches that a read_committed group must
        not get.
        """
        if not read.batches:
            return ()
        transactions = self.log.aborted_transactions(read.batches[0].base_offset, read.batches[-1].last_offset + 1)
        return aborted_ranges(read.batches, transactions) if transactions else ()


class Parked(Protocol):
    """A fetch that waits for records."""

    @property
    def group_id(self) -> str: ...

    @property
    def is_eager(self) -> bool:
        """True if the fetch is answered as soon as a share partition is open, with or without records."""

    def look_again(self, at: SharePartitionLeader | None = None) -> None:
        """Look for records again, because there may be some now; in a large session, only at the share
        partition `at`.
        """

    def finish(self) -> None:
        """Answer now, without records."""


class DeadLetterWriter(Protocol):
    """The port to what writes dead letters to the queues of their groups."""

    def write(
        self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], done: Callable[[int, int], None]
    ) -> None:
        """Write the letters; call `done` with the first and last offset (inclusive) of each finished part.

        `done` is called once for each offset, unless the leader is dropped before.
        """

    def records_came(self, leader: SharePartitionLeader) -> None:
        """Try again those letters whose records had to be fetched, because a part of the partition can be read now."""

    def give_up(self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], reason: str) -> None:
        """Log and count letters that can never be written."""


class NoDeadLetters:
    """A `DeadLetterWriter` without queues: it finishes every letter at once, without writing it."""

    def write(
        self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], done: Callable[[int, int], None]
    ) -> None:
        for letter in letters:
            done(letter.first_offset, letter.last_offset)

    def records_came(self, leader: SharePartitionLeader) -> None:
        """Do nothing: there are no letters to write."""

    def give_up(self, leader: SharePartitionLeader, letters: Sequence[DeadLetter], reason: str) -> None:
        """Do nothing: no letter is owed."""
