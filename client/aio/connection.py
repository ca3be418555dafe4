"""The transport of a connection on the running event loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar, cast

from shareq.client.config import Address, ClientConfig
from shareq.client.core.connection import TOO_LATE, Connection, Sent, step
from shareq.client.errors import AuthenticationFailed, Disconnected, Unreachable
from shareq.client.opening import (
    dialogue_with,
    failure_of,
    failure_text,
    handshake_failure,
    is_certificate_alert,
    other_listener,
    peer_of,
    set_options,
)
from shareq.client.protocol import ConnectionProtocol, Setup
from shareq.protocol.framing import SIZE_BYTES

T = TypeVar("T")

MAX_PORT: Final = 65_535
END_S: Final = 1.0
"""The seconds that the peer has to end TLS, too; then the socket is closed."""


class LoopWire(asyncio.Protocol):
    """The transport that `connect` opens. It is one of `sockets` as long as it has a socket."""

    def __init__(self, protocol: ConnectionProtocol, max_frame_bytes: int, sockets: set[LoopWire]) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._opening: asyncio.Task[Any] | None = None
        self._sockets = sockets
        self._gone = asyncio.Event()
        self._parts: list[bytes] = []
        self._held = 0  # bytes in the parts
        self._behind_answers: list[bytes] | None = None  # frames to send; None: answers are not being taken
        self._size = -1  # of the frame that is being received; -1: not known yet
        self._hashes = protocol.mechanism.startswith("SCRAM-")
        self.is_writable = True  # the peer reads
        self._writable = asyncio.Event()
        self._writable.set()
        self.now = self._loop.time
        self.connection = Connection(protocol, self, max_frame_bytes)

    # -- what the connection asks for

    def within(self, by: float) -> AbstractAsyncContextManager[object]:
        """Return a context that raises TimeoutError at this time."""
        return asyncio.timeout_at(by)

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a lock for coroutines that run concurrently."""
        return asyncio.Lock()

    async def writable(self) -> None:
        """Wait until the peer reads."""
        await self._writable.wait()

    async def write(self, data: bytes, by: float) -> None:
        """Pass bytes to the transport, at once or behind answers of this turn of the loop that are collected."""
        if self._behind_answers is not None:
            self._behind_answers.append(data)
            return
        assert self._transport is not None
        self._transport.write(data)

    async def wait(self, exchange: Sent[T], by: float) -> None:
        """Return when an exchange is done, or at the time `by`."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        exchange.waiters.append(waiter)
        try:
            async with asyncio.timeout_at(by):
                await waiter
        except TimeoutError:
            pass
        finally:
            exchange.waiters.remove(waiter)

    async def step(self, dialogue: Setup, answer: bytes) -> bytes | None:
        """Continue a dialogue. The answer to a SCRAM login may need 20 ms of hashing, which a thread does."""
        return await asyncio.to_thread(step, dialogue, answer) if self._hashes else step(dialogue, answer)

    def probe(self) -> str | None:
        """Return None: the loop itself notices the end of a connection."""
        return None

    def end(self) -> None:
        """Close the transport, and drop unsent bytes."""
        self.resume_writing()
        self._parts.clear()
        if self._transport is not None:
            self._transport.abort() if self._transport.get_write_buffer_size() else self._transport.close()

    async def wait_closed(self) -> None:
        """Return when the socket of a closed connection is closed, too: TLS keeps it open for the peer's last bytes.

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

    async def connect(self, address: Address, config: ClientConfig, context: ssl.SSLContext | None) -> None:
        """Connect, with a TLS handshake if need be. Raises Unreachable, AuthenticationFailed."""
        peer = self.connection.peer
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
        sock = self._transport.get_extra_info("socket")
        if sock is not None and self.connection.closed is None:  # a broker that dies resets what it has accepted
            try:
                set_options(sock, config)
            except OSError as error:  # macOS's answer for one that is lost
                raise Unreachable(f"{peer} cannot be reached: {failure_of(error)}") from None

    # -- what the transport calls

    def _opened(self, opening: asyncio.Task[Any]) -> None:
        if not opening.cancelled():
            opening.exception()  # a caller that was cancelled does not look
        if self._transport is None:
            self._sockets.discard(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self.connection.closed is not None:
            transport.close()

    def data_received(self, data: bytes) -> None:
        sent: list[bytes] = []
        self._behind_answers = sent
        try:
            self._take_frames(data)
        finally:
            self._behind_answers = None
        if sent and self._transport is not None and self.connection.closed is None:
            self._transport.write(b"".join(sent))

    def _take_frames(self, data: bytes) -> None:
        is_start = not self._held and self._size < 0 and len(data) > SIZE_BYTES
        if is_start and self.connection.closed is None:  # of one whole frame, as nearly always
            size = self.connection.size_of(data[:SIZE_BYTES])
            if size == len(data) - SIZE_BYTES:
                self.connection.take(data[SIZE_BYTES:])
                return
            self._size, data = size, data[SIZE_BYTES:]
        self._parts.append(data)
        self._held += len(data)
        while self.connection.closed is None and self._held >= (SIZE_BYTES if self._size < 0 else self._size):
            part = self._cut(SIZE_BYTES if self._size < 0 else self._size)
            if self._size < 0:
                self._size = self.connection.size_of(part)
            else:
                self._size = -1
                self.connection.take(part)

    def _cut(self, size: int) -> bytes:
        """Return the first `size` bytes of the input.

        Each byte, except those of the last few parts, is copied at most once.
        """
        parts = self._parts
        self._held -= size
        rest = b""
        if self._held:
            last = parts[-1]
            parts[-1], rest = last[: -self._held], last[-self._held :]
        self._parts = [rest] if rest else []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def pause_writing(self) -> None:
        self.is_writable = False
        self._writable.clear()

    def resume_writing(self) -> None:
        self.is_writable = True
        self._writable.set()

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None and is_certificate_alert(error):  # TLS 1.3: judged when the handshake is over
            self.connection.fail(AuthenticationFailed(f"{self.connection.peer} {failure_text(error)}"))
        else:
            self.connection.close("closed the connection" if error is None else failure_text(error))
        self._sockets.discard(self)
        self._gone.set()


async def open_connection(
    address: Address,
    name: str,
    config: ClientConfig,
    context: ssl.SSLContext | None,
    sockets: set[LoopWire],
    by: float,
) -> Connection:
    """Open a connection, with TLS and login, until the time `by`. Errors call the broker `name`.

    The wire is one of `sockets` as long as it has a socket, which is longer than it is open. Raises Unreachable,
    AuthenticationFailed, UnsupportedApi, BrokerError.
    """
    peer = peer_of(address, name)
    wire = LoopWire(dialogue_with(peer, config), config.receive_message_max_bytes, sockets)
    connection = wire.connection
    try:
        async with asyncio.timeout_at(by):
            await wire.connect(address, config, context)
            await connection.set_up(by)
    except TimeoutError:
        connection.close(TOO_LATE)
        raise Unreachable(f"{peer} cannot be reached: no answer in time") from None
    except Disconnected as error:
        raise other_listener(error, config) from None
    except BaseException:
        connection.close()
        raise
    return connection
