"""The limit of one commit of metadata in a turn of the event loop, since each waits for the disk on the loop.

So a turn waits for at most one commit's sync, and other work runs in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import PAUSE

T = TypeVar("T")


class CommitGate:
    """A gate that is closed from a commit until the loop's next turn. A broker has one for its metadata, on the
    loop's thread.

    Work that commits passes the gate right before it reads the data that it will change; nothing else runs in
    between.
    """

    __slots__ = ("_call_soon", "_closed", "_queue", "_waiting")

    def __init__(self, call_soon: Callable[[Callable[[], None]], None]) -> None:
        self._call_soon = call_soon
        self._closed = False
        self._waiting = 0  # coroutines
        self._queue: deque[Pending[None]] = deque()

    @property
    def is_free(self) -> bool:
        """True if work may pass now: the gate is open, and no other work waits."""
        return not (self._closed or self._waiting or self._queue)

    def committed(self) -> None:
        """Close the gate for the rest of this turn."""
        if not self._closed:
            self._closed = True
            self._call_soon(self._open)

    async def passing(self) -> None:
        """Pause while the gate is closed, and behind work that waits already, so that it is never starved by
        newcomers.
        """
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
        """Return a pending that completes as soon as work may pass; the work runs in the call that completes it.

        It is for work outside of `Turns`, where waiting would delay other work.
        """
        if self.is_free:
            return completed(None)
        passed: Pending[None] = Pending()
        self._queue.append(passed)
        if not self._closed:  # the work in front may pass without committing
            self._call_soon(self._let_through)
        return passed

    def pass_then(self, work: Callable[[], Pending[T]]) -> Pending[T]:
        """Begin `work` when it may pass, now or later, and return its result. This is for work outside of `Turns`."""
        return work() if self.is_free else self.passed().chain(lambda _passed: work())

    def _open(self) -> None:
        self._closed = False
        self._let_through()

    def _let_through(self) -> None:
        """Begin the waiting work, up to the first that commits."""
        try:
            while self._queue and not self._closed:
                self._queue.popleft().complete(None)
        finally:
            if self._queue and not self._closed:  # one of them raised
                self._call_soon(self._let_through)
