from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from devtools.in_memory.virtual_clock import VirtualClock, VirtualTimer
from shareq.broker.foundation.durations import BOUNDS_NS, MS
from shareq.broker.foundation.loop.stall_meter import INTERVAL_MS, StallMeter, Stalls
from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.process.serve import new_event_loop


class HeldClock(VirtualClock):
    """A clock whose loop is held for `held_ms` before the next timer fires."""

    def __init__(self) -> None:
        super().__init__()
        self.held_ms = 0

    def now_ns(self) -> int:
        return super().now_ns() + self.held_ms * MS

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> VirtualTimer:
        return super().call_at(when_ms + self.held_ms, callback)


def test_a_loop_that_nothing_holds_is_never_late() -> None:
    clock, stalls = VirtualClock(), Stalls()
    StallMeter(clock, stalls).start()
    clock.advance(100 * INTERVAL_MS)
    assert stalls.durations.count == stalls.durations.buckets[0] == 100
    assert stalls.longest.of(clock.now_ns()) == 0


def test_a_loop_that_is_held_is_late_by_what_is_left_of_that() -> None:
    clock, stalls = HeldClock(), Stalls()
    StallMeter(clock, stalls).start()
    clock.held_ms = 50
    clock.advance(INTERVAL_MS)
    late_ns = (50 - 2) * MS
    assert stalls.durations.count == 1
    assert stalls.durations.total_ns == stalls.longest.of(clock.now_ns()) == late_ns
    assert stalls.durations.buckets[next(i for i, bound in enumerate(BOUNDS_NS) if bound >= late_ns)] == 1


def test_nothing_is_measured_after_a_stop() -> None:
    clock, stalls = VirtualClock(), Stalls()
    meter = StallMeter(clock, stalls)
    meter.start()
    meter.stop()
    meter.stop()
    clock.advance(1_000)
    assert stalls.durations.count == 0
    assert clock.next_timer_ms() is None


@pytest.mark.parametrize("new_loop", [new_event_loop, asyncio.new_event_loop])
def test_a_callback_that_holds_a_real_loop_is_seen(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """At least the time held is seen, minus one interval; a busy machine can only add to it."""
    loop, stalls = new_loop(), Stalls()
    held_ms = 200

    def hold() -> None:
        until = time.monotonic() + held_ms / 1_000
        while time.monotonic() < until:
            pass

    async def run() -> None:
        meter = StallMeter(LoopClock(loop), stalls)
        meter.start()
        loop.call_later(0.03, hold)
        await asyncio.sleep(0.03 + held_ms / 1_000 + 0.05)
        meter.stop()

    try:
        loop.run_until_complete(run())
    finally:
        loop.close()
    assert stalls.longest.of(time.monotonic_ns()) >= (held_ms - INTERVAL_MS - 5) * MS
