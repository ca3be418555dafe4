"""Faults to plant in records that expire: the simulation must notice them all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final
from weakref import WeakKeyDictionary

from shareq.broker.share import dated_records
from shareq.broker.share.core.effects import Cause
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.dlq.breakers import Breakers
from shareq.broker.share.partitions import SharePartitionManager
from tests.exhaustive.planted import (
    all_that_was_read_expires,
    expired_records_are_handed_out,
    expired_records_have_no_letters,
)
from tests.support.planting import Fault, Function, in_place_of, replaced

EXPIRED: Final = "and had expired"
EARLY: Final = "before its time"
LOST: Final = "is lost: not finished"
NOT_REFUSED: Final = "was to be refused"
NO_LETTER: Final = "has died without a dead letter"


def times_in_headers_are_not_read() -> AbstractContextManager[object]:
    return replaced((dated_records, "past", lambda _value, _wall_ms: b""))


def ages_are_not_read() -> AbstractContextManager[object]:
    return replaced((dated_records, "records_older", lambda *_: ()))


_KNOWN: Final[WeakKeyDictionary[SharePartition, int]] = WeakKeyDictionary()


@in_place_of(SharePartitionManager, "expired")
def the_first_leader_alone_looks(
    original: Function, self: SharePartitionManager, leader: Any, read: Any, at: int
) -> Any:
    """Plant that a leader that loads takes what it has not read yet for young."""
    before = _KNOWN.setdefault(leader.core, leader.core.known_until)
    return [each for each in original(self, leader, read, at) if each.first_offset > before]


@in_place_of(dated_records, "expired_in")
def records_expire_by_a_clock_that_is_fast(original: Function, leader: Any, read: Any, at: int, wall_ms: int) -> Any:
    return original(leader, read, at, wall_ms + 1_000)


@in_place_of(Breakers, "count")
def expired_records_open_the_breaker(original: Function, self: Breakers, group_id: str, letters: Any) -> Any:
    return original(self, group_id, [each._replace(cause=Cause.CLIENT_REJECT) for each in letters])


FAULTS: Final[dict[Fault, Sequence[str]]] = {
    expired_records_are_handed_out: (EXPIRED, NOT_REFUSED),
    times_in_headers_are_not_read: (EXPIRED, NOT_REFUSED),
    ages_are_not_read: (EXPIRED,),
    the_first_leader_alone_looks: (EXPIRED, NOT_REFUSED),
    records_expire_by_a_clock_that_is_fast: (EARLY, LOST),
    all_that_was_read_expires: (EARLY, LOST, "cannot have died"),
    expired_records_have_no_letters: (NO_LETTER,),
    expired_records_open_the_breaker: ("was paused by its breaker",),
}
