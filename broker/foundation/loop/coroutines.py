"""Native coroutines, driven by hand: no task, no future, no event loop.

A coroutine awaits a `Pending`, which suspends it until the value has arrived, or a breath (`turn_budget.py`), which
suspends it until a later turn of the loop if this one is spent. In the call that begins it, it runs up to its first
suspension, or to its end.

    drive ------> returned a value: that is the answer | +- suspended on a Pending: continues in the call that
    completes
    it +- suspended on a pause: continues as work of `Turns`, one step in each turn
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from types import coroutine as generator_based
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.turns import Turn
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import Breath, TurnBudget

logger = logging.getLogger(__name__)

T = TypeVar("T")

Suspension = Pending[Any] | None  # Any: the coroutine alone looks at the value; None is a pause
Waiting = Coroutine[Suspension, None, T]
"""A coroutine suspended by a `Pending` or a pause, and by nothing else."""

_ENDED: Final[Pending[None]] = Pending()
"""The suspension of a coroutine that has ended, or was cancelled."""


def drive(
    coroutine: Waiting[T],
    budget: TurnBudget,
    in_turns: Callable[[Turn], None],
    failed: Callable[[Exception], None],
) -> T | Driven[T]:
    """Run a coroutine to its end or to its first suspension. Exceptions raised until then are passed on.

    `in_turns` runs later steps in turns of the loop, as `Turns.run` does, and reports exceptions from them. `failed`
    is called with an exception raised after a `Pending`.
    """
    budget.begin()
    try:
        waits_for = coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # without a cast, which costs a call
    driven = Driven(coroutine, budget, in_turns, failed)
    driven.suspend(waits_for)
    return driven


def begin(
    coroutine: Waiting[T],
    budget: TurnBudget,
    in_turns: Callable[[Turn], None],
    failed: Callable[[Exception], None],
) -> Pending[T]:
    """Drive a coroutine for a caller that always needs a `Pending`; see `drive`."""
    answer = drive(coroutine, budget, in_turns, failed)
    if isinstance(answer, Driven):
        return answer.result
    return answer if isinstance(answer, Pending) else completed(answer)


def in_ticks(call_soon: Callable[[Callable[[], None]], None]) -> Callable[[Turn, Callable[[Exception], None]], None]:
    """Return a function like `Turns.run` that takes one turn in each tick of the loop."""

    def take(turn: Turn, failed: Callable[[Exception], None]) -> None:
        try:
            goes_on = turn()
        except Exception as error:
            failed(error)
            return
        if goes_on:
            run(turn, failed)

    def run(turn: Turn, failed: Callable[[Exception], None]) -> None:
        call_soon(partial(take, turn, failed))

    return run


class Begin(Protocol):
    """The function `begin` with all arguments but the coroutine, for parts of the broker with work of their own."""

    def __call__(self, coroutine: Waiting[T], /) -> Pending[T]: ...


def beginner(budget: TurnBudget, run_in_turns: Callable[[Turn, Callable[[Exception], None]], None]) -> Begin:
    """Return a function that begins coroutines that no client's request drives. Exceptions raised in later turns are
    logged.

    `run_in_turns` is like `Turns.run`.
    """

    def failed(error: Exception) -> None:
        logger.error("work of the broker's own failed", exc_info=error)

    def in_turns(turn: Turn) -> None:
        run_in_turns(turn, failed)

    def begin_one(coroutine: Waiting[T], /) -> Pending[T]:
        return begin(coroutine, budget, in_turns, failed)

    return begin_one


class Driven(Generic[T]):
    """A suspended coroutine and its `result`, which never arrives if the coroutine is cancelled, or fails.

    If the coroutine returns a `Pending`, the value of that is the result.
    """

    __slots__ = ("_budget", "_cancelled", "_coroutine", "_failed", "_in_turns", "_running", "result")

    def __init__(
        self,
        coroutine: Waiting[T],
        budget: TurnBudget,
        in_turns: Callable[[Turn], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._coroutine = coroutine
        self._budget = budget
        self._in_turns = in_turns
        self._failed = failed
        self._running = False
        self._cancelled = False
        self.result: Pending[T] = Pending()

    def cancel(self) -> None:
        """End the coroutine where it is suspended, which runs its `finally` blocks. Harmless once it has ended."""
        self._cancelled = True
        if not self._running:
            self._coroutine.close()

    def suspend(self, waits_for: Suspension) -> None:
        """Continue the coroutine when the `Pending` or pause for which it waits is over."""
        if isinstance(waits_for, Pending):
            waits_for.on_complete(self._go_on)
        else:
            self._in_turns(self._turn)

    def _go_on(self, _value: object) -> None:
        self._budget.begin()
        try:
            waits_for = self._step()
        except Exception as error:
            self._failed(error)
            return
        if waits_for is not _ENDED:
            self.suspend(waits_for)

    def _turn(self) -> bool:
        """Run to the next suspension. Return True if that is a pause, after which the next turn continues."""
        self._budget.renew()
        waits_for = self._step()
        if waits_for is None:
            return True
        if waits_for is not _ENDED:
            self.suspend(waits_for)
        return False

    def _step(self) -> Suspension:
        """Run to the next suspension, or to the end (`_ENDED`). Raise what the coroutine raises."""
        if self._cancelled:
            return _ENDED
        self._running = True
        try:
            waits_for = self._coroutine.send(None)
        except StopIteration as end:
            value: T = end.value
            if isinstance(value, Pending):
                value.on_complete(self._end)
                return _ENDED
        else:
            if self._cancelled:  # by what it did itself
                self._coroutine.close()
                return _ENDED
            return waits_for
        finally:
            self._running = False
        self._end(value)
        return _ENDED

    def _end(self, value: T) -> None:
        if not self._cancelled:
            self.result.complete(value)


def result_of(coroutine: Waiting[T]) -> T:
    """Return the result of a coroutine that is never suspended, because it breathes with `unpaused`."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # without a cast, which costs a call
    raise RuntimeError("a coroutine that has to end in this turn is suspended")


def sleep(clock: Clock, ms: int) -> Pending[None]:
    """Return a pending that completes after so many milliseconds."""
    slept: Pending[None] = Pending()
    clock.call_at(clock.now_ms() + ms, lambda: slept.complete(None))
    return slept


def next_tick(clock: Clock) -> Pending[None]:
    """Return a pending that completes in the next tick, after the callbacks already due in it."""
    ticked: Pending[None] = Pending()
    clock.call_soon(lambda: ticked.complete(None))
    return ticked


async def gathered(answers: list[Pending[T]], breathe: Callable[[], Breath]) -> list[T]:
    """Return all answers, in order, once the last of them has arrived. The list is emptied, some entries in each
    turn.
    """
    values: list[T] = []
    answers.reverse()
    while answers:
        values.append(await answers.pop())
        await breathe()
    return values


@generator_based
def in_steps(steps: Generator[None, None, T]) -> Generator[None, None, T]:
    """Return the result of a generator, with a pause at each of its `yield`s."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast(T, end.value)
        yield
