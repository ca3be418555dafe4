"""Long work in short turns: one in each tick of the loop, so that whatever else is ready goes in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.broker.foundation.loop.collector import COLLECTOR
from shareq.broker.foundation.loop.effort import EFFORT

Turn = Callable[[], bool]
"""One turn of some work, which should do a counted, small amount; true if there is more to do."""


class _Work(NamedTuple):
    turn: Turn
    failed: Callable[[Exception], None]


GIVES_WAY: Final = 3
"""Ticks behind a request that came: in the next one what it appends is written, in another it is answered."""

MOST_GIVES_WAY: Final = 8
"""Ticks in a row, however many requests come."""


class Turns:
    """Does work one after the other, in the order in which it came, each to its end before the next begins.

    So the memory for at most one of them is in use: work that begins in a turn continues right after the work of that
    turn. Work is called once in each turn, until it returns false. Owned by the broker, on the loop's thread.

    A turn waits until no request has come for `GIVES_WAY` ticks, so that each of them meets the rest of one turn and
    not one in each tick it takes; and for `MOST_GIVES_WAY` ticks at most.

    The collector rests from the first turn of a work until few things are left of it. Where many stay when nothing more
    waits, it looks at them, a tick after the last turn.
    """

    __slots__ = ("_behind", "_call_soon", "_gave_way", "_goes", "_in_turn", "_quiet", "_waiting")

    def __init__(self, call_soon: Callable[[Callable[[], None]], None]) -> None:
        self._call_soon = call_soon
        self._waiting: deque[_Work] = deque()  # the first one is under way
        self._behind = 0  # how many of them were begun by the first one
        self._in_turn = False
        self._goes = EFFORT.goes  # when it was looked at last
        self._quiet = GIVES_WAY  # ticks since a request came
        self._gave_way = 0  # ticks since the last turn

    @property
    def in_turn(self) -> bool:
        """True while the caller runs inside a turn."""
        return self._in_turn

    def __len__(self) -> int:
        """Return the number of unfinished jobs."""
        return len(self._waiting)

    def run(self, work: Turn, failed: Callable[[Exception], None]) -> None:
        """Begin in the next tick, or when all earlier work is done; called within a turn, when the work of that turn is
        done. `failed` is called with an exception raised in a turn, which ends the work: its client waits for an answer
        that it would otherwise never get.
        """
        if self._in_turn:
            self._behind += 1
            self._waiting.insert(self._behind, _Work(work, failed))
            return
        self._waiting.append(_Work(work, failed))
        if len(self._waiting) == 1:
            self._call_soon(self._turn)

    def close(self) -> None:
        """Do no more work: the broker is stopping. Harmless the second time."""
        self._waiting.clear()
        self._behind = 0
        COLLECTOR.let_go(self)

    def _turn(self) -> None:
        if not self._waiting:  # closed meanwhile
            return
        if EFFORT.goes != self._goes:
            self._goes, self._quiet = EFFORT.goes, 0
        else:
            self._quiet += 1
        if self._quiet < GIVES_WAY and self._gave_way < MOST_GIVES_WAY:
            self._gave_way += 1
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
            self._gave_way = 0
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
