"""One callback at a time: a part that waits for a time uses this instead of a handle that may be None."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shareq.broker.foundation.environment import Clock, TimerHandle


class Timer:
    """Calls what was set last, at its time. Holds it no longer: who has a timer is freed by its last reference.

    `due_ms` is that time, on the scale of the clock's `now_ms`; None while none is set, as within the call.
    """

    __slots__ = ("_clock", "_handle", "due_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._handle: TimerHandle | None = None
        self.due_ms: int | None = None

    def at(self, when_ms: int, call: Callable[[], object]) -> None:
        """Set a time, in place of the one before."""
        self.stop()
        self.due_ms = when_ms
        self._handle = self._clock.call_at(when_ms, partial(self._ring, call))

    def after(self, wait_ms: int, call: Callable[[], object]) -> None:
        """Set the time so many milliseconds from now."""
        self.at(self._clock.now_ms() + wait_ms, call)

    def stop(self) -> None:
        """Set none."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = self.due_ms = None

    def _ring(self, call: Callable[[], object]) -> None:
        self._handle = self.due_ms = None
        call()
