"""The use of one quota by all clients that share it: one addition and one comparison if no client has to wait."""

from __future__ import annotations

from math import inf
from typing import Final

from shareq.broker.quotas.rate import Rate, Windows

_SURE: Final = 0.999
"""The part of the amount that is within the quota in any case and needs no exact check; the rest is a margin for
rounding.
"""


class Throttles:
    """The number and total length of clients' waits because of one key of quota."""

    __slots__ = ("number", "total_ms")

    def __init__(self) -> None:
        self.number = 0
        self.total_ms = 0

    def add(self, throttle_ms: int) -> None:
        if throttle_ms > 0:
            self.number += 1
            self.total_ms += throttle_ms


class Usage:
    """The use of one entity's quota by all its clients, in the quota's unit, and their waits."""

    __slots__ = ("amount", "throttles")

    def __init__(self) -> None:
        self.amount = 0.0
        self.throttles = Throttles()


class Allowance:
    """The rate of all clients that share a quota. `unit` is the amount in the quota's unit that a use of 1 counts
    as.

    The use at one moment is `pending` until the next moment, and needs no check while it is at most `room`: the
    caller calls `begin` for the moment, adds to `pending`, and calls `throttle_ms` once it is more. Rates, and
    waits, equal those of a `Rate` that is checked each time. Use that is no longer pending is added to `usage`.
    Waits are added to `usage` and to `throttles`, which has those of all clients.
    """

    __slots__ = (
        "_longest_ms",
        "_now_ms",
        "_rate",
        "_throttles",
        "_unit",
        "_windows",
        "bound",
        "pending",
        "room",
        "usage",
    )

    def __init__(
        self,
        bound: float,
        windows: Windows,
        throttles: Throttles,
        usage: Usage,
        *,
        unit: float = 1,
        longest_ms: int | None = None,
    ) -> None:
        self.bound = bound
        self.pending = 0
        self.room = 0.0
        self.usage = usage
        self._windows = windows
        self._throttles = throttles
        self._unit = unit
        self._longest_ms = longest_ms
        self._rate: Rate | None = None  # until something is used
        self._now_ms = -1

    def limit(self, bound: float, usage: Usage) -> None:
        """Change the quota from now on. Earlier use still counts."""
        self.usage = usage
        if bound != self.bound:
            self.bound = bound
            self.room = -inf  # it is looked at with the next request

    def begin(self, now_ms: int) -> None:
        """Record additions to `pending` from now on at this moment."""
        if now_ms != self._now_ms:
            if self._now_ms >= 0:
                self._record()
            self._now_ms = now_ms

    def spend(self, amount: int, now_ms: int) -> int:
        """Count this amount as used. Return for how many ms to use nothing more."""
        self.begin(now_ms)
        self.pending += amount
        return self.throttle_ms() if self.pending > self.room else 0

    def take_back(self, amount: int) -> None:
        """Subtract an amount that was counted at this moment but not used."""
        self.pending -= amount

    def throttle_ms(self) -> int:
        """Return for how many ms to use nothing more, after the use until now."""
        rate = self._record()
        throttle_ms = rate.throttle_ms(self.bound, self._now_ms, self._windows)
        if self._longest_ms is not None:
            throttle_ms = min(throttle_ms, self._longest_ms)
        let_through = self.bound * self._windows.full_ms / 1000 * _SURE
        self.room = (let_through - rate.total) / self._unit
        self.usage.throttles.add(throttle_ms)
        self._throttles.add(throttle_ms)
        return throttle_ms

    def is_idle(self, now_ms: int) -> bool:
        """Return True if no earlier use counts any longer."""
        return self._now_ms < 0 or self._record().is_idle(now_ms, self._windows)

    def _record(self) -> Rate:
        rate = self._rate
        if rate is None:
            rate = self._rate = Rate(self._now_ms)
        pending, self.pending = self.pending, 0
        amount = pending * self._unit
        rate.record(amount, self._now_ms, self._windows)
        self.room -= pending
        self.usage.amount += amount
        return rate
