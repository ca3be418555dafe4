"""Limits on the number of connections and the rate of new ones: of the broker, of a listener, of an address.

A connection beyond the number is refused. A connection beyond the rate is delayed: nothing is read from it until its
time has come. If the rate of its address is exceeded, it is closed after a wait, so that an immediate retry gains
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from shareq.broker.quotas.allowance import Throttles
from shareq.broker.quotas.entity import CONNECTION_CREATION_RATE
from shareq.broker.quotas.limits import Limits
from shareq.broker.quotas.rate import LONGEST_THROTTLE_MS, Rate, Windows

UNLIMITED: Final = 2**31 - 1
_LEAST_SWEEP: Final = 1000  # addresses


class ListenerNumbers(NamedTuple):
    """`max.connections` and `max.connection.creation.rate` of one listener."""

    max_connections: int = UNLIMITED
    max_rate: int = UNLIMITED


class ConnectionNumbers(NamedTuple):
    """`max.connections`, `max.connections.per.ip`, its overrides by address, `max.connection.creation.rate`, and the
    values of single listeners, by name.
    """

    max_connections: int = UNLIMITED
    max_per_ip: int = UNLIMITED
    per_ip_overrides: Mapping[str, int] = MappingProxyType({})
    max_rate: int = UNLIMITED
    of_listeners: Mapping[str, ListenerNumbers] = MappingProxyType({})


class Admission(NamedTuple):
    """The decision on a new connection. `refusal` is the reason why it is refused, "" if it is accepted.

    `wait_ms` is the time until it is read from, or closed.
    """

    refusal: str = ""
    wait_ms: int = 0


class ConnectionQuotas:
    """The connections of all listeners. Used by one thread.

    `files` is the number of connections for which the limit of open files leaves room. Rates are computed over
    `windows`.
    """

    def __init__(self, files: int = UNLIMITED, windows: Windows = Windows()) -> None:  # noqa: B008
        self._files = files
        self._windows = windows
        self._numbers = ConnectionNumbers()
        self._address_rates = Limits(CONNECTION_CREATION_RATE, {})
        self._by_listener: Counter[str] = Counter()
        self._by_address: Counter[str] = Counter()
        self._rates: dict[tuple[str, str], Rate] = {}  # of the broker, of listeners, of addresses
        self._sweep_at = _LEAST_SWEEP
        self.throttles = Throttles()

    def __len__(self) -> int:
        return self._by_listener.total()

    @property
    def known(self) -> int:
        """The number of rates kept."""
        return len(self._rates)

    def configure(self, numbers: ConnectionNumbers) -> None:
        """Apply these limits to new connections from now on. Open connections stay."""
        self._numbers = numbers

    def limit_addresses(self, rates: Limits) -> None:
        """Set the `connection_creation_rate` of addresses from now on."""
        self._address_rates = rates

    def admit(self, listener: str, address: str, now_ms: int) -> Admission:
        """Return the decision on a new connection. An accepted one counts until `forget` is called for it."""
        refusal = self._too_many(listener, address)
        if refusal:
            return Admission(refusal)
        bound = self._address_rates.of_address(address) if self._address_rates else None
        if bound is not None:
            wait_ms = self._wait_ms("address", address, bound, now_ms)
            if wait_ms:
                self._rates["address", address].record(-1, now_ms, self._windows)
                self.throttles.add(min(wait_ms, self._windows.size_ms))
                return Admission(f"{CONNECTION_CREATION_RATE} of {address}", min(wait_ms, self._windows.size_ms))
        wait_ms = max(
            self._wait_ms("broker", "", self._numbers.max_rate, now_ms),
            self._wait_ms("listener", listener, self._of(listener).max_rate, now_ms),
        )
        if wait_ms > self._windows.span_ms:
            return Admission("max.connection.creation.rate")
        self._by_listener[listener] += 1
        self._by_address[address] += 1
        return Admission(wait_ms=wait_ms)

    def forget(self, listener: str, address: str) -> None:
        """Forget an accepted connection that has ended."""
        self._by_listener[listener] -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def _too_many(self, listener: str, address: str) -> str:
        numbers, own = self._numbers, self._of(listener)
        most = min(numbers.max_connections, self._files)
        if len(self) >= most:
            return f"{len(self)} are open, as many as max.connections or the files allow"
        if self._by_listener[listener] >= own.max_connections:
            return f"{self._by_listener[listener]} are open, as many as max.connections of {listener} allows"
        most = numbers.per_ip_overrides.get(address, numbers.max_per_ip)
        return f"max.connections.per.ip={most}" if self._by_address[address] >= most else ""

    def _of(self, listener: str) -> ListenerNumbers:
        return self._numbers.of_listeners.get(listener, ListenerNumbers())

    def _wait_ms(self, kind: str, name: str, bound: float, now_ms: int) -> int:
        """Count a connection. Return how many ms too early it is."""
        if bound >= UNLIMITED:
            return 0
        if bound <= 0:
            return LONGEST_THROTTLE_MS
        rate = self._rates.get((kind, name))
        if rate is None:
            self._sweep(now_ms)
            rate = self._rates[kind, name] = Rate(now_ms)
        rate.record(1, now_ms, self._windows)
        return rate.throttle_ms(bound, now_ms, self._windows)

    def _sweep(self, now_ms: int) -> None:
        """Forget addresses that have had no connection for so long that earlier ones do not count any more."""
        if len(self._rates) < self._sweep_at:
            return
        for name in [name for name, rate in self._rates.items() if rate.is_idle(now_ms, self._windows)]:
            del self._rates[name]
        self._sweep_at = max(_LEAST_SWEEP, 2 * len(self._rates))
