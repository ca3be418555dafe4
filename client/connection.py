"""The blocking socket of a connection, with TLS if need be.

One thread at a time. Every wait has a deadline, on the clock that the connection was opened with (seconds). An answer
is read straight into memory of its size, which is taken only when the size is within bounds.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from contextlib import AbstractAsyncContextManager
from io import BytesIO
from typing import TypeVar

from shareq.client.config import Address, ClientConfig
from shareq.client.core.connection import Connection, Sent, step
from shareq.client.core.tries import Clock
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


class SocketWire:
    """A connected socket. The coroutines of its connection never run concurrently."""

    is_writable = True  # `write` waits

    def __init__(self, sock: socket.socket, protocol: ConnectionProtocol, max_frame_bytes: int, clock: Clock) -> None:
        self._socket = sock
        self.now = clock
        self.connection = Connection(protocol, self, max_frame_bytes)

    def within(self, by: float) -> AbstractAsyncContextManager[object]:
        """Return a context that does nothing: every read and write has a deadline."""
        return contextlib.nullcontext()

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a context that does nothing."""
        return contextlib.nullcontext()

    async def writable(self) -> None:
        """Return at once: a write itself waits."""

    async def write(self, data: bytes, by: float) -> None:
        """Send all bytes until the time `by`."""
        try:
            self._socket.settimeout(self._left(by))
            self._socket.sendall(data)
        except OSError as error:
            del data
            self._broken(self._last_words() or error)
        except BaseException:
            self.connection.close("was interrupted")
            raise

    async def wait(self, exchange: Sent[T], by: float) -> None:
        """Read answers until this one has come. At the time `by`, the connection is closed."""
        while not exchange.done:
            self._receive(by)

    async def step(self, dialogue: Setup, answer: bytes) -> bytes | None:
        """Continue a dialogue."""
        return step(dialogue, answer)

    def probe(self) -> str | None:
        """Ask the socket, without waiting, how the connection ended."""
        try:
            self._socket.settimeout(0)
            data = self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except OSError as error:
            return failure_text(error)
        return "sent bytes that were not requested" if data else "closed the connection"

    def end(self) -> None:
        """Close the socket."""
        with contextlib.suppress(OSError):
            self._socket.close()

    # -- for a driver that waits for several

    def fileno(self) -> int:
        """Return the descriptor for `select`, while the socket is open."""
        return self._socket.fileno()

    def pending_bytes(self) -> bool:
        """Return True if TLS holds bytes that `select` does not see."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def receive_one(self) -> None:
        """Read the next answer, by the deadline of its request, or notice that the connection has ended."""
        self._receive(self.connection.deadline)

    def _receive(self, by: float) -> None:
        head = bytearray(SIZE_BYTES)
        if not self._fill(memoryview(head), by) or (size := self.connection.size_of(head)) < 0:
            return
        # Filled in place: the buffer of a BytesIO is the bytes object that getvalue() hands out, so that nothing is
        # copied, and its pages are taken when bytes arrive for them.
        buffer = BytesIO(bytes(size))
        with buffer.getbuffer() as view:
            is_whole = self._fill(view, by)
        if is_whole:
            self.connection.take(buffer.getvalue())

    def _fill(self, view: memoryview, by: float) -> bool:
        """Return True if all bytes arrived; otherwise the connection is closed."""
        sock, at, size = self._socket, 0, len(view)
        try:
            while at < size:
                sock.settimeout(self._left(by))
                count = sock.recv_into(view[at:])
                if not count:
                    self.connection.close("closed the connection")
                    return False
                at += count
        except OSError as error:
            self._broken(error)
            return False
        except BaseException:  # also by a signal: what is left of the frame would be read as the next one
            self.connection.close("was interrupted")
            raise
        return True

    def _left(self, by: float) -> float:
        """Return a socket's timeout; 0 after the deadline: bytes that arrived during other waits are still read."""
        return max(by - self.now(), 0.0)

    def _last_words(self) -> OSError | None:
        """Return, after a failed send, the alert with which the peer ended TLS, if there is one to read."""
        if isinstance(self._socket, ssl.SSLSocket):
            try:
                self._socket.settimeout(0)
                self._socket.recv(1)
            except OSError as error:
                return error if is_certificate_alert(error) else None
        return None

    def _broken(self, error: OSError) -> None:
        if is_certificate_alert(error):  # TLS 1.3: the broker judges our certificate when the handshake is over
            self.connection.fail(AuthenticationFailed(f"{self.connection.peer} {failure_text(error)}"))
        else:
            self.connection.close(failure_text(error))


async def open_connection(
    address: Address, name: str, config: ClientConfig, context: ssl.SSLContext | None, deadline: float, clock: Clock
) -> Connection:
    """Open a connection, with TLS and login, until the deadline. Errors call the broker `name`.

    Raises Unreachable, AuthenticationFailed, UnsupportedApi, BrokerError.
    """
    peer = peer_of(address, name)
    sock = _connect(address, peer, config, deadline, clock)
    try:
        if context is not None:
            sock.settimeout(max(deadline - clock(), 0.001))
            sock = context.wrap_socket(sock, server_hostname=address.host)
    except (OSError, ValueError) as error:
        sock.close()
        raise handshake_failure(peer, error) from None
    connection = SocketWire(sock, dialogue_with(peer, config), config.receive_message_max_bytes, clock).connection
    try:
        await connection.set_up(deadline)
    except Disconnected as error:
        raise other_listener(error, config) from None
    return connection


def _connect(address: Address, peer: str, config: ClientConfig, deadline: float, clock: Clock) -> socket.socket:
    """Connect to the first of the host's addresses that answers; a silent one leaves the others their share of the
    time.
    """
    failure = "there was no time"
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, ValueError, OverflowError) as error:
        raise Unreachable(f"{peer}: no such host: {getattr(error, 'strerror', None) or 'bad name'}") from None
    for tried, (family, kind, number, _, where) in enumerate(found):
        left = deadline - clock()
        if left <= 0:
            break
        sock = socket.socket(family, kind, number)
        try:
            set_options(sock, config)
            sock.settimeout(left / (len(found) - tried))
            sock.connect(where)
        except (OSError, OverflowError) as error:  # a broker may name a port that is none
            sock.close()
            failure = "no answer in time" if isinstance(error, TimeoutError) else failure_of(error)
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise Unreachable(f"{peer} cannot be reached: {failure}")
