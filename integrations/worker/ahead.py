"""The number of records that a worker acquires ahead for a handler, by how long its calls take. Pure.

A worker that asks for a record or two at a time spends a round trip on each. One that holds more than it can begin soon
keeps them from workers that are idle. So a handler gets as many as it can begin within a hundredth of a lock's time,
and within a tenth of a second. If no call could begin for a tenth of a lock, records beyond the usual number are
released.
"""

from __future__ import annotations

from typing import Final

HORIZON_S: Final = 0.1
HORIZON_SHARE: Final = 0.01
PATIENCE_SHARE: Final = 0.1
MOST: Final = 256
"""The most records acquired ahead, and so delivered again after a kill of the worker."""
_SLOWLY: Final = 16
_SHORTEST_S: Final = 1e-6


class Ahead:
    """The number of records to acquire ahead for one handler. `least`: the number for long calls."""

    def __init__(self, concurrency: int, least: int) -> None:
        self._concurrency = concurrency
        self._least = least
        self._call_s: float | None = None

    def took(self, seconds: float) -> None:
        """Note a call. A longer one than usual counts at once, shorter ones gradually."""
        known = seconds if self._call_s is None else self._call_s
        self._call_s = max(seconds, known + (seconds - known) / _SLOWLY, _SHORTEST_S)

    def count(self, lock_s: float) -> int:
        """Return how many records to acquire ahead if a lock lasts for `lock_s` seconds; 0: unknown."""
        if self._call_s is None or not lock_s:
            return self._least
        horizon_s = min(HORIZON_S, lock_s * HORIZON_SHARE)
        return max(self._least, min(MOST, int(self._concurrency * horizon_s / self._call_s)))

    def patience_s(self, lock_s: float) -> float | None:
        """Return the time without an ended call after which the other records are released; None for never."""
        return lock_s * PATIENCE_SHARE if self.count(lock_s) > self._least else None
