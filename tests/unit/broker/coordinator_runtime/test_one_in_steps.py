"""A coordinator's work in steps while Python's garbage collector, which would take longer than any step, is paused."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import pairwise, repeat
from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.coordinator_runtime.one_in_steps import MOST_IN_A_TICK, OneInSteps, Waiting
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.collector import COLLECTOR, FEW_YOUNG
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.turn_budget import PAUSE
from shareq.protocol.errors import ErrorCode
from tests.support.coroutines import by_turns


def in_steps_of(clock: VirtualClock) -> OneInSteps:
    return OneInSteps(Environment(clock, Random(1), MemFs(clock.call_soon, Random(1))))


async def growing(kept: list[list[int]], steps: int) -> None:
    """Take steps that each create several collections' worth of objects."""
    for _ in range(steps):
        kept.extend([] for _ in range(FEW_YOUNG))
        await PAUSE


async def one_step() -> None:
    await PAUSE


def nothing(_result: None) -> None: ...


@pytest.fixture
def looks() -> Iterator[list[int]]:
    """Return the generations that were collected, at the collector's default frequency."""
    seen: list[int] = []
    before = gc.get_threshold()
    gc.set_threshold(700, 10)

    def look(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(look)
    yield seen
    gc.callbacks.remove(look)
    gc.set_threshold(*before)


def ticks_with_looks(clock: VirtualClock, looks: list[int]) -> list[bool]:
    """Return, for each tick until the end, whether a collection ran."""
    ticks: list[bool] = []
    while True:
        looks.clear()
        ready = clock.run_tick()
        if not ready:
            return ticks
        ticks.append(bool(looks))


def test_the_collector_rests_from_the_first_step_to_the_tick_after_the_last(looks: list[int]) -> None:
    """The last step of a heartbeat of 9,000 topics once took 50 ms instead of 13.

    Its decision and the replay of its records triggered a full collection.
    """
    clock, kept = VirtualClock(), list[list[int]]()
    in_steps = in_steps_of(clock)
    looks.clear()
    in_steps.run(growing(kept, 4), lambda _: kept.extend([] for _ in range(FEW_YOUNG)))
    assert not looks
    assert not gc.isenabled()
    assert not any(ticks_with_looks(clock, looks)), "in none of its ticks"
    assert len(kept) == 5 * FEW_YOUNG
    assert gc.isenabled()
    kept.extend([] for _ in range(FEW_YOUNG))
    assert looks, "afterwards it looks at all that was left to it"


def test_the_collector_rests_as_long_as_what_waited_goes_on_in_steps(looks: list[int]) -> None:
    clock, kept = VirtualClock(), list[list[int]]()
    in_steps = in_steps_of(clock)
    in_steps.run(growing(kept, 2), nothing)
    in_steps.wait(Waiting(lambda: in_steps.run(growing(kept, 3), nothing), lambda _error: None))
    looks.clear()
    assert not any(ticks_with_looks(clock, looks))
    assert len(kept) == 5 * FEW_YOUNG
    assert gc.isenabled()


def test_the_collector_is_at_work_between_two_when_little_is_left_of_the_first() -> None:
    """A collector that stayed off while there is work would never run."""
    clock, seen = VirtualClock(), list[bool]()

    async def looking() -> None:
        for _ in range(3):
            seen.append(gc.isenabled())
            await PAUSE

    in_steps = in_steps_of(clock)
    in_steps.run(looking(), nothing)
    in_steps.wait(Waiting(lambda: in_steps.run(looking(), nothing), lambda _error: None))
    gc.collect()
    between: list[bool] = []
    while clock.run_tick():
        between.append(gc.isenabled())
    assert seen == [False] * 6
    assert between == [False, False, False, True, False, False, True]


def test_the_collector_is_at_work_again_after_steps_that_are_given_up() -> None:
    clock = VirtualClock()
    in_steps = in_steps_of(clock)
    in_steps.run(growing([], 3), nothing, lambda _error: None)
    assert len(in_steps.give_up()) == 1
    assert gc.isenabled()
    clock.run_until_idle()
    in_steps.give_up()
    assert gc.isenabled()


def test_the_collector_rests_until_all_are_done_who_held_it_off() -> None:
    """The collector stays paused while long requests alternate with the steps of coordinators."""
    clock = VirtualClock()
    in_steps, turns = in_steps_of(clock), Turns(clock.call_soon)
    turns.run(by_turns(repeat(None, 5)), lambda _error: None)
    in_steps.run(growing([], 2), nothing)
    seen: list[tuple[bool, bool, bool]] = []
    while clock.run_tick():
        seen.append((in_steps.busy, len(turns) > 0, gc.isenabled()))
    assert seen.count((True, True, False)) == 1
    assert seen.count((False, True, False)) == 4
    assert seen[-1] == (False, False, True)


def test_a_collector_that_is_off_stays_off() -> None:
    clock = VirtualClock()
    gc.disable()
    try:
        in_steps_of(clock).run(growing([], 2), nothing)
        clock.run_until_idle()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_operation_that_is_refused_meanwhile_fails_once() -> None:
    errors: list[ErrorCode] = []
    in_steps = in_steps_of(VirtualClock())
    in_steps.run(growing([], 2), nothing, errors.append)
    for waiting in in_steps.give_up() + in_steps.give_up():
        waiting.fail(ErrorCode.NOT_COORDINATOR)
    assert errors == [ErrorCode.NOT_COORDINATOR]


def test_what_has_waited_is_answered_a_few_in_a_tick_and_in_its_order() -> None:
    """Thousands of commits that waited for one long heartbeat would fill one turn."""
    clock, answered = VirtualClock(), list[int]()
    in_steps = in_steps_of(clock)

    def asked(number: int) -> None:
        if in_steps.busy:
            in_steps.wait(Waiting(lambda: asked(number), lambda _error: None))
        else:
            answered.append(number)

    many = 5 * MOST_IN_A_TICK // 2
    in_steps.run(one_step(), lambda _: asked(-1))
    for number in range(many):
        asked(number)
    sizes = []
    while clock.run_tick():
        sizes.append(len(answered))
        if len(sizes) == 1:
            asked(many)
    assert answered == list(range(-1, many + 1))
    assert max(after - before for before, after in pairwise([0, *sizes])) <= MOST_IN_A_TICK + 1


def test_what_is_left_behind_another_work_in_steps_waits_for_it_and_is_given_up_with_it() -> None:
    clock, answered, failed = VirtualClock(), list[str](), list[str]()
    in_steps = in_steps_of(clock)
    in_steps.run(one_step(), lambda _: answered.append("first"))
    in_steps.wait(Waiting(lambda: in_steps.run(one_step(), lambda _: answered.append("second")), lambda _error: None))
    in_steps.wait(Waiting(lambda: answered.append("last"), lambda _error: failed.append("last")))
    clock.run_tick()
    assert answered == ["first"]
    assert in_steps.busy
    for waiting in in_steps.give_up():
        waiting.fail(ErrorCode.NOT_COORDINATOR)
    assert failed == ["last"]
    assert not in_steps.busy
    while clock.run_tick():
        pass
    assert answered == ["first"]


@pytest.mark.parametrize("of_the_steps", [True, False])
def test_a_fault_in_one_operation_leaves_the_others_their_turn_and_the_collector_at_work(of_the_steps: bool) -> None:
    clock, answered = VirtualClock(), list[str]()
    in_steps = in_steps_of(clock)

    def fault(_result: None = None) -> None:
        raise ZeroDivisionError

    in_steps.run(one_step(), fault if of_the_steps else nothing)
    in_steps.wait(Waiting(lambda: answered.append("first") if of_the_steps else fault(), lambda _error: None))
    in_steps.wait(Waiting(lambda: answered.append("last"), lambda _error: None))
    with pytest.raises(ZeroDivisionError):
        clock.run_tick()
    while clock.run_tick():
        pass
    assert answered[-1] == "last"
    assert not in_steps.busy
    assert gc.isenabled()


def test_the_collector_never_looks_at_a_large_state_that_was_loaded(looks: list[int]) -> None:
    """One collection of 100,000 states once took 100 ms, after a load in steps of 2 ms."""
    clock, kept, frozen = VirtualClock(), list[list[int]](), gc.get_freeze_count()
    in_steps = in_steps_of(clock)
    in_steps.run(growing(kept, 4), lambda _: COLLECTOR.keep())
    while clock.run_tick():
        pass
    assert gc.get_freeze_count() - frozen >= len(kept) == 4 * FEW_YOUNG
    frozen = gc.get_freeze_count()
    COLLECTOR.keep()
    assert gc.get_freeze_count() == frozen, "little is no trouble, and may be garbage"
