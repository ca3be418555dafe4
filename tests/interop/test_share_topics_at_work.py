"""Topics that are created, grow, and are deleted and recreated under Apache Kafka's share consumer."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from devtools.clients.admin import QUIET, create_topic, produce, read_from_start
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver, JavaShareConsumer
from tests.interop.support.share_wire import eventually

pytestmark = pytest.mark.interop
BROKER_SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "300",
    "group.share.heartbeat.interval.ms": "300",
    "auto.create.topics.enable": "false",
}
Unique = Callable[[str], str]


def poll_for(consumer: JavaShareConsumer, *values: str, timeout_s: float = 30) -> None:
    """Poll until exactly these values have come, each once; the next poll acknowledges them."""
    due = sorted(values)
    got: list[str] = []
    deadline = time.monotonic() + timeout_s
    while sorted(got) != due:
        assert time.monotonic() < deadline, f"{got} instead of {due}"
        got += [record.value for record in consumer.poll(300)]
        assert set(got) <= set(due)
    consumer.commit_sync()


def test_a_topic_that_is_created_after_the_subscription(
    broker: BrokerUnderTest, java: JavaDriver, unique: Unique
) -> None:
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    consumer = java.consumer(broker.bootstrap, group, topic, metadata_max_age_ms=500)
    assert consumer.poll(500) == []
    create_topic(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, [(0, b"one"), (0, b"two")])
    poll_for(consumer, "one", "two")
    consumer.close()


def test_a_topic_that_grows(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, [(0, b"before")])
    consumer = java.consumer(broker.bootstrap, group, topic)
    poll_for(consumer, "before")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(10)
    produce(broker.bootstrap, topic, [(0, b"0"), (1, b"1"), (2, b"2")])
    poll_for(consumer, "0", "1", "2")
    consumer.close()


def test_a_topic_that_is_deleted_and_created_again(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, [(0, b"old %d" % number) for number in range(5)])
    consumer = java.consumer(broker.bootstrap, group, topic, metadata_max_age_ms=500)
    poll_for(consumer, *(f"old {number}" for number in range(5)))
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
    admin.delete_topics([topic])[topic].result(10)
    consumer.poll(500)
    create_again(broker, topic)
    produce(broker.bootstrap, topic, [(0, b"new 0"), (0, b"new 1")])
    poll_for(consumer, "new 0", "new 1")
    consumer.close()


def create_again(broker: BrokerUnderTest, topic: str) -> None:
    request = CreateTopicsRequest([CreatableTopic(topic, 1, 1)])

    def attempt() -> bool | None:
        answer = client.call(request, 7, CreateTopicsResponse).topics[0]
        return None if answer.error_code == ErrorCode.TOPIC_ALREADY_EXISTS else answer.error_code == ErrorCode.NONE

    with WireClient(("127.0.0.1", broker.port)) as client:
        assert eventually(attempt)
