"""The time of a test's broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Clock:
    """A broker's time, to be moved ahead: everything that becomes due meanwhile happens at once, in order.

    Locks, sessions, transactions, delays of redelivery, retention and timeouts of requests follow this time. Clients
    follow their own: to a broker that was moved ahead, they seem to have been silent.
    """

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call
        self.ahead_ms = 0

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass on the broker, at once. Raises ValueError for a negative time, BrokerFailed if the broker
        has ended.
        """
        if seconds < 0:
            raise ValueError(f"{seconds:g} seconds: time does not go back")
        self.ahead_ms = self._call("advance", ms=round(seconds * 1000))

    def time(self) -> float:
        """Return the broker's time, in seconds since the epoch, which is also that of the records it stamps."""
        return float(self._call("wall_ms")) / 1000
