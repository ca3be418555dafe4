"""A clock that is moved ahead: timers on the way fire at their times, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from shareq.testing.inside.clock import MOST_STEPS, SteppedClock


async def advanced(clock: SteppedClock, ms: int) -> None:
    done = asyncio.get_running_loop().create_future()
    clock.advance(ms, lambda: done.set_result(None))
    await done


async def test_timers_on_the_way_are_called_at_their_times_in_their_order() -> None:
    clock = SteppedClock(asyncio.get_running_loop())
    start, seen = clock.now_ms(), []

    def note(name: str) -> Callable[[], None]:
        return lambda: seen.append((name, round((clock.now_ms() - start) / 1000)))

    clock.call_at(start + 30_000, note("lock"))
    clock.call_at(start + 10_000, note("first"))
    clock.call_at(start + 32_000, note("never"))
    await advanced(clock, 31_000)
    assert seen == [("first", 10), ("lock", 30)]
    assert 31_000 <= clock.now_ms() - start < 31_900


async def test_what_a_timer_schedules_counts_from_its_own_time() -> None:
    """A delay starts when a lock expires, and ends on the way."""
    clock = SteppedClock(asyncio.get_running_loop())
    start = clock.now_ms()
    seen: list[int] = []

    def delay() -> None:
        clock.call_at(clock.now_ms() + 5_000, lambda: seen.append(clock.now_ms() - start))

    clock.call_at(start + 30_000, lambda: clock.call_soon(delay))
    await advanced(clock, 36_000)
    (at_ms,) = seen
    assert 35_000 <= at_ms < 35_500


async def test_a_cancelled_timer_is_not_called_and_one_that_fails_stops_no_other() -> None:
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda _loop, context: failures.append(context["exception"]))
    clock = SteppedClock(loop)
    seen: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    now = clock.now_ms()
    clock.call_at(now + 1_000, lambda: seen.append("cancelled")).cancel()
    clock.call_at(now + 1_000, fail)
    clock.call_at(now + 1_000, lambda: seen.append("called"))
    await advanced(clock, 2_000)
    assert seen == ["called"]
    assert [type(each) for each in failures] == [ZeroDivisionError]


async def test_without_a_push_timers_come_by_themselves_and_never_early() -> None:
    loop = asyncio.get_running_loop()
    clock = SteppedClock(loop, ahead_ms=3_600_000)
    due = clock.now_ms() + 20
    late: asyncio.Future[int] = loop.create_future()
    clock.call_at(due + 60_000, lambda: None)
    clock.call_at(due, lambda: late.set_result(clock.now_ms() - due))
    assert await late >= 0


async def test_pushes_wait_for_each_other_and_add_up() -> None:
    clock = SteppedClock(asyncio.get_running_loop())
    start = clock.now_ms()
    await asyncio.gather(advanced(clock, 1_000), advanced(clock, 2_000))
    assert 3_000 <= clock.now_ms() - start < 3_900
    assert clock.ahead_ms == 3_000


async def test_a_timer_that_comes_often_makes_no_long_move_long() -> None:
    """A meter fires every 20 ms: of the 4 million calls of a day a few thousand are made."""
    clock = SteppedClock(asyncio.get_running_loop())
    calls: list[int] = []
    start = clock.now_ms()

    def again() -> None:
        calls.append(clock.now_ms())
        clock.call_at(clock.now_ms() + 20, again)

    again()
    clock.call_at(start + 43_200_000, lambda: calls.append(-1))
    await advanced(clock, 86_400_000)
    assert len(calls) < 2 * MOST_STEPS
    assert 0.4 < calls.index(-1) / len(calls) < 0.6
