"""Requests of a share partition to its shell. Returned, never performed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.state_batches import StateBatch as StateBatch  # what is persisted


@dataclass(frozen=True, slots=True)
class WriteState:
    """Persist a change. The shell answers with `SharePartition.on_state_written(write_id, error)` exactly once.

    `start_offset` is the start offset before this write's own commit moves it. `batches` are ascending and disjoint;
    so are `delays`, of available records among them: their times are monotonic.
    """

    write_id: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]
    delays: tuple[Delay, ...] = ()


@dataclass(frozen=True, slots=True)
class WakeFetches:
    """Something may have become acquirable: look again at the share fetches parked on this partition."""


class GivenUpRange(NamedTuple):
    """Offsets (both inclusive) that nobody gets again, after so many deliveries."""

    first_offset: int
    last_offset: int
    attempts: int


@dataclass(frozen=True, slots=True)
class DeliveryLimitReached:
    """Records were given up, because their last delivery failed: an operator may want to know. Ascending."""

    ranges: tuple[GivenUpRange, ...]


class Cause(Enum):
    """The cause of a record's death: a member rejected it, or its last delivery failed (KIP-1191)."""

    CLIENT_REJECT = "CLIENT_REJECT"
    DELIVERY_COUNT_EXCEEDED = "DELIVERY_COUNT_EXCEEDED"


class DeadLetter(NamedTuple):
    """Offsets (both inclusive) that are dead, after so many deliveries; `member_id` rejected them, "" if unknown."""

    first_offset: int
    last_offset: int
    delivery_count: int
    cause: Cause
    member_id: str = ""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Write dead letters; for each offset the shell calls `SharePartition.on_dead_letters_done`. Each range ascends."""

    letters: tuple[DeadLetter, ...]


Effect = WriteState | WakeFetches | DeliveryLimitReached | DeadLetters
