"""Records are written once each, to the partition that Java's producer takes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shareq.client.errors import BrokerError
from shareq.client.partitioner import murmur2
from shareq.client.producer import Producer, Written
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdResponse
from shareq.protocol.generated.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import read_header
from shareq.protocol.records.record_codec import RecordData
from tests.support.fakes.scripted_peer import HangUp, ScriptedBroker
from tests.support.fakes.scripted_world import World, topic


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


@pytest.mark.parametrize(
    ("key", "java_says"),
    [  # of Apache Kafka's UtilsTest
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_are_hashed_as_in_java(key: bytes, java_says: int) -> None:
    assert murmur2(key) == java_says & 0xFFFFFFFF


def taking(world: World, *said: object) -> ScriptedBroker:
    """A leader of a topic of two partitions; its answers are error codes of all partitions, or HangUp."""
    broker = world.broker(1)
    world.topics = [topic(1, 1)]
    broker.scripts[ApiKey.INIT_PRODUCER_ID] = lambda _: InitProducerIdResponse(producer_id=5, producer_epoch=0)
    left = iter(said)

    def answer(request: Message) -> Message:
        assert isinstance(request, ProduceRequest)
        code = next(left)
        if code is HangUp:
            raise HangUp
        assert isinstance(code, int)
        rows = [
            PartitionProduceResponse(row.index, code, 40 if not code else -1)
            for row in request.topic_data[0].partition_data
        ]
        return ProduceResponse([TopicProduceResponse("t", partition_responses=rows)])

    broker.scripts[ApiKey.PRODUCE] = answer
    return broker


def sequences(broker: ScriptedBroker) -> list[int]:
    batches = [
        row.records
        for request in broker.requests
        if isinstance(request, ProduceRequest)
        for row in request.topic_data[0].partition_data
    ]
    return [read_header(batch).base_sequence for batch in batches if batch is not None]


def test_a_batch_whose_answer_was_lost_is_sent_again_under_its_number(world: World) -> None:
    broker = taking(world, HangUp, ErrorCode.DUPLICATE_SEQUENCE_NUMBER, 0)
    producer = Producer(world.network(broker), "t")
    two = [RecordData(None, b"a"), RecordData(None, b"b")]
    assert producer.write(two, 0, partition=1) == [Written(1, None), Written(1, None)]
    assert producer.write(two, 0, partition=1) == [Written(1, 40), Written(1, 41)]
    assert sequences(broker) == [0, 0, 2]


def test_a_leader_that_has_to_be_waited_for_is(world: World) -> None:
    broker = taking(world, ErrorCode.NOT_ENOUGH_REPLICAS, 0)
    assert Producer(world.network(broker), "t").write([RecordData(None, b"a")], 0, partition=0) == [Written(0, 40)]
    assert len(world.clock.slept) == 1


def test_what_is_refused_for_good_is_raised_at_once(world: World) -> None:
    broker = taking(world, ErrorCode.MESSAGE_TOO_LARGE)
    with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
        Producer(world.network(broker), "t").write([RecordData(None, b"a")], 0)
    assert world.clock.slept == []


def test_keys_keep_their_partition_and_others_take_turns(world: World) -> None:
    broker = taking(world, *[0] * 8)
    producer = Producer(world.network(broker), "t")
    assert len({producer.write([RecordData(b"foobar", b"x")], 0)[0].partition for _ in range(4)}) == 1
    assert len({producer.write([RecordData(None, b"x")], 0)[0].partition for _ in range(4)}) == 2


def test_a_topic_or_partition_that_is_missing(world: World) -> None:
    broker = taking(world)
    with pytest.raises(BrokerError, match="topic missing: UNKNOWN_TOPIC_OR_PARTITION"):
        Producer(world.network(broker), "missing").write([RecordData(None, b"a")], 0)
    with pytest.raises(BrokerError, match="partition t-2: UNKNOWN_TOPIC_OR_PARTITION"):
        Producer(world.network(broker), "t").write([RecordData(None, b"a")], 0, partition=2)
