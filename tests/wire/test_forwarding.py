"""A node's forwarding over real connections, with shareq itself as the cluster, a separate broker implementation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from devtools.clients.requests import batch, create_topic, produce
from devtools.clients.wire import WireClient
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.data_folder_ground import DataFolderGround
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.process.server import Server
from shareq.broker.topics.endpoint import Endpoint
from shareq.client.config import ClientConfig
from shareq.cluster.forward.coordinators import Coordinators
from shareq.cluster.forward.forwarding import Forwarding
from shareq.cluster.forward.produce_by_leader import Batches
from shareq.cluster.link.network import NetworkLink
from shareq.cluster.link.versions import served_by_all
from shareq.cluster.mirror.topics import TopicMirror
from shareq.cluster.node.table import node_table
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.testing import Broker, wait_until

NODE_ID = 1_000_000


class ForwardingFolder(DataFolderGround):
    """A data folder with a node's handler table, which forwards to the cluster."""

    @classmethod
    async def before(cls, bootstrap: str, env: Environment, config: BrokerConfig) -> ForwardingFolder:
        link = NetworkLink(ClientConfig.from_properties({"bootstrap.servers": bootstrap}))
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        link.send(None, ApiVersionsRequest("shareq", "1")).on_complete(answer.set_result)
        served = await answer
        assert isinstance(served, ApiVersionsResponse)
        ground = cls(env, config, MemoryMetaDb())
        ground.link = link
        topics = TopicMirror(env, link, beginner(env.budget, Turns(env.clock.call_soon).run))
        ground.handlers = node_table(served_by_all([served]))  # type: ignore[misc,assignment]
        batches = Batches(link, topics, env.clock)
        ground.forwarding = Forwarding(link, topics, batches, Coordinators(link), bootstrap, "__shareq")
        ground.topics = topics
        return ground

    link: NetworkLink
    forwarding: Forwarding
    topics: TopicMirror

    def close(self, *, clean: bool) -> None:
        self.topics.close()
        self.link.close()
        super().close(clean=clean)


async def forwarded(cluster: str, folder: Path) -> None:
    grounds: list[ForwardingFolder] = []
    config = BrokerConfig.load(
        {"node.id": str(NODE_ID), "listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(folder)}
    )

    async def make(env: Environment, _: Mapping[str, Endpoint]) -> ForwardingFolder:
        grounds.append(await ForwardingFolder.before(cluster, env, config))
        return grounds[0]

    server = Server(config, make_ground=make)
    await server.start()
    try:
        await asyncio.to_thread(by_the_nodes_address, server.addresses[0])
    finally:
        await server.stop()
        await grounds[0].link.wait_closed()


def by_the_nodes_address(address: str) -> None:
    host, _, port = address.partition(":")
    with WireClient((host, int(port))) as client:
        create_topic(client, "orders", 2)
        for number in range(50):
            row = produce(client, "orders", batch(b"%d" % number), partition=number % 2, acks=-1)
            assert (row.error_code, row.base_offset) == (ErrorCode.NONE, number // 2)
        assert end_of(client, 1) == 25
        grown = client.call(
            CreatePartitionsRequest([CreatePartitionsTopic("orders", 3, None)], 5_000), 3, CreatePartitionsResponse
        )
        assert grown.results[0].error_code == ErrorCode.NONE
        # Until the mirror has looked again, which it does because a producer asked for what it does not know.
        wait_until(lambda: produce(client, "orders", batch(b"x"), partition=2).error_code == ErrorCode.NONE)
        ids = client.call(InitProducerIdRequest(None, 0), 4, InitProducerIdResponse)
        assert ids.error_code == ErrorCode.NONE
        deleted = client.call(DeleteTopicsRequest([DeleteTopicState("orders")]), 6, DeleteTopicsResponse)
        assert deleted.responses[0].error_code == ErrorCode.NONE
        assert produce(client, "orders", batch(b"x")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def end_of(client: WireClient, partition: int) -> int:
    asked = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", [ListOffsetsPartition(partition, -1, -1)])])
    return client.call(asked, 7, ListOffsetsResponse).topics[0].partitions[0].offset


def test_a_client_does_everything_by_the_address_of_a_node(tmp_path: Path) -> None:
    with Broker() as cluster:
        asyncio.run(forwarded(cluster.bootstrap, tmp_path / "node"))
        with WireClient(("127.0.0.1", int(cluster.bootstrap.rpartition(":")[2]))) as client:
            assert end_of(client, 0) == -1  # the topic is deleted there, too
