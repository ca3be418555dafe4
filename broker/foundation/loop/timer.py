"""One call back at a time: what waits for time has one of these, in place of a handle that may be none."""

from __future__ import annotations

from collections.abc import Callable

from shareq.broker.foundation.environment import Clock, TimerHandle


class Timer:
    """Calls `call` at the time that was set last.

    `due_ms` is that time, on the scale of the clock's `now_ms`; None while none is set, as within the call.
    """

    __slots__ = ("_call", "_clock", "_handle", "due_ms")

    def __init__(self, clock: Clock, call: Callable[[], object]) -> None:
        self._clock = clock
        self._call = call
        self._handle: TimerHandle | None = None
        self.due_ms: int | None = None

    def at(self, when_ms: int) -> None:
        """Set a time, in place of the one before."""
        self.stop()
        self.due_ms = when_ms
        self._handle = self._clock.call_at(when_ms, self._ring)

    def after(self, wait_ms: int) -> None:
        """Set the time so many milliseconds from now."""
        self.at(self._clock.now_ms() + wait_ms)

    def stop(self) -> None:
        """Set none."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = self.due_ms = None

    def _ring(self) -> None:
        self._handle = self.due_ms = None
        self._call()
