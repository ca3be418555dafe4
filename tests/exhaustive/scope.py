"""The size of an exhaustive search's world, and its possible events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from shareq.protocol.share import AcknowledgeType, AcquireMode

LOCK_MS = 10
"""The lock duration; half of it is the shortest time that a step lets pass."""


class Span(NamedTuple):
    """A record batch of the log: both offsets inclusive."""

    base_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class Scope:
    """A log whose offsets begin at 0, in record batches of these sizes, and a share group.

    `members` are interchangeable: each stands for all. `window` is the in-flight limit. With `dead_letters` there is a
    queue for dead records; with `backoff_ms` a failed record waits as long; with `keys`, one for each record, the group
    has order by key (0: no key), with `per_key` records of each in hand, and a window that looks `ahead`; with `dates`
    the group has delays, and each record comes no earlier than so long after the beginning (0: at once); with `ends`
    each record expires so long after it (0: never).
    With `transactions`, members may acknowledge in those of one producer, one at a time.
    """

    batches: tuple[int, ...] = (2, 2)
    members: int = 2
    delivery_count_limit: int = 2
    window: int = 100
    trimmed: bool = True  # whether the log may lose its first records
    dead_letters: bool = False
    backoff_ms: int = 0
    keys: tuple[int, ...] = ()
    per_key: int = 1
    ahead: int = 0
    dates: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    transactions: bool = False

    @property
    def spans(self) -> tuple[Span, ...]:
        ends = [sum(self.batches[: at + 1]) for at in range(len(self.batches))]
        return tuple(Span(end - size, end - 1) for end, size in zip(ends, self.batches, strict=True))

    @property
    def log_end(self) -> int:
        """The log end (exclusive)."""
        return sum(self.batches)


class Fetch(NamedTuple):
    member: int
    mode: AcquireMode
    max_records: int


class Acknowledge(NamedTuple):
    """An acknowledgement of `first..last` (inclusive), all with one type."""

    member: int
    first: int
    last: int
    kind: AcknowledgeType


class Stage(NamedTuple):
    """The same in a transaction."""

    member: int
    first: int
    last: int
    kind: AcknowledgeType


class EndTransaction(NamedTuple):
    """The end of the transaction, which is repeated with the same outcome until it was durable and answered."""

    commit: bool


class EndSession(NamedTuple):
    member: int


class Written(NamedTuple):
    """The outcome of the oldest state write: durable and answered, neither, or durable with its answer lost."""

    outcome: Literal["durable", "failed", "answer lost"]


class Pass(NamedTuple):
    """The passing of time: half a lock duration, or up to the next deadline, which is then handled."""

    until: Literal["half a lock", "the deadline"]


class Crash(NamedTuple):
    """The loss of the leader and a load by the next. Pending state writes are durable, or not."""

    durable: bool


class Trim(NamedTuple):
    """A DeleteRecords up to `log_start`, noticed by the next read."""

    log_start: int


class LettersDone(NamedTuple):
    """The end of the oldest dead letters, written or given up: no copy is left then."""

    copied: bool


Step = Fetch | Acknowledge | Stage | EndTransaction | EndSession | Written | Pass | Crash | Trim | LettersDone
