"""A signal by which coroutines wait until there may be work."""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending


class Signal:
    """The wait of coroutines for a `set`. They continue in a later tick, never inside the call of `set`. A `set`
    without waiting coroutines is lost.
    """

    __slots__ = ("_clock", "_is_set", "_waiting")

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._waiting: Pending[None] | None = None
        self._is_set = False

    def wait(self) -> Pending[None]:
        """Return a `Pending` that the next `set` completes."""
        if self._waiting is None:
            self._waiting = Pending()
        return self._waiting

    def set(self) -> None:
        """Wake all coroutines that wait now."""
        if self._waiting is not None and not self._is_set:
            self._is_set = True
            self._clock.call_soon(self._wake)

    def _wake(self) -> None:
        waiting, self._waiting, self._is_set = self._waiting, None, False
        if waiting is not None:
            waiting.complete(None)
