"""A meter of how long the event loop is held: whatever holds it keeps a timer from firing when it is due.

A timer every `INTERVAL_MS`, and so nothing on the way of a request. What begins between two of its times counts from
the second one only: a turn of the loop's callbacks that lasts longer than `INTERVAL_MS` is always seen, and at most so
much too short. A process that the machine did not run for a while is seen in the same way.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.durations import MS, Durations, Longest
from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.timer import Timer

INTERVAL_MS: Final = 10


class Stalls:
    """The timer's delays: a histogram, and the longest one of late."""

    __slots__ = ("durations", "longest")

    def __init__(self) -> None:
        self.durations = Durations()
        self.longest = Longest()


class StallMeter:
    """Measures into `stalls` from `start` to `stop`."""

    __slots__ = ("_clock", "_due_ns", "_stalls", "_timer")

    def __init__(self, clock: Clock, stalls: Stalls) -> None:
        self._clock = clock
        self._stalls = stalls
        self._due_ns = 0
        self._timer = Timer(clock)

    def start(self) -> None:
        """Begin to measure. Once."""
        self._wait(self._clock.now_ns())

    def stop(self) -> None:
        """Measure no more. Harmless the second time."""
        self._timer.stop()

    def _wait(self, now_ns: int) -> None:
        # Clocks of loops count milliseconds, and a timer never fires early: that is one of them, or two.
        self._due_ns = now_ns + (INTERVAL_MS + 2) * MS
        self._timer.after(INTERVAL_MS, self._measure)

    def _measure(self) -> None:
        now_ns = self._clock.now_ns()
        late_ns = max(0, now_ns - self._due_ns)
        self._stalls.durations.add(late_ns)
        self._stalls.longest.add(late_ns, now_ns)
        self._wait(now_ns)
