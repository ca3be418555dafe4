"""Requests of a share partition to its shell. Returned, never performed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.staged import Staged
from shareq.coordinator.share.state_batches import StateBatch as StateBatch  # what is persisted


@dataclass(frozen=True, slots=True)
class WriteState:
    """A change to persist. The shell answers with `SharePartition.on_state_written(write_id, error)` exactly once.

    `start_offset` is the start offset before this write's own commit moves it. `batches` are ascending and disjoint. So
    are `delays`, which hold for available records among them, in monotonic time. `staged` has the changes of
    acknowledgements in transactions.
    """

    write_id: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]
    delays: tuple[Delay, ...] = ()
    staged: tuple[Staged, ...] = ()


@dataclass(frozen=True, slots=True)
class WakeFetches:
    """A request to let the share fetches parked on this partition look again: something may have become acquirable."""


class GivenUpRange(NamedTuple):
    """Offsets (both inclusive) that are not delivered any more, and the number of their deliveries."""

    first_offset: int
    last_offset: int
    attempts: int


@dataclass(frozen=True, slots=True)
class DeliveryLimitReached:
    """News for the operator: records were given up, because their last delivery failed. Ascending."""

    ranges: tuple[GivenUpRange, ...]


class Cause(Enum):
    """The cause of a record's death: a member rejected it, its last delivery failed (KIP-1191), or it expired (our
    own).
    """

    CLIENT_REJECT = "CLIENT_REJECT"
    DELIVERY_COUNT_EXCEEDED = "DELIVERY_COUNT_EXCEEDED"
    EXPIRED = "EXPIRED"


class DeadLetter(NamedTuple):
    """Offsets (both inclusive) of dead records, and the number of their deliveries. `member_id` is the member that
    rejected them, "" if unknown.
    """

    first_offset: int
    last_offset: int
    delivery_count: int
    cause: Cause
    member_id: str = ""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Dead letters to write, ascending; the shell calls `SharePartition.on_dead_letters_done` once for each offset."""

    letters: tuple[DeadLetter, ...]


Effect = WriteState | WakeFetches | DeliveryLimitReached | DeadLetters
