"""Time that moves only when a test moves it."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Final

MAX_CALLS: Final = 1_000_000


class VirtualTimer:
    """A scheduled call, which `cancel` drops."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class VirtualClock:
    """A `Clock` on virtual time. Calls of the same time run in the order of scheduling."""

    stands_still = True

    def __init__(self, *, now_ms: int = 1_000, wall_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._wall_offset_ms = wall_ms - now_ms
        self._ready: deque[Callable[[], None]] = deque()
        self._timers: list[tuple[int, int, VirtualTimer]] = []
        self._scheduled = 0

    def wall_ms(self) -> int:
        return self._now_ms + self._wall_offset_ms

    def now_ms(self) -> int:
        return self._now_ms

    def now_ns(self) -> int:
        return self._now_ms * 1_000_000

    def step_wall(self, ms: int) -> None:
        """Set the wall clock forward or back, without an effect on the monotonic one."""
        self._wall_offset_ms += ms

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._ready.append(callback)

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(callback)
        self._scheduled += 1
        heapq.heappush(self._timers, (when_ms, self._scheduled, timer))
        return timer

    def next_timer_ms(self) -> int | None:
        """Return when the next timer is due."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def run_tick(self) -> int:
        """Make the calls that are ready now, not those they schedule; return their number."""
        count = len(self._ready)
        for _ in range(count):
            self._ready.popleft()()
        return count

    def run_until_idle(self) -> int:
        """Make every call that is ready or due now, without moving time; return their number."""
        calls = 0
        while True:
            calls += self.run_tick()
            due = self.next_timer_ms()
            if due is not None and due <= self._now_ms:
                callback = heapq.heappop(self._timers)[2].callback
                if callback is not None:
                    calls += 1
                    callback()
            elif not self._ready:
                return calls
            if calls > MAX_CALLS:
                raise RuntimeError(f"{calls} calls and still not idle at {self._now_ms} ms")

    def advance(self, ms: int) -> None:
        """Let `ms` pass, making every call at its due time."""
        end = self._now_ms + ms
        self.run_until_idle()
        while (due := self.next_timer_ms()) is not None and due <= end:
            self._now_ms = max(self._now_ms, due)
            self.run_until_idle()
        self._now_ms = end

    def advance_to_next_timer(self) -> bool:
        """Advance to the next timer and make its calls; False if there is none."""
        self.run_until_idle()
        due = self.next_timer_ms()
        if due is None:
            return False
        self.advance(max(due - self._now_ms, 0))
        return True

    def drop_everything(self) -> None:
        """Drop all scheduled calls, because the process died."""
        self._ready.clear()
        self._timers.clear()
