"""A blocking connection to one broker: the socket, with TLS if need be, under a `ConnectionProtocol`.

One thread at a time. Every wait has a deadline, on the clock that the connection was opened with (seconds). An answer
is read straight into memory of its size, which is taken only when the size is within bounds.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections import deque
from io import BytesIO
from struct import Struct
from typing import Final, NoReturn

from shareq.client.config import Address, ClientConfig
from shareq.client.core.tries import Clock
from shareq.client.errors import AuthenticationFailed, Disconnected, Unreachable
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


class Exchange:
    """A request that was sent. One thread at a time, as for its connection."""

    __slots__ = ("_answer", "_failure", "_name", "connection", "deadline")

    def __init__(self, connection: Connection, name: str, deadline: float) -> None:
        self.connection = connection
        self._name = name
        self.deadline = deadline
        self._answer: Message | None = None
        self._failure: str | None = None

    @property
    def done(self) -> bool:
        """Whether `result` would not wait. It does not look at the socket."""
        return self._answer is not None or self._failure is not None

    def result(self) -> Message:
        """The answer, for which it waits. Disconnected if there is none by the deadline, or the connection ends."""
        if not self.done:
            self.connection.receive_up_to(self)
        if self._answer is None:
            raise Disconnected(f"{self._failure} (during {self._name})")
        return self._answer

    async def answer(self) -> Message:
        """For the core: as `result`."""
        return self.result()

    def give_up(self) -> None:
        """There will be no answer: the connection is closed, as after a deadline. Without effect when it is done."""
        if not self.done:
            self.connection.close(TOO_LATE)


class Connection:
    """An open connection, past version negotiation and login. `open_connection` makes one."""

    def __init__(self, sock: socket.socket, protocol: ConnectionProtocol, max_frame_bytes: int, clock: Clock) -> None:
        self._socket = sock
        self._clock = clock
        self._max_frame_bytes = max_frame_bytes
        self._exchanges: deque[Exchange] = deque()
        self._renew_login_at: float | None = None
        self.protocol = protocol
        self.closed: str | None = None
        """Why it is closed; None while it is not."""

    @property
    def in_flight(self) -> int:
        return len(self._exchanges)

    def fileno(self) -> int:
        """For `select`, while it is open."""
        return self._socket.fileno()

    def alive(self) -> bool:
        """Whether it seems to be of use. Without a request in flight the socket is asked, and nothing is waited for."""
        if self.closed is None and not self._exchanges:
            try:
                self._socket.settimeout(0)
                data = self._socket.recv(1)
                self.close("sent bytes that were not requested" if data else "closed the connection")
            except (BlockingIOError, ssl.SSLWantReadError):
                pass
            except OSError as error:
                self.close(failure_text(error))
        return self.closed is None

    def set_up(self, deadline: float) -> None:
        """Negotiate and log in. AuthenticationFailed, UnsupportedApi, BrokerError, Unreachable; it is closed then."""
        self._talk(self.protocol.setup(), deadline)

    def submit(
        self, message: Message, deadline: float, lowest_version: int = 0, highest_version: int | None = None
    ) -> Exchange:
        """Send a request. Its answer must come by the deadline. Disconnected, UnsupportedApi, UnencodableMessage."""
        if self._renew_login_at is not None and self._clock() >= self._renew_login_at:
            self._renew_login(deadline)
        name = type(message).__name__.removesuffix("Request")
        if self.closed is not None:
            raise Disconnected(f"{self.protocol.peer} {self.closed} (before {name})")
        data = self.protocol.request(message, lowest_version, highest_version)
        exchange = Exchange(self, name, deadline)
        self._exchanges.append(exchange)
        self._send(data, deadline)
        return exchange

    async def send(self, message: Message, by: float, lowest: int = 0, highest: int | None = None) -> Exchange:
        """For the core: as `submit`."""
        return self.submit(message, by, lowest, highest)

    def version(self, api_key: int, lowest: int = 0) -> int:
        """Return the version that requests of this API have. Raises UnsupportedApi if none is from `lowest` on."""
        return self.protocol.version(api_key, lowest)

    def offers(self, api_key: int) -> bool:
        """Return whether the broker serves an API at all."""
        return self.protocol.offers(api_key)

    def receive_up_to(self, exchange: Exchange) -> None:
        """Read answers until this one has come, or the connection is closed."""
        while not exchange.done:
            self._receive(exchange.deadline)

    def receive_one(self) -> None:
        """Read the next answer, by the deadline of its request, or notice that the connection has ended."""
        self._receive(self._exchanges[0].deadline)

    def close(self, why: str = "was closed") -> None:
        """Every request in flight fails. Harmless when it is closed already."""
        if self.closed is None:
            self.closed = why
            for exchange in self._exchanges:
                exchange._failure = f"{self.protocol.peer} {why}"
            self._exchanges.clear()
            with contextlib.suppress(OSError):
                self._socket.close()

    def pending_bytes(self) -> bool:
        """Whether TLS holds bytes that `select` does not see."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def _receive(self, deadline: float) -> None:
        with contextlib.suppress(Disconnected):
            data = self._read_frame(deadline)
            exchange = self._exchanges.popleft()
            try:
                exchange._answer = self.protocol.answer(data)
            except MalformedMessage as error:
                self._exchanges.appendleft(exchange)
                self._lost(f"sent what is not understood: {error}")

    def _renew_login(self, deadline: float) -> None:
        while self._exchanges:
            self._receive(deadline)
        if self.closed is None:
            self._talk(self.protocol.log_in(), deadline)

    def _talk(self, dialogue: Setup, deadline: float) -> None:
        try:
            # No frame is kept in a variable: one may hold a password, and traces may show variables.
            self._send(next(dialogue), deadline)
            while True:
                self._send(dialogue.send(self._read_frame(deadline)), deadline)
        except StopIteration:
            pass
        except MalformedMessage as error:
            self._lost(f"sent what is not understood: {error}")
        except Exception as error:  # whatever it is, a dialogue cut short leaves nothing to go on with
            self.close(str(error))
            raise
        lifetime_ms = self.protocol.session_lifetime_ms
        self._renew_login_at = self._clock() + lifetime_ms * SESSION_SHARE / 1000 if lifetime_ms > 0 else None

    def _send(self, data: bytes, deadline: float) -> None:
        try:
            self._socket.settimeout(self._left(deadline))
            self._socket.sendall(frame(data))
        except OSError as error:
            del data
            self._broken(self._last_words() or error)
        except BaseException:
            self.close("was interrupted")
            raise

    def _read_frame(self, deadline: float) -> bytes:
        head = bytearray(SIZE_BYTES)
        self._fill(memoryview(head), deadline)
        size: int = _SIZE.unpack(head)[0]
        if not 0 <= size <= self._max_frame_bytes:
            self._lost(too_large(size, self._max_frame_bytes))
        # Filled in place: the buffer of a BytesIO is the bytes object that getvalue() hands out, so that nothing is
        # copied, and its pages are taken when bytes arrive for them.
        buffer = BytesIO(bytes(size))
        with buffer.getbuffer() as view:
            self._fill(view, deadline)
        return buffer.getvalue()

    def _fill(self, view: memoryview, deadline: float) -> None:
        sock, at, size = self._socket, 0, len(view)
        try:
            while at < size:
                sock.settimeout(self._left(deadline))
                count = sock.recv_into(view[at:])
                if not count:
                    self._lost("closed the connection")
                at += count
        except OSError as error:
            self._broken(error)
        except BaseException:  # also by a signal: what is left of the frame would be read as the next one
            self.close("was interrupted")
            raise

    def _left(self, deadline: float) -> float:
        """For a socket's timeout. After the deadline 0: what has come while others were waited for is still taken."""
        return max(deadline - self._clock(), 0.0)

    def _last_words(self) -> OSError | None:
        """After a failed send: the alert with which the peer ended TLS, where there is one to read."""
        if isinstance(self._socket, ssl.SSLSocket):
            try:
                self._socket.settimeout(0)
                self._socket.recv(1)
            except OSError as error:
                return error if is_certificate_alert(error) else None
        return None

    def _broken(self, error: OSError) -> NoReturn:
        if is_certificate_alert(error):  # TLS 1.3: the broker judges our certificate when the handshake is over
            self.close(failure_text(error))
            raise AuthenticationFailed(f"{self.protocol.peer} {self.closed}") from None
        self._lost(failure_text(error))

    def _lost(self, why: str) -> NoReturn:
        self.close(why)
        raise Disconnected(f"{self.protocol.peer} {self.closed}")


def open_connection(
    address: Address, name: str, config: ClientConfig, context: ssl.SSLContext | None, deadline: float, clock: Clock
) -> Connection:
    """Connect, shake hands, log in, by the deadline. `name` is what errors call the broker.

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
    connection = Connection(sock, dialogue_with(peer, config), config.receive_message_max_bytes, clock)
    try:
        connection.set_up(deadline)
    except Disconnected as error:
        raise other_listener(error, config) from None
    return connection


def _connect(address: Address, peer: str, config: ClientConfig, deadline: float, clock: Clock) -> socket.socket:
    """To the first of the host's addresses that answers; a silent one leaves the others their share of the time."""
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
