"""One commit of metadata in a turn of the event loop, however many are asked for: each waits for the disk, on the loop.

So a turn waits for one commit's sync at most, and neighbours have their turns in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import PAUSE

T = TypeVar("T")


class CommitGate:
    """Closed from a commit until the loop's next turn. There is one for a broker's metadata, on the loop's thread.

    Work that commits passes it right before it reads the data that it is about to change: nothing else runs between the
    two.
    """

    __slots__ = ("_call_soon", "_closed", "_queue", "_waiting")

    def __init__(self, call_soon: Callable[[Callable[[], None]], None]) -> None:
        self._call_soon = call_soon
        self._closed = False
        self._waiting = 0  # coroutines
        self._queue: deque[Pending[None]] = deque()

    @property
    def is_free(self) -> bool:
        """Return whether work passes now: the gate is open, and nothing waits in front of it."""
        return not (self._closed or self._waiting or self._queue)

    def committed(self) -> None:
        """Close the gate for the rest of this turn."""
        if not self._closed:
            self._closed = True
            self._call_soon(self._open)

    async def passing(self) -> None:
        """Pause while the gate is closed, and behind work that waits already, so that newcomers never starve it."""
        if self.is_free:
            return
        self._waiting += 1
        try:
            await PAUSE
            while self._closed:
                await PAUSE
        finally:
            self._waiting -= 1
            if self._queue:
                self._call_soon(self._let_through)

    def passed(self) -> Pending[None]:
        """Return a pending that is complete as soon as work may pass; the work runs in the call that completes it.

        It is for work that is not in turns, which would hold up others if it waited in line.
        """
        if self.is_free:
            return completed(None)
        passed: Pending[None] = Pending()
        self._queue.append(passed)
        if not self._closed:  # the work in front may pass, and not commit
            self._call_soon(self._let_through)
        return passed

    def pass_then(self, work: Callable[[], Pending[T]]) -> Pending[T]:
        """Begin `work` now if it may pass, else when it may; for work that is not in turns. Returns what it answers."""
        return work() if self.is_free else self.passed().chain(lambda _passed: work())

    def _open(self) -> None:
        self._closed = False
        self._let_through()

    def _let_through(self) -> None:
        """Begin what waits, up to the first that commits."""
        try:
            while self._queue and not self._closed:
                self._queue.popleft().complete(None)
        finally:
            if self._queue and not self._closed:  # one of them raised
                self._call_soon(self._let_through)
