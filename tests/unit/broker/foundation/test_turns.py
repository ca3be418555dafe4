"""Long work goes in turns: one each tick, one piece of work after the other, and others in between."""

from __future__ import annotations

import gc
from collections.abc import Iterator

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.turns import Turns


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
    turns.run(work("a", 2, done), unexpected)
    turns.run(work("b", 1, done), unexpected)
    assert len(turns) == 2
    assert done == []
    seen = []
    while clock.run_tick():
        seen.append(list(done))
    assert seen == [["a0"], ["a0", "a1"], ["a0", "a1", "a."], ["a0", "a1", "a.", "b0"], ["a0", "a1", "a.", "b0", "b."]]
    assert len(turns) == 0


def test_work_that_comes_later_begins_again() -> None:
    clock, done = VirtualClock(), list[str]()
    turns = Turns(clock.call_soon)
    for name in "ab":
        turns.run(work(name, 1, done), unexpected)
        clock.run_until_idle()
    assert done == ["a0", "a.", "b0", "b."]


def test_work_that_fails_holds_nothing_up() -> None:
    def failing() -> Iterator[None]:
        yield
        raise RuntimeError("a defect")

    clock, done = VirtualClock(), list[str]()
    failures: list[Exception] = []
    turns = Turns(clock.call_soon)
    turns.run(failing(), failures.append)
    turns.run(work("b", 1, done), unexpected)
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
    turns.run(looking(), unexpected)
    turns.run(looking(), unexpected)
    between = []
    while clock.run_tick():
        between.append(gc.isenabled())
    assert seen == [False] * 4
    assert between == [False, True, False, True]


def test_the_collector_is_at_work_again_after_work_that_fails() -> None:
    def failing() -> Iterator[None]:
        yield
        raise RuntimeError("a defect")

    clock = VirtualClock()
    Turns(clock.call_soon).run(failing(), lambda _error: None)
    clock.run_until_idle()
    assert gc.isenabled()


def test_nothing_is_done_after_a_close_and_the_collector_is_at_work() -> None:
    clock, done = VirtualClock(), list[str]()
    turns = Turns(clock.call_soon)
    turns.run(work("a", 3, done), unexpected)
    turns.run(work("b", 3, done), unexpected)
    clock.run_tick()
    turns.close()
    turns.close()
    clock.run_until_idle()
    assert done == ["a0"]
    assert gc.isenabled()
    assert len(turns) == 0
