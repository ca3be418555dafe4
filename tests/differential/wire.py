"""A small asyncio Kafka client on the generated codecs.

It sends one request at a time, checks nothing, and never retries.
"""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar, cast

from devtools.clients.wire import decode_response
from shareq.protocol.framing import frame
from shareq.protocol.headers import encode_request
from shareq.protocol.primitives import Message

R = TypeVar("R", bound=Message)

TIMEOUT_S = 20


@dataclass(slots=True)
class Connection:
    """One connection, opened by its first request, and again after `close`. `heard`: the last answer of each kind."""

    port: int
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None
    _correlation_id: int = 0
    heard: dict[type[Message], Message] = field(default_factory=dict)

    async def call(self, request: Message, version: int, response_class: type[R]) -> R:
        """Send a request and return its answer. Raise OSError or EOFError for a lost connection, and TimeoutError."""
        async with asyncio.timeout(TIMEOUT_S):
            if self._reader is None or self._writer is None:
                self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
            self._correlation_id += 1
            self._writer.write(frame(encode_request(version, self._correlation_id, "differential", request)))
            (size,) = struct.unpack(">i", await self._reader.readexactly(4))
            payload = await self._reader.readexactly(size)
        answered, response = decode_response(payload, request.API_KEY, version)
        assert answered == self._correlation_id, f"answer {answered} where {self._correlation_id} was due"
        self.heard[response_class] = response
        return cast(R, response)

    async def close(self) -> None:
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()
            with suppress(OSError):  # the broker was quicker
                await writer.wait_closed()
