"""Impossible responses of a broker, one at a time: each raises a client error, on asyncio and blocking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from shareq.aio import ClientError, Producer
from shareq.client.aio.network import Network
from shareq.client.config import ClientConfig
from shareq.client.errors import Unintelligible, Unreachable
from shareq.client.network import Network as BlockingNetwork
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.find_coordinator import FindCoordinatorResponse
from shareq.protocol.generated.init_producer_id import InitProducerIdResponse
from shareq.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import ScriptedBroker

TOPIC_ID = b"t" * 16
WAIT_MS = 300


@pytest.fixture
def peer() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as broker:
        broker.scripts = {
            ApiKey.METADATA: metadata(broker, partitions=1),
            ApiKey.FIND_COORDINATOR: lambda _: FindCoordinatorResponse(),
            ApiKey.INIT_PRODUCER_ID: lambda _: InitProducerIdResponse(producer_id=1),
            ApiKey.PRODUCE: lambda _: ProduceResponse(),
        }
        yield broker


def metadata(broker: ScriptedBroker, partitions: int, port: int | None = None) -> Callable[[Message], Message]:
    rows = [MetadataResponsePartition(partition_index=at, leader_id=2) for at in range(partitions)]
    topic = MetadataResponseTopic(name="t", topic_id=TOPIC_ID, partitions=rows)
    brokers = [
        MetadataResponseBroker(1, broker.host, broker.port),
        MetadataResponseBroker(2, broker.host, broker.port if port is None else port),
    ]
    return lambda _: MetadataResponse(brokers=brokers, topics=[topic])


def config_of(peer: ScriptedBroker) -> ClientConfig:
    times = {"default.api.timeout.ms": str(WAIT_MS), "retry.backoff.ms": "10"}
    return ClientConfig.from_properties({"bootstrap.servers": peer.bootstrap, **times})


async def failure_of(peer: ScriptedBroker, call: Callable[[Network], object]) -> ClientError:
    network = Network(config_of(peer))
    try:
        with pytest.raises(ClientError) as raised:
            await call(network)  # type: ignore[misc]
        return raised.value
    finally:
        network.close()
        await network.wait_closed()


def blocking_failure_of(peer: ScriptedBroker, call: Callable[[BlockingNetwork], object]) -> ClientError:
    network = BlockingNetwork(config_of(peer))
    try:
        with pytest.raises(ClientError) as raised:
            call(network)
        return raised.value
    finally:
        network.close()


async def test_a_coordinator_that_is_left_out(peer: ScriptedBroker) -> None:
    found = await failure_of(peer, lambda network: network.coordinator("g"))
    assert isinstance(found, Unintelligible)
    assert "the coordinator of group g is not understood" in str(found)
    again = await asyncio.to_thread(blocking_failure_of, peer, lambda network: network.coordinator("g"))
    assert isinstance(again, Unintelligible)


@pytest.mark.parametrize("port", [-1, 0, 70_000, (1 << 31) - 1])
async def test_a_port_that_is_none(peer: ScriptedBroker, port: int) -> None:
    peer.scripts[ApiKey.METADATA] = metadata(peer, 1, port)
    found = await failure_of(peer, lambda network: network.connection(2))
    assert isinstance(found, Unreachable)
    assert str(port) in str(found)


async def test_a_topic_without_partitions(peer: ScriptedBroker) -> None:
    peer.scripts[ApiKey.METADATA] = metadata(peer, 0)
    found = await failure_of(peer, lambda network: network.partitions(TOPIC_ID))
    assert (type(found), str(found)) == (Unintelligible, "topic t has no partitions")
    again = await asyncio.to_thread(blocking_failure_of, peer, lambda network: network.partitions(TOPIC_ID))
    assert (type(again), str(again)) == (Unintelligible, "topic t has no partitions")


async def test_an_answer_to_produce_that_leaves_the_partition_out(peer: ScriptedBroker) -> None:
    async with Producer(peer.bootstrap) as producer:
        with pytest.raises(Unintelligible, match="an answer to Produce of partition t-0 is not understood"):
            await producer.send_and_wait("t", b"v")
