"""The client's core on virtual time, before a whole broker in memory: a driver whose wires are slow, and are cut."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from itertools import count
from random import Random
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.network.connection_limits import ConnectionLimits
from shareq.client.config import Address
from shareq.client.core import ports
from shareq.client.errors import ClientError, Disconnected, Unreachable
from shareq.client.protocol import ConnectionProtocol, Setup
from shareq.protocol.framing import frame
from shareq.protocol.primitives import Message

T = TypeVar("T")
USUAL_MS: Final = 30
"""Of the slowest part of a way."""
NUMBERS: Final = count(1_000)
"""Of connections: a broker knows them by these."""


class Later(Generic[T]):
    """A value that comes later, for one coroutine to wait for."""

    def __init__(self) -> None:
        self.done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self.wake: Callable[[], None] = lambda: None

    def settle(self, value: T | None = None, error: BaseException | None = None) -> None:
        """Have it come, or fail. The second time changes nothing."""
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
    """A coroutine that runs on a clock whenever what it waits for has come. `end` has what it returned or raised."""

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
    """One coroutine at a time, in the order of coming."""

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
    """The broker's side of a wire: what it writes, and its end, come later to the client."""

    def __init__(self, world: BrokerWorld, number: int, wire: Wire) -> None:
        self._wire = wire
        super().__init__(world, number, "simulated", ConnectionLimits())

    def write(self, buffers: list[Any]) -> None:
        super().write(buffers)
        while self.frames:
            self._wire.from_broker(self.frames.popleft())

    def close(self) -> None:
        super().close()
        self._wire.ended("closed the connection")


class Exchange:
    """A request that was sent."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.later: Later[Message] = Later()

    @property
    def done(self) -> bool:
        """Return whether `answer` would not wait."""
        return self.later.done

    async def answer(self) -> Message:
        """Wait for the answer."""
        return await self.later


class Wire:
    """A connection with a delay each way. `cut` ends it: the broker notices at once, the client a while later.

    `owner` is for whom it is; the scene is asked `on_end(wire)` when the broker loses it.
    """

    def __init__(self, driver: VirtualDriver, number: int, peer: str) -> None:
        self._driver = driver
        self.closed: str | None = None
        self.lost = False  # for the broker
        self._outlet = _Outlet(driver.world, number, self)
        self._protocol = ConnectionProtocol(peer, "simulated", None)
        self._waiting: deque[Exchange | Later[bytes]] = deque()
        self._to_broker_at = self._to_client_at = 0

    @property
    def in_flight(self) -> int:
        """Return the number of requests whose answers are still to come."""
        return len(self._waiting)

    def alive(self) -> bool:
        """Return whether it seems to be of use."""
        return self.closed is None

    def version(self, api_key: int, lowest: int = 0) -> int:
        """Return the version that requests of this API have."""
        return self._protocol.version(api_key, lowest)

    def offers(self, api_key: int) -> bool:
        """Return whether the broker serves an API at all."""
        return self._protocol.offers(api_key)

    async def talk(self, dialogue: Setup) -> None:
        """Negotiate."""
        try:
            data = next(dialogue)
            while True:
                later: Later[bytes] = Later()
                self._send(data, later)
                data = dialogue.send(await later)
        except StopIteration:
            return

    async def send(self, message: Message, by: float, lowest: int = 0, highest: int | None = None) -> Exchange:
        """Send a request. One that is not answered in time ends the connection."""
        name = type(message).__name__.removesuffix("Request")
        if self.closed is not None:
            raise Disconnected(f"{self._protocol.peer} {self.closed} (before {name})")
        exchange = Exchange(name)
        self._send(self._protocol.request(message, lowest, highest), exchange)
        clock = self._driver.clock
        clock.call_at(round(by * 1000), lambda: None if exchange.done else self.close("did not answer in time"))
        return exchange

    def close(self, why: str = "was closed") -> None:
        """Fail every request in flight."""
        self.cut()
        self._end(why)

    def cut(self) -> None:
        """Take the wire away from the broker. What it wrote and has not arrived is lost."""
        if not self.lost:
            self.lost = True
            self._driver.on_lost(self)
            if not self._outlet.closed:
                self._outlet.disconnect()
            self.ended("is lost: Connection reset by peer")

    def ended(self, why: str) -> None:
        """Have the client notice, after a while."""
        if not self.lost:
            self.lost = True
            self._driver.on_lost(self)
        self._driver.after(self._driver.delay_ms(), lambda: self._end(why))

    def from_broker(self, data: bytes) -> None:
        """Have an answer arrive, behind those before it."""
        clock = self._driver.clock
        self._to_client_at = max(self._to_client_at, clock.now_ms() + self._driver.delay_ms())
        if not self.lost:
            clock.call_at(self._to_client_at, lambda: self._arrived(data))

    def _send(self, data: bytes, waiting: Exchange | Later[bytes]) -> None:
        self._waiting.append(waiting)
        clock = self._driver.clock
        self._to_broker_at = max(self._to_broker_at, clock.now_ms() + self._driver.delay_ms())
        clock.call_at(self._to_broker_at, lambda: None if self.lost else self._outlet.send_raw(frame(data)))

    def _arrived(self, data: bytes) -> None:
        if self.closed is not None or self.lost:
            return
        waiting = self._waiting.popleft()
        if isinstance(waiting, Later):
            waiting.settle(data)
        else:
            waiting.later.settle(self._protocol.answer(data))

    def _end(self, why: str) -> None:
        if self.closed is None:
            self.closed = why
            waiting, self._waiting = self._waiting, deque()
            for one in waiting:
                name = "" if isinstance(one, Later) else f" (during {one.name})"
                later: Later[Any] = one if isinstance(one, Later) else one.later
                later.settle(error=Disconnected(f"{self._protocol.peer} {why}{name}"))


class VirtualDriver:
    """The driver of one client. `wires` are its open connections; `refuses`: nothing can be opened now."""

    def __init__(self, world: BrokerWorld, clock: VirtualClock, rng: Random) -> None:
        self.world = world
        self.clock = clock
        self.rng = rng
        self.wires: list[Wire] = []
        self.refuses = False
        self.slowest_ms = USUAL_MS
        self.on_lost: Callable[[Wire], None] = lambda _: None

    def now(self) -> float:
        """Return the time, in seconds."""
        return self.clock.now_ms() / 1000

    def lock(self) -> Lock:
        """Return a new lock."""
        return Lock()

    async def sleep(self, seconds: float) -> None:
        """Wait, a millisecond at least."""
        later: Later[None] = Later()
        self.after(max(1, round(seconds * 1000)), later.settle)
        await later

    async def open(self, address: Address, name: str, by: float) -> Wire:
        """Connect and negotiate."""
        await self.sleep(self.delay_ms() / 1000)
        peer = f"{name} at {address}" if name else str(address)
        if self.refuses:
            raise Unreachable(f"{peer} cannot be reached: Connection refused")
        wire = Wire(self, next(NUMBERS), peer)
        self.wires = [each for each in self.wires if each.alive()] + [wire]
        try:
            await wire.talk(wire._protocol.setup())
        except Disconnected as error:
            raise Unreachable(str(error)) from None
        return wire

    async def collect(self, exchanges: Sequence[ports.Exchange]) -> None:
        """Wait until all are done."""
        for exchange in exchanges:
            try:
                await exchange.answer()
            except ClientError:
                continue

    def delay_ms(self) -> int:
        """Return how long something is on its way."""
        return self.rng.randint(0, self.slowest_ms)

    def after(self, ms: int, call: Callable[[], None]) -> None:
        """Call something later."""
        self.clock.call_at(self.clock.now_ms() + ms, call)
