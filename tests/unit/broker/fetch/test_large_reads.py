"""The queue of fetches that read much: short requests of other clients come first, and one tick reads little."""

from __future__ import annotations

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.fetch.large_reads import LARGE_READ, MOST_READ, LargeReads
from shareq.broker.foundation.loop.giving_way import GIVES_WAY, MOST_GIVES_WAY
from shareq.broker.network.write_share import WriteShare


class Rig:
    """Fetches that each make one large read when it is their turn."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.answers = WriteShare(self.clock)
        self.reads = LargeReads(self.clock, self.answers)
        self.made = 0

    def fetch(self, size: int = MOST_READ // 2) -> None:
        if self.reads.must_wait():
            self.reads.turn().on_complete(lambda _: self._read(size))
        else:
            self._read(size)

    def _read(self, size: int) -> None:
        self.made += 1
        self.reads.note(size)

    def ticks_until(self, made: int, requests: int = 0) -> int:
        """Return the ticks until so many reads were made, with so many requests in each."""
        for ticks in range(100):
            if self.made >= made:
                return ticks
            self.answers.requests += requests
            self.clock.run_tick()
        raise AssertionError(self.made)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_reader_that_is_alone_reads_at_once(rig: Rig) -> None:
    for number in range(1, 20):
        rig.fetch()
        assert rig.made == number
        rig.clock.run_until_idle()


def test_a_short_request_meets_no_large_read_until_it_is_answered(rig: Rig) -> None:
    rig.answers.requests += 1
    rig.fetch()
    assert rig.ticks_until(1) == GIVES_WAY + 1
    rig.clock.run_until_idle()
    rig.fetch()
    assert rig.made == 2, "it is answered"


def test_requests_without_an_end_hold_a_large_read_up_for_some_ticks(rig: Rig) -> None:
    rig.answers.requests += 1
    for _ in range(3):
        rig.fetch()
    assert [rig.ticks_until(made, requests=1) for made in (1, 2, 3)] == [MOST_GIVES_WAY + 1] * 3


def test_so_much_is_read_in_a_tick_by_one_fetch_after_the_other(rig: Rig) -> None:
    for _ in range(7):
        rig.fetch()
    made = [rig.made]
    while rig.made < 7:
        rig.clock.run_tick()
        made.append(rig.made)
    assert made == [2, 4, 6, 7]


def test_fetches_that_find_nothing_have_one_turn_in_a_tick(rig: Rig) -> None:
    looks = 0

    def look(_value: None) -> None:
        nonlocal looks
        looks += 1
        if looks < 50:
            rig.reads.turn().on_complete(look)

    rig.fetch(MOST_READ)
    for _ in range(2):
        rig.reads.turn().on_complete(look)
    rig.clock.run_tick()
    assert looks == 2
    rig.clock.run_until_idle()


def test_small_reads_take_no_turn(rig: Rig) -> None:
    for _ in range(2 * MOST_READ // LARGE_READ):
        rig.reads.note(LARGE_READ)
    rig.fetch()
    assert rig.made == 1


def test_a_fetch_that_fails_takes_no_turn_of_another_away(rig: Rig) -> None:
    def fail(_: None) -> None:
        raise ZeroDivisionError

    rig.reads.turn().on_complete(fail)
    rig.fetch()
    with pytest.raises(ZeroDivisionError):
        rig.clock.run_until_idle()
    rig.clock.run_until_idle()
    assert rig.made == 1
