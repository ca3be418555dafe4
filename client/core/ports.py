"""The interface of sockets and time for the core. A driver on blocking sockets never suspends the core's coroutines."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from shareq.client.config import Address
from shareq.client.core.connection import Connection, Exchange


class Driver(Protocol):
    """Sockets and time. Times are in seconds on the driver's own clock."""

    def now(self) -> float:
        """Return the driver's time."""

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a lock for coroutines that this driver may run concurrently."""

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""

    async def open(self, address: Address, name: str, by: float) -> Connection:
        """Open a connection, with TLS and login, until the time `by`. Errors call the broker `name`.

        Raises Unreachable, AuthenticationFailed, UnsupportedApi, BrokerError, ConfigError.
        """

    async def collect(self, exchanges: Sequence[Exchange]) -> None:
        """Wait until all exchanges are done. A missing answer does not make others miss their deadline."""
