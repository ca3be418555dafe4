"""A small HTTP server for operators, for scrapes of metrics and the states of records.

It shares the broker's loop and must not burden it: each connection has one request, limited in size and time, and
the number of connections is limited; a client that does not read its answer is disconnected. At the limit, a new
connection replaces the oldest one that has not sent its request, or otherwise the oldest one that reads its answer
slowly. So a probe, which does both quickly, is always answered.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import ssl

logger = logging.getLogger(__name__)

MOST_HEAD_BYTES: Final = 8 * 1024  # request line and headers
PIECE_BYTES: Final = 256 * 1024  # of an answer, written in one turn
MOST_CONNECTIONS: Final = 32
BACKLOG: Final = 64
HEAD_TIMEOUT_S: Final = 5.0
ANSWER_TIMEOUT_S: Final = 10.0  # to take the answer once it is made

TEXT: Final = "text/plain; charset=utf-8"


class Request(NamedTuple):
    """A request without a body. `headers` are by name in lower case; of a repeated one, the last value is kept."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]


class Answer(NamedTuple):
    """An HTTP answer. `headers` are added to those that every answer has."""

    status: str
    body: bytes
    content_type: str = TEXT
    headers: tuple[str, ...] = ()


Refuse = Callable[[str, str], Answer]
"""A function that makes the answer with a status and a text."""


def refuse_in_text(status: str, text: str) -> Answer:
    """Return a refusal as a line of text."""
    return Answer(status, f"{text}\n".encode())


class _Phase(Enum):
    """The phase of a connection."""

    ASKS = 0
    WAITS = 1
    TAKES = 2


class HttpServer:
    """A server that answers GET and HEAD with the results of `handle`. `name` is its name in the log; `refuse` makes
    answers for errors.

    Owned by the server, on the loop's thread.
    """

    def __init__(
        self, name: str, handle: Callable[[Request], Awaitable[Answer]], refuse: Refuse = refuse_in_text
    ) -> None:
        self._name = name
        self._handle = handle
        self._refuse = refuse
        self._clients: dict[asyncio.Task[None], _Phase] = {}  # the oldest first
        self._server: asyncio.Server | None = None

    async def start(self, bound: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Serve on a bound socket, which is closed with the server."""
        self._server = await asyncio.start_server(
            self._serve,
            sock=bound,
            limit=MOST_HEAD_BYTES,
            backlog=BACKLOG,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else HEAD_TIMEOUT_S,
        )

    async def close(self) -> None:
        """Stop listening, and disconnect all clients. A second call has no effect."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        clients = list(self._clients)
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection: one request, one answer."""
        client = asyncio.current_task()
        assert client is not None, "asyncio.start_server makes a task for each connection"
        if len(self._clients) >= MOST_CONNECTIONS:
            self._make_room()
        self._clients[client] = _Phase.ASKS
        try:
            await self._answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError) as error:
            # The task ends here, also when `close` cancels it: asyncio's streams would log that as an error.
            logger.debug("%s: a client was cut off: %r", self._name, error)
            writer.transport.abort()
        finally:
            self._clients.pop(client, None)
            writer.close()

    def _make_room(self) -> None:
        """Disconnect the oldest client that is still sending its request, or otherwise the oldest that is still
        reading its answer, so that few wait.
        """
        for phase in (_Phase.ASKS, _Phase.TAKES):
            slow = next((client for client, at in self._clients.items() if at is phase), None)
            if slow is not None:
                logger.warning(
                    "%s: the slowest of %d connections was cut off for another", self._name, len(self._clients)
                )
                del self._clients[slow]
                slow.cancel()
                return

    def _enter(self, phase: _Phase) -> None:
        client = asyncio.current_task()
        if client in self._clients:  # else it is being cut off
            self._clients[client] = phase

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            too_large = self._refuse("431 Request Header Fields Too Large", "the request is too large")
            method, answer = "GET", too_large
        else:
            self._enter(_Phase.WAITS)
            method, answer = await self._reply(head)
        self._enter(_Phase.TAKES)
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            writer.write(_head_of(answer))
            if method != "HEAD":
                for at in range(0, len(answer.body), PIECE_BYTES):
                    writer.write(answer.body[at : at + PIECE_BYTES])
                    await writer.drain()
            await writer.drain()
            writer.close()
            await writer.wait_closed()  # all is sent by then

    async def _reply(self, head: bytes) -> tuple[str, Answer]:
        """Return the method, and the answer to a request with that head."""
        line, *lines = head.decode("latin-1").split("\r\n")
        parts = line.split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            return "GET", self._refuse("400 Bad Request", "not an HTTP/1 request")
        method, target, _ = parts
        if method not in ("GET", "HEAD"):
            refusal = self._refuse("405 Method Not Allowed", "GET or HEAD")
            return method, refusal._replace(headers=(*refusal.headers, "Allow: GET, HEAD"))
        path, _, query = target.partition("?")
        try:
            return method, await self._handle(Request(method, path, query, _headers_in(lines)))
        except Exception:
            logger.exception("%s: an answer could not be made", self._name)
            return method, self._refuse("500 Internal Server Error", "it failed; the log says why")


def _headers_in(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def _head_of(answer: Answer) -> bytes:
    lines = (
        f"HTTP/1.1 {answer.status}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Connection: close",
        *answer.headers,
    )
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1")
