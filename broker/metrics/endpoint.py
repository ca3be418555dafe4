"""A small HTTP server for scrapers of the metrics: GET /metrics, GET /-/healthy and GET /-/ready.

It shares the broker's loop and must cost it nothing but the scrape itself: one request a connection, bounded in size,
number and time; a scrape is made in slices, one in each tick of the loop; a scraper that does not take its answer is
cut off. However many are open, there is room for one more: the oldest that has not sent its request gives way, or else
the oldest that is slow to take its answer. So a probe, which does both at once, is always answered.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final, NamedTuple

logger = logging.getLogger(__name__)

METRICS_PATH: Final = "/metrics"
HEALTH_PATH: Final = "/-/healthy"
READY_PATH: Final = "/-/ready"

MAX_HEAD_BYTES: Final = 8 * 1024  # request line and headers
MAX_CONNECTIONS: Final = 32
MAX_SCRAPES: Final = 8  # that wait to be made, or are being made; others are asked to come back
BACKLOG: Final = 64
HEAD_TIMEOUT_S: Final = 5.0
ANSWER_TIMEOUT_S: Final = 10.0  # to take the answer once it is made
SCRAPE_INTERVAL_S: Final = 0.1  # from the beginning of one to that of the next: who asks meanwhile has to wait for it

_TEXT: Final = "text/plain; charset=utf-8"


class Answer(NamedTuple):
    """An HTTP answer. `headers` beside those that every answer has."""

    status: str
    body: bytes
    content_type: str = _TEXT
    headers: tuple[str, ...] = ()


class _Phase(Enum):
    """What a connection is at."""

    ASKS = 0
    WAITS = 1
    TAKES = 2


class MetricsEndpoint:
    """Serves what `scrape` gives, in pieces with pauses for others between them; `content_type` is what it is.

    `ready` says whether clients are served.

    Owned by the server, on the loop's thread.
    """

    def __init__(
        self, scrape: Callable[[], Iterator[bytes]], content_type: str, ready: Callable[[], bool] = lambda: True
    ) -> None:
        self._scrape = scrape
        self._content_type = content_type
        self._ready = ready
        self._one_at_a_time = asyncio.Lock()
        self._began_at = float("-inf")  # the newest scrape, by the loop's time
        self._next: asyncio.Task[bytes] | None = None  # the scrape that has not begun
        self._made: set[asyncio.Task[bytes]] = set()  # that is, and those that have
        self._scrapes = 0
        self._clients: dict[asyncio.Task[None], _Phase] = {}  # the oldest first
        self._server: asyncio.Server | None = None

    async def start(self, bound: socket.socket) -> None:
        """Serve on a bound socket, which is closed with the endpoint."""
        self._server = await asyncio.start_server(self._serve, sock=bound, limit=MAX_HEAD_BYTES, backlog=BACKLOG)

    async def close(self) -> None:
        """Stop listening and cut off the scrapers being served. Harmless the second time."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        tasks = [*self._clients, *self._made]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request, one answer."""
        client = asyncio.current_task()
        assert client is not None, "asyncio.start_server makes a task for each connection"
        if len(self._clients) >= MAX_CONNECTIONS:
            self._make_room()
        self._clients[client] = _Phase.ASKS
        try:
            await self._answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError) as error:
            # The task ends here, also when `close` cancels it: asyncio's streams would log that as an error.
            logger.debug("metrics: a client was cut off: %r", error)
            writer.transport.abort()
        finally:
            self._clients.pop(client, None)
            writer.close()

    def _make_room(self) -> None:
        """Cut off the oldest that asks, or else the oldest that takes its answer: those that wait are few."""
        for phase in (_Phase.ASKS, _Phase.TAKES):
            slow = next((client for client, at in self._clients.items() if at is phase), None)
            if slow is not None:
                logger.warning("metrics: the slowest of %d connections was cut off for another", len(self._clients))
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
            method, answer = "GET", Answer("431 Request Header Fields Too Large", b"the request is too large\n")
        else:
            self._enter(_Phase.WAITS)
            method, answer = await self._handle(head)
        self._enter(_Phase.TAKES)
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            writer.write(_head_of(answer))
            if method != "HEAD":
                writer.write(answer.body)
            await writer.drain()
            writer.close()
            await writer.wait_closed()  # all is sent by then

    async def _handle(self, head: bytes) -> tuple[str, Answer]:
        """The method, and the answer to a request with that head."""
        line = head.partition(b"\r\n")[0].decode("latin-1")
        parts = line.split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            return "GET", Answer("400 Bad Request", b"not an HTTP/1 request\n")
        method, target, _ = parts
        if method not in ("GET", "HEAD"):
            return method, Answer("405 Method Not Allowed", b"GET or HEAD\n", headers=("Allow: GET, HEAD",))
        path = target.partition("?")[0]
        if path == METRICS_PATH:
            if self._scrapes >= MAX_SCRAPES:
                return method, Answer("503 Service Unavailable", b"too many scrapes at a time\n")
            try:
                return method, Answer("200 OK", await self._make(), self._content_type)
            except Exception:
                logger.exception("metrics: a scrape failed")
                return method, Answer("500 Internal Server Error", b"the scrape failed; the log says why\n")
        if path == HEALTH_PATH:
            return method, Answer("200 OK", b"shareq is up\n")
        if path == READY_PATH:
            if self._ready():
                return method, Answer("200 OK", b"shareq is ready\n")
            return method, Answer("503 Service Unavailable", b"shareq is stopping\n")
        return method, Answer("404 Not Found", f"the metrics are at {METRICS_PATH}\n".encode())

    async def _make(self) -> bytes:
        """The next scrape that begins: all that wait for one share it, and one of them ends nobody else's."""
        self._scrapes += 1
        try:
            if self._next is None:
                self._next = asyncio.create_task(self._make_next())
                self._made.add(self._next)
                self._next.add_done_callback(self._made.discard)
            return await asyncio.shield(self._next)
        finally:
            self._scrapes -= 1

    async def _make_next(self) -> bytes:
        """One scrape. At most one slice of one scrape is made in a tick, and so many scrapes a second."""
        async with self._one_at_a_time:
            loop = asyncio.get_running_loop()
            await asyncio.sleep(max(0.0, self._began_at + SCRAPE_INTERVAL_S - loop.time()))
            self._began_at, self._next = loop.time(), None
            pieces: list[bytes] = []
            for piece in self._scrape():
                pieces.append(piece)
                await asyncio.sleep(0)  # whatever else is ready has its turn
            return b"".join(pieces)


def _head_of(answer: Answer) -> bytes:
    lines = (
        f"HTTP/1.1 {answer.status}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Connection: close",
        *answer.headers,
    )
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1")
