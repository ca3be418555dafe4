"""The process around a broker: sockets, signals, and the order of starting and stopping.

Start: bind (a taken port is noticed before anything is touched), data folder, lock, recovery, then listen.
Stop: listen no more, answer what is in flight, flush, release the folder.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from itertools import count
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.keys.definition import ConfigError
from shareq.broker.data_folder.opening import DataFolderError, open_data_folder
from shareq.broker.data_folder.sqlite_record import META_DB_FILE, SqliteRecord
from shareq.broker.disk.reserved_fs import ReservedFs
from shareq.broker.disk.watch import DiskWatch
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.log.manager import DamagedFolderError, DataFolderInUseError
from shareq.broker.log.segments.files import DEFAULT_OPEN_FILES
from shareq.broker.metadata.features import FeatureError
from shareq.broker.network.connection import Connection, ConnectionLimits
from shareq.broker.network.listener import Listener, ListenerLimits
from shareq.broker.process.allocator import keep_freed_memory
from shareq.broker.topics.endpoint import advertised_endpoints
from shareq.protocol.primitives import uuid_to_text

if TYPE_CHECKING:
    from shareq.broker.metrics.endpoint import MetricsEndpoint
    from shareq.broker.process.scram_option import NewScramUser
    from shareq.broker.security.listener_security import ListenerSecurity

logger = logging.getLogger(__name__)

REFUSALS: Final = (
    DataFolderError,
    DataFolderInUseError,
    DamagedFolderError,
)
WARM_UP_AFTER_S: Final = 0.1  # after the start; first requests are soon there, and import what they need themselves
WARM_UP_STEP_S: Final = 0.002
FILES_FOR_THE_REST: Final = 64  # besides connections and segments: modules, the database, indexes being made
UNLIMITED_FILES: Final = 2**31 - 1
ANSWER_IN_FLIGHT_S: Final = 5.0  # how long a stop waits for clients that do not take their answers


class ServeError(Exception):
    """The broker cannot run; one sentence for the user. `usage`: because of its options or configuration."""

    def __init__(self, message: str, *, usage: bool = False) -> None:
        super().__init__(message)
        self.usage = usage


class Address(NamedTuple):
    """Where to listen. An empty host stands for every address of this machine, port 0 for any free one."""

    host: str
    port: int


class Server:
    """A broker and its listeners on one event loop.

    With a `metrics` address, its metrics are served there. `new_users` are added who are not known yet.
    """

    def __init__(
        self,
        config: BrokerConfig,
        features: Mapping[str, int] | None = None,
        metrics: Address | None = None,
        *,
        new_users: Sequence[NewScramUser] = (),
    ) -> None:
        self._config = config
        self._new_users = new_users
        self._features = features or {}
        self._metrics_wanted = metrics
        self._metrics_socket: socket.socket | None = None
        self._metrics: MetricsEndpoint | None = None
        self._sockets: dict[str, socket.socket] = {}
        self._asyncio_servers: list[asyncio.Server] = []
        self._listeners: list[Listener] = []
        self._ids = count(1)
        self._sweeps: list[asyncio.TimerHandle] = []
        self._finished = asyncio.Event()
        self._broker: Broker | None = None
        self._fs: OsFs | None = None

    @property
    def addresses(self) -> list[str]:
        """HOST:PORT of every listener, as bound. Empty after a stop."""
        return [_address_text(bound.getsockname()) for bound in self._sockets.values()]

    @property
    def metrics_url(self) -> str | None:
        """Where the metrics are served, as bound. None without, and after a stop."""
        bound = self._metrics_socket
        return None if bound is None else f"http://{_address_text(bound.getsockname())}/metrics"

    @property
    def data_dir(self) -> str:
        return os.path.abspath(self._config.data_dir)

    @property
    def uses_scram(self) -> bool:
        """Whether clients may authenticate with SCRAM."""
        return any(each.startswith("SCRAM-") for one in self._config.security.values() for each in one.mechanisms)

    @property
    def broker(self) -> Broker:
        """The running broker. RuntimeError before `start`."""
        if self._broker is None:
            raise RuntimeError("the broker has not been started")
        return self._broker

    async def start(self) -> None:
        """Recover everything, then listen. Raises ServeError, and leaves nothing open then."""
        try:
            for listener in self._config.endpoints:
                address = Address(listener.host, listener.port)
                self._sockets[listener.name] = bound = _bind(address, "listen")
                _set_buffers(bound, self._config)
            if self._metrics_wanted is not None:
                self._metrics_socket = self._bind_metrics(self._metrics_wanted)
            self._broker = self._start_broker()
            await self._listen(self._broker, _connections_with_files(_file_limit()))
            if self._metrics_socket is not None:
                await self._serve_metrics(self._broker, self._metrics_socket)
        except BaseException:
            await self.stop(clean=False)
            raise

    def hurry(self) -> None:
        """Cut a stop short: do not wait for clients to take their answers."""
        self._finished.set()

    async def stop(self, *, clean: bool = True) -> None:
        """Answer what is in flight and close everything. Harmless the second time.

        `clean` False leaves everything on disk as a crash would: the next start recovers.
        """
        if self._metrics is not None:
            await self._metrics.close()
            self._metrics = None
        if self._metrics_socket is not None:
            self._metrics_socket.close()
            self._metrics_socket = None
        for server in self._asyncio_servers:
            server.close()
        self._asyncio_servers.clear()
        for handle in self._sweeps:
            handle.cancel()
        self._sweeps.clear()
        if self._broker is not None:
            self._broker.stop_waiting()
            await self._finish_connections()
            broker, self._broker = self._broker, None
            broker.close(clean=clean)
        if self._fs is not None:
            self._fs.close()
            self._fs = None
        for bound in self._sockets.values():
            bound.close()
        self._sockets.clear()

    def _bind_metrics(self, wanted: Address) -> socket.socket:
        bound = _bind(wanted, "serve metrics")
        address = _address_text(bound.getsockname())
        if address in self.addresses:
            bound.close()
            raise ServeError(f"cannot serve metrics on {address}: clients of the broker connect there", usage=True)
        import_module("shareq.broker.metrics.exposition")  # now, when nobody is kept waiting by it
        return bound

    def _start_broker(self) -> Broker:
        """Open the data folder, which takes its lock, then recover it."""
        loop = asyncio.get_running_loop()
        fs = OsFs(loop.call_soon_threadsafe)
        data_dir = self.data_dir
        env = Environment(LoopClock(loop), Random(SystemRandom().getrandbits(128)), fs, SystemRandom())
        ports = {name: bound.getsockname()[1] for name, bound in self._sockets.items()}
        endpoints = advertised_endpoints(self._config, ports)
        with ExitStack() as undo:
            try:
                disk = DiskWatch(env.clock, fs, data_dir, self._config.disk_settings)
                over = ReservedFs(fs, data_dir, disk.reserve)
                database = SqliteRecord(f"{data_dir}/{META_DB_FILE}", env.random_uuid().hex()[:8])
                folder = open_data_folder(
                    over, data_dir, database, lambda: uuid_to_text(env.random_uuid()), disk.make_room_to_start
                )
                undo.callback(folder.release_lock)
                undo.callback(folder.meta_db.close)
                broker = Broker(
                    env,
                    self._config,
                    folder.meta_db,
                    endpoints=endpoints,
                    features=self._features,
                    release_lock=folder.release_lock,
                    cluster_id=folder.cluster_id,
                    disk=disk,
                    from_format_1=folder.from_format_1,
                )
                undo.pop_all()
                undo.callback(broker.close, clean=False)
                broker.start()
                _add_users(broker, self._new_users)
            except (ConfigError, FeatureError) as error:
                raise ServeError(str(error), usage=True) from error
            except REFUSALS as error:
                raise ServeError(str(error)) from error
            except OSError as error:
                raise ServeError(f"data folder {data_dir} cannot be used: {error}") from error
            undo.pop_all()
        self._fs = fs
        return broker

    async def _listen(self, broker: Broker, max_connections: int) -> None:
        loop = asyncio.get_running_loop()
        limits = _listener_limits(self._config, max_connections)
        for name, bound in self._sockets.items():
            listener = Listener(
                name,
                clock=broker.env.clock,
                handle=broker.handle_frame,
                limits=limits,
                room=broker.answer_budget,
                next_id=lambda: next(self._ids),
                guard=_guard(broker, self._config.security[name]),
            )
            self._listeners.append(listener)
            backlog = self._config.socket_listen_backlog_size
            _begin_to_listen(bound, backlog, "listen")
            server = await loop.create_server(listener.protocol, sock=bound, backlog=backlog)
            self._asyncio_servers.append(server)
            self._sweep(listener)

    async def _serve_metrics(self, broker: Broker, bound: socket.socket) -> None:
        from shareq.broker.metrics.endpoint import BACKLOG, MetricsEndpoint
        from shareq.broker.metrics.exposition import CONTENT_TYPE, scrape

        started_ns = broker.env.clock.now_ns()
        self._metrics = MetricsEndpoint(lambda: scrape(broker, self._listeners, started_ns), CONTENT_TYPE)
        _begin_to_listen(bound, BACKLOG, "serve metrics")
        await self._metrics.start(bound)

    def _sweep(self, listener: Listener) -> None:
        interval_ms = listener.sweep_interval_ms()
        if interval_ms is None:
            return
        position = len(self._sweeps)

        def sweep() -> None:
            listener.close_idle()
            self._sweeps[position] = loop.call_later(interval_ms / 1000, sweep)

        loop = asyncio.get_running_loop()
        self._sweeps.append(loop.call_later(interval_ms / 1000, sweep))

    async def _finish_connections(self) -> None:
        """Let every connection take its answers; those that do not in time are cut off."""

        def check() -> None:
            if not any(map(len, self._listeners)):
                self._finished.set()

        for listener in self._listeners:
            listener.on_forget = check
            listener.finish()
        check()
        try:
            await asyncio.wait_for(self._finished.wait(), ANSWER_IN_FLIGHT_S)
        except TimeoutError:
            logger.warning("closed %d connections with unsent responses", sum(map(len, self._listeners)))
        for listener in self._listeners:
            listener.on_forget = None
            listener.abort()
        self._listeners.clear()


def serve_forever(
    config: BrokerConfig,
    features: Mapping[str, int],
    *,
    metrics: Address | None = None,
    new_users: Sequence[NewScramUser] = (),
    ready: Callable[[Iterable[str], str, str | None], None],
) -> None:
    """Run a broker until a signal stops it; `ready` gets its addresses, data folder and metrics URL (None without).

    Raises ServeError.
    """
    for warning in config.warnings:
        logger.warning("%s", warning)
    _raise_file_limit()
    loop = new_event_loop()
    try:
        loop.run_until_complete(_serve(Server(config, features, metrics, new_users=new_users), ready))
    finally:
        loop.close()


async def _serve(server: Server, ready: Callable[[Iterable[str], str, str | None], None]) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()

    def on_signal(number: int) -> None:
        if stopping.is_set():
            server.hurry()  # asked twice: whoever does not take its answer is cut off
        else:
            logger.info("%s: stopping", signal.Signals(number).name)
            stopping.set()

    for number in _stop_signals():
        loop.add_signal_handler(number, on_signal, number)
    loop.set_exception_handler(_on_loop_error)
    await server.start()
    gc.freeze()  # what is there now stays: the collector need not look at it again
    gc.enable()
    ready(server.addresses, server.data_dir, server.metrics_url)
    loop.call_later(WARM_UP_AFTER_S, _warm_up, loop, _steps_to_come(server.uses_scram))
    await stopping.wait()
    await server.stop()


def _stop_signals() -> Iterator[int]:
    """As in Apache Kafka, a terminal that goes away is a clean stop, too, unless nohup says that it is nothing."""
    yield signal.SIGTERM
    yield signal.SIGINT
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        yield signal.SIGHUP


def _steps_to_come(scram: bool) -> Iterator[Callable[[], object]]:
    """What can wait until the broker listens: the allocator, and what the first requests of each kind would import."""
    yield keep_freed_memory
    if scram:
        yield partial(import_module, "scramp")  # a tenth of a second, which the first login need not wait for
    for row in HANDLERS.values():
        yield partial(import_module, f"shareq.broker.handlers.{row.module}")
    yield partial(import_module, "shareq.broker.groups.coordinator")
    yield partial(import_module, "shareq.broker.share.partitions")


def _warm_up(loop: asyncio.AbstractEventLoop, steps: Iterator[Callable[[], object]]) -> None:
    """One step in each tick: the broker listens early, and the first group need not wait all the same."""
    step = next(steps, None)
    if step is not None:
        step()
        loop.call_later(WARM_UP_STEP_S, _warm_up, loop, steps)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's event loop, or asyncio's own where there is no uvloop (Windows)."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def _bind(wanted: Address, purpose: str) -> socket.socket:
    """A bound socket that does not listen yet: connecting to it is refused until the broker is ready."""
    host = wanted.host or "0.0.0.0"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, wanted.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise ServeError(f"cannot {purpose} on {host}:{wanted.port}: {_reason(error)}") from error
    return bound


def _begin_to_listen(bound: socket.socket, backlog: int, purpose: str) -> None:
    """Two sockets may bind one port; the conflict shows only at `listen`, and uvloop would hide it."""
    address = _address_text(bound.getsockname())
    try:
        bound.listen(backlog)
    except OSError as error:
        raise ServeError(f"cannot {purpose} on {address}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    in_use = error.errno == errno.EADDRINUSE
    return "the port is in use by another process" if in_use else error.strerror or str(error)


def _set_buffers(bound: socket.socket, config: BrokerConfig) -> None:
    """Sizes that were asked for, which accepted sockets inherit; otherwise the system finds better ones by itself."""
    for name, option, size in (
        ("socket.send.buffer.bytes", socket.SO_SNDBUF, config.socket_send_buffer_bytes),
        ("socket.receive.buffer.bytes", socket.SO_RCVBUF, config.socket_receive_buffer_bytes),
    ):
        if name in config.originals and size > 0:
            bound.setsockopt(socket.SOL_SOCKET, option, size)


def _listener_limits(config: BrokerConfig, max_connections: int) -> ListenerLimits:
    return ListenerLimits(
        max_connections=min(config.max_connections, max_connections),
        max_per_ip=config.max_connections_per_ip,
        per_ip_overrides=config.connection_overrides(),
        max_idle_ms=config.connections_max_idle_ms,
        connection=ConnectionLimits(max_frame_bytes=config.socket_request_max_bytes),
    )


def _add_users(broker: Broker, users: Sequence[NewScramUser]) -> None:
    """Add those who are not known yet: who has changed a password since does not get the old one back."""
    if not users:
        return
    from shareq.broker.metadata.changes import PutScram
    from shareq.broker.security.credentials import SALT_BYTES

    known = broker.metadata.credentials
    broker.metadata.alter_credentials(
        [
            PutScram(user.key, user.credential(broker.env.secret_bytes(SALT_BYTES)))
            for user in users
            if user.key not in known
        ]
    )


def _guard(broker: Broker, security: ListenerSecurity) -> Callable[[Connection], None] | None:
    """What puts a gate before each connection of a listener where clients have to authenticate."""
    if not security.sasl:
        return None
    from shareq.broker.network.sasl_gate import SaslGate
    from shareq.broker.security.credentials import SCRAM_MECHANISMS

    if not set(SCRAM_MECHANISMS).isdisjoint(security.mechanisms):
        _ = broker.invented_credentials  # before the first client: what it is made with may have to be written down

    def guard(connection: Connection) -> None:
        gate = SaslGate(broker, connection, broker.handle_frame, security)
        connection.guard(gate, security.max_receive_bytes)

    return guard


def _address_text(address: tuple[object, ...]) -> str:
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"


def _connections_with_files(limit: int) -> int:
    """How many connections may be open when so many files may: logs must never be without, or they could not go on."""
    return max(limit - DEFAULT_OPEN_FILES - FILES_FOR_THE_REST, limit // 4)


def _file_limit() -> int:
    """How many files this process may have open."""
    try:
        import resource
    except ImportError:  # Windows
        return UNLIMITED_FILES
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED_FILES if soft == resource.RLIM_INFINITY else soft


def _raise_file_limit() -> None:
    """Take as many file descriptors as the system lets this process have: connections and segments need them."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            logger.debug("the limit of open files stays at %d", soft)


def _on_loop_error(_loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    error = context.get("exception")
    logger.error("%s", context.get("message"), exc_info=error if isinstance(error, BaseException) else None)
