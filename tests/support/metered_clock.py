"""Virtual time that measures each tick of the loop, in this thread's CPU time or in calls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType

from devtools.in_memory.virtual_clock import VirtualClock, VirtualTimer


class MeteredClock(VirtualClock):
    """A clock with the CPU of the longest tick, timer or `measured` call since `longest_ns` was set to 0.

    CPU, not elapsed time: other work on the machine does not count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.longest_ns = 0

    def measured(self, call: Callable[[], object]) -> None:
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
    """A clock that counts calls of Python functions, the same on every machine.

    `longest` is the most calls in one tick, `ticks` the number of ticks.
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
