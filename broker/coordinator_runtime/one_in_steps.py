"""What a coordinator's partition does in more than one tick of the loop, and what waits behind it.

A decision that takes long, and the replay of a log, go on in steps; nothing else is decided meanwhile, so the state
they go by is theirs alone. What is asked for waits, in its order, and has its turn as a few in each tick.

The collector rests from the first step to the tick after the last one, in which what was decided is replayed, as it
does for long requests (`Turns`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from shareq.broker.foundation.loop.collector import COLLECTOR
from shareq.protocol.errors import ErrorCode

__all__ = ["MOST_IN_A_TICK", "OneInSteps", "Waiting"]

MOST_IN_A_TICK = 64
"""Of the operations that have waited."""


@dataclass(slots=True)
class Waiting:
    """One operation that waits: `answer` when its turn comes, or when its records are durable; else `fail`."""

    answer: Callable[[], None]
    fail: Callable[[ErrorCode], None]


class OneInSteps:
    """At most one work in steps, one of them in each tick, and the operations behind it."""

    __slots__ = ("_answering", "_behind", "_call_soon", "_done", "_fail", "_steps")

    def __init__(self, call_soon: Callable[[Callable[[], None]], None]) -> None:
        self._call_soon = call_soon
        self._steps: Iterator[None] | None = None
        self._done: Callable[[], None] = _nothing
        self._fail: Callable[[ErrorCode], None] | None = None
        self._behind: deque[Waiting] = deque()
        self._answering = False

    @property
    def busy(self) -> bool:
        """Whether what comes now has to wait."""
        return self._steps is not None or (bool(self._behind) and not self._answering)

    def __len__(self) -> int:
        """Operations that wait, the one that is decided in steps among them."""
        return len(self._behind) + (self._fail is not None)

    def run(
        self, steps: Iterator[None], done: Callable[[], None], fail: Callable[[ErrorCode], None] | None = None
    ) -> None:
        """Take the first step now, and then one in each tick; `done` when they end, before what waits behind.

        `steps` may not raise. `fail`: of the operation whose steps these are.
        """
        self._steps, self._done, self._fail = steps, done, fail
        self._step(steps)

    def wait(self, waiting: Waiting) -> None:
        """Have `answer` called when the steps are at their end, and all that came before."""
        self._behind.append(waiting)

    def give_up(self) -> list[Waiting]:
        """End the operation that is decided in steps; it, and all behind it. None of them is called any more."""
        own = [] if self._fail is None else [Waiting(_nothing, self._fail)]
        taken = own + list(self._behind)
        self._steps, self._fail = None, None
        self._behind.clear()
        COLLECTOR.let_go(self)
        return taken

    def _step(self, steps: Iterator[None]) -> None:
        if self._steps is not steps:
            return  # given up
        COLLECTOR.hold_off(self)
        for _ in steps:
            self._call_soon(partial(self._step, steps))
            return
        done, self._steps, self._done, self._fail = self._done, None, _nothing, None
        try:
            self._answer(done)
        finally:
            self._call_soon(self._ended)

    def _answer(self, first: Callable[[], None]) -> None:
        """Call `first`, then what waits, up to `MOST_IN_A_TICK` and up to one that goes on in steps."""
        if self._in_steps():
            return  # what is left comes behind these
        self._answering = True
        try:
            first()
            for _ in range(MOST_IN_A_TICK):
                if not self._behind or self._in_steps():
                    return
                self._behind.popleft().answer()
        finally:  # also after a fault in one of them: the others still have their turn
            self._answering = False
            if self._behind and not self._in_steps():
                self._call_soon(partial(self._answer, _nothing))

    def _in_steps(self) -> bool:
        return self._steps is not None

    def _ended(self) -> None:
        """The tick after the last step, when what it was decided from is gone."""
        if self._steps is None or COLLECTOR.has_little_to_look_at():
            COLLECTOR.let_go(self)


def _nothing() -> None: ...
