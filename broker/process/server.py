"""A broker and its listeners: the order of starting and stopping.

Start: bind (an occupied port is noticed before anything is changed), data folder, lock, recovery, then listen. Stop:
stop listening, answer pending requests, flush, release the folder.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from itertools import count
from operator import attrgetter
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import BROKER
from shareq.broker.dispatch.element_limits import largest_frame
from shareq.broker.foundation.environment import Clock, Environment
from shareq.broker.foundation.ground_error import GroundError
from shareq.broker.foundation.loop.stall_meter import StallMeter
from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.metadata.features import FeatureError
from shareq.broker.network.answers import FrameHandler
from shareq.broker.network.client_lines import ClientLines
from shareq.broker.network.connection import Connection
from shareq.broker.network.connection_quotas import ConnectionQuotas
from shareq.broker.network.counters import Authentications
from shareq.broker.network.listener import Listener, ListenerLimits
from shareq.broker.network.read_share import ReadShare
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.process.allocator import FreedMemory
from shareq.broker.process.exposure import check_exposure
from shareq.broker.process.open_files import FileShares, file_limit, file_shares
from shareq.broker.process.sockets import (
    Address,
    ServeError,
    address_text,
    begin_to_listen,
    bind,
    note_backlog,
    set_buffers,
)
from shareq.broker.quotas.entity import CONNECTION_CREATION_RATE
from shareq.broker.quotas.limits import Limits
from shareq.broker.quotas.rate import Windows
from shareq.broker.topics.endpoint import Endpoint, advertised_endpoints
from shareq.protocol.config_def import ConfigError

if TYPE_CHECKING:
    from shareq.broker.data_folder_ground import DataFolderGround
    from shareq.broker.ground import Ground
    from shareq.broker.metrics.endpoint import MetricsEndpoint
    from shareq.broker.process.http.records_api import RecordsApiPort
    from shareq.broker.process.oauth.listeners import OauthListeners
    from shareq.broker.process.scram_option import NewScramUser
    from shareq.broker.process.tls.listeners import TlsListeners
    from shareq.broker.security.listener_security import ListenerSecurity
    from shareq.broker.security.sasl_mechanisms import Exchange
    from shareq.broker.services import Services

logger = logging.getLogger(__name__)

ANSWER_IN_FLIGHT_S: Final = 5.0  # how long a stop waits for clients that do not take their answers
SENT_AWAY_MS: Final = 300  # how long clients that are sent away wait for answers
LEAVE_S: Final = 3.0  # how long a stop waits for other brokers to know of it


class Seams(NamedTuple):
    """The parts of a broker that access the outside world.

    A server has the defaults; brokers of `shareq.testing` have others. `fs` is called with the function that passes
    calls to the loop; `handlers` returns the function that makes a connection's handler. Unless `durable_metadata`,
    commits of metadata survive a kill, but not a power loss.
    """

    clock: Callable[[asyncio.AbstractEventLoop], Clock] = LoopClock
    fs: Callable[[Callable[[Callable[[], None]], object]], OsFs] = OsFs
    handlers: Callable[[Broker], Callable[[Connection], FrameHandler]] = attrgetter("handler_for")
    durable_metadata: bool = True


SEAMS: Final = Seams()

MakeGround = Callable[[Environment, "Mapping[str, Endpoint]"], "Awaitable[Ground[Services]]"]
"""A function that creates the broker's ground, from the addresses for each listener's clients. It raises ServeError.
"""


class Server:
    """A broker and its listeners on one event loop.

    Metrics are served at the address `metrics`, if it is given. Those of `new_users` that do not exist yet are
    added. Unless `insecure`, no listener without authentication is opened to other machines. `make_ground` creates
    the ground; without it, that is the data folder of the configuration, with these `features`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        features: Mapping[str, int] | None = None,
        metrics: Address | None = None,
        *,
        new_users: Sequence[NewScramUser] = (),
        insecure: bool = False,
        seams: Seams = SEAMS,
        make_ground: MakeGround | None = None,
    ) -> None:
        self._config = config
        self._make_ground = make_ground or self._open_data_folder
        self._seams = seams
        self._insecure = insecure
        self._new_users = new_users
        self._features = features or {}
        self._metrics_wanted = metrics
        self._metrics_socket: socket.socket | None = None
        self._metrics: MetricsEndpoint | None = None
        self._records_api: RecordsApiPort | None = None
        self._stall_meter: StallMeter | None = None
        self._freed: FreedMemory | None = None
        self._stopping = False
        self._sockets: dict[str, socket.socket] = {}
        self._asyncio_servers: list[asyncio.Server] = []
        self._listeners: list[Listener] = []
        self._ids = count(1)
        self._sweeps: list[asyncio.TimerHandle] = []
        self._finished = asyncio.Event()
        self._broker: Broker | None = None
        self._fs: OsFs | None = None
        self._tls: TlsListeners | None = None
        self._oauth: OauthListeners | None = None
        self._files = FileShares(0, 0)

    @property
    def addresses(self) -> list[str]:
        """HOST:PORT of every listener, as bound; empty after a stop."""
        return [address_text(bound.getsockname()) for bound in self._sockets.values()]

    @property
    def advertised(self) -> list[str]:
        """HOST:PORT to which the clients of each listener connect. Raise RuntimeError before `start`."""
        return [address_text((each.host, each.port)) for each in self.broker.services.endpoints.values()]

    @property
    def metrics_url(self) -> str | None:
        """The URL of the metrics, as bound; None if they are not served, and after a stop."""
        bound = self._metrics_socket
        return None if bound is None else f"http://{address_text(bound.getsockname())}/metrics"

    @property
    def records_api_url(self) -> str | None:
        """The URL of the records API, as bound; None if it is not served, and after a stop."""
        return None if self._records_api is None else self._records_api.url

    @property
    def data_dir(self) -> str:
        return os.path.abspath(self._config.data_dir)

    @property
    def stands_on(self) -> str:
        """The name of the place where all data is stored, as the end of a sentence about the broker.

        Raise RuntimeError before `start`.
        """
        services = self.broker.services
        if self._make_ground == self._open_data_folder:
            return f"data in {self.data_dir}"
        return f"node {services.started_with.node_id} of {services.ground.name}, id {services.metadata.cluster_id}"

    @property
    def uses_scram(self) -> bool:
        """True if clients may authenticate with SCRAM."""
        return any(each.startswith("SCRAM-") for one in self._config.security.values() for each in one.mechanisms)

    @property
    def uses_tls(self) -> bool:
        """True if a listener has TLS."""
        return any(one.tls is not None for one in self._config.security.values())

    def renew_certificates(self) -> None:
        """Read key stores and trust stores again. Errors are logged; then the old certificates stay in use."""
        if self._tls is not None and self._broker is not None:
            self._tls.renew(self._broker.services.configs.broker)

    @property
    def broker(self) -> Broker:
        """The running broker. Raise RuntimeError before `start`."""
        if self._broker is None:
            raise RuntimeError("the broker has not been started")
        return self._broker

    async def start(self) -> None:
        """Recover everything, then listen. Raise ServeError, after which nothing is open."""
        self._files = file_shares(file_limit())
        try:
            for listener in self._config.endpoints:
                address = Address(listener.host, listener.port)
                self._sockets[listener.name] = bound = bind(address, "listen")
                set_buffers(bound, self._config)
            check_exposure(self._sockets, self._config.security, insecure=self._insecure)
            if self._metrics_wanted is not None:
                self._metrics_socket = self._bind_metrics(self._metrics_wanted)
            if self._config.shareq_records_api_listen is not None:
                from shareq.broker.process.http.records_api import (
                    RecordsApiPort,
                )  # and what it imports: off unless wanted

                self._records_api = RecordsApiPort(self._config, self.addresses, insecure=self._insecure)
            self._oauth = await _oauth_listeners(self._config)
            self._broker = await self._start_broker()
            await self._listen(self._broker, self._files.connections)
            if self._metrics_socket is not None:
                await self._serve_metrics(self._broker, self._metrics_socket)
            if self._records_api is not None:
                await self._serve_records(self._broker, self._records_api)
        except BaseException:
            await self.stop(clean=False)
            raise

    def hurry(self) -> None:
        """Shorten a stop: do not wait for clients to read their answers."""
        self._finished.set()

    async def stop(self, *, clean: bool = True) -> None:
        """Answer pending requests and close everything. A second call has no effect.

        Without `clean`, everything on disk is left as after a crash, and the next start recovers.
        """
        if self._stall_meter is not None:
            self._stall_meter.stop()
            self._stall_meter = None
        self._stopping = True
        for server in self._asyncio_servers:
            server.close()
        self._asyncio_servers.clear()
        for handle in self._sweeps:
            handle.cancel()
        self._sweeps.clear()
        if self._oauth is not None:
            self._oauth.stop()
            self._oauth = None
        if self._broker is not None:
            self._broker.stop_waiting()
            await self._finish_connections()
            if clean:
                await self._leave(self._broker)
        await self._stop_metrics()
        if self._broker is not None:
            broker, self._broker = self._broker, None
            broker.close(clean=clean)
        if self._fs is not None:
            self._fs.close()
            self._fs = None
        for bound in self._sockets.values():
            bound.close()
        self._sockets.clear()

    async def _leave(self, broker: Broker) -> None:
        left = asyncio.Event()
        broker.services.ground.leave().on_complete(lambda _: left.set())
        try:
            await asyncio.wait_for(left.wait(), LEAVE_S)
        except TimeoutError:
            logger.warning("%s: the other brokers may not know yet that this one stops", broker.services.ground.name)

    async def _stop_metrics(self) -> None:
        """Stop metrics and records API after the last answer to clients. Until then they show that the broker is up,
        but not ready.
        """
        if self._records_api is not None:
            await self._records_api.stop()
            self._records_api = None
        if self._metrics is not None:
            await self._metrics.close()
            self._metrics = None
        if self._metrics_socket is not None:
            self._metrics_socket.close()
            self._metrics_socket = None

    def _bind_metrics(self, wanted: Address) -> socket.socket:
        bound = bind(wanted, "serve metrics")
        address = address_text(bound.getsockname())
        if address in self.addresses:
            bound.close()
            raise ServeError(f"cannot serve metrics on {address}: clients of the broker connect there", usage=True)
        import_module("shareq.broker.metrics.exposition")  # now, when it keeps no client waiting
        return bound

    async def _start_broker(self) -> Broker:
        """Create the broker's ground and open it. Return the broker."""
        loop = asyncio.get_running_loop()
        fs = self._seams.fs(loop.call_soon_threadsafe)
        env = Environment(self._seams.clock(loop), Random(SystemRandom().getrandbits(128)), fs, SystemRandom())
        ports = {name: bound.getsockname()[1] for name, bound in self._sockets.items()}
        endpoints = advertised_endpoints(self._config, ports)
        ground = await self._make_ground(env, endpoints)
        with _refusals(ground.name), ExitStack() as undo:
            undo.callback(ground.close, clean=False)
            broker = Broker(env, self._config, ground, endpoints=endpoints)
            undo.pop_all()
            undo.callback(broker.close, clean=False)
            if self.uses_tls:
                self._tls = _tls_listeners(broker.services)
            broker.start()
            _add_users(broker.services, self._new_users)
            undo.pop_all()
        self._fs = fs
        return broker

    async def _open_data_folder(self, env: Environment, endpoints: Mapping[str, Endpoint]) -> DataFolderGround:
        from shareq.broker.data_folder_ground import open_ground  # and what it imports, which a node need not load

        with _refusals(f"data folder {self.data_dir}"):
            return open_ground(
                env,
                self._config,
                self.data_dir,
                features=self._features,
                max_open_files=self._files.logs,
                durable_metadata=self._seams.durable_metadata,
                addresses=[address_text((each.host, each.port)) for each in endpoints.values()],
            )

    async def _listen(self, broker: Broker, max_connections: int) -> None:
        loop = asyncio.get_running_loop()
        services = broker.services
        services.send_clients_away = self._send_clients_away
        self._freed = FreedMemory(services.env, (services.request_budget, services.answer_budget))
        limits = _listener_limits(self._config)
        quotas = _connection_quotas(services, max_connections)
        lines = ClientLines(services.client_lines)
        read_share = ReadShare(services.env.clock)
        handler_for = self._seams.handlers(broker)
        backlog = self._config.socket_listen_backlog_size
        note_backlog(backlog)
        for name, bound in self._sockets.items():
            port = self._tls.port(name) if self._tls is not None and self._config.security[name].tls else None
            authentications = Authentications() if port is None else port.authentications
            oauth = None if self._oauth is None else self._oauth.begin(name)
            listener = Listener(
                name,
                clock=broker.services.env.clock,
                handler_for=handler_for,
                limits=limits,
                room=broker.services.answer_budget,
                request_budget=broker.services.request_budget,
                read_share=read_share,
                write_share=services.write_share,
                next_id=lambda: next(self._ids),
                guard=_guard(broker.services, self._config.security[name], authentications, oauth),
                encrypted=None if port is None else port.protocol,
                authentications=authentications,
                quotas=quotas,
                lines=lines,
            )
            if port is not None and self._tls is not None:
                listener.certificate_ends_s = partial(self._tls.certificate_ends_s, name)
            self._listeners.append(listener)
            begin_to_listen(bound, backlog, "listen")
            server = await loop.create_server(listener.protocol, sock=bound, backlog=backlog)
            self._asyncio_servers.append(server)
            self._sweep(listener)

    async def _serve_metrics(self, broker: Broker, bound: socket.socket) -> None:
        from shareq.broker.http.server import BACKLOG
        from shareq.broker.metrics.endpoint import MetricsEndpoint
        from shareq.broker.metrics.exposition import CONTENT_TYPE, metrics_of, scrape

        services, requests = broker.services, broker.dispatcher.requests
        started_ns = services.env.clock.now_ns()
        metrics_of(services)  # imported now, when it keeps no client waiting
        self._metrics = MetricsEndpoint(
            lambda: scrape(services, requests, self._listeners, started_ns), CONTENT_TYPE, self._why_not_ready
        )
        begin_to_listen(bound, BACKLOG, "serve metrics")
        await self._metrics.start(bound)
        self._stall_meter = StallMeter(services.env.clock, services.stalls)  # nobody else asks for what it measures
        self._stall_meter.start()

    def _why_not_ready(self) -> str | None:
        if self._stopping or self._broker is None:
            return "shareq is stopping"
        return self._broker.services.ground.problem

    async def _serve_records(self, broker: Broker, port: RecordsApiPort) -> None:
        name = port.tls_listener
        await port.start(broker.services, None if name is None or self._tls is None else self._tls.port(name))

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

    def _send_clients_away(self) -> None:
        """Close all connections soon, because pending requests may wait for brokers that do not answer."""
        for listener in self._listeners:
            listener.finish(SENT_AWAY_MS)

    async def _finish_connections(self) -> None:
        """Let every connection send its answers. Those that do not finish in time are closed."""

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


@contextmanager
def _refusals(ground: str) -> Iterator[None]:
    """Raise ServeError in place of exceptions that mean that the ground of this name cannot be used."""
    try:
        yield
    except (ConfigError, FeatureError) as error:
        raise ServeError(str(error), usage=True) from error
    except GroundError as error:
        raise ServeError(str(error)) from error
    except OSError as error:
        raise ServeError(f"{ground} cannot be used: {error}") from error


def _connection_quotas(services: Services, max_connections: int) -> ConnectionQuotas:
    """Return the limits of all listeners' connections, which follow the configuration and the quotas of addresses."""
    config, configs, metadata = services.started_with, services.configs, services.metadata
    windows = Windows(config.quota_window_num, config.quota_window_size_seconds * 1000)
    quotas = ConnectionQuotas(max_connections, windows)

    def configure() -> None:
        quotas.configure(configs.broker.connection_numbers)

    def limit_addresses() -> None:
        quotas.limit_addresses(Limits(CONNECTION_CREATION_RATE, metadata.quotas))

    configure()
    limit_addresses()
    configs.on_change(lambda resource: configure() if resource.kind == BROKER else None)
    metadata.on_quotas_changed(limit_addresses)
    services.quotas.throttles[CONNECTION_CREATION_RATE] = quotas.throttles
    return quotas


def _listener_limits(config: BrokerConfig) -> ListenerLimits:
    return ListenerLimits(
        max_idle_ms=config.connections_max_idle_ms,
        connection=RequestLimits(max_frame_bytes=config.socket_request_max_bytes, largest_of=largest_frame),
    )


def _add_users(services: Services, users: Sequence[NewScramUser]) -> None:
    """Add the users that do not exist yet; an existing user's password stays as it is.

    Raise OSError if they cannot be stored. An error that arrives later is logged.
    """
    if not users:
        return
    from shareq.broker.metadata.changes import PutScram
    from shareq.broker.security.credentials import SALT_BYTES

    known = services.metadata.credentials
    added = services.metadata.alter_credentials(
        [
            PutScram(user.key, user.credential(services.env.secret_bytes(SALT_BYTES)))
            for user in users
            if user.key not in known
        ]
    )
    if added.done and added.value:
        raise OSError(added.value.message)
    added.on_complete(lambda failure: logger.error("users: not added: %s", failure.message) if failure else None)


def _tls_listeners(services: Services) -> TlsListeners:
    """Return the TLS listeners, with the stores configured at run time before this start, too. Raise ConfigError."""
    from shareq.broker.process.tls.listeners import TlsListeners  # OpenSSL, which a start without TLS need not load

    tls = TlsListeners(services.configs.broker, services.env.clock)
    services.configs.prepare_listeners = tls.prepare
    return tls


async def _oauth_listeners(config: BrokerConfig) -> OauthListeners | None:
    """Return the listeners with OAUTHBEARER, with their issuers' keys if these are available now; None if there are
    none. Raise ServeError.
    """
    if not any(security.oauth for security in config.security.values()):
        return None
    from shareq.broker.process.oauth.listeners import OauthListeners  # and its libraries, which others need not load

    try:
        oauth = OauthListeners(config, LoopClock(asyncio.get_running_loop()))
    except ConfigError as error:
        raise ServeError(str(error), usage=True) from error
    await oauth.start()
    return oauth


def _guard(
    services: Services,
    security: ListenerSecurity,
    authentications: Authentications,
    begin_oauth: Callable[[bool], Exchange] | None,
) -> Callable[[Connection], None] | None:
    """Return the function that adds a gate to each connection; None if the listener has no SASL."""
    if not security.sasl:
        return None
    from shareq.broker.network.sasl_gate import SaslGates
    from shareq.broker.security.credentials import SCRAM_MECHANISMS

    if not set(SCRAM_MECHANISMS).isdisjoint(security.mechanisms):
        _ = services.invented_credentials  # before the first client: its secret may have to be written down
    env = services.env
    return SaslGates(
        security, env.clock, services.scram_credential, env.secret_bytes, authentications, begin_oauth
    ).guard
