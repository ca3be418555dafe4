"""A wait that ends with a wake-up or after a time, whichever comes first."""

from __future__ import annotations

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending, completed


class Wakeup:
    """The wait of one coroutine. If `wake` is called between two waits, the next wait ends at once."""

    __slots__ = ("_clock", "_is_due", "_waiting")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._is_due = False
        self._waiting: Pending[None] | None = None

    def wake(self) -> None:
        """End the current wait, or the next one if the coroutine does not wait."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            self._is_due = True
        else:
            waiting.complete(None)

    def wait(self, ms: int) -> Pending[None]:
        """Return a `Pending` that is completed by `wake`, or after `ms` milliseconds."""
        if self._is_due:
            self._is_due = False
            return completed(None)
        waiting = self._waiting = Pending()

        def time_is_up() -> None:
            if self._waiting is waiting:
                self._waiting = None
                waiting.complete(None)

        timer = self._clock.call_at(self._clock.now_ms() + ms, time_is_up)
        waiting.on_complete(lambda _none: timer.cancel())
        return waiting
