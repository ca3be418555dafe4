"""The console's HTTP server: each request passes the guard and reaches a file, a view, a question or a change."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Protocol

from aiohttp import web

from shareq import __version__
from shareq.client.admin import Admin
from shareq.client.aio.signals import on_signal
from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError, ClientError, Unreachable, UnsupportedApi, understood
from shareq.ops.console.guard import API, HEADERS, Refusal, Rules, knows_token, refusal
from shareq.ops.console.lanes import Busy, Lane
from shareq.ops.console.pollers import Pollers, Seen
from shareq.ops.console.routes import CHANGES, QUESTIONS, VIEWS, View
from shareq.ops.console.static_files import static_files
from shareq.ops.console.views.shared import Json, Look, WrongRequest
from shareq.ops.console.views.windows import Windows
from shareq.protocol.errors import ErrorCode

logger = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 64 * 1024
MAX_REQUESTS: Final = 128
"""The most requests at a time; a browser makes six at most."""
MAX_CONNECTIONS: Final = 256
"""The most open connections: new ones replace the oldest, since an idle one could stay open forever."""
SWEEP_S: Final = 1.0
MAX_QUERY: Final = 4096
POLL_TIMEOUT_MS: Final = 5_000
"""The time after which a cluster that does not answer a view counts as unreachable."""
QUESTION_TIMEOUT_MS: Final = 15_000
FETCH_BYTES: Final = 4 << 20
"""The most bytes of one answer with records."""
_NOT_FOUND: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.RESOURCE_NOT_FOUND,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    }
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster to show. `windows` asks its broker's records API, if it has one."""

    config: ClientConfig
    windows: Windows

    @property
    def address(self) -> str:
        return ", ".join(map(str, self.config.bootstrap_servers))


@dataclass(frozen=True, slots=True)
class Wish:
    """The settings of a console: the clusters to show by name, at least one, and to whom."""

    clusters: Mapping[str, Cluster]
    rules: Rules


class Asks(Protocol):
    """The part of a `Lane` that answers need."""

    async def call(self, function: Look, /) -> Json: ...

    def close(self) -> None: ...


class Lanes(NamedTuple):
    """The requests to one cluster: `polls` fetches data for views, `questions` makes single requests and changes."""

    polls: Asks
    questions: Asks


def _lanes(cluster: Cluster) -> Lanes:
    """Return new lanes for a cluster, so that an unreachable one delays no other."""
    return Lanes(
        Lane("polls", _bounded(cluster.config, POLL_TIMEOUT_MS), threads=2, waiting=64),
        Lane("questions", _bounded(cluster.config, QUESTION_TIMEOUT_MS), threads=2, waiting=16),
    )


class Console:
    """The aiohttp application. It belongs to the loop on which it is made."""

    def __init__(self, wish: Wish, lanes: Callable[[Cluster], Lanes] = _lanes) -> None:
        self._wish = wish
        self._files = static_files()
        self._pollers = Pollers()
        self._lanes = {name: lanes(cluster) for name, cluster in wish.clusters.items()}
        self._requests = 0

    def application(self) -> web.Application:
        """Build the application for aiohttp."""
        application = web.Application(middlewares=[self._guarded], client_max_size=MAX_BODY_BYTES)
        application.router.add_get(f"{API}session", self._session)
        for name, view in VIEWS.items():
            application.router.add_get(API + name, self._view(name, view))
        for name, question in QUESTIONS.items():
            application.router.add_get(API + name, self._question(question))
        for name, change in CHANGES.items():
            application.router.add_post(API + name, self._change(name, change))
        for path in self._files:
            application.router.add_get(path, self._file)
        application.on_cleanup.append(self._close)
        return application

    async def _close(self, _: web.Application) -> None:
        self._pollers.close()
        closing = [asyncio.to_thread(each.close) for lanes in self._lanes.values() for each in lanes]
        await asyncio.gather(*closing)

    # -- what every request passes

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        refused = refusal(self._wish.rules, request.method, request.path, request.headers)
        if refused is None and len(request.query_string) > MAX_QUERY:
            refused = Refusal(414, f"the query must have at most {MAX_QUERY} characters")
        if refused is None and self._requests >= MAX_REQUESTS:
            refused = Refusal(503, "the console is busy: try again soon")
        if refused is not None:
            answer: web.StreamResponse = _json({"error": refused.text}, refused.status)
        else:
            self._requests += 1
            try:
                answer = await handler(request)
            except web.HTTPException as error:
                answer = _json({"error": error.reason}, error.status)
            except Exception as error:
                answer = _failed(error)
            finally:
                self._requests -= 1
        answer.headers.update(HEADERS)
        return answer

    # -- requests

    async def _file(self, request: web.Request) -> web.Response:
        found = self._files[request.path]
        headers = {"ETag": f'"{found.etag}"', "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return web.Response(status=304, headers=headers)
        return web.Response(body=found.body, content_type=found.content_type, charset="utf-8", headers=headers)

    async def _session(self, request: web.Request) -> web.Response:
        """Return the facts that the pages need first."""
        rules, name = self._wish.rules, self._chosen(request)
        return _json(
            {
                "version": __version__,
                "cluster": name,
                "clusters": [{"name": each, "address": one.address} for each, one in self._wish.clusters.items()],
                "read_only": rules.token is None,
                "may_change": knows_token(rules, request.headers),
                "windows": self._wish.clusters[name].windows.known,
            }
        )

    def _chosen(self, request: web.Request) -> str:
        """Return the name of the request's cluster, by default the first one. Raise WrongRequest."""
        clusters = self._wish.clusters
        name = request.query.get("cluster") or next(iter(clusters))
        if name not in clusters:
            raise WrongRequest(f"cluster {name[:40]}: must be one of {', '.join(clusters)}")
        return name

    def _view(self, name: str, view: View) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            given, cluster = request.query, self._chosen(request)
            look = _understood(view.look_of(given, self._wish.clusters[cluster].windows))
            key = (cluster, name, *(given.get(each, "") for each in view.names))
            polls = self._lanes[cluster].polls
            seen = await self._pollers.seen(key, lambda: polls.call(look), view.sample)
            return _json(_seen(seen))

        return handle

    def _question(self, question: Callable[[Any], Look]) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            questions = self._lanes[self._chosen(request)].questions
            return _json(await questions.call(_understood(question(request.query))))

        return handle

    def _change(self, name: str, change: Callable[[Any], Look]) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            try:
                body = json.loads(await request.read())
            except (ValueError, RecursionError):
                raise WrongRequest("the body must be JSON") from None
            if not isinstance(body, dict):
                raise WrongRequest("the body must be a JSON object")
            cluster, look = self._chosen(request), _understood(change(body))
            try:
                done = await self._lanes[cluster].questions.call(look)
            except ClientError as error:
                logger.warning("%s at %s by %s: refused: %s", name, cluster, request.remote, error)
                raise
            logger.info("%s at %s by %s: %s", name, cluster, request.remote, json.dumps(done))
            return _json(done)

        return handle


def _understood(look: Look) -> Look:
    """Return the view with impossible answers reported as errors of the client."""

    def call(admin: Admin) -> Json:
        with understood():
            return look(admin)

    return call


def _bounded(config: ClientConfig, timeout_ms: int) -> ClientConfig:
    """Return the client's configuration, with limits of time and size for a user who waits at a browser."""
    return replace(config.within(timeout_ms), fetch_max_bytes=min(config.fetch_max_bytes, FETCH_BYTES))


def _json(value: Json, status: int = 200) -> web.Response:
    body = json.dumps(value, separators=(",", ":")).encode()
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


def _seen(seen: Seen) -> Json:
    names = sorted({name for point in seen.points for name in point.values})
    history: Json = {name: [point.values.get(name) for point in seen.points] for name in names}
    return {
        "made_ms": seen.made_ms,
        "error": seen.error,
        "data": seen.data,
        "history": {"at_ms": [point.at_ms for point in seen.points], **history} if names else None,
    }


def _failed(error: Exception) -> web.Response:
    """Return the error as an answer: a wrong request, a refusal by the cluster, or an unreachable cluster."""
    if isinstance(error, WrongRequest):
        return _json({"error": str(error)}, 400)
    if isinstance(error, Busy):
        return _json({"error": str(error)}, 503)
    if isinstance(error, UnsupportedApi):
        return _json({"error": str(error)}, 501)
    if isinstance(error, Unreachable):
        return _json({"error": str(error)}, 502)
    if isinstance(error, BrokerError):
        return _json({"error": str(error)}, 404 if error.code in _NOT_FOUND else 409)
    if isinstance(error, ClientError):
        return _json({"error": str(error)}, 502)
    logger.error("a request could not be answered", exc_info=error)
    return _json({"error": "the console could not answer: its log says why"}, 500)


def run(wish: Wish, bound: socket.socket, *, ready: Callable[[], None], with_stdin: bool = False) -> None:
    """Serve on a bound socket until SIGTERM or SIGINT; `ready` is called when it listens.

    `with_stdin`: serve until standard input ends; SIGINT is then for the process at its other end.
    """
    asyncio.run(_run(wish, bound, ready, with_stdin))


async def _run(wish: Wish, bound: socket.socket, ready: Callable[[], None], with_stdin: bool) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    on_signal(signal.SIGTERM, stopping.set)
    if with_stdin:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        loop.add_reader(sys.stdin.fileno(), _read_to_end, stopping)
    else:
        on_signal(signal.SIGINT, stopping.set)
    runner = web.AppRunner(Console(wish).application(), access_log=None, keepalive_timeout=15, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.SockSite(runner, bound).start()
        ready()
        sweeping = asyncio.create_task(sweep(runner))
        await stopping.wait()
        sweeping.cancel()
    finally:
        await runner.cleanup()


async def sweep(runner: web.AppRunner) -> None:
    """Cut off the oldest connections above MAX_CONNECTIONS, until cancelled."""
    while runner.server is not None:
        for connection in runner.server.connections[:-MAX_CONNECTIONS]:
            connection.force_close()
        await asyncio.sleep(SWEEP_S)


def _read_to_end(stopping: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1024):
        stopping.set()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
