"""A clock that also counts the time in which the machine is suspended."""

from __future__ import annotations

import time
from typing import Final

_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""CLOCK_BOOTTIME also counts time in suspension, which CLOCK_MONOTONIC does not on Linux. Other systems have only the
latter.
"""


class BootClock:
    """The `LeaseClock` of a process."""

    def now_ms(self) -> int:
        """Return milliseconds from an arbitrary start."""
        return time.clock_gettime_ns(_CLOCK) // 1_000_000
