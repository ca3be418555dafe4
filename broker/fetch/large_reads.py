"""The line of fetches with large reads: they let short requests of other clients go first, and read little in one
tick.

A mebibyte of records takes half a millisecond to read, check and send, ten times as long as a small produce. If it
were read in the ticks in which such a produce is appended and answered, that client would wait two or three times as
long.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.giving_way import GivingWay
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.write_share import WriteShare

LARGE_READ: Final = 128 * 1024
"""In bytes: smaller reads are made at once."""

MOST_READ: Final = 2 * 1024 * 1024
"""The most bytes of large reads in one tick; the read that exceeds it is still made."""


class LargeReads:
    """The large reads of all fetches. Owned by the broker, on the loop's thread.

    `answers` knows the number of short requests.
    """

    __slots__ = ("_answers", "_clock", "_line", "_read", "_watching", "_way")

    def __init__(self, clock: Clock, answers: WriteShare) -> None:
        self._clock = clock
        self._answers = answers
        self._way = GivingWay()
        self._line: deque[Pending[None]] = deque()
        self._read = 0  # in this tick
        self._watching = False

    def must_wait(self) -> bool:
        """Return True if a large read has to wait for a `turn`."""
        return bool(self._line) or self._read >= MOST_READ or self._way.is_due(self._answers.requests)

    def turn(self) -> Pending[None]:
        """Return a pending that completes when the caller may make one large read, in the same tick."""
        turn: Pending[None] = Pending()
        self._line.append(turn)
        self._watch()
        return turn

    def note(self, size: int) -> None:
        """Note that so many bytes were read."""
        if size > LARGE_READ:
            self._read += size
            self._watch()

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            self._clock.call_soon(self._next_tick)

    def _next_tick(self) -> None:
        self._read = 0
        line = self._line
        try:
            if line and not self._way.waits(self._answers.requests):
                for _ in range(len(line)):  # each once: one that finds nothing may come again
                    line.popleft().complete(None)
                    if self._read >= MOST_READ or self._way.is_due(self._answers.requests):
                        break
        finally:  # one that fails must not take the others' turns away
            self._watching = bool(line) or self._read > 0
            if self._watching:
                self._clock.call_soon(self._next_tick)
