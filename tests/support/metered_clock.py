"""Virtual time that measures what each tick of the loop takes: of this thread's CPU, or in calls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType

from devtools.in_memory.virtual_clock import VirtualClock, VirtualTimer


class MeteredClock(VirtualClock):
    """`longest_ns` is the CPU of the longest tick, timer or `measured` call since it was set to 0.

    CPU, not time: other work on the machine does not count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.longest_ns = 0

    def measured(self, call: Callable[[], object]) -> None:
        """Make a call, as the loop makes it when a socket has something."""
        before = time.thread_time_ns()
        call()
        self.longest_ns = max(self.longest_ns, time.thread_time_ns() - before)

    def run_tick(self) -> int:
        if not self._ready:
            return 0
        before = time.thread_time_ns()
        calls = super().run_tick()
        self.longest_ns = max(self.longest_ns, time.thread_time_ns() - before)
        return calls

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> VirtualTimer:
        return super().call_at(when_ms, lambda: self.measured(callback))


class CountingClock(MeteredClock):
    """`longest` is the most calls of Python functions that were made in one tick, the same on every machine; `ticks`
    is how many ticks there were.
    """

    longest = 0
    ticks = 0

    def measured(self, call: Callable[[], object]) -> None:
        calls = 0

        def count(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            call()
        finally:
            sys.setprofile(before)
        self.longest = max(self.longest, calls)
        self.ticks += 1

    def run_tick(self) -> int:
        done: list[int] = []
        self.measured(lambda: done.append(VirtualClock.run_tick(self)))
        return done[0]
