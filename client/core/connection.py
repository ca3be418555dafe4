"""A connection to one broker, over any socket: the order of requests, the request of each answer, and the meaning of
the end of the connection.

Requests may be sent while others wait for their answers, which come in the order of requests. One that is not answered
in time ends the connection, since a later answer could not be matched to its request. Times are the wire's, in seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from struct import Struct
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from shareq.client.errors import ClientError, Disconnected
from shareq.client.protocol import ConnectionProtocol, Setup
from shareq.protocol.framing import frame
from shareq.protocol.primitives import MalformedMessage, Message

TOO_LATE: Final = "did not answer in time"
SESSION_SHARE: Final = 0.85
"""After this share of a login's life it is renewed, as in Java."""
_SIZE: Final = Struct(">i")

T = TypeVar("T")


class Waiter(Protocol):
    """A waiting caller that an exchange wakes when it is done."""

    def done(self) -> bool: ...

    def set_result(self, result: None, /) -> None: ...


class Wire(Protocol):
    """The socket of a connection. It gives `take` each frame, and `fail` or `close` how it ends."""

    def now(self) -> float:
        """Return the time."""

    def within(self, by: float) -> AbstractAsyncContextManager[object]:
        """Return a context that raises TimeoutError at this time; it need not if every wait in it has a deadline."""

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a lock for coroutines that may run concurrently."""

    @property
    def is_writable(self) -> bool:
        """True if `writable` would not wait."""

    async def writable(self) -> None:
        """Wait until the peer reads."""

    async def write(self, data: bytes, by: float) -> None:
        """Send bytes. The connection learns of a failure."""

    async def wait(self, exchange: Sent[T], by: float) -> None:
        """Return when an exchange is done, or at the time `by`."""

    async def step(self, dialogue: Setup, answer: bytes) -> bytes | None:
        """Continue a dialogue; return None when it is over. A login may have to hash for a while."""

    def probe(self) -> str | None:
        """Return how an idle connection ended; None if it seems to be open."""

    def end(self) -> None:
        """Close the socket."""


class Sent(Generic[T]):
    """A request that was sent. `read` decodes the answer from its frame; an empty `name` is not shown."""

    __slots__ = ("_answer", "_failure", "_name", "_read", "connection", "deadline", "waiters")

    def __init__(self, connection: Connection, name: str, deadline: float, read: Callable[[bytes], T]) -> None:
        self.connection = connection
        self._name = name
        self.deadline = deadline
        self._read = read
        self._answer: T | None = None
        self._failure: ClientError | None = None
        self.waiters: list[Waiter] = []

    @property
    def done(self) -> bool:
        """True if `answer` would not wait."""
        return self._answer is not None or self._failure is not None

    @property
    def outcome(self) -> T | ClientError | None:
        """The answer, or the error that replaced it; None while neither is known."""
        return self._failure if self._answer is None else self._answer

    async def answer(self) -> T:
        """Wait for the answer. After a cancelled wait, the answer is read and dropped.

        Raises Disconnected if none comes by its deadline, or the connection ends; AuthenticationFailed.
        """
        if self._answer is None and self._failure is None:
            await self.connection.wire.wait(self, self.deadline)
            self.give_up()
        if self._answer is None:
            failure = self._failure
            during = f" (during {self._name})" if self._name and isinstance(failure, Disconnected) else ""
            raise type(failure or Disconnected())(f"{failure}{during}")
        return self._answer

    async def settled(self, by: float | None = None) -> None:
        """Wait until the request is done, with or without an answer.

        It is given up at its deadline, or at the time `by`.
        """
        if not self.done:
            await self.connection.wire.wait(self, self.deadline if by is None else by)
            self.give_up()

    def give_up(self) -> None:
        """Close the connection, as after a deadline, unless the request is done."""
        if not self.done:
            self.connection.close(TOO_LATE)

    def finish(self, data: bytes | ClientError) -> None:
        """Take the answer's frame, or the error that replaces it. Raises MalformedMessage."""
        if isinstance(data, ClientError):
            self._failure = data
        else:
            self._answer = self._read(data)
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)


Exchange: TypeAlias = Sent[Message]
"""A request whose answer the caller wants."""


class Connection:
    """An open connection, past version negotiation and login once `set_up` has returned."""

    def __init__(self, protocol: ConnectionProtocol, wire: Wire, max_frame_bytes: int) -> None:
        self.wire = wire
        self._protocol = protocol
        self._max_frame_bytes = max_frame_bytes
        self._waiting: deque[Sent[Message] | Sent[bytes]] = deque()
        self._login = wire.lock()  # held while a login is renewed: nothing else is sent meanwhile
        self._renew_login_at: float | None = None
        self.closed: ClientError | None = None
        """The reason for which the connection was closed; None while it is open."""
        self.on_closed: Callable[[ClientError], None] | None = None
        """A callback that gets this reason when the connection is closed, before requests in flight fail."""

    @property
    def in_flight(self) -> int:
        """The number of requests that are not answered yet."""
        return len(self._waiting)

    def alive(self) -> bool:
        """Return True if the connection seems usable."""
        if self.closed is None and not self._waiting and (why := self.wire.probe()) is not None:
            self.close(why)
        return self.closed is None

    def version(self, api_key: int, lowest: int = 0) -> int:
        """Return the version of requests of this API. Raises UnsupportedApi if there is no version from `lowest` on."""
        return self._protocol.version(api_key, lowest)

    def offers(self, api_key: int) -> bool:
        """Return True if the broker serves an API at all."""
        return self._protocol.offers(api_key)

    @property
    def offered(self) -> Mapping[int, tuple[int, int]]:
        """The first and last version of each API that the broker serves, by key."""
        return self._protocol.offered

    @property
    def is_ready(self) -> bool:
        """True if `send` would not wait: the peer reads, and no login is to be renewed first."""
        renew_at = self._renew_login_at
        return self.wire.is_writable and (renew_at is None or self.wire.now() < renew_at)

    async def ready(self, by: float) -> None:
        """Wait until `send` would not wait; close the connection if that lasts until the time `by`.

        Raises Disconnected, and the errors of a login.
        """
        try:
            async with self.wire.within(by):
                await self._ready(by)
        except TimeoutError:
            self.close(TOO_LATE)
        self._check_open()

    async def set_up(self, by: float) -> None:
        """Negotiate versions and log in. A connection that fails to is closed.

        Raises AuthenticationFailed, UnsupportedApi, BrokerError, Disconnected.
        """
        await self._talk(self._protocol.setup(), by)

    async def send(self, message: Message, by: float, lowest: int = 0, highest: int | None = None) -> Exchange:
        """Send a request whose answer must come by this time, in a version of `lowest` to `highest`.

        Waits for a renewed login, and for a peer that does not read. Raises Disconnected, UnsupportedApi,
        UnencodableMessage, and the errors of a login.
        """
        name = type(message).__name__.removesuffix("Request")
        try:
            if not self.is_ready:
                await self.ready(by)
            elif self.closed is not None:
                self._check_open()
        except Disconnected as error:
            raise Disconnected(f"{error} (before {name})") from None
        data = self._protocol.request(message, lowest, highest)
        exchange = Sent(self, name, by, self._protocol.answer)
        await self._write(exchange, data)
        return exchange

    def close(self, why: str = "was closed") -> None:
        """Fail every request in flight, and close the connection. Harmless when it is closed already."""
        self.fail(Disconnected(f"{self._protocol.peer} {why}"))

    def fail(self, error: ClientError) -> None:
        """Close the connection with this error for all pending and later requests."""
        if self.closed is not None:
            return
        self.closed = error
        if self.on_closed is not None:
            self.on_closed(error)
        waiting, self._waiting = self._waiting, deque()
        for exchange in waiting:
            exchange.finish(error)
        self.wire.end()

    # -- what the wire calls

    @property
    def peer(self) -> str:
        """The broker's name in errors."""
        return self._protocol.peer

    @property
    def deadline(self) -> float:
        """The deadline of the oldest request in flight."""
        return self._waiting[0].deadline

    def size_of(self, head: bytes | bytearray) -> int:
        """Return the size of the frame with this head; -1 for one that is out of bounds, which ends the connection."""
        size: int = _SIZE.unpack(head)[0]
        if 0 <= size <= self._max_frame_bytes:
            return size
        limit = f"receive.message.max.bytes allows {self._max_frame_bytes}"
        self.close(f"sent an answer of {size} bytes, and {limit}; is it a listener of another security.protocol?")
        return -1

    def take(self, data: bytes) -> None:
        """Give the next frame to the request that it answers."""
        if not self._waiting:
            self.close("sent bytes that were not requested")
            return
        exchange = self._waiting.popleft()
        try:
            exchange.finish(data)
        except MalformedMessage as error:
            self._waiting.appendleft(exchange)
            self.close(f"sent what is not understood: {error}")

    # -- sending

    async def _ready(self, by: float) -> None:
        if self._renew_login_at is not None:
            async with self._login:
                if self.wire.now() >= self._renew_login_at:
                    while self._waiting:
                        await self._waiting[-1].settled(by)
                    self._check_open()
                    await self._talk(self._protocol.log_in(), by)
        await self.wire.writable()

    async def _write(self, exchange: Sent[Message] | Sent[bytes], data: bytes) -> None:
        self._waiting.append(exchange)
        await self.wire.write(frame(data), exchange.deadline)
        if self.closed is not None:
            self._check_open()

    def _check_open(self) -> None:
        if self.closed is not None:
            raise type(self.closed)(str(self.closed))

    async def _talk(self, dialogue: Setup, by: float) -> None:
        try:
            # No frame is kept in a variable: one may hold a password, and traces may show variables.
            exchange = await self._ask(next(dialogue, None), by)
            while exchange is not None:
                exchange = await self._ask(await self.wire.step(dialogue, await exchange.answer()), by)
        except MalformedMessage as error:
            self.close(f"sent what is not understood: {error}")
            self._check_open()
        except BaseException as error:  # a dialogue cut short leaves nothing to go on with
            self.close(str(error) or "was interrupted")
            raise
        lifetime_ms = self._protocol.session_lifetime_ms
        self._renew_login_at = self.wire.now() + lifetime_ms * SESSION_SHARE / 1000 if lifetime_ms > 0 else None

    async def _ask(self, data: bytes | None, by: float) -> Sent[bytes] | None:
        if data is None:
            return None
        self._check_open()
        exchange = Sent(self, "", by, bytes)
        await self._write(exchange, data)
        return exchange


def step(dialogue: Setup, answer: bytes) -> bytes | None:
    """Continue a dialogue. Return None when it is over: no coroutine may raise StopIteration."""
    try:
        return dialogue.send(answer)
    except StopIteration:
        return None
