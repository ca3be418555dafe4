"""Nodes in front of a simulated cluster, and their clients: frames in and out, on virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final, TypeVar

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.broker import Broker
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.topics.endpoint import Endpoint
from shareq.cluster.link.counted import CountedLink
from shareq.cluster.link.versions import served_by_all
from shareq.cluster.membership.group import MembershipSettings
from shareq.cluster.membership.nodes import Placement
from shareq.cluster.node.ground import Cluster, NodeGround, NodeSettings
from shareq.cluster.node.metadata import KeptByNodes
from shareq.cluster.node.state_topics import GROUPS, STATES
from shareq.cluster.state.slot import StateTopic
from shareq.cluster.state.take_over import TakeOverSettings
from shareq.cluster.state.topics import WantedTopic, check_topic
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.protocol.primitives import Message
from tests.support.cluster.among_nodes import AmongNodes, Reached
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.world import ClusterWorld
from tests.support.fakes.kept_by_nodes import MemoryKept

R = TypeVar("R", bound=Message)

NODE_ID: Final = 1_000_000
SLOTS: Final = 4


class NoPeerLinks:
    """`PeerLinks` that never notice a dead peer, so that only the membership can."""

    def connect(self, peer: str, host: str, port: int) -> None: ...

    def disconnect(self, peer: str) -> None: ...

    def close(self) -> None: ...


PATIENCE_MS: Final = 60_000


class PatientConnection(MockConnection):
    """A connection whose client waits up to a minute for an answer."""

    def receive(self, response_class: type[R]) -> R:
        for _ in range(PATIENCE_MS // 10):
            self._clock.run_until_idle()
            if self.frames or self.closed:
                break
            self._clock.advance(10)
        return super().receive(response_class)


class Among:
    """Nodes that each own some of the slots, by the hosts that they listen at."""

    def __init__(self) -> None:
        self.worlds: dict[str, NodeWorld] = {}

    def reach(self, host: str) -> Reached | None:
        world = self.worlds.get(host)
        return None if world is None else Reached(world.broker, world.clock, lambda call: call())


class NodeWorld(BrokerWorld):
    """One node and the cluster behind it, on one clock. `among`: the nodes that it shares the slots with."""

    def __init__(
        self,
        settings: ClusterSettings | None = None,
        properties: Mapping[str, str] | None = None,
        *,
        behind: ClusterWorld | None = None,
        kept: KeptByNodes | None = None,
        node_id: int = NODE_ID,
        among: Among | None = None,
    ) -> None:
        self.behind = behind or ClusterWorld(settings)
        self.cluster = self.behind.cluster
        self.link = self.behind.new_link(f"node-{node_id}")
        self.grounds: list[NodeGround] = []
        self.kept: KeptByNodes = kept or MemoryKept(self.behind.clock.call_soon)
        self._among = among
        self._host = f"node-{node_id}"
        super().__init__({"node.id": str(node_id), **(properties or {})}, clock=self.behind.clock)
        if among is not None:
            among.worlds[self._host] = self

    @property
    def stands_on(self) -> NodeGround:
        return self.grounds[-1]

    def look(self) -> Cluster:
        begin = beginner(self.behind.env.budget, in_ticks(self.clock.call_soon))
        topics: dict[str, StateTopic] = {}
        for name, known_as, compacted in ((STATES, SHARE_GROUP_STATE, False), (GROUPS, CONSUMER_OFFSETS, True)):
            wanted = WantedTopic(name, SLOTS, compacted, replication_factor=1, min_insync_replicas=1)
            checked = self.behind.wait(begin(check_topic(self.behind.env, self.link, wanted)))
            assert checked.topic is not None, checked.refusals
            topics[known_as] = checked.topic
        answer = self.behind.wait(self.link.send(None, ApiVersionsRequest("shareq", "1")))
        assert isinstance(answer, ApiVersionsResponse)
        return Cluster("broker-1:9092", "simulated", served_by_all([answer]), topics)

    def _boot(self) -> Broker:
        cluster = self.look()
        env = Environment(self.clock, Random(self._seed), self.fs)
        host = "127.0.0.1" if self._among is None else self._host
        endpoints = {"PLAINTEXT": Endpoint(self.config.node_id, host, 9092)}
        nodes = None if self._among is None else AmongNodes(self.clock, self._among.reach, lambda call: call())
        ground = NodeGround(
            env,
            self.config,
            CountedLink(self.clock, self.link),
            cluster,
            NodeSettings(
                version="test",
                proxies=True,
                read_ahead_bytes=16 << 20,
                lease_ms=6_000,
                membership=MembershipSettings(),
                take_over=TakeOverSettings(self.config.node_id),
                placement=Placement.ONE if nodes is None else Placement.TOPIC,
            ),
            endpoints=endpoints,
            lease_clock=self.clock,
            kept=self.kept,
            make_peers=lambda _opened, _lost: NoPeerLinks(),
            nodes=nodes,
        )
        self.grounds.append(ground)
        broker = Broker(env, self.config, ground, endpoints=endpoints)
        broker.start()
        return broker

    def connect(
        self,
        *,
        client_id: str | None = "mock",
        limits: RequestLimits | None = None,
        listener: str = "PLAINTEXT",
    ) -> MockConnection:
        self._connections += 1
        return PatientConnection(self, self._connections, client_id, limits or RequestLimits(), listener)

    def until_it_serves(self) -> None:
        slots = sum(topic.partitions for topic in self.stands_on.cluster.topics.values())
        for _ in range(600):
            if len(self.stands_on.ownership.holds) == slots:
                return
            self.clock.advance(100)
        raise AssertionError(f"{len(self.stands_on.ownership.holds)} of {slots} slots are owned after a minute")
