"""A TLS listener without sockets: the transport, and the client's side of OpenSSL."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from typing import Any

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.answers import Buffer, FrameHandler
from shareq.broker.network.connection import Connection
from shareq.broker.network.connection_quotas import ConnectionQuotas
from shareq.broker.network.counters import Authentications
from shareq.broker.network.listener import Listener, ListenerLimits
from shareq.broker.network.tls.stream import TlsPort, TlsStream


class FakeSocket(asyncio.Transport):
    """The transport that a loop gives to a protocol.

    `sent` is what the peer has not read; `room` is the most it holds.
    """

    def __init__(self, protocol: asyncio.Protocol, room: int | None) -> None:
        super().__init__({"peername": ("10.0.0.1", 1234)})
        self.protocol = protocol
        self.room = room
        self.sent = bytearray()
        self.closed = False
        self.aborted = False
        self.reading = True

    def write(self, data: Buffer) -> None:
        assert not self.closed
        self.sent += data
        if self.room is not None and len(self.sent) > self.room:
            self.protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        raise NotImplementedError

    def get_write_buffer_size(self) -> int:
        return len(self.sent)

    def take(self, size: int | None = None) -> bytes:
        size = len(self.sent) if size is None else size
        taken = bytes(self.sent[:size])
        del self.sent[:size]
        if self.room is not None and not self.sent and not self.closed:
            self.protocol.resume_writing()
        return taken

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class TlsHost:
    """A listener whose handler answers each frame; `connections` are those it has made."""

    def __init__(
        self,
        context: ssl.SSLContext,
        handle: FrameHandler,
        principal_of: Callable[[bytes | None], str] | None = None,
        limits: ListenerLimits | None = None,
        quotas: ConnectionQuotas | None = None,
    ) -> None:
        self.clock = VirtualClock()
        self.authentications = Authentications()
        self.port = TlsPort(context, self.clock, self.authentications, principal_of)
        self.connections: list[Connection] = []
        self.budget = AnswerBudget(self.clock)

        def handler_for(connection: Connection) -> FrameHandler:
            self.connections.append(connection)
            return handle

        self.listener = Listener(
            "SECURE",
            clock=self.clock,
            handler_for=handler_for,
            limits=limits or ListenerLimits(),
            quotas=quotas,
            room=self.budget,
            next_id=lambda: len(self.connections) + 1,
            encrypted=self.port.protocol,
            authentications=self.authentications,
        )


class TlsPeer:
    """A client of a `TlsHost`. `room`: how much its socket holds before it counts as full."""

    def __init__(self, host: TlsHost, context: ssl.SSLContext | None = None, *, room: int | None = None) -> None:
        self.host = host
        stream = host.listener.protocol()
        assert isinstance(stream, TlsStream)
        self.stream = stream
        self.socket = FakeSocket(self.stream, room)
        self.stream.connection_made(self.socket)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = context or trusting_everybody()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        self.received = bytearray()

    def shake_hands(self) -> None:
        """Do the handshake; ssl.SSLError if the client rejects it."""
        for _ in range(4):
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self.exchange()
            else:
                break
        self.exchange()

    def exchange(self) -> None:
        if data := self._outgoing.read():
            self.stream.data_received(data)
        self.host.clock.run_tick()
        self._incoming.write(self.socket.take())

    def send(self, data: bytes, *, at_a_time: int | None = None) -> None:
        """Encrypt and send, with `at_a_time` in pieces of so many bytes."""
        self.tls.write(data)
        encrypted = self._outgoing.read()
        for start in range(0, len(encrypted), at_a_time or len(encrypted)):
            self.stream.data_received(encrypted[start : start + (at_a_time or len(encrypted))])

    def read(self) -> bytes:
        """Return all that the broker has sent, decrypted. The end of the stream also returns b"": see `ended`."""
        self._incoming.write(self.socket.take())
        found: list[bytes] = []
        try:
            while piece := self.tls.read(1 << 16):
                found.append(piece)
        except ssl.SSLWantReadError:
            pass
        return b"".join(found)

    def ended(self) -> bool:
        self._incoming.write(self.socket.take())
        try:
            return self.tls.read(1) == b""
        except ssl.SSLZeroReturnError:
            return True
        except ssl.SSLWantReadError:
            return False

    def say_goodbye(self) -> None:
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            self.exchange()


def trusting_everybody(**settings: Any) -> ssl.SSLContext:
    """Return a client's context that checks no certificate. `settings` are attributes of it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for name, value in settings.items():
        setattr(context, name, value)
    return context
