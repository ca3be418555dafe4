"""Sockets and time, as the core asks for them. A driver on blocking sockets never suspends the core's coroutines."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from shareq.client.config import Address
from shareq.client.core.connection import Connection, Exchange


class Driver(Protocol):
    """Sockets and time. Times are in seconds on the driver's own clock."""

    def now(self) -> float:
        """Return the time."""

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a lock for coroutines that this driver may run side by side."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    async def open(self, address: Address, name: str, by: float) -> Connection:
        """Connect, shake hands and log in by this time. `name` is what errors call the broker.

        Raises Unreachable, AuthenticationFailed, UnsupportedApi, BrokerError, ConfigError.
        """

    async def collect(self, exchanges: Sequence[Exchange]) -> None:
        """Wait until all are done. A missing answer does not make others miss their deadline."""
