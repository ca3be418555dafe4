"""Producers and consumers of real clients limited to their quota's rate, here as on Apache Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from kafka import KafkaProducer

from devtools.clients.admin import create_topic
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_client_quotas as rpc
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind

pytestmark = pytest.mark.interop

RATE = 100_000
VALUE = b"x" * 10_000
SECONDS = 8
# Two windows of a second: a client is slowed from the first second on.
SETTINGS = {"quota.window.num": "2", "quota.window.size.seconds": "1"}


@pytest.fixture(scope="module")
def broker(broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    running = BrokerUnderTest(broker_kind, SETTINGS)
    try:
        running.start()
        for key in ("producer_byte_rate", "consumer_byte_rate"):
            entity = [rpc.AlterClientQuotasRequestEntityData("client-id", "slow")]
            entry = rpc.AlterClientQuotasRequestEntryData(entity, [rpc.OpData(key, float(RATE), False)])
            with WireClient(("127.0.0.1", running.port)) as client:
                request = rpc.AlterClientQuotasRequest([entry], False)
                (answer,) = client.call(request, 1, rpc.AlterClientQuotasResponse).entries
            assert answer.error_code == ErrorCode.NONE
        yield running
    finally:
        running.remove()


def rate_of(step: Callable[[], int]) -> float:
    """Return bytes per second, without the first second's burst."""
    started = time.monotonic()
    total = 0
    while time.monotonic() - started < SECONDS:
        total += step()
    return (total - RATE) / (time.monotonic() - started)


def test_a_producer_of_librdkafka(broker: BrokerUnderTest) -> None:
    create_topic(broker.bootstrap, "rdkafka", 1)
    settings = {"bootstrap.servers": broker.bootstrap, "client.id": "slow", "linger.ms": 0, "batch.num.messages": 1}
    sender = Producer(settings)

    def step() -> int:
        sender.produce("rdkafka", VALUE)
        sender.flush()
        return len(VALUE)

    assert 0.7 * RATE < rate_of(step) < 1.3 * RATE


def test_a_producer_of_kafka_python(broker: BrokerUnderTest) -> None:
    create_topic(broker.bootstrap, "python", 1)
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap, client_id="slow")) as sender:

        def step() -> int:
            sender.send("python", VALUE).get(timeout=30)
            return len(VALUE)

        assert 0.7 * RATE < rate_of(step) < 1.3 * RATE


def test_a_producer_with_another_client_id_is_not_slowed(broker: BrokerUnderTest) -> None:
    create_topic(broker.bootstrap, "quick", 1)
    sender = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "quick"})
    started = time.monotonic()
    for _ in range(100):
        sender.produce("quick", VALUE)
    assert sender.flush(30) == 0
    assert 100 * len(VALUE) / (time.monotonic() - started) > 2 * RATE


def test_a_consumer_of_librdkafka(broker: BrokerUnderTest) -> None:
    create_topic(broker.bootstrap, "read", 1)
    sender = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "quick", "batch.num.messages": 1})
    for _ in range(2 * SECONDS * RATE // len(VALUE)):
        sender.produce("read", VALUE)
    assert sender.flush(30) == 0
    settings = {"bootstrap.servers": broker.bootstrap, "client.id": "slow", "group.id": "read"}
    with closing(Consumer({**settings, "enable.auto.commit": False, "fetch.message.max.bytes": 20_000})) as reader:
        reader.assign([Place("read", 0, 0)])

        def step() -> int:
            message = reader.poll(0.5)
            value = None if message is None else message.value()
            return len(value or b"")

        # Apache Kafka's is a third of it: fetches as large as the windows let through wait for both to be over.
        assert 0.2 * RATE < rate_of(step) < 1.3 * RATE
