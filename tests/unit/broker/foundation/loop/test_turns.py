"""Long work runs in turns: one per tick, one piece of work after the other, with other requests in between."""

from __future__ import annotations

import gc
from collections.abc import Iterator

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.loop.collector import FEW_YOUNG
from shareq.broker.foundation.loop.effort import EFFORT
from shareq.broker.foundation.loop.giving_way import GIVES_WAY, MOST_GIVES_WAY
from shareq.broker.foundation.loop.turns import Turns
from tests.support.coroutines import by_turns


def unexpected(error: Exception) -> None:
    raise error


def work(name: str, turns: int, done: list[str]) -> Iterator[None]:
    for turn in range(turns):
        done.append(f"{name}{turn}")
        yield
    done.append(f"{name}.")


def test_one_turn_each_tick_and_one_piece_of_work_after_the_other() -> None:
    clock, done = VirtualClock(), list[str]()
    turns = Turns(clock.call_soon)
    turns.run(by_turns(work("a", 2, done)), unexpected)
    turns.run(by_turns(work("b", 1, done)), unexpected)
    assert len(turns) == 2
    assert done == []
    seen = []
    while clock.run_tick():
        seen.append(list(done))
    every = ["a0", "a1", "a.", "b0", "b."]
    assert seen == [every[:1], every[:2], every[:3], every[:4], every, every]  # the last one is the collector's
    assert len(turns) == 0


def test_the_next_turn_gives_way_to_requests_that_came_meanwhile() -> None:
    clock, done = VirtualClock(), list[str]()
    turns = Turns(clock.call_soon)
    turns.run(by_turns(work("a", 3, done)), unexpected)
    seen = []
    for came in [0, 1] + [0] * GIVES_WAY + [0]:
        EFFORT.goes += came
        assert clock.run_tick()
        seen.append(len(done))
    assert seen == [1] + [1] * GIVES_WAY + [2, 3]  # the request is answered in the ticks between
    turns.close()


def test_turns_go_on_however_many_requests_come() -> None:
    clock, done = VirtualClock(), list[str]()
    turns = Turns(clock.call_soon)
    turns.run(by_turns(work("a", 3, done)), unexpected)
    ticks = 0
    while len(done) < 3:
        EFFORT.goes += 100
        assert clock.run_tick()
        ticks += 1
    assert ticks == 3 * (1 + MOST_GIVES_WAY)
    turns.close()


def test_work_that_comes_later_begins_again() -> None:
    clock, done = VirtualClock(), list[str]()
    turns = Turns(clock.call_soon)
    for name in "ab":
        turns.run(by_turns(work(name, 1, done)), unexpected)
        clock.run_until_idle()
    assert done == ["a0", "a.", "b0", "b."]


def test_work_that_fails_holds_nothing_up() -> None:
    def failing() -> Iterator[None]:
        yield
        raise RuntimeError("a defect")

    clock, done = VirtualClock(), list[str]()
    failures: list[Exception] = []
    turns = Turns(clock.call_soon)
    turns.run(by_turns(failing()), failures.append)
    turns.run(by_turns(work("b", 1, done)), unexpected)
    clock.run_until_idle()
    assert done == ["b0", "b."]
    assert [str(error) for error in failures] == ["a defect"]
    assert len(turns) == 0


def test_the_collector_rests_from_the_first_turn_to_the_last() -> None:
    seen: list[bool] = []

    def looking() -> Iterator[None]:
        seen.append(gc.isenabled())
        yield
        seen.append(gc.isenabled())

    clock = VirtualClock()
    turns = Turns(clock.call_soon)
    turns.run(by_turns(looking()), unexpected)
    turns.run(by_turns(looking()), unexpected)
    between = []
    while clock.run_tick():
        between.append(gc.isenabled())
    assert seen == [False] * 4
    assert between == [False, False, False, False, True]


def test_the_collector_waits_for_what_a_work_leaves_behind() -> None:
    """The collection waits until the answer is made, in a work of its own.

    A collection between the two once held the loop for 29 ms after a request of 190,000 acknowledgements.
    """
    kept: list[list[int]] = []
    clock = VirtualClock()
    turns = Turns(clock.call_soon)

    def reading() -> Iterator[None]:
        yield
        kept.extend([] for _ in range(2 * FEW_YOUNG))
        turns.run(by_turns(answering()), unexpected)

    def answering() -> Iterator[None]:
        yield
        yield
        kept.clear()

    turns.run(by_turns(reading()), unexpected)
    seen = []
    while clock.run_tick():
        seen.append((gc.isenabled(), len(kept)))
    assert [len(kept) for enabled, _ in seen if enabled] == [0]
    assert seen[-1] == (True, 0)


def test_the_collector_looks_at_what_stays_when_nothing_more_waits() -> None:
    kept: list[list[int]] = []

    def keeping() -> Iterator[None]:
        yield
        kept.extend([] for _ in range(2 * FEW_YOUNG))

    clock = VirtualClock()
    Turns(clock.call_soon).run(by_turns(keeping()), unexpected)
    clock.run_until_idle()
    assert gc.isenabled()


def test_what_a_turn_begins_goes_on_right_behind_its_work() -> None:
    """Work that had to wait again would leave all long requests in memory at once, read but not answered."""
    clock, done = VirtualClock(), list[str]()
    turns = Turns(clock.call_soon)

    def beginning() -> Iterator[None]:
        turns.run(by_turns(work("b", 1, done)), unexpected)
        yield
        turns.run(by_turns(work("c", 1, done)), unexpected)
        done.append("a.")

    turns.run(by_turns(beginning()), unexpected)
    turns.run(by_turns(work("d", 1, done)), unexpected)
    clock.run_until_idle()
    assert done == ["a.", "b0", "b.", "c0", "c.", "d0", "d."]


def test_the_collector_is_at_work_again_after_work_that_fails() -> None:
    def failing() -> Iterator[None]:
        yield
        raise RuntimeError("a defect")

    clock = VirtualClock()
    Turns(clock.call_soon).run(by_turns(failing()), lambda _error: None)
    clock.run_until_idle()
    assert gc.isenabled()


def test_nothing_is_done_after_a_close_and_the_collector_is_at_work() -> None:
    clock, done = VirtualClock(), list[str]()
    turns = Turns(clock.call_soon)
    turns.run(by_turns(work("a", 3, done)), unexpected)
    turns.run(by_turns(work("b", 3, done)), unexpected)
    clock.run_tick()
    turns.close()
    turns.close()
    clock.run_until_idle()
    assert done == ["a0"]
    assert gc.isenabled()
    assert len(turns) == 0
