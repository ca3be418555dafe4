"""Divisible work pauses at the end of its turn, by the clock, or by its elements when the clock stands still."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.foundation.turn_budget import LOOK, PAUSE, TURN_ELEMENTS, TURN_NS, TurnBudget


class Loop:
    """A clock moved by the test, and the calls of the next turn."""

    def __init__(self, *, stands_still: bool = False) -> None:
        self.stands_still = stands_still
        self.ns = 5
        self.looks = 0
        self.soon: deque[Callable[[], None]] = deque()

    def now_ns(self) -> int:
        self.looks += 1
        return self.ns

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def next_turn(self) -> None:
        for _ in range(len(self.soon)):
            self.soon.popleft()()


def test_a_short_request_looks_at_no_clock_and_never_pauses() -> None:
    loop = Loop()
    budget = TurnBudget(loop)
    for _ in range(10):  # requests
        budget.begin()
        loop.ns += 10 * TURN_NS
        assert PAUSE not in [budget.breathe() for _ in range(LOOK - 1)]
    assert (loop.looks, len(loop.soon)) == (0, 0)


@pytest.mark.parametrize("element_ns", [100, 5_000, 20_000, TURN_NS])
def test_a_turn_lasts_as_long_as_it_may_whatever_an_element_takes(element_ns: int) -> None:
    loop = Loop()
    budget = TurnBudget(loop)
    for _ in range(5):  # turns
        budget.renew()
        began = loop.ns
        while True:
            loop.ns += element_ns
            if budget.breathe() is PAUSE:
                break
        assert TURN_NS <= loop.ns - began <= TURN_NS + LOOK * element_ns


def test_the_time_before_the_first_look_counts_in_a_turn_of_its_own() -> None:
    """A piece of a large batch that takes longer than a turn has a whole turn, and nothing else shares it."""
    loop = Loop()
    budget = TurnBudget(loop)
    budget.renew()
    loop.ns += TURN_NS
    assert budget.breathe(LOOK) is PAUSE
    budget.renew()
    loop.next_turn()  # work of a later turn of the loop starts with its own time
    loop.ns += TURN_NS
    assert budget.breathe(LOOK) is not PAUSE


def test_what_goes_on_in_one_turn_of_the_loop_shares_its_time() -> None:
    """For example, a hundred commits that become durable together, with many rows each, share one turn's time."""
    loop = Loop()
    budget = TurnBudget(loop)
    paused = 0
    for _ in range(100):
        budget.begin()
        for _ in range(4):
            loop.ns += TURN_NS // 4
            if budget.breathe(LOOK) is PAUSE:
                paused += 1
                break
    assert paused >= 98
    loop.next_turn()
    assert budget.breathe(LOOK) is not PAUSE


def test_a_turn_asks_once_to_be_ended() -> None:
    loop = Loop()
    budget = TurnBudget(loop)
    for _ in range(10):
        budget.breathe(LOOK)
    for _ in range(5):
        budget.renew()
        budget.breathe(LOOK)
    assert len(loop.soon) == 1


@given(st.lists(st.integers(1, 120), max_size=100))
def test_where_time_stands_still_the_same_elements_pause_at_the_same_places(breaths: list[int]) -> None:
    loop = Loop(stands_still=True)
    budget = TurnBudget(loop)

    def pauses() -> list[int]:
        budget.renew()
        turns = [0]
        for elements in breaths:
            turns[-1] += elements
            if budget.breathe(elements) is PAUSE:
                turns.append(0)
                budget.renew()
        return turns

    first = pauses()
    assert first == pauses()
    assert all(TURN_ELEMENTS <= elements < TURN_ELEMENTS + LOOK + 120 for elements in first[:-1])
    assert first[-1] < TURN_ELEMENTS + LOOK
    assert loop.looks == 0
