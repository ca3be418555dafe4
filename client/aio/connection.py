"""A connection to one broker on the running event loop: a transport under a `ConnectionProtocol`.

Requests may be sent while others wait for their answers, which come in the order of requests. One that is not answered
in time ends the connection, since nobody could say what a later answer belongs to.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, Final, NamedTuple, Self, cast

from shareq.client.config import Address, ClientConfig
from shareq.client.errors import AuthenticationFailed, ClientError, Disconnected, Unreachable
from shareq.client.opening import (
    SESSION_SHARE,
    TOO_LATE,
    dialogue_with,
    failure_of,
    failure_text,
    handshake_failure,
    is_certificate_alert,
    other_listener,
    peer_of,
    set_options,
    too_large,
)
from shareq.client.protocol import ConnectionProtocol, Setup
from shareq.protocol.framing import SIZE_BYTES, frame
from shareq.protocol.primitives import MalformedMessage, Message

_SIZE: Final = Struct(">i")
MAX_PORT: Final = 65_535
END_S: Final = 1.0
"""How long the peer has to end TLS in turn; then the socket is closed without it."""


class _Dialogue(NamedTuple):
    """Waits for the next frame, which the dialogue that sent the request reads itself."""

    frame: asyncio.Future[bytes]


class _DialogueEnd(Exception):
    """Stands for StopIteration, which no future takes."""


class Exchange:
    """A request that was sent. `close` ends its connection, since nobody could say what a later answer belongs to."""

    __slots__ = ("_by", "_close", "_name", "_peer", "future")

    def __init__(
        self, future: asyncio.Future[Message], name: str, peer: str, by: float, close: Callable[[str], None]
    ) -> None:
        self.future = future
        self._name = name
        self._peer = peer
        self._by = by
        self._close = close

    @property
    def done(self) -> bool:
        """Return whether `answer` would not wait."""
        return self.future.done()

    async def answer(self) -> Message:
        """Wait for the answer. When the caller is cancelled, it is read and dropped.

        Raises Disconnected if none comes by its deadline, or the connection ends.
        """
        try:
            async with asyncio.timeout_at(self._by):
                return await asyncio.shield(self.future)
        except TimeoutError:
            self._close(TOO_LATE)
            raise Disconnected(f"{self._peer} {TOO_LATE} (during {self._name})") from None
        except Disconnected as error:
            raise Disconnected(f"{error} (during {self._name})") from None

    async def settled(self) -> None:
        """Wait until it is done, however it ends."""
        with contextlib.suppress(ClientError):
            await self.answer()


class Connection(asyncio.Protocol):
    """An open connection; `open` makes one that is past version negotiation and login."""

    def __init__(self, protocol: ConnectionProtocol, max_frame_bytes: int, sockets: set[Connection]) -> None:
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._max_frame_bytes = max_frame_bytes
        self._transport: asyncio.Transport | None = None
        self._opening: asyncio.Task[Any] | None = None
        self._sockets = sockets
        self._gone = asyncio.Event()
        self._parts: list[bytes] = []
        self._held = 0  # bytes in the parts
        self._hashes = protocol.mechanism.startswith("SCRAM-")
        self._size = -1  # of the frame that is being received; -1: not known yet
        self._waiting: deque[_Dialogue | Exchange] = deque()
        self._writable = asyncio.Event()
        self._writable.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._logged_in = asyncio.Event()  # not set while a login is renewed: nothing else is sent meanwhile
        self._logged_in.set()
        self._renew_login_at: float | None = None
        self.closed: ClientError | None = None
        """Why it is closed; None while it is not."""

    @classmethod
    async def open(
        cls,
        address: Address,
        name: str,
        config: ClientConfig,
        context: ssl.SSLContext | None,
        sockets: set[Connection],
        by: float,
    ) -> Self:
        """Connect, shake hands, log in by this time. `name` is what errors call the broker. The connection is one of
        `sockets` for as long as it has one, which is longer than it is open.

        Raises Unreachable, AuthenticationFailed, UnsupportedApi, BrokerError.
        """
        peer = peer_of(address, name)
        protocol = dialogue_with(peer, config)
        connection = cls(protocol, config.receive_message_max_bytes, sockets)
        try:
            async with asyncio.timeout_at(by):
                await connection._connect(address, config, context)
                await connection._talk(protocol.setup())
        except TimeoutError:
            connection.close(TOO_LATE)
            raise Unreachable(f"{peer} cannot be reached: no answer in time") from None
        except Disconnected as error:
            raise other_listener(error, config) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def alive(self) -> bool:
        """Return whether it is of use."""
        return self.closed is None

    @property
    def in_flight(self) -> int:
        return len(self._waiting)

    def version(self, api_key: int, lowest: int = 0) -> int:
        """The version that requests of this API have. UnsupportedApi if there is none from `lowest` on."""
        return self._protocol.version(api_key, lowest)

    def offers(self, api_key: int) -> bool:
        """Return whether the broker serves an API at all."""
        return self._protocol.offers(api_key)

    async def send(self, message: Message, by: float, lowest: int = 0, highest: int | None = None) -> Exchange:
        """Send a request whose answer must come by this time. Disconnected, UnsupportedApi, and as a login.

        Another login, and a peer that does not read, are waited for.
        """
        name = type(message).__name__.removesuffix("Request")
        try:
            if not self._logged_in.is_set() or self._renew_login_at is not None or not self._writable.is_set():
                async with asyncio.timeout_at(by):
                    await self._ready()
            self._check_open()
        except TimeoutError:
            self.close(TOO_LATE)
            raise Disconnected(f"{self._protocol.peer} {TOO_LATE} (during {name})") from None
        except Disconnected as error:
            raise Disconnected(f"{error} (before {name})") from None
        data = self._protocol.request(message, lowest, highest)
        future: asyncio.Future[Message] = self._loop.create_future()
        future.add_done_callback(_retrieved)
        exchange = Exchange(future, name, self._protocol.peer, by, self.close)
        self._expect(exchange)
        self._write(data)
        return exchange

    async def _ready(self) -> None:
        await self._logged_in.wait()
        if self._renew_login_at is not None and self._loop.time() >= self._renew_login_at:
            await self._renew_login()
        await self._writable.wait()

    def close(self, why: str = "was closed") -> None:
        """Every request in flight fails. Harmless when it is closed already."""
        self._fail(Disconnected(f"{self._protocol.peer} {why}"))

    async def wait_closed(self) -> None:
        """Return when the socket of a closed connection is closed, too, which TLS holds open for the peer's last word.

        A loop that ends earlier leaves the socket open.
        """
        if self._opening is None:
            return
        await asyncio.wait([self._opening], timeout=END_S)
        if self._transport is None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
            return
        try:
            async with asyncio.timeout(END_S):
                await self._gone.wait()
        except TimeoutError:
            self._transport.abort()
            await self._gone.wait()

    # -- sending

    def _expect(self, waiting: _Dialogue | Exchange) -> None:
        self._waiting.append(waiting)
        self._idle.clear()

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(frame(data))

    def _check_open(self) -> None:
        if self.closed is not None:
            raise type(self.closed)(str(self.closed))

    # -- dialogues

    async def _connect(self, address: Address, config: ClientConfig, context: ssl.SSLContext | None) -> None:
        peer = self._protocol.peer
        if not 0 < address.port <= MAX_PORT:  # asyncio would raise an IndexError of its own
            raise Unreachable(f"{peer} cannot be reached: port {address.port} is not from 1 to {MAX_PORT}")
        # Of loops, asyncio's own alone can try the next address of a host meanwhile; uvloop refuses the option.
        own: dict[str, Any] = {"happy_eyeballs_delay": 0.25} if isinstance(self._loop, asyncio.BaseEventLoop) else {}
        try:
            self._opening = self._loop.create_task(
                self._loop.create_connection(
                    lambda: self,
                    address.host,
                    address.port,
                    ssl=context,
                    server_hostname=address.host if context is not None else None,
                    **own,
                )
            )
            self._sockets.add(self)
            self._opening.add_done_callback(self._opened)
            # It goes on when the caller is cancelled, and is closed then: asyncio loses a socket that has just
            # connected when the race between a host's addresses is cancelled.
            await asyncio.shield(self._opening)
        except ssl.SSLError as error:
            raise handshake_failure(peer, error) from None
        except socket.gaierror as error:
            raise Unreachable(f"{peer}: no such host: {error.strerror}") from None
        except (OSError, ValueError, OverflowError) as error:  # a broker may name a host or port that is none
            raise Unreachable(f"{peer} cannot be reached: {failure_of(error)}") from None
        assert self._transport is not None
        if (sock := self._transport.get_extra_info("socket")) is not None:
            set_options(sock, config)

    async def _renew_login(self) -> None:
        self._logged_in.clear()
        try:
            await self._idle.wait()
            await self._talk(self._protocol.log_in())
        finally:
            self._logged_in.set()

    async def _talk(self, dialogue: Setup) -> None:
        try:
            # No frame is kept in a variable: one may hold a password, and traces may show variables.
            answer = self._ask(next(dialogue))
            while True:
                if self._hashes:  # a SCRAM login's answer may ask for 20 ms of them
                    answer = self._ask(await asyncio.to_thread(_step, dialogue, await answer))
                else:
                    answer = self._ask(dialogue.send(await answer))
        except (StopIteration, _DialogueEnd):
            pass
        except MalformedMessage as error:
            self.close(f"sent what is not understood: {error}")
            self._check_open()
        except BaseException as error:  # a dialogue cut short leaves nothing to go on with
            self.close(str(error) or "was interrupted")
            raise
        lifetime_ms = self._protocol.session_lifetime_ms
        self._renew_login_at = self._loop.time() + lifetime_ms * SESSION_SHARE / 1000 if lifetime_ms > 0 else None

    def _ask(self, data: bytes) -> asyncio.Future[bytes]:
        self._check_open()
        answer: asyncio.Future[bytes] = self._loop.create_future()
        answer.add_done_callback(_retrieved)
        self._expect(_Dialogue(answer))
        self._write(data)
        return answer

    # -- what the transport calls

    def _opened(self, opening: asyncio.Task[Any]) -> None:
        if not opening.cancelled():
            opening.exception()  # a caller that was cancelled does not look
        if self._transport is None:
            self._sockets.discard(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self.closed is not None:
            transport.close()

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._held += len(data)
        while self.closed is None and self._held >= (SIZE_BYTES if self._size < 0 else self._size):
            buffer = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            at = SIZE_BYTES if self._size < 0 else self._size
            part, rest = buffer[:at], buffer[at:]
            self._parts = [rest] if rest else []
            self._held = len(rest)
            if self._size < 0:
                self._begin(_SIZE.unpack(part)[0])
            else:
                self._size = -1
                self._take(part)

    def _begin(self, size: int) -> None:
        if 0 <= size <= self._max_frame_bytes:
            self._size = size
            return
        self.close(too_large(size, self._max_frame_bytes))

    def _take(self, data: bytes) -> None:
        if not self._waiting:
            self.close("sent bytes that were not requested")
            return
        waiting = self._waiting.popleft()
        if isinstance(waiting, _Dialogue):
            if not waiting.frame.done():
                waiting.frame.set_result(data)
        else:
            try:
                answer = self._protocol.answer(data)
            except MalformedMessage as error:
                self._waiting.appendleft(waiting)
                self.close(f"sent what is not understood: {error}")
                return
            if not waiting.future.done():
                waiting.future.set_result(answer)
        if not self._waiting:
            self._idle.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None and is_certificate_alert(error):  # TLS 1.3: judged when the handshake is over
            self._fail(AuthenticationFailed(f"{self._protocol.peer} {failure_text(error)}"))
        else:
            self.close("closed the connection" if error is None else failure_text(error))
        self._sockets.discard(self)
        self._gone.set()

    def _fail(self, error: ClientError) -> None:
        if self.closed is not None:
            return
        self.closed = error
        waiting, self._waiting = self._waiting, deque()
        for one in waiting:
            future: asyncio.Future[Message] | asyncio.Future[bytes] = (
                one.frame if isinstance(one, _Dialogue) else one.future
            )
            if not future.done():
                future.set_exception(type(error)(str(error)))
        self._idle.set()
        self._writable.set()
        self._parts.clear()
        if self._transport is not None:
            self._transport.abort() if self._transport.get_write_buffer_size() else self._transport.close()


def _retrieved(future: asyncio.Future[Message] | asyncio.Future[bytes]) -> None:
    """A caller that was cancelled does not look at its answer: asyncio need not warn of that."""
    if not future.cancelled():
        future.exception()


def _step(dialogue: Setup, answer: bytes) -> bytes:
    """Let a dialogue go on, on any thread. _DialogueEnd when it is over."""
    try:
        return dialogue.send(answer)
    except StopIteration:
        raise _DialogueEnd from None
