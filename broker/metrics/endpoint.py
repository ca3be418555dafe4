"""The HTTP endpoint for scrapers of the metrics: GET /metrics, GET /-/healthy and GET /-/ready.

A scrape pauses to let other work on the loop run; scrapes are made one at a time, and their rate is limited.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from shareq.broker.http.server import Answer, HttpServer, Request

logger = logging.getLogger(__name__)

METRICS_PATH: Final = "/metrics"
HEALTH_PATH: Final = "/-/healthy"
READY_PATH: Final = "/-/ready"

MOST_SCRAPES: Final = 8  # that wait to be made, or are being made; others are asked to come back
SCRAPE_INTERVAL_S: Final = 0.1  # from the beginning of one scrape to that of the next; requests in between wait for it


class MetricsEndpoint:
    """The endpoint that serves the result of `scrape`, of the type `content_type`.

    `why_not_ready` returns the reason why clients are not served; None if they are.

    Owned by the server, on the loop's thread.
    """

    def __init__(
        self,
        scrape: Callable[[], Awaitable[bytes]],
        content_type: str,
        why_not_ready: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._scrape = scrape
        self._content_type = content_type
        self._why_not_ready = why_not_ready
        self._one_at_a_time = asyncio.Lock()
        self._began_at = float("-inf")  # the newest scrape, by the loop's time
        self._next: asyncio.Task[bytes] | None = None  # the scrape that has not begun
        self._made: set[asyncio.Task[bytes]] = set()  # that scrape, and the ones that have begun
        self._scrapes = 0
        self.http = HttpServer("metrics", self._handle)

    async def start(self, bound: socket.socket) -> None:
        """Serve on a bound socket, which is closed with the endpoint."""
        await self.http.start(bound)

    async def close(self) -> None:
        """Stop listening, and disconnect all scrapers. A second call has no effect."""
        await self.http.close()
        made = list(self._made)
        for task in made:
            task.cancel()
        await asyncio.gather(*made, return_exceptions=True)

    async def _handle(self, request: Request) -> Answer:
        if request.path == METRICS_PATH:
            if self._scrapes >= MOST_SCRAPES:
                return Answer("503 Service Unavailable", b"too many scrapes at a time\n")
            try:
                return Answer("200 OK", await self._make(), self._content_type)
            except Exception:
                logger.exception("metrics: a scrape failed")
                return Answer("500 Internal Server Error", b"the scrape failed; the log says why\n")
        if request.path == HEALTH_PATH:
            return Answer("200 OK", b"shareq is up\n")
        if request.path == READY_PATH:
            reason = self._why_not_ready()
            if reason is None:
                return Answer("200 OK", b"shareq is ready\n")
            return Answer("503 Service Unavailable", f"{reason}\n".encode())
        return Answer("404 Not Found", f"the metrics are at {METRICS_PATH}\n".encode())

    async def _make(self) -> bytes:
        """Return the result of the next scrape. All waiting scrapers share it, and one that disconnects does not end
        it for the others.
        """
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
        """Return the result of one scrape, once it may begin."""
        async with self._one_at_a_time:
            loop = asyncio.get_running_loop()
            await asyncio.sleep(max(0.0, self._began_at + SCRAPE_INTERVAL_S - loop.time()))
            self._began_at, self._next = loop.time(), None
            return await self._scrape()
