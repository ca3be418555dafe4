"""A small blocking Kafka client on the generated codecs: any request in any version, pipelined or raw.

It neither checks nor repeats, so that a test sees exactly what the broker sends.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections import deque
from types import TracebackType
from typing import Protocol, Self, TypeVar, cast

from shareq.protocol.api_keys import codec
from shareq.protocol.framing import frame
from shareq.protocol.headers import decode_response_header, encode_request
from shareq.protocol.primitives import Message

R = TypeVar("R", bound=Message)


class Caller(Protocol):
    """A client that can call a broker: a connection over the network, or into a broker in this process."""

    def call(self, request: Message, version: int, response_class: type[R]) -> R:
        """Send a request and wait for its answer."""


class ConnectionClosed(Exception):
    """An error: the broker closed the connection."""


def decode_response(payload: bytes, api_key: int, version: int) -> tuple[int, Message]:
    """Decode a response frame (without its size), all of it, into correlation id and response."""
    header = decode_response_header(payload, api_key, version)
    response, end = codec(api_key).response_class.decode(payload, version, header.body_offset)
    assert end == len(payload), f"{len(payload) - end} bytes behind the response"
    return header.correlation_id, response


class RequestsInFlight:
    """The unanswered requests of one connection.

    Answers are matched by order, as in Apache Kafka's own client.
    """

    def __init__(self, client_id: str | None) -> None:
        self.client_id = client_id
        self._in_flight: deque[tuple[int, int, int]] = deque()
        self._correlation_id = 0

    def frame_of(self, request: Message, version: int) -> bytes:
        """Return the request's frame, and count it as sent."""
        self._correlation_id += 1
        self._in_flight.append((request.API_KEY, version, self._correlation_id))
        return frame(encode_request(version, self._correlation_id, self.client_id, request))

    def forget_last(self) -> None:
        """Forget the request sent last, which gets no answer."""
        self._in_flight.pop()

    def forget_oldest(self) -> None:
        """Forget the oldest request, which was answered."""
        self._in_flight.popleft()

    def response(self, payload: bytes) -> Message:
        """Decode the oldest request's response from a frame without its size."""
        api_key, version, correlation_id = self._in_flight.popleft()
        answered, response = decode_response(payload, api_key, version)
        assert answered == correlation_id, f"answer {answered} where {correlation_id} was due"
        return response


class WireClient:
    """One connection, with TLS and from the address `source` if given; `requests` are the unanswered ones."""

    def __init__(
        self,
        address: tuple[str, int],
        *,
        client_id: str | None = "wire-test",
        timeout_s: float = 60,
        tls: ssl.SSLContext | None = None,
        source: str = "",
    ) -> None:
        self.requests = RequestsInFlight(client_id)
        self._socket = socket.create_connection(address, timeout_s, (source, 0) if source else None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            try:
                self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
            except ssl.SSLEOFError as error:
                raise ConnectionClosed("during the TLS handshake") from error

    def call(self, request: Message, version: int, response_class: type[R]) -> R:
        """Send a request and wait for its answer."""
        self.send(request, version)
        return cast(R, self.receive())

    def send(self, request: Message, version: int) -> None:
        """Send a request; its answer is received later."""
        self.send_raw(self.requests.frame_of(request, version))

    def receive(self) -> Message:
        """Return the answer to the oldest request in flight. Raises ConnectionClosed."""
        return self.requests.response(self.receive_frame())

    def send_raw(self, data: bytes) -> None:
        self._socket.sendall(data)

    def set_timeout(self, timeout_s: float) -> None:
        """Set how long each later call waits for the broker."""
        self._socket.settimeout(timeout_s)

    def receive_frame(self) -> bytes:
        """Return the next frame without its size. Raises ConnectionClosed."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def is_closed(self) -> bool:
        """Wait for the broker to close the connection; False if it answers instead."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _exactly(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            try:
                part = self._socket.recv(min(size, 1 << 20))
            except ConnectionResetError:
                part = b""
            if not part:
                raise ConnectionClosed
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
