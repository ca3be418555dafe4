"""A cluster of scripted brokers and a client of it, on a clock that only sleeping moves."""

from __future__ import annotations

import socket

from shareq.client.config import ClientConfig
from shareq.client.network import Network
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID, Message
from tests.support.fakes.scripted_peer import ScriptedBroker

ID = b"t" * 16


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class World:
    """A cluster by its brokers' metadata: node -> broker, which may change while it runs."""

    def __init__(self) -> None:
        self.nodes: dict[int, ScriptedBroker] = {}
        self.topics: list[MetadataResponseTopic] = []
        self.brokers: list[ScriptedBroker] = []
        self.networks: list[Network] = []
        self.clock = Clock()

    def broker(self, node: int | None = None, family: socket.AddressFamily = socket.AF_INET) -> ScriptedBroker:
        broker = ScriptedBroker({ApiKey.METADATA: self.metadata, ApiKey.FETCH: fetched}, family=family)
        self.brokers.append(broker)
        if node is not None:
            self.nodes[node] = broker
        return broker

    def metadata(self, request: Message) -> Message:
        assert isinstance(request, MetadataRequest)
        wanted = {topic.name or topic.topic_id for topic in request.topics or ()}
        rows = [MetadataResponseBroker(node, broker.host, broker.port) for node, broker in self.nodes.items()]
        topics = [topic for topic in self.topics if topic.name in wanted or topic.topic_id in wanted]
        missing = wanted - {topic.name for topic in topics} - {topic.topic_id for topic in topics}
        return MetadataResponse(brokers=rows, topics=topics + [_missing(which) for which in missing])

    def network(self, *bootstrap: ScriptedBroker | str, **properties: str) -> Network:
        """Return a client's network on this world's clock. Underscores stand for dots in names."""
        servers = ",".join(one if isinstance(one, str) else one.bootstrap for one in bootstrap)
        given = {name.replace("_", "."): value for name, value in properties.items()}
        config = ClientConfig.from_properties({"bootstrap.servers": servers, **given})
        network = Network(config, clock=self.clock, sleep=self.clock.sleep)
        self.networks.append(network)
        return network

    def impatient(self, *bootstrap: ScriptedBroker) -> Network:
        """Return a client's network on the real clock that waits one second for answers, which suffices on a busy
        machine.
        """
        network = self.network(*bootstrap, request_timeout_ms="1000")
        network = Network(network.config)
        self.networks.append(network)
        return network

    def close(self) -> None:
        for network in self.networks:
            network.close()
        for broker in self.brokers:
            broker.close()


def _missing(which: str | bytes) -> MetadataResponseTopic:
    if isinstance(which, str):
        return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, which, ZERO_UUID)
    return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, which)


def fetched(_: Message) -> Message:
    return FetchResponse(session_id=7)


def topic(*leaders: int, name: str = "t", topic_id: bytes = ID, epoch: int = 0) -> MetadataResponseTopic:
    rows = [
        MetadataResponsePartition(partition_index=number, leader_id=leader, leader_epoch=epoch)
        for number, leader in enumerate(leaders)
    ]
    return MetadataResponseTopic(0, name, topic_id, partitions=rows)
