"""Answers over HTTP: `/healthz` with 200 or 503 and the state of the handlers, `/metrics` for Prometheus."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Final, Protocol

from shareq.client.errors import ConfigError
from shareq.worker.counts import exposition
from shareq.worker.lane import Lane

REQUEST_S: Final = 10.0
MOST_BYTES: Final = 16 << 10


class Watched(Protocol):
    """The run whose state the server reports."""

    lanes: list[Lane]
    group: str

    @property
    def healthy(self) -> bool: ...


class HealthServer:
    """The server at `address`, HOST:PORT; one request for each connection."""

    def __init__(self, address: str, run: Watched) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise ConfigError(f"health: {address!r}: must be HOST:PORT")
        self._host, self._port = host.strip("[]"), int(port)
        self._run = run
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen. Raises ConfigError if the address cannot be listened on."""
        try:
            self._server = await asyncio.start_server(self._serve, self._host, self._port, limit=MOST_BYTES)
        except OSError as error:
            raise ConfigError(f"health: {self._host}:{self._port}: {error.strerror or error}") from None
        self._port = self._server.sockets[0].getsockname()[1]

    @property
    def port(self) -> int:
        return self._port

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")))
                await writer.drain()
        writer.close()

    def _answer(self, request: list[str]) -> bytes:
        path = request[1].partition("?")[0] if len(request) == 3 else ""
        if request[0] not in ("GET", "HEAD") or path not in ("/healthz", "/metrics"):
            return _response("404 Not Found", "text/plain", "there are /healthz and /metrics\n", request[0])
        lanes = [(lane, lane.look()) for lane in self._run.lanes]
        if path == "/metrics":
            text = exposition(self._run.group, [counts for _, counts in lanes])
            return _response("200 OK", "text/plain; version=0.0.4", text, request[0])
        healthy = self._run.healthy
        handlers = {
            counts.name: {"assigned": lane.assigned, "working": counts.working, "finished": counts.finished}
            for lane, counts in lanes
        }
        text = json.dumps({"healthy": healthy, "handlers": handlers}) + "\n"
        return _response("200 OK" if healthy else "503 Service Unavailable", "application/json", text, request[0])


def _response(status: str, kind: str, text: str, method: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + (b"" if method == "HEAD" else body)
