"""The time of an asyncio loop, as a `Clock`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from shareq.broker.foundation.environment import TimerHandle


class LoopClock:
    """A `Clock` over a running loop. `now_ms` is the loop's own time, which stands still within one tick of uvloop."""

    stands_still: Final = False

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    now_ns = staticmethod(time.monotonic_ns)  # called once per request, so not wrapped

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback)

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> TimerHandle:
        """Call `callback` once `now_ms` is at least `when_ms`."""
        # Loops fire early by up to their clock's resolution; a deadline would not be due yet then.
        return self._loop.call_at((when_ms + 1) / 1000, callback)
