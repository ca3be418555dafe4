"""Sockets: one asyncio protocol for each client connection, and the limits of a listener.

The protocol only moves bytes; order, parking and memory bounds are the sans-IO `frame_queue.Connection`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from shareq.broker.foundation.environment import Clock
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.answers import Buffer, FrameHandler
from shareq.broker.network.client_lines import UNBOUNDED, ClientLines
from shareq.broker.network.connection import Connection
from shareq.broker.network.connection_quotas import ConnectionQuotas
from shareq.broker.network.counters import Authentications
from shareq.broker.network.read_share import LARGE_READ, ReadShare
from shareq.broker.network.request_budget import RequestBudget
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.network.write_share import LARGE_ANSWER, Rest, WriteShare

if TYPE_CHECKING:
    import socket

logger = logging.getLogger(__name__)

JOIN_BELOW_BYTES: Final = 32 * 1024  # answers that are smaller together are joined: one buffer costs less than many
SMALL_IN_A_ROW: Final = 8  # answers behind a large one until a client's requests count as short ones again
FIRST_READ_BYTES: Final = 4 * 1024  # the first request of every client there is fits
LONGEST_SWEEP_MS: Final = 30_000
MOST_DELAYED: Final = 100  # sockets that are refused and closed later
_IPV4_INSIDE: Final = "::ffff:"  # before an IPv4 address, on a socket that takes both kinds
SHORTEST_SWEEP_MS: Final = 50


class ListenerLimits(NamedTuple):
    """The limits of a connection's idle time, and of the memory that it may use in the broker.

    `max_idle_ms` is `connections.max.idle.ms` (negative: for ever).
    """

    max_idle_ms: int = 600_000
    connection: RequestLimits = RequestLimits()


class SocketConnection(asyncio.Protocol):
    """One accepted socket. The `Outlet` of its `Connection`."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self.connection: Connection | None = None
        self.last_read_ms = 0
        self._held = 0  # bytes of answers that the client does not take, as reported to the room
        self._last_write = 0  # bytes; nothing of earlier writes is left unless some are held
        self._rest = Rest()  # of large answers, which are written in pieces
        self._full = False  # the system takes nothing more for now
        self._in_pieces = False  # there was a rest: its connection is paused
        self._closing = False  # when the rest is written
        self._stopped = False  # its connection takes nothing more
        self._waits_for_turn = False  # others are read first
        self._small_answers = SMALL_IN_A_ROW  # since its last large one, or since it connected

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        host = str(peer[0]).removeprefix(_IPV4_INSIDE) if isinstance(peer, tuple) else "local"
        self.connection = self._listener.admit(self, host)
        if self.connection is None:
            self._listener.refused += 1
            return
        # Paused as soon as, and as long as, anything is left: the rest of an answer keeps the whole of it in memory.
        self._transport.set_write_buffer_limits(high=0)

    def data_received(self, data: bytes) -> None:
        if self.connection is not None:
            self.last_read_ms = self._listener.clock.now_ms()
            size = len(data)
            self._listener.bytes_in += size
            if size < LARGE_READ:
                if self._small_answers >= SMALL_IN_A_ROW:
                    self._listener.write_share.requests += 1
            elif not self._waits_for_turn:
                self._listener.read_share.note(self, size)
            self.connection.receive(data)

    def eof_received(self) -> bool:
        """Return True to keep the socket open until the remaining answers are written to a client that sends no
        more.
        """
        self._closing = self._rest.size > 0
        return self._closing

    def pause_writing(self) -> None:
        self._full = True
        if self._rest.size:
            return  # its connection is paused, and all of it is held
        if self.connection is not None:
            buffered = self._transport.get_write_buffer_size() if self._transport is not None else 0
            self._hold(max(self._last_write, buffered))
            self.connection.pause_output()

    def resume_writing(self) -> None:
        self._full = False
        if self._rest.size:
            self._listener.write_share.write(self)
        else:
            self._all_written()

    def _all_written(self) -> None:
        self._in_pieces = False
        if self.connection is not None:
            self._hold(0)
            self.connection.resume_output()
        if self._closing:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest.clear()
        connection, self.connection = self.connection, None  # leaves no cycle that only the collector could free
        if connection is not None:
            self._hold(0)
            self._listener.forget(self, connection)
            connection.lost()
        else:
            self._listener.delayed.discard(self)
        self._transport = None

    def write(self, buffers: list[Buffer]) -> None:
        transport = self._transport
        if transport is None:
            return
        size = sum(map(len, buffers))
        self._listener.bytes_out += size
        is_large = size > LARGE_ANSWER
        self._small_answers = 0 if is_large else self._small_answers + 1
        if self._listener.in_pieces and (is_large or self._rest.size):
            self._write_in_pieces(buffers, size)
            return
        if self._held:
            self._hold(self._held + size)
        else:
            self._last_write = size
        if len(buffers) == 1:
            transport.write(buffers[0])
        elif size < JOIN_BELOW_BYTES:
            transport.write(b"".join(buffers))
        else:
            transport.writelines(buffers)

    def _write_in_pieces(self, buffers: list[Buffer], size: int) -> None:
        may_begin = not self._rest.size and not self._full
        self._rest.add(buffers, size)
        self._last_write = self._held + size
        if may_begin:
            self._listener.write_share.write(self)
        if self._rest.size:
            self._in_pieces = True
            self._hold(self._last_write)
            if self.connection is not None:
                self.connection.pause_output()

    def write_piece(self, most: int) -> int:
        """Write up to `most` bytes of the remaining answers to the socket, as a `Writer`. Return how many."""
        transport, before = self._transport, self._rest.size
        if transport is None:
            return 0
        transport.writelines(self._rest.take(most))
        if self._in_pieces and not self._rest.size and not self._full:
            self._all_written()
        return before - self._rest.size

    @property
    def wants_turn(self) -> bool:
        """True if answers remain that the system would accept."""
        return self._rest.size > 0 and not self._full

    def untaken(self) -> int:
        """Return the bytes that the client has not received, including those in the system's buffer if the system
        reports them.
        """
        transport = self._transport
        if transport is None:
            return 0
        return (
            self._rest.size + transport.get_write_buffer_size() + unsent_in_system(transport.get_extra_info("socket"))
        )

    def give_way(self, reason: str) -> None:
        """Close at once, without sending the rest, because others need the memory."""
        if self.connection is not None:
            self.connection.lines.warn(self.connection, reason, "closing: ")
        self._held = 0
        self._rest.clear()
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    def _hold(self, size: int) -> None:
        """Report to the budget how many bytes are held here now: none while the client keeps up."""
        if size != self._held:
            self._held = size
            self._listener.room.note_unsent(self, size)

    def close(self) -> None:
        self._closing = self._rest.size > 0
        if self._transport is not None and not self._closing:
            self._transport.close()

    def abort(self) -> None:
        """Close at once, without sending the rest."""
        if self._transport is not None:
            self._transport.abort()

    def pause_reading(self) -> None:
        self._stopped = True
        if not self._waits_for_turn:
            self._read(False)

    def resume_reading(self) -> None:
        self._stopped = False
        if not self._waits_for_turn:
            self._read(True)

    def wait_for_turn(self) -> None:
        """Stop reading until `take_turn`, as a `Reader`."""
        self._waits_for_turn = True
        if not self._stopped:
            self._read(False)

    def take_turn(self) -> None:
        self._waits_for_turn = False
        if not self._stopped:
            self._read(True)

    def _read(self, on: bool) -> None:
        if self._transport is not None and not self._transport.is_closing():
            if on:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()


class FirstRead(asyncio.BufferedProtocol):
    """The first read of a socket, of at most `FIRST_READ_BYTES`; afterwards the socket is a `SocketConnection`.

    If the first bytes of a frame are refused, the rest is not read: reading it would make the client send more, at
    several times the cost of such a connection.
    """

    def __init__(self, socket: SocketConnection) -> None:
        self._socket = socket
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._socket.connection_made(transport)

    def get_buffer(self, sizehint: int) -> bytearray:
        self._buffer = bytearray(FIRST_READ_BYTES)
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        transport, data = self._transport, bytes(memoryview(self._buffer)[:nbytes])
        if transport is not None and not transport.is_closing():
            transport.pause_reading()  # uvloop continues a read with the protocol with which it began
            transport.set_protocol(self._socket)
            transport.resume_reading()
        self._transport, self._buffer = None, bytearray()
        self._socket.data_received(data)

    def pause_writing(self) -> None:
        self._socket.pause_writing()

    def resume_writing(self) -> None:
        self._socket.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._socket.connection_lost(exc)


def unsent_in_system(sock: socket.socket | None) -> int:
    """Return the bytes in a socket's send buffer that the client has not received; 0 if that is unknown."""
    if sock is None:
        return 0
    try:
        import fcntl
        import termios

        return int.from_bytes(fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except (ImportError, OSError, ValueError, AttributeError):  # Windows, macOS, a closed socket
        return 0


class Listener:
    """The connections of one listening address. Owned by the server, on the loop's thread.

    `guard`, if given, must admit a new connection before its requests are handled; `encrypted`, if given, adds TLS
    between a socket and its connection. `quotas` are shared by all listeners; without them, there are no limits.
    `read_share` and `write_share` are shared, too; without them, the listener has its own. `accepted` and `refused`
    count connections, `bytes_in` and `bytes_out` the bytes read and written, before encryption.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Clock,
        handler_for: Callable[[Connection], FrameHandler],
        limits: ListenerLimits,
        room: AnswerBudget,
        request_budget: RequestBudget | None = None,
        read_share: ReadShare | None = None,
        write_share: WriteShare | None = None,
        next_id: Callable[[], int],
        guard: Callable[[Connection], None] | None = None,
        encrypted: Callable[[SocketConnection], asyncio.Protocol] | None = None,
        authentications: Authentications | None = None,
        quotas: ConnectionQuotas | None = None,
        lines: ClientLines = UNBOUNDED,
    ) -> None:
        self.name = name
        self.clock = clock
        self.room = room
        self._request_budget = request_budget
        self.read_share = read_share or ReadShare(clock)
        self.write_share = write_share or WriteShare(clock)
        self._handler_for = handler_for
        self._limits = limits
        self._next_id = next_id
        self._guard = guard
        self._encrypted = encrypted
        self.in_pieces: Final = encrypted is None  # are large answers written; a TLS stream has turns of its own
        self.authentications = authentications or Authentications()
        self.certificate_ends_s: Callable[[], int] | None = None
        self._lines = lines
        self._quotas = ConnectionQuotas() if quotas is None else quotas
        self._sockets: set[SocketConnection] = set()
        self.delayed: set[SocketConnection] = set()  # refused, and closed after a wait
        self.on_forget: Callable[[], None] | None = None  # called after a connection is gone
        self.accepted = 0
        self.refused = 0
        self.bytes_in = 0
        self.bytes_out = 0

    def __len__(self) -> int:
        return len(self._sockets)

    def protocol(self) -> asyncio.BaseProtocol:
        """Return a protocol for a new socket, as asyncio's protocol factory."""
        socket = SocketConnection(self)
        return FirstRead(socket) if self._encrypted is None else self._encrypted(socket)

    def admit(self, socket: SocketConnection, host: str) -> Connection | None:
        """Return the connection of a new socket; None if a limit is reached: then the socket is closed, and this is
        logged.
        """
        refusal, wait_ms = self._quotas.admit(self.name, host, self.clock.now_ms())
        if refusal:
            self._lines.refused(host, self.name, refusal)
            self._refuse(socket, wait_ms)
            return None
        limits = self._limits
        self._sockets.add(socket)
        self.accepted += 1
        socket.last_read_ms = self.clock.now_ms()
        connection = Connection(
            self._next_id(),
            host,
            self.name,
            handler_for=self._handler_for,
            call_soon=self.clock.call_soon,
            outlet=socket,
            limits=limits.connection,
            now_ns=self.clock.now_ns,
            budget=self._request_budget,
            lines=self._lines,
        )
        if self._guard is not None:
            self._guard(connection)
        if wait_ms:
            connection.mute()
            connection.on_close(self.clock.call_at(self.clock.now_ms() + wait_ms, connection.unmute).cancel)
        return connection

    def _refuse(self, socket: SocketConnection, wait_ms: int) -> None:
        """Close a socket after a wait, without reading from it; at once if many already wait."""
        if not wait_ms or len(self.delayed) >= MOST_DELAYED:
            socket.abort()
            return
        self.clock.call_soon(socket.pause_reading)  # after connection_made, where uvloop always begins to read
        self.delayed.add(socket)
        self.clock.call_at(self.clock.now_ms() + wait_ms, socket.abort)

    def forget(self, socket: SocketConnection, connection: Connection) -> None:
        """Forget a socket that has been closed."""
        self._sockets.discard(socket)
        self._quotas.forget(self.name, connection.client_host)
        if self.on_forget is not None:
            self.on_forget()

    def sweep_interval_ms(self) -> int | None:
        """Return the interval at which to call `close_idle`; None if connections may be idle for ever."""
        if self._limits.max_idle_ms < 0:
            return None
        return min(LONGEST_SWEEP_MS, max(SHORTEST_SWEEP_MS, self._limits.max_idle_ms // 4))

    def close_idle(self) -> None:
        """Close connections from which nothing was read for `max_idle_ms`; abort those that do not close."""
        before = self.clock.now_ms() - self._limits.max_idle_ms
        for socket in [socket for socket in self._sockets if socket.last_read_ms <= before]:
            connection = socket.connection
            if connection is None or connection.finishing:
                socket.abort()
            else:
                logger.debug("%s: closing: nothing was read for %d ms", connection, self._limits.max_idle_ms)
                connection.finish()

    def finish(self, within_ms: int | None = None) -> None:
        """Answer the pending requests of every connection, then close it, after `within_ms` at the latest."""
        sockets = list(self._sockets)
        for socket in sockets:
            if socket.connection is not None:
                socket.connection.finish()
        if within_ms is not None:
            self.clock.call_at(self.clock.now_ms() + within_ms, partial(_abort, sockets))

    def abort(self) -> None:
        """Close every connection at once."""
        _abort([*self._sockets, *self.delayed])


def _abort(sockets: Iterable[SocketConnection]) -> None:
    for socket in sockets:
        socket.abort()
