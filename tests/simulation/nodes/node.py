"""One simulated node over its restarts: a whole broker without sockets, on the ground of the simulated cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from devtools.in_memory.mem_fs import MemFs
from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import sleep
from shareq.broker.topics.endpoint import Endpoint
from shareq.cluster.link.counted import CountedLink
from shareq.cluster.link.versions import served_by_all
from shareq.cluster.membership.group import MembershipSettings
from shareq.cluster.membership.lease import LeaseClock
from shareq.cluster.membership.nodes import NodeMap, Placement, SlotId
from shareq.cluster.node.ground import Cluster, NodeGround, NodeSettings
from shareq.cluster.node.state_topics import GROUPS, STATES
from shareq.cluster.state.log import SlotLog
from shareq.cluster.state.pruning import PruningSettings
from shareq.cluster.state.slot import StateTopic
from shareq.cluster.state.take_over import TakeOverSettings
from shareq.cluster.state.topics import WantedTopic, check_topic
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from tests.simulation.nodes.client import ClientConnection
from tests.simulation.nodes.peers import NodePeers
from tests.simulation.nodes.process import ProcessClock
from tests.support.cluster.among_nodes import AmongNodes
from tests.support.cluster.process_link import ProcessLink
from tests.support.coroutines import begun
from tests.support.fakes.kept_by_nodes import MemoryKept

if TYPE_CHECKING:
    from tests.simulation.nodes.world import NodesWorld

SLOTS: Final = 3
FIRST_NODE_ID: Final = 1_000_000
LEASE_MS: Final = 6_000
APPEND_TIMEOUT_MS: Final = 5_000
AGAIN_MS: Final = 300
"""The pause before a start without an answer is repeated."""
GOODBYE_MS: Final = 20
"""The time in which the other nodes learn of a clean stop."""

_TOPICS: Final = {
    SHARE_GROUP_STATE: WantedTopic(STATES, SLOTS, compacted=False),
    CONSUMER_OFFSETS: WantedTopic(GROUPS, SLOTS, compacted=True),
}


class Life:
    """One process of a node. `ground` and `broker` are set once it has found the cluster."""

    def __init__(self, world: NodesWorld, node: NodeProcess, number: int) -> None:
        self.clock = ProcessClock(world.clock)
        self.ground: NodeGround | None = None
        self.broker: Broker | None = None
        self.peers: NodePeers | None = None
        self.nodes: AmongNodes | None = None
        self.connections: list[ClientConnection] = []
        self._world = world
        self._node = node
        self._link = ProcessLink(world.cluster.link(node.name, request_timeout_ms=5_000), self.clock.deliver)
        self._env = Environment(self.clock, Random(f"{world.seed} {node.name} {number}"), MemFs(self.clock.call_soon))
        begun(self._env, self._begin())

    async def _begin(self) -> None:
        topics = {name: await self._topic(wanted) for name, wanted in _TOPICS.items()}
        while not isinstance(
            answer := await self._link.send(None, ApiVersionsRequest("sim", "1")), ApiVersionsResponse
        ):
            await sleep(self.clock, AGAIN_MS)
        world, endpoints = self._world, {"PLAINTEXT": self._node.endpoint}
        cluster = Cluster("broker-1:9092", world.cluster.cluster_id, served_by_all([answer]), topics)
        config = BrokerConfig.load({"node.id": str(self._node.node_id), **world.properties})
        if world.spreads:
            self.nodes = AmongNodes(world.clock, partial(world.reach, self._node), self.clock.deliver)
            self.nodes.loses = world.rng.choice([0, 0, 1, 3])
        self.ground = ground = NodeGround(
            self._env,
            config,
            CountedLink(self.clock, self._link),
            cluster,
            self._settings(),
            endpoints=endpoints,
            kept=MemoryKept(self.clock.call_soon),
            lease_clock=self._lease_clock(),
            make_peers=self._make_peers,
            nodes=self.nodes,
        )
        ground.ownership.on_map = partial(self._on_map, ground.ownership.on_map)  # type: ignore[method-assign]
        self.broker = Broker(self._env, config, ground, endpoints=endpoints)
        self.broker.start()

    def _on_map(
        self,
        take: Callable[[str, NodeMap, Callable[[], None]], None],
        mine: str,
        node_map: NodeMap,
        heard: Callable[[], None],
    ) -> None:
        """Let the world record each map, before the node may join again."""
        take(mine, node_map, heard)
        self._world.note_map()

    async def _topic(self, wanted: WantedTopic) -> StateTopic:
        while True:
            checked = await check_topic(self._env, self._link, wanted)
            if checked.topic is not None:
                return checked.topic
            await sleep(self.clock, AGAIN_MS)

    def _settings(self) -> NodeSettings:
        world, node_id = self._world, self._node.node_id
        return NodeSettings(
            version="1.0",
            proxies=True,
            read_ahead_bytes=1 << 20,
            lease_ms=LEASE_MS,
            membership=MembershipSettings(),
            take_over=TakeOverSettings(
                node_id, transactional_ids=world.transactional_ids, append_timeout_ms=APPEND_TIMEOUT_MS
            ),
            pruning=PruningSettings(interval_ms=5_000, least_offsets=world.least_offsets),
            placement=Placement.TOPIC if world.spreads else Placement.ONE,
        )

    def _lease_clock(self) -> LeaseClock:
        return self._world.clock  # which goes on while a machine is suspended

    def _make_peers(self, opened: Callable[[str], None], lost: Callable[[str, bool], None]) -> NodePeers:
        self.peers = NodePeers(self._world, self.clock, opened, lost)
        return self.peers

    def end(self, *, clean: bool) -> None:
        """End the process: its machine resets the connections."""
        if clean and self.ground is not None and self.broker is not None:
            self.ground.leave()
            self.broker.stop_waiting()
            self._world.clock.advance(GOODBYE_MS)
            self.broker.close(clean=True)
        self.clock.die()
        self._link.close()
        if self.nodes is not None:
            self.nodes.close()
        for each in list(self.connections):
            each.end()


class NodeProcess:
    """A node. `start` begins a process, which `kill` and `stop` end; `hold` and `go_on` are SIGSTOP and SIGCONT."""

    def __init__(self, world: NodesWorld, number: int) -> None:
        self.node_id: Final = FIRST_NODE_ID + number
        self.name: Final = f"node-{number}"
        self.endpoint: Final = Endpoint(self.node_id, self.name, 9092)
        self.life: Life | None = None
        self.refuses = False
        """True if connections from other nodes are refused on their way to it: it is taken for ended."""
        self._world = world
        self._lives = 0

    @property
    def is_dead(self) -> bool:
        return self.life is None

    @property
    def is_held(self) -> bool:
        return self.life is not None and self.life.clock.is_held

    @property
    def is_running(self) -> bool:
        return self.life is not None and not self.life.clock.is_held

    @property
    def listens(self) -> bool:
        """Return whether clients can connect, which also works with a stopped process."""
        return self.life is not None and self.life.broker is not None

    @property
    def ground(self) -> NodeGround | None:
        return None if self.life is None else self.life.ground

    @property
    def holds(self) -> Collection[SlotId]:
        return () if self.ground is None or self.is_held else self.ground.ownership.holds

    def log_of(self, slot: SlotId) -> SlotLog | None:
        return None if self.ground is None or slot not in self.holds else self.ground.logs.of(slot)

    def connect(self, timeout_ms: int) -> ClientConnection | None:
        """Connect a client with this timeout for answers; None if no process listens."""
        if self.life is None or self.life.broker is None:
            return None
        return ClientConnection(self._world, self.life, self.life.broker, timeout_ms)

    def start(self) -> None:
        assert self.life is None
        self._lives += 1
        self.life = Life(self._world, self, self._lives)

    def kill(self) -> None:
        self._end(clean=False)

    def stop(self) -> None:
        self._end(clean=True)

    def _end(self, *, clean: bool) -> None:
        assert self.life is not None
        self._world.note_map()
        broker = self.life.broker
        self.life.end(clean=clean)
        self.life = None
        self._end_requests(broker)
        self.reset()

    def reset(self) -> None:
        self._end_requests(None if self.life is None else self.life.broker)
        for node in self._world.nodes.values():
            if node.life is not None and node.life.peers is not None:
                node.life.peers.reset(self.name)

    def _end_requests(self, broker: Broker | None) -> None:
        for node in self._world.nodes.values():
            if broker is not None and node.life is not None and node.life.nodes is not None:
                node.life.nodes.cut(broker)

    def hold(self, *, suspends: bool = False) -> None:
        assert self.life is not None
        self.life.clock.hold(suspends=suspends)

    def go_on(self) -> None:
        assert self.life is not None
        self.life.clock.go_on()
