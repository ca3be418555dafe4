"""The brokers of a cluster on the running event loop: the core with a driver for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from shareq.client.aio.connection import LoopWire, open_connection
from shareq.client.config import Address, ClientConfig
from shareq.client.core.connection import Connection, Exchange
from shareq.client.core.network import NetworkCore
from shareq.client.security.tls import tls_context


class LoopDriver:
    """The driver for sockets and time of the running event loop. Coroutines of several tasks may wait concurrently."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context: ssl.SSLContext | None = None
        self._sockets: set[LoopWire] = set()  # what has one yet, closed connections among them

    def now(self) -> float:
        """Return the event loop's clock, in seconds. Another thread gets the clock of the loop that asked last."""
        with contextlib.suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        if self._loop is None:
            raise RuntimeError("no event loop has used this network yet")
        return self._loop.time()

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a lock for coroutines that run concurrently."""
        return asyncio.Lock()

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        await asyncio.sleep(seconds)

    async def open(self, address: Address, name: str, by: float) -> Connection:
        """Open a connection, with TLS and login, until the time `by`."""
        if self._context is None and self._config.tls is not None:
            self._context = tls_context(self._config.tls)
        return await open_connection(address, name, self._config, self._context, self._sockets, by)

    async def collect(self, exchanges: Sequence[Exchange]) -> None:
        """Wait until all exchanges are done."""
        await asyncio.gather(*(exchange.settled() for exchange in exchanges))

    async def wait_closed(self) -> None:
        """Return when no socket is open any more: a second or so after all connections were closed, at the latest."""
        while self._sockets:
            await asyncio.gather(*(wire.wait_closed() for wire in self._sockets))


class Network(NetworkCore):
    """A `NetworkCore` on the running event loop. `close` ends connections, `wait_closed` waits for their sockets."""

    driver: LoopDriver

    def __init__(self, config: ClientConfig) -> None:
        super().__init__(config, LoopDriver(config))

    async def wait_closed(self) -> None:
        """Return when all connections are closed: a second or so after `close` at the latest."""
        await self.driver.wait_closed()
