"""A Kafka cluster in memory, on virtual time and seeded chance, behind the port `Link`.

    world = ClusterWorld(seed=1)                       # world.py: clock, chance, a node's link
    topic = world.cluster.create_topic("orders", partitions=2)
    answer = world.ask(None, MetadataRequest(None))    # or world.link.send(...), world.clock.advance(ms)

Brokers are modules by subject (`handlers.py` names them), each with the sources of its rules. Shareq's own code checks
record batches (`Admission`) and keeps topics' properties, fetch sessions and classic groups; interop tests compare all
of these with Apache Kafka. Logs, offsets, epochs, sequences, transactions and elections are written separately here, so
that nodes are not judged by their own code. `tests/support/cluster_scripts/` compares the whole with Apache Kafka.

Not simulated: replicas that lag behind each other, segments, retention by time or size, quotas, TLS and logins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Environment, TimerHandle
from shareq.cluster.link.ports import BrokerAddress
from shareq.protocol.primitives import Message
from tests.support.cluster.broker import SimulatedBroker
from tests.support.cluster.controller import Controller, Deposed
from tests.support.cluster.coordinators import Coordinators
from tests.support.cluster.faults import Direction, Faults, Loss, PlannedLoss
from tests.support.cluster.groups import Groups
from tests.support.cluster.image import Image, TopicState
from tests.support.cluster.link import SimulatedLink
from tests.support.cluster.log import ClusterLog
from tests.support.cluster.replication import Replication
from tests.support.cluster.rights import Rights
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.transactions import Transactions

if TYPE_CHECKING:
    from tests.support.cluster.link import Connection

_PORT = 9092


class _Process(Enum):
    RUNNING = "running"
    PAUSED = "paused"  # SIGSTOP: sockets fill up, nothing is handled
    DEAD = "dead"


class SimulatedCluster:
    def __init__(self, env: Environment, settings: ClusterSettings | None = None) -> None:
        self.env = env
        self.settings = settings = settings or ClusterSettings()
        self.config = BrokerConfig.load(settings.properties)
        self.cluster_id = "simulated-cluster-id-0"
        self.addresses = {each: BrokerAddress(f"broker-{each}", _PORT) for each in settings.brokers}
        self.rights, self.faults = Rights(), Faults()
        self._connections: list[Connection] = []
        self._processes = dict.fromkeys(settings.brokers, _Process.RUNNING)
        self._deferred: dict[int, list[Callable[[], None]]] = {each: [] for each in settings.brokers}
        self._fencing: dict[int, TimerHandle] = {}
        self.brokers = {each: SimulatedBroker(each, self) for each in settings.brokers}
        self.controller = Controller(env, self._published, self._deposed)
        self.replication, self.coordinators = Replication(self), Coordinators(self)
        self.transactions, self.groups = Transactions(self), Groups(self)
        for each in settings.brokers:
            self.controller.unfence(each)

    def link(self, name: str, *, bootstrap: Sequence[int] = (), request_timeout_ms: int = 30_000) -> SimulatedLink:
        return SimulatedLink(self, name, tuple(bootstrap) or self.settings.brokers, request_timeout_ms)

    # -- topics and logs

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> TopicState:
        known = self.controller.image.topics.get(name)
        if known is not None:
            return known
        assignment = self.controller.assign(
            partitions or self.settings.default_partitions,
            replication_factor or self.settings.default_replication_factor,
        )
        return self.controller.create_topic(name, assignment, configs or {})

    def topic(self, name: str) -> TopicState:
        """Return a topic of the controller's image; KeyError if it is missing."""
        return self.controller.image.topics[name]

    def log(self, name: str, partition: int = 0) -> ClusterLog:
        return self.controller.logs[self.topic(name).topic_id, partition]

    def leader(self, name: str, partition: int = 0) -> int:
        """Return the broker that leads a partition, or -1."""
        return self.topic(name).partitions[partition].leader

    def append(self, name: str, batch: bytes | bytearray, partition: int = 0) -> int:
        """Append a batch as a producer outside the simulation would, replicated at once; return its first offset."""
        log, key = self.log(name, partition), (self.topic(name).topic_id, partition)
        header = log.append(batch, self.topic(name).partitions[partition].epoch)
        self.replication.go_on(key)
        return header.base_offset

    def hold_replication(self, name: str, partition: int = 0) -> None:
        """Stop replication: acks=all waits and no new record is readable until `release_replication`."""
        self.replication.hold((self.topic(name).topic_id, partition))

    def release_replication(self, name: str, partition: int = 0) -> None:
        self.replication.release((self.topic(name).topic_id, partition))

    def expire_producers(self) -> None:
        """Make every partition forget producers that were silent for `producer.id.expiration.ms`."""
        for log in self.controller.logs.values():
            log.producers.expire(self.env.clock.wall_ms(), self.settings.producer_id_expiration_ms)

    def compact(self, name: str, partition: int = 0, upto: int | None = None) -> None:
        log = self.log(name, partition)
        log.compact(log.high_watermark if upto is None else upto)

    # -- elections

    def elect(self, name: str, leader: int, partition: int = 0, *, keep_to: int | None = None) -> None:
        """Elect another leader, or the same one again.

        Its log ends at `keep_to` if given: below the high watermark the election is unclean, and acknowledged records
        are lost. A live leader has all records.
        """
        assert keep_to is None or leader != self.leader(name, partition) or self.is_dead(leader)
        key = self.topic(name).topic_id, partition
        self.controller.elect(key, leader, keep_to)
        self.replication.go_on(key)

    def hold_news(self, broker: int) -> None:
        """Withhold the controller's images from a broker: it keeps using the last one."""
        self.brokers[broker].hears = False

    def release_news(self, broker: int) -> None:
        self.brokers[broker].hears = True
        self.brokers[broker].take_in(self.controller.image)

    def _published(self, image: Image) -> None:
        for broker in self.brokers.values():
            broker.take_in(image)
        self.groups.changed()

    def _deposed(self, deposed: Deposed) -> None:
        self.brokers[deposed.broker].strand(deposed.key, deposed.log)

    # -- processes

    def is_running(self, broker: int) -> bool:
        """Return whether a broker handles requests and copies records from leaders."""
        return self._processes[broker] is _Process.RUNNING

    def is_dead(self, broker: int) -> bool:
        return self._processes[broker] is _Process.DEAD

    def when_running(self, broker: int, action: Callable[[], None]) -> None:
        """Run a broker's action now or when it runs again; never if it dies."""
        if self.is_running(broker):
            action()
        elif not self.is_dead(broker):
            self._deferred[broker].append(action)

    def pause(self, broker: int) -> None:
        """Pause a broker's process (SIGSTOP): it does not answer, and is fenced after its session timeout."""
        self._stop(broker, _Process.PAUSED)

    def kill(self, broker: int) -> None:
        """Kill a broker's process: its connections are reset, new ones refused."""
        self._stop(broker, _Process.DEAD)
        self._deferred[broker].clear()
        self.brokers[broker].restarted()
        for connection in self._connections_to(broker):
            connection.broker_died()

    def _stop(self, broker: int, process: _Process) -> None:
        self._processes[broker] = process
        self.hold_news(broker)
        clock = self.env.clock
        if broker not in self._fencing and broker in self.controller.image.live:
            due = clock.now_ms() + self.settings.broker_session_timeout_ms
            self._fencing[broker] = clock.call_at(due, lambda: self._fence(broker))

    def _fence(self, broker: int) -> None:
        del self._fencing[broker]
        self.controller.fence(broker)
        self.replication.go_on_everywhere()

    def resume(self, broker: int) -> None:
        """Resume a paused broker (SIGCONT), with the requests in its sockets and the metadata that it had."""
        assert self._processes[broker] is _Process.PAUSED
        self._processes[broker] = _Process.RUNNING
        deferred, self._deferred[broker] = self._deferred[broker], []
        for connection in self._connections_to(broker):
            connection.pump()
        for action in deferred:
            action()
        self._came_back(broker)

    def start(self, broker: int) -> None:
        assert self._processes[broker] is _Process.DEAD
        self._processes[broker] = _Process.RUNNING
        self._came_back(broker)

    def _came_back(self, broker: int) -> None:
        timer = self._fencing.pop(broker, None)
        if timer is not None:
            timer.cancel()
        self.release_news(broker)
        if broker not in self.controller.image.live:
            self.controller.unfence(broker)
        self.replication.go_on_everywhere()

    def silence(self) -> None:
        """Pause every broker; none is fenced, because the controllers are paused, too."""
        for broker in self.brokers:
            self._processes[broker] = _Process.PAUSED

    def end_silence(self) -> None:
        for broker in self.brokers:
            self.resume(broker)

    # -- the network

    def cut(self, node: str, *brokers: int, only: Direction | None = None) -> None:
        """Cut a node off from brokers, in one direction or both; messages on their way wait."""
        for direction in Direction if only is None else (only,):
            self.faults.cuts.update((node, broker, direction) for broker in brokers or self.brokers)

    def heal(self, node: str, *brokers: int) -> None:
        healed = set(brokers or self.brokers)
        self.faults.cuts = {each for each in self.faults.cuts if each[0] != node or each[1] not in healed}
        for broker in healed:
            for connection in self._connections_to(broker):
                connection.pump()

    def delay(self, node: str, broker: int, ms: int, only: Direction | None = None) -> None:
        for direction in Direction if only is None else (only,):
            self.faults.delays[node, broker, direction] = ms

    def lose_answer(self, node: str, broker: int, kind: type[Message]) -> None:
        """Let the broker handle the node's next request of this kind, then end the connection without an answer."""
        self.faults.losses.append(PlannedLoss(Loss.ANSWER, node, broker, lambda message: isinstance(message, kind)))

    def lose_request(self, node: str, broker: int, kind: type[Message]) -> None:
        """End the connection before the broker handles the node's next request of this kind."""
        self.faults.losses.append(PlannedLoss(Loss.REQUEST, node, broker, lambda message: isinstance(message, kind)))

    def connected(self, connection: Connection) -> None:
        """Register a connection: faults affect it until it is over on both sides."""
        self._connections = [each for each in self._connections if not each.is_over]
        self._connections.append(connection)

    def _connections_to(self, broker: int) -> list[Connection]:
        return [connection for connection in self._connections if connection.broker == broker]
