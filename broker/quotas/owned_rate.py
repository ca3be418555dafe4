"""A limit on each owner's rate of something. Pure: time comes in as a number.

An owner is a user, or the address of unauthenticated clients, as in `owned_names.py`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from shareq.broker.quotas.rate import TokenBucket, Windows

_LEAST_SWEEP: Final = 1000  # owners


class OwnedRate:
    """A rate for each owner. An owner that had nothing for `burst_s` seconds may have the amount of that time at
    once.
    """

    __slots__ = ("_buckets", "_per_second", "_sweep_at", "_windows")

    def __init__(self, per_second: float, burst_s: int) -> None:
        self._per_second = per_second
        self._windows = Windows(burst_s, 1000)
        self._buckets: dict[Hashable, TokenBucket] = {}
        self._sweep_at = _LEAST_SWEEP

    def __len__(self) -> int:
        """Return the number of owners with a recorded use."""
        return len(self._buckets)

    def take(self, owner: Hashable, wanted: int, now_ms: int) -> int:
        """Return how much of `wanted` the owner gets now, and count that much."""
        bucket = self._buckets.get(owner)
        if bucket is None:
            self._sweep(now_ms)
            bucket = self._buckets[owner] = TokenBucket()
        taken = max(min(wanted, int(bucket.left(self._per_second, now_ms, self._windows))), 0)
        bucket.take(taken, self._per_second, now_ms, self._windows)
        return taken

    def _sweep(self, now_ms: int) -> None:
        """Forget owners that may have the whole burst again."""
        if len(self._buckets) < self._sweep_at:
            return
        for owner in [owner for owner, bucket in self._buckets.items() if bucket.is_idle(now_ms, self._windows)]:
            del self._buckets[owner]
        self._sweep_at = max(_LEAST_SWEEP, 2 * len(self._buckets))
