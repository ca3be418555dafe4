"""A driver of the client's core without sockets: brokers answer by functions, time passes when it is slept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from shareq.client.config import Address
from shareq.client.core import ports
from shareq.client.errors import Disconnected, Unreachable
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from shareq.protocol.primitives import Message

Answer = Callable[[Message], Message | None]
"""What a broker says to a request; None: its connection ends."""


class MemoryExchange:
    """An answer that is there when the request is sent."""

    done = True

    def __init__(self, found: Message | None) -> None:
        self.found = found

    async def answer(self) -> Message:
        """Return it. Raises Disconnected where there is none."""
        if self.found is None:
            raise Disconnected("the connection was lost")
        return self.found


class MemoryConnection:
    """An open connection to a broker of a `MemoryDriver`."""

    in_flight = 0

    def __init__(self, address: Address, says: Answer) -> None:
        self.address = address
        self.says = says
        self.asked: list[tuple[Message, float]] = []
        self.closed = False

    def alive(self) -> bool:
        """Return whether it is of use."""
        return not self.closed

    def version(self, api_key: int, lowest: int = 0) -> int:
        """Return the least."""
        return lowest

    def offers(self, api_key: int) -> bool:
        """Return whether the broker serves an API, which it does."""
        return True

    async def send(self, message: Message, by: float, lowest: int = 0, highest: int | None = None) -> MemoryExchange:
        """Ask the broker."""
        self.asked.append((message, by))
        found = self.says(message)
        self.closed = self.closed or found is None
        return MemoryExchange(found)

    def close(self, why: str = "was closed") -> None:
        """End it."""
        self.closed = True


class MemoryDriver:
    """Brokers by address. `opened` has every connection, `slept` every pause; `on_open` is called before each."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.brokers: dict[Address, Answer] = {}
        self.opened: list[MemoryConnection] = []
        self.bounds: list[float] = []
        self.slept: list[float] = []
        self.on_open: Callable[[Address], None] = lambda _: None
        self.make_lock: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext

    def now(self) -> float:
        """Return the time."""
        return self.time

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a new lock."""
        return self.make_lock()

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.time += seconds

    async def open(self, address: Address, name: str, by: float) -> MemoryConnection:
        """Connect to a broker that is there. Raises Unreachable."""
        self.bounds.append(by)
        self.on_open(address)
        if address not in self.brokers:
            raise Unreachable(f"{address} cannot be reached")
        connection = MemoryConnection(address, self.brokers[address])
        self.opened.append(connection)
        return connection

    async def collect(self, exchanges: Sequence[ports.Exchange]) -> None:
        """Return: all are done."""


def brokers_of(*nodes: int) -> MetadataResponse:
    """Return what Metadata says of a cluster of these nodes, each of which listens at `address_of`."""
    return MetadataResponse(brokers=[MetadataResponseBroker(node, *address_of(node)) for node in nodes])


def address_of(node: int) -> Address:
    """Return where a node listens."""
    return Address(f"b{node}", 9092)


def knows(*nodes: int, then: Answer = lambda _: None) -> Answer:
    """Return the answers of a broker that names these nodes, and says `then` to everything but Metadata."""
    return lambda request: brokers_of(*nodes) if isinstance(request, MetadataRequest) else then(request)
