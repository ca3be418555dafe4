"""Running a broker as a process of its own: its event loop, its signals, and the modules imported once it listens."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from shareq.broker.foundation.loop.collector import COLLECTOR
from shareq.broker.process.allocator import keep_freed_memory
from shareq.broker.process.open_files import raise_file_limit
from shareq.broker.process.server import SEAMS, MakeGround, Seams, Server
from shareq.broker.process.sockets import Address

if TYPE_CHECKING:
    from shareq.broker.config.broker_config import BrokerConfig
    from shareq.broker.foundation.handler_rows import HandlerRow
    from shareq.broker.process.http.console import Console, ConsoleOptions
    from shareq.broker.process.scram_option import NewScramUser

logger = logging.getLogger(__name__)

WARM_UP_AFTER_S: Final = 0.1  # after the start, since first requests arrive soon and import their modules themselves
WARM_UP_STEP_S: Final = 0.002


class OtherGround(Protocol):
    """A ground other than a data folder, to be opened."""

    @property
    def make(self) -> MakeGround:
        """The function that opens it, when the broker's listeners are bound."""

    async def wait_closed(self) -> None:
        """Wait until everything is closed, after the broker's stop."""


class Wanted(NamedTuple):
    """The broker that a command line describes. `metrics` is the host and port for its metrics. Without a `ground`
    it runs on its data folder.
    """

    config: BrokerConfig
    features: Mapping[str, int]
    metrics: tuple[str, int] | None
    new_users: Sequence[NewScramUser]
    console: ConsoleOptions | None = None
    ground: OtherGround | None = None


def serve_forever(
    wanted: Wanted,
    *,
    insecure: bool = False,
    seams: Seams = SEAMS,
    ready: Callable[[Server, str | None], None],
) -> None:
    """Run a broker until a signal stops it.

    `ready` is called once it listens, with the server and the URL of its console, if it has one. `insecure` and
    `seams` are those of `Server`. Raise ServeError.
    """
    raise_file_limit()
    loop = new_event_loop()
    try:
        server = new_server(wanted, insecure=insecure, seams=seams)
        try:
            loop.run_until_complete(_serve(server, ready, _console(wanted)))
        finally:
            if wanted.ground is not None:
                loop.run_until_complete(wanted.ground.wait_closed())
    finally:
        loop.close()


def new_server(wanted: Wanted, *, insecure: bool = False, seams: Seams = SEAMS) -> Server:
    """Return the server, not started yet. Doubtful settings of its configuration are logged."""
    for warning in wanted.config.warnings:
        logger.warning("%s", warning)
    metrics = None if wanted.metrics is None else Address(*wanted.metrics)
    return Server(
        wanted.config,
        wanted.features,
        metrics,
        new_users=wanted.new_users,
        insecure=insecure,
        seams=seams,
        make_ground=None if wanted.ground is None else wanted.ground.make,
    )


def _console(wanted: Wanted) -> Console | None:
    if wanted.console is None:
        return None
    from shareq.broker.process.http.console import Console  # and what it imports: off unless wanted

    return Console(wanted.console, wanted.config)


async def _serve(server: Server, ready: Callable[[Server, str | None], None], console: Console | None) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()

    def on_signal(number: int) -> None:
        if stopping.is_set():
            server.hurry()  # the second signal: clients that do not read their answers are disconnected
        else:
            logger.info("%s: stopping", signal.Signals(number).name)
            stopping.set()

    for number in _stop_signals(hangup=not server.uses_tls):
        loop.add_signal_handler(number, on_signal, number)
    if server.uses_tls and hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, server.renew_certificates)
    loop.set_exception_handler(_on_loop_error)
    if not await _started(server, stopping):
        return
    COLLECTOR.begin()  # the objects of now stay
    if console is not None:
        await console.start(server.addresses, server.records_api_url)
    ready(server, None if console is None else console.url)
    ground = server.broker.services.ground
    steps = _steps_to_come(ground.handlers.values(), ground.first_used, scram=server.uses_scram)
    loop.call_later(WARM_UP_AFTER_S, _warm_up, loop, iter(steps))
    await stopping.wait()
    if console is not None:
        console.begin_to_stop()
    await server.stop()
    if console is not None:
        await console.stop()


async def _started(server: Server, stopping: asyncio.Event) -> bool:
    """Start the server. Return False if it was asked to stop before the start was complete. Raise ServeError."""
    starting = asyncio.ensure_future(server.start())
    stop = asyncio.ensure_future(stopping.wait())
    await asyncio.wait((starting, stop), return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not starting.done():
        starting.cancel()
        await asyncio.wait((starting,))
        if starting.cancelled():
            return False
    await starting
    return True


def _stop_signals(*, hangup: bool) -> Sequence[int]:
    """Return the signals of a clean stop.

    As in Apache Kafka, SIGHUP from a closed terminal is one of them, unless nohup ignores it, or SIGHUP has another
    use (`hangup` is False).
    """
    if hangup and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        return (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    return (signal.SIGTERM, signal.SIGINT)


_FIRST_USED: Final = (
    "broker.coordinator_runtime.routes",
    "broker.groups.service",
    "broker.share.service",
    "broker.share.coordinator",
    "broker.dispatch.long_requests",
    "broker.dispatch.metering",
    "broker.quotas.owned_rate",
    "protocol.row_writing",
)
"""Modules that the first group or long request would otherwise import in its own turn, on every ground."""


def _steps_to_come(
    handlers: Iterable[HandlerRow], first_used: Iterable[str], *, scram: bool
) -> Sequence[Callable[[], object]]:
    """Return the steps that are done only once the broker listens: the allocator's settings, and the imports for the
    first requests.
    """
    modules = [
        *(["scramp"] if scram else []),  # a tenth of a second, which the first login need not wait for
        *(row.module for row in handlers if not row.feature),  # a feature of our own is seldom on
        "cramjam",
        *(f"shareq.{name}" for name in _FIRST_USED),
        *first_used,
    ]
    return [keep_freed_memory, *(partial(import_module, module) for module in modules)]


def _warm_up(loop: asyncio.AbstractEventLoop, steps: Iterator[Callable[[], object]]) -> None:
    """Run one step in each tick, so that the broker listens early, and the first group still does not wait."""
    step = next(steps, None)
    if step is not None:
        step()
        loop.call_later(WARM_UP_STEP_S, _warm_up, loop, steps)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop, or asyncio's own if there is no uvloop (Windows)."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def _on_loop_error(_loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    error = context.get("exception")
    logger.error("%s", context.get("message"), exc_info=error if isinstance(error, BaseException) else None)
