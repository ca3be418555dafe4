"""TLS between an accepted socket and the connection above it. No thread, and no task for each connection.

asyncio's own TLS reports a connection only after its handshake, so limits by address would not apply before it, and
the cause of a failed one could not be logged. It also encrypts an answer of 50 MB at once, while all other clients
wait. Here OpenSSL works in memory: input is passed to it on arrival; an answer is encrypted in slices, as far as the
socket accepts them, and after a few slices other clients get their turn.

    socket -> data_received -> OpenSSL -> SocketConnection.data_received
    SocketConnection.write -> (plain text that waits) -> OpenSSL -> socket
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import Enum
from typing import Any, Final, cast

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.timer import Timer
from shareq.broker.network.answers import Buffer
from shareq.broker.network.counters import Authentications
from shareq.broker.network.listener import SocketConnection

HANDSHAKE_TIMEOUT_MS: Final = 10_000
"""The most time for a client's handshake. Until then, a slow client only holds its own connection."""

SLICE_BYTES: Final = 64 * 1024  # handed to the socket at a time
TURN_BYTES: Final = 8 * SLICE_BYTES  # encrypted before others have their turn: some 0.5 ms
_RECORD_BYTES: Final = 16 * 1024  # of plain text, the most that one record of TLS has
_JOIN_BELOW_BYTES: Final = 4096  # buffers that are smaller on average are joined: a record each would cost more
_HANDSHAKE: Final = 22  # the first byte of whatever begins a handshake
_NOT_TLS: Final = "it does not speak TLS; is it a client with security.protocol=PLAINTEXT or SASL_PLAINTEXT?"


class _State(Enum):
    HANDSHAKE = 0
    OPEN = 1
    CLOSING = 2  # takes nothing more; what waits is sent
    CLOSED = 3


class TlsPort:
    """The shared part of one listener's connections.

    `context` is replaced when certificates are renewed; open connections keep theirs. `principal_of` returns a
    client's principal from its certificate in DER (None: it has none); it raises ValueError, with the reason, to
    refuse the client. Without it, clients are authenticated in another way.
    """

    __slots__ = ("authentications", "clock", "context", "principal_of")

    def __init__(
        self,
        context: ssl.SSLContext,
        clock: Clock,
        authentications: Authentications,
        principal_of: Callable[[bytes | None], str] | None = None,
    ) -> None:
        self.context = context
        self.clock = clock
        self.authentications = authentications
        self.principal_of = principal_of

    def protocol(self, socket: SocketConnection) -> TlsStream:
        """Create the layer between a new socket and this port."""
        return TlsStream(socket, self)


class TlsStream(asyncio.Protocol, asyncio.Transport):
    """The protocol of a socket, and the transport of its `SocketConnection`."""

    def __init__(self, above: SocketConnection, port: TlsPort) -> None:
        super().__init__()
        self._above = above
        self._port = port
        self._below: asyncio.Transport | None = None
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = port.context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._state = _State.HANDSHAKE
        self._heard = False
        self._timer = Timer(port.clock)
        self._waiting: deque[memoryview] = deque()  # plain text that is not encrypted yet
        self._waiting_bytes = 0
        self._below_full = False
        self._above_paused = False
        self._scheduled = False  # a turn is over, and the next one comes

    # -- from the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._below = cast(asyncio.Transport, transport)
        self._above.connection_made(self)
        if self._state is _State.HANDSHAKE:  # else it was refused
            self._timer.after(HANDSHAKE_TIMEOUT_MS, self._too_slow)

    def data_received(self, data: bytes) -> None:
        if self._state is _State.HANDSHAKE:
            if not self._heard and data[0] != _HANDSHAKE:
                self._fail(_NOT_TLS)
                return
            self._heard = True
            self._incoming.write(data)
            if not self._shake_hands():
                return
        elif self._state is _State.OPEN:
            self._incoming.write(data)
        else:
            return
        self._read()

    def eof_received(self) -> bool:
        """Handle the end of the client's input.

        As without TLS, the answers are sent, then the connection is closed.
        """
        self.close()
        return True  # it is closed here: what is not encrypted yet goes first

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        self._above.connection_lost(exc)

    def pause_writing(self) -> None:
        self._below_full = True

    def resume_writing(self) -> None:
        self._below_full = False
        self._encrypt()

    # -- from the connection

    def write(self, data: Buffer) -> None:
        if self._state is _State.OPEN:
            self._waiting.append(memoryview(data))
            self._waiting_bytes += len(data)
            self._encrypt()

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        if self._state is not _State.OPEN:
            return
        buffers = list(list_of_data)
        size = sum(map(len, buffers))
        if size < _JOIN_BELOW_BYTES * len(buffers):
            buffers = [b"".join(buffers)]
        self._waiting.extend(map(memoryview, buffers))
        self._waiting_bytes += size
        self._encrypt()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Ignore the arguments: writing pauses as long as any bytes wait to be encrypted."""

    def get_write_buffer_size(self) -> int:
        """Return the bytes that the socket has not accepted, encrypted or not."""
        below = self._below
        return self._waiting_bytes + (below.get_write_buffer_size() if below is not None else 0)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default if self._below is None else self._below.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._state in (_State.CLOSING, _State.CLOSED)

    def close(self) -> None:
        """Send the written bytes, then close_notify, without waiting for that of the client."""
        if self._state is _State.HANDSHAKE:
            self._close_below()
        elif self._state is _State.OPEN:
            self._state = _State.CLOSING
            self._encrypt()

    def abort(self) -> None:
        below = self._below
        self._end()
        if below is not None:
            below.abort()

    def pause_reading(self) -> None:
        if self._below is not None:
            self._below.pause_reading()

    def resume_reading(self) -> None:
        if self._below is not None:
            self._below.resume_reading()

    # -- between the two

    def _shake_hands(self) -> bool:
        """Continue the handshake. Return True once it is done."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        except ssl.SSLError as error:
            self._flush()  # the alert that says why
            self._fail(_reason(error))
            return False
        self._flush()
        self._timer.stop()
        connection, principal_of = self._above.connection, self._port.principal_of
        assert connection is not None
        if principal_of is not None:
            try:
                connection.principal = principal_of(self._tls.getpeercert(binary_form=True))
            except ValueError as error:
                self._fail(str(error))
                return False
            self._port.authentications.succeeded += 1
        self._state = _State.OPEN
        return True

    def _read(self) -> None:
        pieces: list[bytes] = []
        read, incoming, ended = self._tls.read, self._incoming, False
        try:
            while piece := read(_RECORD_BYTES):
                pieces.append(piece)
                if not incoming.pending and not self._tls.pending():
                    break
            else:
                ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            ended = True
        except ssl.SSLError as error:
            self._flush()
            self._broken(f"TLS: {_reason(error)}")
            return
        self._flush()  # what the protocol itself has to answer
        if pieces:
            self._above.data_received(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if ended:
            self.close()

    def _encrypt(self) -> None:
        """Encrypt and send plain text, as much as the socket accepts now."""
        waiting, below = self._waiting, self._below
        if below is None or self._scheduled or self._state is _State.CLOSED:
            return
        write, outgoing, left = self._tls.write, self._outgoing, TURN_BYTES
        while waiting and not self._below_full and left > 0:
            before = self._waiting_bytes
            while waiting and outgoing.pending < SLICE_BYTES:
                piece = waiting[0]
                if not piece:
                    waiting.popleft()
                    continue
                sent = write(piece[:SLICE_BYTES])
                self._waiting_bytes -= sent
                if sent == len(piece):
                    waiting.popleft()
                else:
                    waiting[0] = piece[sent:]
            left -= before - self._waiting_bytes
            below.write(outgoing.read())
        if waiting and not self._below_full:
            self._scheduled = True
            self._port.clock.call_soon(self._go_on)
        if self._state is _State.CLOSING:
            if not waiting:
                self._say_goodbye()
        elif bool(waiting) is not self._above_paused:
            self._above_paused = not self._above_paused
            if self._above_paused:
                self._above.pause_writing()
            else:
                self._above.resume_writing()

    def _go_on(self) -> None:
        self._scheduled = False
        if self._state in (_State.OPEN, _State.CLOSING):
            self._encrypt()

    def _say_goodbye(self) -> None:
        with suppress(ssl.SSLError):  # it wants to read the client's
            self._tls.unwrap()
        self._flush()
        self._close_below()

    def _flush(self) -> None:
        if self._outgoing.pending and self._below is not None:
            self._below.write(self._outgoing.read())

    def _too_slow(self) -> None:
        self._fail(f"no handshake within {HANDSHAKE_TIMEOUT_MS} ms")

    def _fail(self, reason: str) -> None:
        self._port.authentications.failed += 1
        self._broken(f"TLS handshake failed: {reason}")

    def _broken(self, reason: str) -> None:
        connection = self._above.connection
        assert connection is not None
        connection.close(reason)
        self._close_below()

    def _close_below(self) -> None:
        below = self._below
        self._end()
        if below is not None:
            below.close()

    def _end(self) -> None:
        self._state = _State.CLOSED
        self._timer.stop()
        self._waiting.clear()
        self._waiting_bytes = 0


def _reason(error: ssl.SSLError) -> str:
    verify = getattr(error, "verify_message", None)
    reason = (error.reason or str(error)).replace("_", " ").lower()
    return f"{reason}: {verify}" if verify else reason
