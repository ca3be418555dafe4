"""Durations as plain integers, each owned by the object that measures them; the metrics read them on the loop.

A counter never decreases; times are nanoseconds of the monotonic clock.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

MS: Final = 1_000_000
BOUNDS_NS: Final = tuple(int(ms * MS) for ms in (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000))
"""The upper bounds (inclusive) of the buckets in which durations are counted. A last bucket has the longer ones."""
WINDOW_NS: Final = 30_000 * MS


class Durations:
    """A histogram of durations: the count within each bound, and the total time."""

    __slots__ = ("buckets", "total_ns")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS_NS) + 1)
        self.total_ns = 0

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def add(self, duration_ns: int, times: int = 1) -> None:
        """Add a duration, `times` times."""
        self.buckets[bisect_left(BOUNDS_NS, duration_ns)] += times
        self.total_ns += duration_ns * times


class Longest:
    """The longest duration of the last 30 to 60 seconds. Like Apache Kafka's maxima, it uses two windows of 30 s."""

    __slots__ = ("_before", "_longest", "_window")

    def __init__(self) -> None:
        self._window = 0
        self._longest = 0
        self._before = 0

    def add(self, duration_ns: int, now_ns: int) -> None:
        """Add a duration that ends at `now_ns`."""
        self._move(now_ns)
        if duration_ns > self._longest:
            self._longest = duration_ns

    def of(self, now_ns: int) -> int:
        """Return the longest duration in nanoseconds; 0 if there was none."""
        self._move(now_ns)
        return max(self._longest, self._before)

    def _move(self, now_ns: int) -> None:
        window = now_ns // WINDOW_NS
        if window != self._window:
            self._before = self._longest if window == self._window + 1 else 0
            self._window, self._longest = window, 0
