"""The time at which a record's acquisition lock is renewed. Pure; times are seconds of one clock."""

from __future__ import annotations

from typing import Final

RENEW_AT: Final = 0.5
"""The share of a lock's time that is left when it is renewed."""


def renewal_time(deadline: float, lock_s: float) -> float:
    """Return when a lock of `lock_s` that ends at `deadline` is to be renewed."""
    return deadline - lock_s * RENEW_AT


def due_until(now: float, lock_s: float) -> float:
    """Return the latest end of a lock that is to be renewed by now."""
    return now + lock_s * RENEW_AT


def is_due(deadline: float, lock_s: float, now: float) -> bool:
    """Return whether a lock is to be renewed now. One that has ended cannot be."""
    return now < deadline <= due_until(now, lock_s)
