"""A meter of how long the event loop is held: work that holds it delays a timer.

The timer fires every `INTERVAL_MS`, so requests are not slowed down. A turn of the loop that lasts longer than
`INTERVAL_MS` is always seen; its measured time may be too short by at most that much. A time for which the machine
did not run the process is seen in the same way.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.durations import MS, Durations, Longest
from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.timer import Timer

INTERVAL_MS: Final = 10


class Stalls:
    """The delays of the timer: a histogram, and the longest recent one."""

    __slots__ = ("durations", "longest")

    def __init__(self) -> None:
        self.durations = Durations()
        self.longest = Longest()


class StallMeter:
    """A meter that adds delays to `stalls` from `start` until `stop`."""

    __slots__ = ("_clock", "_due_ns", "_stalls", "_timer")

    def __init__(self, clock: Clock, stalls: Stalls) -> None:
        self._clock = clock
        self._stalls = stalls
        self._due_ns = 0
        self._timer = Timer(clock)

    def start(self) -> None:
        """Begin to measure. Call this once."""
        self._wait(self._clock.now_ns())

    def stop(self) -> None:
        """Stop measuring. A second call has no effect."""
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
