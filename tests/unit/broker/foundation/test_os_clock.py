"""The event loop's clock, whose timers are never early."""

from __future__ import annotations

import asyncio
import time

import pytest
import uvloop

from shareq.broker.foundation.os_clock import LoopClock


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_timers_fire_when_now_has_reached_them(new_loop: object) -> None:
    """No timer fires a millisecond early: one that then checks its deadline must find it due."""
    loop = new_loop()  # type: ignore[operator]
    clock = LoopClock(loop)
    late: list[int] = []

    def begin() -> None:
        for at in range(20):
            when = clock.now_ms() + at
            clock.call_at(when, lambda when=when: late.append(clock.now_ms() - when))  # type: ignore[misc]
        clock.call_at(clock.now_ms() + 5, lambda: late.append(-1)).cancel()
        clock.call_at(clock.now_ms() + 25, loop.stop)

    clock.call_soon(begin)
    loop.run_forever()
    loop.close()
    assert len(late) == 20
    assert min(late) >= 0


def test_calls_come_in_the_next_tick_in_order() -> None:
    loop = asyncio.new_event_loop()
    clock = LoopClock(loop)
    events: list[str] = []

    def first() -> None:
        clock.call_soon(lambda: events.append("nested"))
        events.append("first")

    clock.call_soon(first)
    clock.call_soon(lambda: events.append("second"))
    clock.call_soon(lambda: clock.call_soon(loop.stop))
    loop.run_forever()
    loop.close()
    assert events == ["first", "second", "nested"]


def test_wall_time_is_milliseconds_since_the_epoch() -> None:
    loop = asyncio.new_event_loop()
    assert abs(LoopClock(loop).wall_ms() - time.time() * 1000) < 1_000
    loop.close()
