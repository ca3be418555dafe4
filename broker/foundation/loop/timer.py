"""A timer for one callback at a time, for parts that would otherwise keep a handle that may be None."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shareq.broker.foundation.environment import Clock, TimerHandle


class Timer:
    """The last callback that was set, called at its time. It is not referenced afterwards, so the owner of a timer
    is freed by its last reference.

    `due_ms` is that time, on the scale of the clock's `now_ms`; None if none is set, as during the call.
    """

    __slots__ = ("_clock", "_handle", "due_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._handle: TimerHandle | None = None
        self.due_ms: int | None = None

    def at(self, when_ms: int, call: Callable[[], object]) -> None:
        """Set a time and a call, in place of the previous ones."""
        self.stop()
        self.due_ms = when_ms
        self._handle = self._clock.call_at(when_ms, partial(self._ring, call))

    def after(self, wait_ms: int, call: Callable[[], object]) -> None:
        """Set a call `wait_ms` milliseconds from now, in place of the previous one."""
        self.at(self._clock.now_ms() + wait_ms, call)

    def stop(self) -> None:
        """Cancel the call, if one is set."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = self.due_ms = None

    def _ring(self, call: Callable[[], object]) -> None:
        self._handle = self.due_ms = None
        call()
