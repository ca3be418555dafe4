"""Work of a coordinator's partition that takes several ticks of the loop, and the operations queued behind it.

A long decision and the replay of a log are coroutines that pause, or wait for a result. Nothing else is decided
meanwhile, so nothing else changes the state that they use. Other operations wait in order and are then run, a few in
each tick.

Garbage collection is held off from the first step to the tick after the last one, in which the decision is replayed,
as for long requests (`Turns`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.collector import COLLECTOR
from shareq.broker.foundation.loop.coroutines import Waiting as Coroutine
from shareq.broker.foundation.pending import Pending
from shareq.protocol.errors import ErrorCode

T = TypeVar("T")

MOST_IN_A_TICK = 64
"""The most queued operations that are run in one tick."""


@dataclass(slots=True)
class Waiting:
    """A queued operation. `answer` is called at its turn, or when its records are durable; `fail` is called
    otherwise.
    """

    answer: Callable[[], None]
    fail: Callable[[ErrorCode], None]


class OneInSteps:
    """The one coroutine that pauses or waits, which is resumed in a tick of its own, and the operations queued
    behind it.
    """

    __slots__ = ("_answering", "_behind", "_budget", "_call_soon", "_fail", "_work")

    def __init__(self, env: Environment) -> None:
        self._call_soon = env.clock.call_soon
        self._budget = env.budget
        self._work: Coroutine[Any] | None = None  # Any: of any kind
        self._fail: Callable[[ErrorCode], None] | None = None
        self._behind: deque[Waiting] = deque()
        self._answering = False

    @property
    def busy(self) -> bool:
        """True if a new operation has to wait."""
        return self._work is not None or (bool(self._behind) and not self._answering)

    def __len__(self) -> int:
        """Return how many operations wait, including the one that is being decided."""
        return len(self._behind) + (self._fail is not None)

    def run(
        self,
        work: Coroutine[T],
        done: Callable[[T], None],
        fail: Callable[[ErrorCode], None] | None = None,
    ) -> None:
        """Start a coroutine now and continue it in later ticks.

        `done` is called with its result, before the operations queued behind it; it must not raise. `fail` belongs
        to the operation that the coroutine decides.
        """
        self._work, self._fail = work, fail
        self._step(work, done)

    def wait(self, waiting: Waiting) -> None:
        """Call `answer` when the coroutine has ended and all earlier operations are done."""
        self._behind.append(waiting)

    def give_up(self) -> list[Waiting]:
        """Return the operation that is being decided, and all behind it; none of them is called any more."""
        own = [] if self._fail is None else [Waiting(_nothing, self._fail)]
        taken = own + list(self._behind)
        self._work, self._fail = None, None
        self._behind.clear()
        COLLECTOR.let_go(self)
        return taken

    def _step(self, work: Coroutine[T], done: Callable[[T], None], *, in_own_tick: bool = False) -> None:
        """Continue the coroutine.

        The first step runs in the turn that began the work, within what is left of that turn's budget; each later step
        has a turn of its own.
        """
        if self._work is not work:
            return  # given up
        COLLECTOR.hold_off(self)
        if in_own_tick:
            self._budget.renew()
        try:
            waits_for = work.send(None)
        except StopIteration as end:
            value = end.value
        else:
            go_on = partial(self._call_soon, partial(self._step, work, done, in_own_tick=True))
            if waits_for is None:
                go_on()
            else:
                waits_for.on_complete(lambda _value: go_on())
            return
        self._work, self._fail = None, None
        try:
            self._answer(partial(done, value))
        finally:
            self._call_soon(self._ended)

    def _answer(self, first: Callable[[], None]) -> None:
        """Call `first`, then the waiting operations: at most `MOST_IN_A_TICK`, and none after an operation that
        pauses.
        """
        if self._at_work():
            return  # the remaining operations follow these
        self._answering = True
        try:
            first()
            for _ in range(MOST_IN_A_TICK):
                if not self._behind or self._at_work():
                    return
                self._behind.popleft().answer()
        finally:  # even after a fault in one of them, the others get their turn
            self._answering = False
            if self._behind and not self._at_work():
                self._call_soon(partial(self._answer, _nothing))

    def _at_work(self) -> bool:
        return self._work is not None

    def _ended(self) -> None:
        """Allow garbage collection in the tick after the last step, when the decision's data has been released."""
        if self._work is None or COLLECTOR.has_little_to_look_at():
            COLLECTOR.let_go(self)


class LoadTurns:
    """The loads of one coordinator's partitions, which run one after the other, each in its share of every turn."""

    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns: deque[Pending[None]] = deque()  # of loads that have not ended; the first is running

    def take(self, loaded: Pending[bool]) -> Pending[None]:
        """Return a pending that completes when all earlier loads have ended. This load ends when `loaded` completes."""
        turn: Pending[None] = Pending()

        def ended(_loaded: bool) -> None:
            was_first = self._turns[0] is turn
            self._turns.remove(turn)
            if was_first and self._turns:
                self._turns[0].complete(None)

        self._turns.append(turn)
        if len(self._turns) == 1:
            turn.complete(None)
        loaded.on_complete(ended)
        return turn


def _nothing() -> None: ...
