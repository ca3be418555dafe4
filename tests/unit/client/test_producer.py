"""Producing each record once, to the partition that Java's producer chooses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shareq.client.core.connection import Exchange
from shareq.client.errors import BrokerError
from shareq.client.network import Network
from shareq.client.partitioner import murmur2
from shareq.client.producer import Producer, Written
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdResponse
from shareq.protocol.generated.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import BatchHeader, decode_records, read_header
from shareq.protocol.records.record_codec import RecordData
from tests.support.fakes.scripted_peer import HangUp, ScriptedBroker
from tests.support.fakes.scripted_world import World, topic


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
    """Return the leader of a topic of two partitions that answers with error codes for all partitions, or HangUp."""
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


def producers(broker: ScriptedBroker) -> list[tuple[int, int]]:
    return [(each.producer_id, each.base_sequence) for each in headers(broker)]


def sequences(broker: ScriptedBroker) -> list[int]:
    return [each.base_sequence for each in headers(broker)]


def headers(broker: ScriptedBroker) -> list[BatchHeader]:
    batches = [
        row.records
        for request in broker.requests
        if isinstance(request, ProduceRequest)
        for row in request.topic_data[0].partition_data
    ]
    return [read_header(batch) for batch in batches if batch is not None]


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


def test_a_batch_that_is_too_large_is_split(world: World) -> None:
    broker = taking(world, ErrorCode.MESSAGE_TOO_LARGE, 0, 0)
    producer = Producer(world.network(broker), "t")
    three = [RecordData(None, each) for each in (b"a", b"b", b"c")]
    assert producer.write(three, 0, partition=0) == [Written(0, 40), Written(0, 40), Written(0, 41)]
    assert sequences(broker) == [0, 0, 1]


def test_the_numbers_of_a_batch_that_failed_are_not_used_again(world: World) -> None:
    """The broker may have stored the batch, and the next would be out of order or a duplicate."""
    broker = taking(world, 0, ErrorCode.INVALID_RECORD, 0)
    ids = iter((5, 6))
    broker.scripts[ApiKey.INIT_PRODUCER_ID] = lambda _: InitProducerIdResponse(producer_id=next(ids), producer_epoch=0)
    producer = Producer(world.network(broker), "t")
    producer.write([RecordData(None, b"a")], 0, partition=0)
    with pytest.raises(BrokerError, match="INVALID_RECORD"):
        producer.write([RecordData(None, b"b")], 0, partition=0)
    producer.write([RecordData(None, b"c")], 0, partition=0)
    assert producers(broker) == [(5, 0), (5, 1), (6, 0)]


def test_a_write_that_is_interrupted_leaves_nothing_for_the_next_one(world: World) -> None:
    broker = taking(world, ErrorCode.NOT_ENOUGH_REPLICAS, 0)

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    network = Network(world.network(broker).config, clock=world.clock, sleep=interrupt)
    world.networks.append(network)
    producer = Producer(network, "t")
    with pytest.raises(KeyboardInterrupt):
        producer.write([RecordData(None, b"a")], 0, partition=0)
    assert producer.write([RecordData(None, b"b")], 0, partition=0) == [Written(0, 40)]
    last = broker.requests[-1]
    assert isinstance(last, ProduceRequest)
    records = decode_records(last.topic_data[0].partition_data[0].records or b"")
    assert [each.value for each in records] == [b"b"]


def test_all_partitions_are_sent_to_before_the_first_answer_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = taking(world, 0, 0)
    network = world.network(broker)
    producer = Producer(network, "t")
    collect, collected = network.core.driver.collect, list[int]()

    async def count(exchanges: Sequence[Exchange]) -> None:
        collected.append(len(exchanges))
        await collect(exchanges)

    monkeypatch.setattr(network.core.driver, "collect", count)
    keys = [b"%d" % each for each in range(20)]
    written = producer.write([RecordData(each, b"x") for each in keys], 0)
    assert {each.partition for each in written} == {0, 1}
    assert (sequences(broker), collected) == ([0, 0], [2])


def test_what_the_broker_says_of_a_record_is_said(world: World) -> None:
    broker = taking(world)
    said = BatchIndexAndErrorMessage(0, "no key, and the topic is compacted")

    def answer(_: Message) -> Message:
        rows = [PartitionProduceResponse(0, ErrorCode.INVALID_RECORD, record_errors=[said])]
        return ProduceResponse([TopicProduceResponse("t", partition_responses=rows)])

    broker.scripts[ApiKey.PRODUCE] = answer
    with pytest.raises(BrokerError, match="partition t-0: INVALID_RECORD: no key, and the topic is compacted"):
        Producer(world.network(broker), "t").write([RecordData(None, b"a")], 0, partition=0)


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
