"""An event loop in memory for the client's asyncio driver.

Time moves when nothing else is left to do, and functions answer for the brokers.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from errno import ECONNREFUSED, ECONNRESET
from typing import Any, Final, TypeVar

from shareq.client.aio.connection import LoopWire
from shareq.client.config import Address
from shareq.client.core.connection import Connection
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.framing import SIZE_BYTES, frame
from shareq.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse
from shareq.protocol.headers import decode_request_header, response_header
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import EVERYTHING

T = TypeVar("T")
MANY_LOOKS: Final = 100_000


class Asked:
    """A request that a broker received: `answer` it now or later, in any order."""

    def __init__(self, transport: MemoryTransport, message: Message, key: int, version: int, correlation: int) -> None:
        self.transport = transport
        self.message = message
        self.version = version
        self._head = (key, version, correlation)

    @property
    def connection(self) -> Connection:
        assert isinstance(self.transport.protocol, LoopWire)
        return self.transport.protocol.connection

    def frame(self, message: Message) -> bytes:
        return frame(response_header(*self._head) + message.encode(self.version))

    def answer(self, message: Message) -> None:
        self.transport.feed(self.frame(message))


Says = Callable[[Asked], None]
"""A function that handles a request as a broker does, except ApiVersions."""


class MemoryBroker:
    """A broker at an address. It is silent until `says` is set. `asked` has every request except ApiVersions."""

    def __init__(self, says: Says = lambda _: None) -> None:
        self.says = says
        self.serves: list[ApiVersion] = EVERYTHING
        self.asked: list[Asked] = []
        self.open: list[MemoryTransport] = []

    @property
    def messages(self) -> list[Message]:
        return [each.message for each in self.asked]

    def handle(self, transport: MemoryTransport, data: bytes) -> None:
        header = decode_request_header(data)
        key, version = header.api_key, header.api_version
        request, _ = codec(key).request_class.decode(data, version, header.body_offset)
        asked = Asked(transport, request, key, version, header.correlation_id)
        if key == ApiKey.API_VERSIONS:
            asked.answer(ApiVersionsResponse(api_keys=self.serves))
            return
        self.asked.append(asked)
        self.says(asked)

    def hang_up(self) -> None:
        for transport in list(self.open):
            transport.lose(ConnectionResetError(ECONNRESET, "Connection reset by peer"))


class MemoryTransport(asyncio.Transport):
    """A connection to a broker, which receives writes in a later turn of the loop."""

    def __init__(self, loop: MemoryLoop, protocol: asyncio.Protocol, broker: MemoryBroker) -> None:
        super().__init__()
        self._loop = loop
        self.protocol = protocol
        self._broker = broker
        self._written = bytearray()
        self.writes = 0
        self._closed = False
        broker.open.append(self)

    @property
    def unread(self) -> int:
        """Return the number of bytes that the broker has not received yet."""
        return len(self._written)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._written += data
        self.writes += 1
        self._loop.call_soon(self._deliver)

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        self.lose(None)

    def abort(self) -> None:
        self.lose(None)

    def feed(self, data: bytes) -> None:
        self._loop.call_soon(self._feed, data)

    def lose(self, error: Exception | None) -> None:
        if not self._closed:
            self._closed = True
            self._broker.open.remove(self)
            self._loop.call_soon(self.protocol.connection_lost, error)

    def _feed(self, data: bytes) -> None:
        if not self._closed:
            self.protocol.data_received(data)

    def _deliver(self) -> None:
        while not self._closed and len(self._written) >= SIZE_BYTES:
            end = SIZE_BYTES + int.from_bytes(self._written[:SIZE_BYTES])
            if len(self._written) < end:
                return
            data = bytes(self._written[SIZE_BYTES:end])
            del self._written[:end]
            self._broker.handle(self, data)


class _NothingReady(selectors.SelectSelector):
    """A selector whose sockets are never ready: instead of waiting, virtual time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 1_000.0
        self._looks = 0

    def select(self, timeout: float | None = None) -> list[Any]:
        self._looks += 1
        if timeout is None or self._looks > MANY_LOOKS:
            raise RuntimeError("the loop waits for what does not come")
        self.time += max(timeout, 0.0)
        return []


class MemoryLoop(asyncio.SelectorEventLoop):
    """The loop. `brokers` may change while it runs; `opened` has the address of each connection made."""

    def __init__(self, brokers: dict[Address, MemoryBroker]) -> None:
        self._clockwork = _NothingReady()
        super().__init__(self._clockwork)
        self.brokers = brokers
        self.opened: list[Address] = []

    def time(self) -> float:
        return self._clockwork.time

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        """Connect to the broker at an address; ConnectionRefusedError if there is none."""
        await asyncio.sleep(0)
        broker = self.brokers.get(Address(host, port))
        if broker is None:
            raise ConnectionRefusedError(ECONNREFUSED, "Connection refused")
        self.opened.append(Address(host, port))
        protocol = protocol_factory()
        transport = MemoryTransport(self, protocol, broker)
        protocol.connection_made(transport)
        return transport, protocol


def play(scene: Callable[[MemoryLoop], Coroutine[Any, Any, T]], brokers: dict[Address, MemoryBroker]) -> T:
    with asyncio.Runner(loop_factory=lambda: MemoryLoop(brokers)) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, MemoryLoop)
        return runner.run(scene(loop))
