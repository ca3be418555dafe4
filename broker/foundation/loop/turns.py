"""Long work in short turns, one in each tick of the loop, so that all other work that is ready runs in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from shareq.broker.foundation.loop.collector import COLLECTOR
from shareq.broker.foundation.loop.effort import EFFORT
from shareq.broker.foundation.loop.giving_way import GivingWay

Turn = Callable[[], bool]
"""One turn of some work, which should do a small, counted amount. It returns True if there is more to do."""


class _Work(NamedTuple):
    turn: Turn
    failed: Callable[[Exception], None]


class Turns:
    """A queue of long work: each piece runs to its end before the next begins, in order of arrival.

    So only one piece uses memory at a time. Work that is added during a turn runs right after the work of that turn.
    Work is called once in each turn, until it returns False. Owned by the broker, on the loop's thread.

    A turn lets requests go first (`giving_way.py`).

    The garbage collector rests from the first turn of a piece of work until few of its objects are left. If many are
    left when no more work waits, it runs a tick after the last turn.
    """

    __slots__ = ("_behind", "_call_soon", "_in_turn", "_waiting", "_way")

    def __init__(self, call_soon: Callable[[Callable[[], None]], None]) -> None:
        self._call_soon = call_soon
        self._waiting: deque[_Work] = deque()  # the first one is under way
        self._behind = 0  # how many of them were begun by the first one
        self._in_turn = False
        self._way = GivingWay(EFFORT.goes)

    @property
    def in_turn(self) -> bool:
        """True while the caller runs inside a turn."""
        return self._in_turn

    def __len__(self) -> int:
        """Return the number of unfinished pieces of work."""
        return len(self._waiting)

    def run(self, work: Turn, failed: Callable[[Exception], None]) -> None:
        """Begin the work in the next tick, or after all earlier work; if this is called within a turn, right after
        that turn's work.

        `failed` is called with an exception raised in a turn, which ends the work, so that its client gets an
        answer.
        """
        if self._in_turn:
            self._behind += 1
            self._waiting.insert(self._behind, _Work(work, failed))
            return
        self._waiting.append(_Work(work, failed))
        if len(self._waiting) == 1:
            self._call_soon(self._turn)

    def close(self) -> None:
        """Do no more work, because the broker is stopping. A second call has no effect."""
        self._waiting.clear()
        self._behind = 0
        COLLECTOR.let_go(self)

    def _turn(self) -> None:
        if not self._waiting:  # closed meanwhile
            return
        if self._way.waits(EFFORT.goes):
            self._call_soon(self._turn)
            return
        COLLECTOR.hold_off(self)
        EFFORT.spent = 0
        work, failed = self._waiting[0]
        done = self._in_turn = True
        try:
            done = not work()
        except Exception as error:
            failed(error)
        finally:
            self._in_turn = False
            if done and self._waiting:
                self._waiting.popleft()
                self._behind = 0
                self._call_soon(self._ended)
            if self._waiting:
                self._call_soon(self._turn)

    def _ended(self) -> None:
        """Allow garbage collection in the tick after the end of the work, when its data has been released."""
        if not self._waiting or COLLECTOR.has_little_to_look_at():
            COLLECTOR.let_go(self)
