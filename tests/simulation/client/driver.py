"""A driver of the client's core on virtual time, against a whole broker in memory, with slow wires that break."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import count
from random import Random
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.network.request_limits import RequestLimits
from shareq.client.config import Address
from shareq.client.core.connection import Connection, Exchange, Sent, step
from shareq.client.errors import Disconnected, Unreachable
from shareq.client.protocol import ConnectionProtocol, Setup

T = TypeVar("T")
USUAL_MS: Final = 30
"""The usual latency of the slowest part of a connection's way."""
MAX_FRAME_BYTES: Final = 1 << 24
NUMBERS: Final = count(1_000)
"""The numbers by which a broker identifies connections."""


class Later(Generic[T]):
    def __init__(self) -> None:
        self.done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self.wake: Callable[[], None] = lambda: None

    def settle(self, value: T | None = None, error: BaseException | None = None) -> None:
        if not self.done:
            self.done, self._value, self._error = True, value, error
            self.wake()

    def __await__(self) -> Generator[Later[T], None, T]:
        if not self.done:
            yield self
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # it is done


class Work(Generic[T]):
    """A coroutine that continues on a clock once its awaited value has arrived. `end` has its result or exception."""

    def __init__(self, clock: VirtualClock, coroutine: Coroutine[Any, Any, T]) -> None:
        self._clock = clock
        self._coroutine = coroutine
        self.end: Later[T] = Later()
        clock.call_soon(self._go_on)

    def _go_on(self) -> None:
        try:
            later = self._coroutine.send(None)
        except StopIteration as end:
            self.end.settle(end.value)
        except BaseException as error:
            self.end.settle(error=error)
            raise
        else:
            later.wake = lambda: self._clock.call_soon(self._go_on)


class Lock:
    def __init__(self) -> None:
        self._taken = False
        self._queue: deque[Later[None]] = deque()

    async def __aenter__(self) -> None:
        if self._taken:
            turn: Later[None] = Later()
            self._queue.append(turn)
            await turn
        self._taken = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._queue:
            self._queue.popleft().settle()
        else:
            self._taken = False


class _Outlet(MockConnection):
    """The broker's side of a wire: its writes, and its end, reach the client later."""

    def __init__(self, world: BrokerWorld, number: int, wire: Wire) -> None:
        self._wire = wire
        super().__init__(world, number, "simulated", RequestLimits())

    def write(self, buffers: list[Any]) -> None:
        super().write(buffers)
        while self.frames:
            self._wire.from_broker(self.frames.popleft())

    def close(self) -> None:
        super().close()
        self._wire.ended("closed the connection")


class _Waiter:
    def __init__(self) -> None:
        self.later: Later[None] = Later()

    def done(self) -> bool:
        return self.later.done

    def set_result(self, result: None, /) -> None:
        self.later.settle()


class Wire:
    """The wire of a connection, with a delay each way.

    `cut` ends it: the broker notices at once, the client a while later. The driver's `on_lost` is called when the
    broker loses it.
    """

    is_writable = True

    def __init__(self, driver: VirtualDriver, number: int, peer: str) -> None:
        self._driver = driver
        self.now = driver.now
        self.lock = Lock
        self.lost = False  # for the broker
        self._outlet = _Outlet(driver.world, number, self)
        self._to_broker_at = self._to_client_at = 0
        self.connection = Connection(ConnectionProtocol(peer, "simulated", None), self, MAX_FRAME_BYTES)

    def within(self, by: float) -> AbstractAsyncContextManager[object]:
        return contextlib.nullcontext()

    async def writable(self) -> None:
        """Return at once."""

    async def write(self, data: bytes, by: float) -> None:
        clock = self._driver.clock
        self._to_broker_at = max(self._to_broker_at, clock.now_ms() + self._driver.delay_ms())
        clock.call_at(self._to_broker_at, lambda: None if self.lost else self._outlet.send_raw(data))

    async def wait(self, exchange: Sent[T], by: float) -> None:
        waiter = _Waiter()
        exchange.waiters.append(waiter)
        self._driver.clock.call_at(round(by * 1000), waiter.later.settle)
        await waiter.later

    async def step(self, dialogue: Setup, answer: bytes) -> bytes | None:
        return step(dialogue, answer)

    def probe(self) -> str | None:
        """Return None: `ended` says how it ends."""
        return None

    def end(self) -> None:
        self.cut()

    def cut(self) -> None:
        """End the wire for the broker. Its writes that have not arrived are lost."""
        if not self.lost:
            self.lost = True
            self._driver.on_lost(self)
            if not self._outlet.closed:
                self._outlet.disconnect()
            self.ended("is lost: Connection reset by peer")

    def ended(self, why: str) -> None:
        if not self.lost:
            self.lost = True
            self._driver.on_lost(self)
        self._driver.after(self._driver.delay_ms(), lambda: self.connection.close(why))

    def from_broker(self, data: bytes) -> None:
        clock = self._driver.clock
        self._to_client_at = max(self._to_client_at, clock.now_ms() + self._driver.delay_ms())
        if not self.lost:
            clock.call_at(self._to_client_at, lambda: self._arrived(data))

    def _arrived(self, data: bytes) -> None:
        if self.connection.closed is None and not self.lost:
            self.connection.take(data)


class VirtualDriver:
    """The driver of one client. `wires` are its open connections; `refuses`: no connection can be opened now."""

    def __init__(self, world: BrokerWorld, clock: VirtualClock, rng: Random) -> None:
        self.world = world
        self.clock = clock
        self.rng = rng
        self.wires: list[Wire] = []
        self.refuses = False
        self.slowest_ms = USUAL_MS
        self.on_lost: Callable[[Wire], None] = lambda _: None

    def now(self) -> float:
        return self.clock.now_ms() / 1000

    def lock(self) -> Lock:
        return Lock()

    async def sleep(self, seconds: float) -> None:
        later: Later[None] = Later()
        self.after(max(1, round(seconds * 1000)), later.settle)
        await later

    async def open(self, address: Address, name: str, by: float) -> Connection:
        await self.sleep(self.delay_ms() / 1000)
        peer = f"{name} at {address}" if name else str(address)
        if self.refuses:
            raise Unreachable(f"{peer} cannot be reached: Connection refused")
        wire = Wire(self, next(NUMBERS), peer)
        self.wires = [each for each in self.wires if each.connection.alive()] + [wire]
        try:
            await wire.connection.set_up(by)
        except Disconnected as error:
            raise Unreachable(str(error)) from None
        return wire.connection

    async def collect(self, exchanges: Sequence[Exchange]) -> None:
        for exchange in exchanges:
            await exchange.settled()

    def delay_ms(self) -> int:
        return self.rng.randint(0, self.slowest_ms)

    def after(self, ms: int, call: Callable[[], None]) -> None:
        self.clock.call_at(self.clock.now_ms() + ms, call)
