"""The driver of the core on blocking sockets: its coroutines run to their end in the thread that calls them."""

from __future__ import annotations

import contextlib
import selectors
import ssl
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar, cast

from shareq.client.config import Address, ClientConfig
from shareq.client.connection import SocketWire, open_connection
from shareq.client.core.connection import Connection, Exchange
from shareq.client.core.tries import Clock
from shareq.client.security.tls import tls_context

T = TypeVar("T")


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine of the core that this driver serves, and return what it returns."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    work.close()
    raise RuntimeError("a coroutine on blocking sockets was suspended")


class SocketDriver:
    """Blocking sockets, one thread at a time. `clock` is in seconds, `sleep` waits for some."""

    def __init__(self, config: ClientConfig, clock: Clock, sleep: Callable[[float], None]) -> None:
        self._config = config
        self._context: ssl.SSLContext | None = None
        self.now = clock
        self.pause = sleep

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a lock that does nothing: no two coroutines run side by side."""
        return contextlib.nullcontext()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        self.pause(seconds)

    async def open(self, address: Address, name: str, by: float) -> Connection:
        """Connect, shake hands and log in by this time."""
        if self._context is None and self._config.tls is not None:
            self._context = tls_context(self._config.tls)
        return await open_connection(address, name, self._config, self._context, by, self.now)

    async def collect(self, exchanges: Sequence[Exchange]) -> None:
        """Wait until all are done, and read each answer when it comes."""
        while waiting := [exchange for exchange in exchanges if not exchange.done]:
            first = min(waiting, key=lambda exchange: exchange.deadline)
            wires = {cast("SocketWire", exchange.connection.wire) for exchange in waiting}
            heard = _heard(wires, first.deadline - self.now())
            for wire in heard:
                wire.receive_one()
            if not heard:
                first.give_up()


def _heard(wires: set[SocketWire], timeout_s: float) -> list[SocketWire]:
    """Return those that have something to read, waiting for the first of them."""
    pending = [wire for wire in wires if wire.pending_bytes()]
    if pending:
        return pending
    with selectors.DefaultSelector() as selector:
        for wire in wires:
            selector.register(wire, selectors.EVENT_READ, wire)
        return [key.data for key, _ in selector.select(max(timeout_s, 0))]
