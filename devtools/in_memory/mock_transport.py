"""A whole broker without sockets: frames through the real connection code, virtual time, a disk in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, TypeVar, cast

from devtools.clients.wire import RequestsInFlight
from devtools.in_memory.mem_fs import CrashModel, MemFs
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.data_folder_ground import DataFolderGround, data_folder_of
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.collector import COLLECTOR
from shareq.broker.metadata.store import NewTopic
from shareq.broker.network.answers import Buffer
from shareq.broker.network.client_lines import ClientLines
from shareq.broker.network.connection import Connection
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.services import Services
from shareq.broker.topics.endpoint import Endpoint
from shareq.broker.topics.leaders import LeaderMap
from shareq.coordinator.ports import TopicImage
from shareq.protocol.primitives import Message

if TYPE_CHECKING:
    from shareq.broker.ground import ShareStateStore

R = TypeVar("R", bound=Message)

DATA = "data"


class BrokerWorld:
    """A broker that is never started as a process. `restart` keeps disk and database.

    Brokers of one cluster share `clock` and `db`; `states` holds this broker's share state if the state is kept
    elsewhere. `endpoints` are its addresses for clients, by listener; by default one listener.
    """

    logs_every_refusal = False
    """Set it if every closed connection must have a line in the log, whatever their number."""

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        seed: int = 1,
        clock: VirtualClock | None = None,
        db: MemoryMetaDb | None = None,
        states: ShareStateStore | None = None,
        endpoints: Mapping[str, Endpoint] | None = None,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.fs = MemFs(self.clock.call_soon, Random(seed))
        self.db = db or MemoryMetaDb()
        self._states = states
        self.config = BrokerConfig.load({"log.dirs": DATA, **(properties or {})})
        self._seed = seed
        own = Endpoint(self.config.node_id, "127.0.0.1", 9091 + self.config.node_id)
        self._endpoints = endpoints or {"PLAINTEXT": own}
        self._connections = 0
        self.broker = self._boot()

    @property
    def services(self) -> Services:
        """The parts of the running broker."""
        return self.broker.services

    @property
    def folder(self) -> DataFolderGround:
        """The running broker's ground."""
        return data_folder_of(self.broker.services)

    @property
    def leaders(self) -> LeaderMap:
        """The map of partitions led by other brokers, which a test changes."""
        return self.folder.leaders

    def connect(
        self,
        *,
        client_id: str | None = "mock",
        limits: RequestLimits | None = None,
        listener: str = "PLAINTEXT",
    ) -> MockConnection:
        """Return a client's connection."""
        self._connections += 1
        return MockConnection(self, self._connections, client_id, limits or RequestLimits(), listener)

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> TopicImage:
        """Create a topic; dots in property names are written as underscores."""
        return self.folder.metadata.create_topic(
            NewTopic(name, partitions, {key.replace("_", "."): value for key, value in configs.items()})
        )

    def restart(self, *, clean: bool = True) -> None:
        """Stop and start again; connections are lost."""
        self.broker.close(clean=clean)
        self.clock.drop_everything()
        self.broker = self._boot()

    def crash(self, model: CrashModel = CrashModel.PROCESS_KILL) -> None:
        """Kill the process and start it again; connections are lost.

        A power loss also loses writes that were not synced.
        """
        self.clock.drop_everything()
        COLLECTOR.let_go_by_all()  # what it does to this process would outlive it
        self.fs.crash(model, Random(self._seed))
        self.broker = self._boot()

    def _boot(self) -> Broker:
        env = Environment(self.clock, Random(self._seed), self.fs)
        ground = DataFolderGround(env, self.config, self.db, states=self._states)
        broker = Broker(env, self.config, ground, endpoints=self._endpoints)
        broker.start()
        return broker


class MockConnection:
    """A client, its connection, and everything written to it; the `Outlet` of the broker's side.

    `requests` are the unanswered ones.
    """

    def __init__(
        self,
        world: BrokerWorld,
        number: int,
        client_id: str | None,
        limits: RequestLimits,
        listener: str = "PLAINTEXT",
    ) -> None:
        self._clock = world.clock
        self.requests = RequestsInFlight(client_id)
        self.frames: deque[bytes] = deque()  # answers without their sizes, not yet received
        self.writes = 0
        self.closed = False
        self.reading = True
        self.side = Connection(
            number,
            "127.0.0.1",
            listener,
            handler_for=world.broker.handler_for,
            call_soon=world.clock.call_soon,
            outlet=self,
            limits=limits,
            now_ns=world.clock.now_ns,
            budget=world.broker.services.request_budget,
            lines=ClientLines(None if world.logs_every_refusal else world.services.client_lines),
        )

    # -- the client

    def call(self, request: Message, version: int, response_class: type[R]) -> R:
        """Send a request and receive its answer, without letting time pass."""
        self.send(request, version)
        return self.receive(response_class)

    def send(self, request: Message, version: int) -> None:
        """Send a request; its answer is received later."""
        self.send_raw(self.requests.frame_of(request, version))

    def send_raw(self, data: bytes) -> None:
        self.side.receive(data)

    def receive(self, response_class: type[R]) -> R:
        """Return the answer to the oldest request in flight; AssertionError if it has not come."""
        self._clock.run_until_idle()
        assert self.frames, "no answer yet"
        return cast(R, self.requests.response(self.frames.popleft()))

    def receive_frame(self) -> bytes:
        """Return the oldest answer as it came, without its size."""
        self._clock.run_until_idle()
        self.requests.forget_oldest()
        return self.frames.popleft()

    def disconnect(self) -> None:
        """Disconnect the client without notice."""
        self.closed = True
        self.side.lost()

    # -- the broker's outlet

    def write(self, buffers: list[Buffer]) -> None:
        self.writes += 1
        data, at = b"".join(buffers), 0
        while at < len(data):
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            assert at + 4 <= end <= len(data), "whole answers, each with its size"
            self.frames.append(data[at + 4 : end])
            at = end

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._clock.call_soon(self.side.lost)

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True
