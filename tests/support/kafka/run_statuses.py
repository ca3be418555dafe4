"""Statuses, acknowledgements and rows for tests of passes over records in flight."""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple


class Status(NamedTuple):
    name: str
    state: int = 0
    delivery_count: int = 1
    available: bool = False
    write_id: int = 0
    after: Status | None = None
    done: bool = False


class Ack(NamedTuple):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


def flat(acks: list[Ack]) -> list[int]:
    """Return acknowledgements as the numbers that passes take; -1 for several types."""
    rows = ((first, last, types[0] if len(types) == 1 else -1) for first, last, types in acks)
    return [number for row in rows for number in row]


class Row(NamedTuple):
    first: int
    last: int
    state: int
    deliveries: int


FREE, AGAIN = Status("free", available=True, delivery_count=0), Status("again", available=True)
WAITS, HELD, OTHER = Status("waits"), Status("held", 1), Status("other", 1)
DONE = Status("done", 2, done=True)
NEW: Final = tuple.__new__


def runs_of(plain: list[Status], first: int) -> tuple[list[int], list[Status]]:
    starts = [at for at, status in enumerate(plain) if at == 0 or plain[at - 1] is not status]
    return [first + at for at in starts], [plain[at] for at in starts]


def chance(seed: int, *of: Status) -> tuple[Random, int, list[Status]]:
    rng = Random(seed)
    return rng, rng.choice((0, 9, 2**40)), [rng.choice(of) for _ in range(rng.randint(1, 40))]
