"""The time at which a record's acquisition lock is renewed. Pure; times are seconds of one clock."""

from __future__ import annotations

from typing import Final

RENEW_AT: Final = 0.5
"""The share of a lock's time that is left when it is renewed."""


def renewal_time(deadline: float, lock_s: float) -> float:
    """Return the time at which to renew a lock of `lock_s` that ends at `deadline`."""
    return deadline - lock_s * RENEW_AT


def due_until(now: float, lock_s: float) -> float:
    """Return the latest end of the locks that should be renewed by now."""
    return now + lock_s * RENEW_AT


def is_due(deadline: float, lock_s: float, now: float) -> bool:
    """Return True if a lock should be renewed now. A lock that has ended cannot be renewed."""
    return now < deadline <= due_until(now, lock_s)
