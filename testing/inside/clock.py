"""The time of an event loop that can be moved ahead: timers become due at once, each in its order and at its time."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from typing import Final

TICKS: Final = 3
"""The turns of the loop between two timers, for the work that the first one began: appends are answered in the next
turn.
"""
SETTLE_TICKS: Final = 10
MOST_STEPS: Final = 5_000
"""The most steps of one move: timers that are closer than a step are called together, in their order."""


class Timer:
    """A call that was scheduled; `cancel` drops it."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class SteppedClock:
    """A clock over a loop, `ahead_ms` ahead of it. Durations (`now_ns`) stay real.

    One timer of the loop stands for all that are scheduled here, so that they can be called before it.
    """

    stands_still: Final = False

    def __init__(self, loop: asyncio.AbstractEventLoop, ahead_ms: int = 0) -> None:
        self._loop = loop
        self.ahead_ms = ahead_ms
        self._timers: list[tuple[int, int, Timer]] = []
        self._scheduled = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = 0
        self._moves: list[tuple[int, Callable[[], None]]] = []  # one after the other: how far, and what to call then

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead_ms

    def now_ms(self) -> int:
        return int(self._loop.time() * 1000) + self.ahead_ms

    now_ns = staticmethod(time.monotonic_ns)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback)

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> Timer:
        """Call back when `now_ms` is at least `when_ms`."""
        timer = Timer(callback)
        self._scheduled += 1
        heapq.heappush(self._timers, (when_ms, self._scheduled, timer))
        if self._alarm is None or when_ms < self._alarm_ms:
            self._arm()
        return timer

    def advance(self, ms: int, done: Callable[[], None]) -> None:
        """Let `ms` pass, making every call that becomes due on the way, at its time; then call `done`."""
        self._moves.append((ms, done))
        if len(self._moves) == 1:
            self._begin()

    def _begin(self) -> None:
        ms, _ = self._moves[0]
        self._step(self.ahead_ms + ms, ms // MOST_STEPS)

    def _step(self, end_ms: int, grain_ms: int) -> None:
        """Go to the next timer, at least `grain_ms`, or to the end, where this clock is `end_ms` ahead of the loop."""
        due, real_ms = self._next_ms(), int(self._loop.time() * 1000)
        if due is not None and due <= real_ms + end_ms:
            self.ahead_ms = min(max(self.ahead_ms + grain_ms, due - real_ms), end_ms)
            self._call_due()
            self._after(TICKS, lambda: self._step(end_ms, grain_ms))
            return
        self.ahead_ms = max(self.ahead_ms, end_ms)
        self._arm()
        self._after(SETTLE_TICKS, self._moved)

    def _moved(self) -> None:
        _, done = self._moves.pop(0)
        done()
        if self._moves:
            self._begin()

    def _after(self, ticks: int, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback if ticks == 1 else lambda: self._after(ticks - 1, callback))

    def _next_ms(self) -> int | None:
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _call_due(self) -> None:
        """Call the due timers. Timers that these set for now are called with the next step, or the next alarm."""
        now, due = self.now_ms(), []
        while (at_ms := self._next_ms()) is not None and at_ms <= now:
            due.append(heapq.heappop(self._timers)[2])
        for timer in due:
            callback, timer.callback = timer.callback, None
            if callback is not None:
                try:
                    callback()
                except Exception as error:
                    self._loop.call_exception_handler({"message": "a timer failed", "exception": error})

    def _arm(self) -> None:
        due = self._next_ms()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if due is not None:
            self._alarm_ms = due
            # Loops fire up to their clock's resolution early; a deadline looked at then would not be due yet.
            self._alarm = self._loop.call_at((due - self.ahead_ms + 1) / 1000, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = None
        self._call_due()
        self._arm()
