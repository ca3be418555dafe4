"""A blocking connection with this project's codecs, to measure what librdkafka hides."""

from __future__ import annotations

import socket
from typing import TypeVar

from shareq.protocol.api_keys import codec
from shareq.protocol.headers import decode_response_header, encode_request
from shareq.protocol.primitives import Message

Response = TypeVar("Response", bound=Message)


class Wire:
    """A connection with one request at a time."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0

    def call(self, request: Message, version: int, answer: type[Response]) -> Response:
        """Send a request, and wait for the answer."""
        self._correlation_id += 1
        frame = encode_request(version, self._correlation_id, "bench", request)
        self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        data = self._exactly(int.from_bytes(self._exactly(4), "big"))
        start = decode_response_header(data, request.API_KEY, version).body_offset
        assert codec(request.API_KEY).response_class is answer
        response, _ = answer.decode(data, version, start)
        return response

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            assert part, "the broker closed the connection"
            data += part
        return bytes(data)
