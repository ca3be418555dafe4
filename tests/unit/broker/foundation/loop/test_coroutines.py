"""Coroutines without a loop of their own: they run at once, or continue when the awaited result arrives."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.loop.coroutines import Driven, begin, beginner, drive, in_steps, in_ticks, sleep
from shareq.broker.foundation.loop.turns import Turn, Turns
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import PAUSE, TURN_ELEMENTS, TurnBudget


@dataclass
class Loop:
    clock: VirtualClock = field(default_factory=VirtualClock)
    faults: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.budget = TurnBudget(self.clock)
        self.turns = Turns(self.clock.call_soon)

    def drive(self, coroutine: Any) -> Any:
        return drive(coroutine, self.budget, self.in_turns, self.faults.append)

    def in_turns(self, work: Turn) -> None:
        self.turns.run(work, self.faults.append)


async def answer(pending: Pending[int]) -> int:
    return await pending + 1


def test_what_need_not_wait_is_done_at_once() -> None:
    loop = Loop()
    assert loop.drive(answer(completed(1))) == 2
    assert begin(answer(completed(1)), loop.budget, loop.in_turns, loop.faults.append).value == 2
    assert len(loop.turns) == 0


def test_what_waits_goes_on_in_the_call_that_completes_it() -> None:
    loop = Loop()
    pending: Pending[int] = Pending()
    driven = loop.drive(answer(pending))
    assert isinstance(driven, Driven)
    assert not driven.result.done
    pending.complete(1)
    assert driven.result.value == 2


def test_a_coroutine_may_end_before_its_answer_comes() -> None:
    async def begin_answer(first: Pending[int], second: Pending[int]) -> Pending[int]:
        await first
        return second

    loop = Loop()
    first, second = Pending[int](), Pending[int]()
    assert loop.drive(begin_answer(completed(1), second)) is second
    driven = loop.drive(begin_answer(first, second))
    first.complete(1)
    assert not driven.result.done
    second.complete(2)
    assert driven.result.value == 2


def test_an_answer_may_be_waited_for_twice() -> None:
    loop = Loop()
    pending: Pending[int] = Pending()
    both = [loop.drive(answer(pending)), loop.drive(answer(pending))]
    pending.complete(1)
    assert [driven.result.value for driven in both] == [2, 2]


def test_a_fault_in_the_first_step_is_the_callers() -> None:
    async def fault() -> None:
        raise RuntimeError("a defect")

    loop = Loop()
    with pytest.raises(RuntimeError, match="a defect"):
        loop.drive(fault())
    assert loop.faults == []


def test_a_fault_behind_what_came_is_reported_and_spares_others_that_waited() -> None:
    async def fault(pending: Pending[int]) -> int:
        raise RuntimeError(f"a defect at {await pending}")

    loop = Loop()
    pending: Pending[int] = Pending()
    failing, other = loop.drive(fault(pending)), loop.drive(answer(pending))
    pending.complete(1)
    assert [str(error) for error in loop.faults] == ["a defect at 1"]
    assert not failing.result.done
    assert other.result.value == 2


def test_many_elements_are_done_in_turns_and_few_at_once() -> None:
    loop = Loop()
    done = [0]

    async def count(elements: int) -> int:
        for _ in range(elements):
            done[0] += 1
            await loop.budget.breathe()
        return elements

    assert loop.drive(count(TURN_ELEMENTS - 1)) == TURN_ELEMENTS - 1
    loop.clock.run_until_idle()
    done[0] = 0
    driven = loop.drive(count(5 * TURN_ELEMENTS))
    seen = [done[0]]
    while loop.clock.run_tick():
        seen.append(done[0])
    assert driven.result.value == 5 * TURN_ELEMENTS
    assert max(after - before for before, after in pairwise(seen)) <= TURN_ELEMENTS
    assert seen[0] == TURN_ELEMENTS


def test_what_work_of_the_brokers_own_raises_is_logged_or_the_callers(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    begin_one = beginner(loop.budget, loop.turns.run)
    assert begin_one(answer(completed(1))).value == 2

    async def fails(pending: Pending[int]) -> None:
        if await pending:
            await in_steps(two_steps())
        raise ValueError("planted")

    def two_steps() -> Generator[None, None, None]:
        yield
        yield

    with pytest.raises(ValueError, match="planted"):
        begin_one(fails(completed(0)))
    for value in (0, 1):
        pending: Pending[int] = Pending()
        result = begin_one(fails(pending))
        pending.complete(value)
        loop.clock.run_until_idle()
        assert not result.done
        assert "planted" in caplog.text
        caplog.clear()


def test_a_coroutine_sleeps() -> None:
    loop = Loop()
    woken: list[int] = []

    async def naps() -> None:
        await sleep(loop.clock, 20)
        woken.append(loop.clock.now_ms())

    began = loop.clock.now_ms()
    loop.drive(naps())
    loop.clock.advance(19)
    assert not woken
    loop.clock.advance(5)
    assert woken == [began + 20]


def test_a_generator_that_pauses_can_be_awaited() -> None:
    def steps() -> Generator[None, None, int]:
        yield
        yield
        return 7

    async def waits() -> int:
        return await in_steps(steps())

    loop = Loop()
    driven = loop.drive(waits())
    assert not driven.result.done
    loop.clock.run_until_idle()
    assert driven.result.value == 7


def test_a_coroutine_that_cancels_itself_ends_at_its_next_suspension() -> None:
    """A coroutine cancels itself when it closes its own client's connection."""
    loop, pending, seen = Loop(), [Pending[int](), Pending[int]()], list[str]()
    driven: list[Driven[None]] = []

    async def cancels() -> None:
        try:
            await pending[0]
            driven[0].cancel()
            seen.append("cancelled")
            await pending[1]
            seen.append("went on")
        finally:
            seen.append("closed")

    driven.append(loop.drive(cancels()))
    pending[0].complete(1)
    assert seen == ["cancelled", "closed"]
    pending[1].complete(1)
    assert seen == ["cancelled", "closed"]
    assert (driven[0].result.done, loop.faults) == (False, [])


def test_coroutines_that_pause_when_the_broker_stops_are_closed() -> None:
    loop, closed = Loop(), list[str]()

    async def pauses() -> None:
        try:
            await loop.budget.breathe(10 * TURN_ELEMENTS)
        finally:
            closed.append("closed")

    loop.drive(pauses())
    loop.turns.close()
    loop.clock.run_until_idle()
    assert closed == ["closed"]
    assert loop.faults == []


# -- any program, and any order of what happens around it

WAIT, BREATHE = "wait", "breathe"
Step = tuple[str, int]
FAULT: Step = ("fail", 0)
STEPS = st.one_of(
    st.tuples(st.just(WAIT), st.integers(0, 3)),
    st.tuples(st.just(BREATHE), st.sampled_from([1, 60, TURN_ELEMENTS, 1_000])),
)
PROGRAMS = st.tuples(st.lists(STEPS, max_size=12), st.booleans()).map(
    lambda given: [*given[0], FAULT] if given[1] and given[0] else given[0]
)
EVENTS = st.lists(
    st.one_of(st.tuples(st.just("complete"), st.integers(0, 3)), st.just(("tick", 0)), st.just(("cancel", 0))),
    max_size=30,
)


class Programs:
    """Coroutines that run the steps of these programs, and their results. The first one's client may disconnect."""

    def __init__(self, programs: list[list[Step]]) -> None:
        self.loop = Loop()
        self.programs = programs
        self.pendings: list[Pending[int]] = [Pending() for _ in range(4)]
        self.taken: list[list[Step]] = [[] for _ in programs]
        self.ended = [0] * len(programs)
        self.faults_at_once = 0
        self.cancelled = False
        self.driven: dict[int, Driven[int]] = {}
        for at in range(len(programs)):
            self._begin(at)

    def _begin(self, at: int) -> None:
        try:
            answered = self.loop.drive(self._run(at))
        except RuntimeError:
            self.faults_at_once += 1
            return
        if isinstance(answered, Driven):
            self.driven[at] = answered
        else:
            assert (answered, self.taken[at]) == (at, self.programs[at])

    async def _run(self, at: int) -> int:
        try:
            for step in self.programs[at]:
                kind, value = step
                if kind == WAIT:
                    assert await self.pendings[value] == value
                elif kind == BREATHE:
                    await self.loop.budget.breathe(value)
                else:
                    raise RuntimeError(f"planted in {at}")
                self.taken[at].append(step)
            return at
        finally:
            self.ended[at] += 1

    def happens(self, kind: str, value: int) -> None:
        if kind == "tick":
            self.loop.clock.run_tick()
        elif kind == "complete" and not self.pendings[value].done:
            self.pendings[value].complete(value)
        elif kind == "cancel" and 0 in self.driven:
            before = list(self.taken[0])
            self.driven[0].cancel()
            self.cancelled = self.cancelled or not self.driven[0].result.done
            assert (self.taken[0], self.ended[0]) == (before, 1)
        self.look()

    def look(self) -> None:
        """Check that each program ran its steps in order, and ended no more than once."""
        for at, program in enumerate(self.programs):
            assert self.taken[at] == program[: len(self.taken[at])]
            assert self.ended[at] <= 1
            if at in self.driven and self.driven[at].result.done:
                assert (self.driven[at].result.value, self.taken[at], self.ended[at]) == (at, program, 1)

    def finish(self) -> None:
        for value in range(len(self.pendings)):
            self.happens("complete", value)
        self.loop.clock.run_until_idle()
        self.look()
        assert self.ended == [1] * len(self.programs)
        assert len(self.loop.turns) == 0

    def judge(self, at: int) -> None:
        fails = FAULT in self.programs[at]
        if at in self.driven and not (at == 0 and self.cancelled):
            assert self.driven[at].result.done is not fails
            assert len(self.taken[at]) == len(self.programs[at]) - fails


@given(st.lists(PROGRAMS, min_size=1, max_size=4), EVENTS)
def test_every_program_takes_each_of_its_steps_once_in_order_and_ends_once(
    programs: list[list[Step]], events: list[tuple[str, int]]
) -> None:
    world = Programs(programs)
    for kind, value in events:
        world.happens(kind, value)
    world.finish()
    for at in range(len(programs)):
        world.judge(at)
    planted = sum(FAULT in program for program in programs)
    assert planted - world.cancelled <= world.faults_at_once + len(world.loop.faults) <= planted


def test_turns_beside_all_others_are_one_in_each_tick_and_end_with_what_they_raise() -> None:
    loop = Loop()
    steps: list[str] = []

    async def work(name: str, error: Exception | None) -> None:
        for _ in range(3):
            steps.append(name)
            await PAUSE
        if error is not None:
            raise error

    begin_one = beginner(loop.budget, in_ticks(loop.clock.call_soon))
    error = ZeroDivisionError()
    ended = begin_one(work("a", None))
    run = in_ticks(loop.clock.call_soon)
    drive(work("b", error), loop.budget, lambda turn: run(turn, loop.faults.append), loop.faults.append)
    while not ended.done:
        steps.append("|")
        loop.clock.run_tick()
    assert "".join(steps) == "ab|ab|ab|"
    assert loop.faults == [error]
