"""A broker that forwards its clients' requests to a simulated cluster; what it does not forward stays in memory."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TypeVar

from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.data_folder_ground import DataFolderGround
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.topics.endpoint import Endpoint
from shareq.cluster.forward.coordinators import Coordinators
from shareq.cluster.forward.forwarding import Forwarding
from shareq.cluster.forward.produce_by_leader import Batches
from shareq.cluster.link.ports import Link, Purpose
from shareq.cluster.link.versions import Served, served_by_all
from shareq.cluster.mirror.topics import TopicMirror
from shareq.cluster.node.table import node_table
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.primitives import Message
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.world import ClusterWorld

R = TypeVar("R", bound=Message)

NODE_ID = 1_000_000
OWN_GROUP = "__shareq"


class ForwardingFolder(DataFolderGround):
    """A data folder, with a node's table of handlers and their link to the cluster."""

    def __init__(
        self,
        env: Environment,
        config: BrokerConfig,
        db: MemoryMetaDb,
        *,
        link: Link,
        served: Served,
        proxies: bool = True,
    ) -> None:
        super().__init__(env, config, db)
        begin = beginner(env.budget, Turns(env.clock.call_soon).run)
        topics = TopicMirror(env, link, begin)
        self.handlers = node_table(served, proxies=proxies)  # type: ignore[misc,assignment]
        batches = Batches(link, topics, env.clock)
        self.forwarding = Forwarding(
            link, topics, batches, Coordinators(link), "broker-1:9092,broker-2:9092", OWN_GROUP
        )


class ForwardingWorld(BrokerWorld):
    """The broker and the cluster behind it, on one clock.

    `forwarded` has the requests that left the broker, except for topic look-ups, by the cluster's broker that got them.
    """

    def __init__(
        self,
        settings: ClusterSettings | None = None,
        properties: Mapping[str, str] | None = None,
        *,
        served: Served | None = None,
        proxies: bool = True,
    ) -> None:
        self.proxies = proxies
        self.cluster_world = world = ClusterWorld(settings)
        self.cluster = world.cluster
        answer = world.ask(None, ApiVersionsRequest("shareq", "1"))
        assert isinstance(answer, ApiVersionsResponse)
        self.served = served or served_by_all([answer])
        self.forwarded: list[tuple[int | None, Message]] = []
        send = world.link.send

        def noted(node: int | None, message: Message, *, purpose: Purpose = Purpose.GENERAL, **how: object) -> object:
            if purpose is Purpose.FORWARD or type(message).__name__ != "MetadataRequest":
                self.forwarded.append((node, message))
            return send(node, message, purpose=purpose, **how)  # type: ignore[arg-type]

        world.link.send = noted  # type: ignore[method-assign,assignment]
        super().__init__({"node.id": str(NODE_ID), **(properties or {})}, clock=world.clock)

    def _boot(self) -> Broker:
        env = Environment(self.clock, Random(self._seed), self.fs)
        link = self.cluster_world.link
        broker = Broker(
            env,
            self.config,
            ForwardingFolder(env, self.config, self.db, link=link, served=self.served, proxies=self.proxies),
            endpoints={"PLAINTEXT": Endpoint(self.config.node_id, "127.0.0.1", 9092)},
        )
        broker.start()
        return broker

    def ask(self, client: MockConnection, request: Message, version: int, response_class: type[R]) -> R:
        client.send(request, version)
        self.clock.run_until_idle()
        for _ in range(100):
            if client.frames:
                break
            self.clock.advance(100)
        return client.receive(response_class)
