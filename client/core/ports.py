"""Sockets and time, as the core asks for them. A driver on blocking sockets never suspends the core's coroutines."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from shareq.client.config import Address
from shareq.protocol.primitives import Message


class Exchange(Protocol):
    """A request that was sent."""

    @property
    def done(self) -> bool:
        """Return whether `answer` would not wait."""

    async def answer(self) -> Message:
        """Wait for the answer. Raises Disconnected if none comes by its deadline, or the connection ends."""


class Connection(Protocol):
    """An open connection to one broker, past version negotiation and login."""

    @property
    def in_flight(self) -> int:
        """Return the number of requests whose answers are still to come."""

    def alive(self) -> bool:
        """Return whether it seems to be of use."""

    def version(self, api_key: int, lowest: int = 0) -> int:
        """Return the version that requests of this API have. Raises UnsupportedApi if none is from `lowest` on."""

    def offers(self, api_key: int) -> bool:
        """Return whether the broker serves an API at all."""

    async def send(self, message: Message, by: float, lowest: int = 0, highest: int | None = None) -> Exchange:
        """Send a request whose answer must come by this time, in a version of `lowest` to `highest`.

        Raises Disconnected, UnsupportedApi, UnencodableMessage.
        """

    def close(self, why: str = ...) -> None:
        """Fail every request in flight. Harmless when it is closed already."""


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
        """Wait until all are done. One that stays out costs no other its deadline."""
