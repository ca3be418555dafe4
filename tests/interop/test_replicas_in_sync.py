"""One broker serving transactions and share groups with Apache Kafka's default of two in-sync replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer, ShareConsumer

from devtools.clients.admin import QUIET, create_topic, read_from_start
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind

pytestmark = pytest.mark.interop

SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "2",
}


@pytest.fixture(scope="module")
def broker(broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    running = BrokerUnderTest(broker_kind, SETTINGS)
    try:
        running.start()
        yield running
    finally:
        running.remove()


def test_a_transaction_is_committed_and_its_record_is_shared(
    broker: BrokerUnderTest, unique: Callable[[str], str]
) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic)
    read_from_start(broker.bootstrap, group)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, **QUIET})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"shared")
    producer.commit_transaction(30)
    consumer = ShareConsumer({"bootstrap.servers": broker.bootstrap, "group.id": group, **QUIET})
    consumer.subscribe([topic])
    try:
        found: list[bytes | None] = []
        while not found:
            found = [message.value() for message in consumer.poll(30)]
    finally:
        consumer.close()
    assert found == [b"shared"]
