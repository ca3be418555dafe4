"""The pauses before connecting again to a broker that was unreachable. The clock is the caller's, in seconds."""

from __future__ import annotations

from typing import NamedTuple

from shareq.client.config import Address, ClientConfig
from shareq.client.core.tries import backoff_s
from shareq.client.errors import Unreachable


class _Down(NamedTuple):
    failures: int
    until: float
    why: str


class DownAddresses:
    """Addresses that failed: each is avoided for a pause that grows with every failure in a row.

    The pause is `reconnect.backoff.ms` at first, `reconnect.backoff.max.ms` at most.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._down: dict[Address, _Down] = {}

    def check(self, address: Address, now: float) -> None:
        """Raise Unreachable, with the last error, for an address whose pause is not over."""
        down = self._down.get(address)
        if down is not None and now < down.until:
            raise Unreachable(down.why)

    def failed(self, address: Address, now: float, error: Unreachable) -> None:
        """Note that an address failed."""
        known = self._down.get(address)
        failures = 1 if known is None else known.failures + 1
        first, most = self._config.reconnect_backoff_ms, self._config.reconnect_backoff_max_ms
        self._down[address] = _Down(failures, now + backoff_s(first, most, failures), str(error))

    def reached(self, address: Address) -> None:
        """Forget the failures of an address."""
        self._down.pop(address, None)

    def until(self, address: Address) -> float:
        """Return the end of an address's pause; 0.0 if it did not fail."""
        known = self._down.get(address)
        return 0.0 if known is None else known.until

    def why(self, address: Address) -> str | None:
        """Return the error of an address; None if it did not fail."""
        known = self._down.get(address)
        return None if known is None else known.why
