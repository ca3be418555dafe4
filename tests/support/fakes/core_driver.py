"""A driver of the client's core without sockets: functions answer for brokers, and only `sleep` moves time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from shareq.client.config import Address
from shareq.client.core.connection import Connection, Exchange, Sent, step
from shareq.client.errors import Unreachable
from shareq.client.protocol import ConnectionProtocol, Setup
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.framing import SIZE_BYTES
from shareq.protocol.generated.api_versions import ApiVersionsResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from shareq.protocol.headers import decode_request_header, response_header
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import EVERYTHING

T = TypeVar("T")
MAX_FRAME_BYTES = 1 << 20
Answer = Callable[[Message], Message | None]
"""A function that returns a broker's answer to a request; None ends the connection."""


class MemoryWire:
    """The wire of a connection to a broker of a `MemoryDriver`, which answers immediately."""

    is_writable = True

    def __init__(self, driver: MemoryDriver, address: Address, says: Answer) -> None:
        self.now = driver.now
        self.lock = driver.lock
        self.address = address
        self.says = says
        self.asked: list[Message] = []
        self.closed = False
        self._cut = False
        self.connection = Connection(ConnectionProtocol(str(address), "me", None), self, MAX_FRAME_BYTES)

    def within(self, by: float) -> AbstractAsyncContextManager[object]:
        return contextlib.nullcontext()

    async def writable(self) -> None:
        """Return at once."""

    async def write(self, data: bytes, by: float) -> None:
        header = decode_request_header(data[SIZE_BYTES:])
        key, version = header.api_key, header.api_version
        if key == ApiKey.API_VERSIONS:
            found: Message | None = ApiVersionsResponse(api_keys=EVERYTHING)
        else:
            request, _ = codec(key).request_class.decode(data[SIZE_BYTES:], version, header.body_offset)
            self.asked.append(request)
            found = self.says(request)
        if found is None:
            self._cut = True
        else:
            self.connection.take(response_header(key, version, header.correlation_id) + found.encode(version))

    async def wait(self, exchange: Sent[T], by: float) -> None:
        """Notice that the connection has ended, the only event to wait for."""
        assert self._cut
        self.connection.close("closed the connection")

    async def step(self, dialogue: Setup, answer: bytes) -> bytes | None:
        return step(dialogue, answer)

    def probe(self) -> str | None:
        return "closed the connection" if self._cut else None

    def end(self) -> None:
        self.closed = True


class MemoryDriver:
    """Brokers by address. `opened` has every connection, `slept` every pause; `on_open` is called before each
    connection.
    """

    def __init__(self) -> None:
        self.time = 1000.0
        self.brokers: dict[Address, Answer] = {}
        self.opened: list[MemoryWire] = []
        self.bounds: list[float] = []
        self.slept: list[float] = []
        self.on_open: Callable[[Address], None] = lambda _: None
        self.make_lock: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext

    def now(self) -> float:
        return self.time

    def lock(self) -> AbstractAsyncContextManager[object]:
        return self.make_lock()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    async def open(self, address: Address, name: str, by: float) -> Connection:
        self.bounds.append(by)
        self.on_open(address)
        if address not in self.brokers:
            raise Unreachable(f"{address} cannot be reached")
        wire = MemoryWire(self, address, self.brokers[address])
        self.opened.append(wire)
        await wire.connection.set_up(by)
        return wire.connection

    async def collect(self, exchanges: Sequence[Exchange]) -> None:
        for exchange in exchanges:
            await exchange.settled()


def brokers_of(*nodes: int) -> MetadataResponse:
    """Return the Metadata answer of a cluster of these nodes, each listening at its `address_of`."""
    return MetadataResponse(brokers=[MetadataResponseBroker(node, *address_of(node)) for node in nodes])


def address_of(node: int) -> Address:
    return Address(f"b{node}", 9092)


def knows(*nodes: int, then: Answer = lambda _: None) -> Answer:
    """Return the behaviour of a broker that names these nodes in Metadata, and answers all other requests by `then`."""
    return lambda request: brokers_of(*nodes) if isinstance(request, MetadataRequest) else then(request)
