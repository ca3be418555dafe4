"""Dead letters of records that share consumers (librdkafka's and ours) reject.

They are read by librdkafka's consumer, Java's and Apache Kafka's console consumer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, cast

import pytest
from confluent_kafka import AcknowledgeType as Kind
from confluent_kafka import Consumer, Message

from devtools.clients.admin import QUIET, configure_group, create_topic, produce, read_from_start
from shareq.client.config import ClientConfig
from shareq.client.share.range_consumer import ShareRangeConsumer
from shareq.client.share.session import AckRange
from shareq.protocol.share import AcknowledgeType
from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.clients import programs
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.share_ledger import Ledger, members, run_until

BROKER_SETTINGS = {
    "errors.deadletterqueue.auto.create.topics.enable": "true",
    "group.share.min.delivery.count.limit": "2",
}
PREFIX = "__dlq.errors."
Unique = Callable[[str], str]


class Said(NamedTuple):
    offset: int
    value: str
    headers: list[tuple[str, str]]


def with_queue(broker: BrokerUnderTest, unique: Unique, records: int, **own: str) -> tuple[str, str, str]:
    """Return a filled topic, a group that begins at its first record, and the group's queue, by name."""
    topic, group = unique("topic"), unique("group")
    queue = f"dlq.{topic}"
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, queue, 2, errors_deadletterqueue_group_enable="true")
    properties = {
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.copy.record.enable": "true",
        "share.delivery.count.limit": "2",
        **{name.replace("_", "."): value for name, value in own.items()},
    }
    configure_group(broker.bootstrap, group, properties)
    create_topic(broker.bootstrap, topic, 2)
    produce(broker.bootstrap, topic, ((number % 2, b"%d" % number) for number in range(records)))
    return topic, group, queue


def read(broker: BrokerUnderTest, queue: str, count: int) -> list[Message]:
    """Read this many messages of the queue by an ordinary consumer; more are a failure."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": f"reader-of-{queue}",
            "auto.offset.reset": "earliest",
            **QUIET,
        }
    )
    consumer.subscribe([queue])
    found: list[Message] = []
    deadline, quiet_since = time.monotonic() + 30, time.monotonic()
    while time.monotonic() < deadline and (len(found) < count or time.monotonic() - quiet_since < 0.5):
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message)
            quiet_since = time.monotonic()
    consumer.close()
    assert len(found) == count
    return found


def headers(message: Message) -> dict[str, str]:
    found = cast(list[tuple[str, bytes]], message.headers() or [])
    return {name: value.decode() for name, value in found}


def read_by_java(broker: BrokerUnderTest, queue: str, partition: int, count: int) -> list[Said]:
    consumer = programs.java()
    try:
        answer = consumer.call("fetch", bootstrap=broker.bootstrap, topic=queue, partition=partition, count=count)
    finally:
        consumer.close()
    return [Said(record["offset"], record["value"], list(record["headers"].items())) for record in answer["records"]]


def read_by_console(broker: BrokerUnderTest, java: JavaDriver, queue: str, partition: int, count: int) -> list[Said]:
    arguments = ["--bootstrap-server", broker.bootstrap, "--topic", queue, "--partition", str(partition)]
    arguments += ["--offset", "earliest", "--max-messages", str(count), "--timeout-ms", "20000"]
    for shown in ("print.headers", "print.offset"):
        arguments += ["--formatter-property", f"{shown}=true"]
    lines = [line for line in java.tool("consumer.ConsoleConsumer", *arguments).out.splitlines() if PREFIX in line]
    found = []
    for line in lines:
        offset, shown, value = line.split("\t")
        pairs = (header.split(":", 1) for header in shown.split(","))
        found.append(Said(int(offset.removeprefix("Offset:")), value, [(name, text) for name, text in pairs]))
    return found


def decide(message: Message) -> Kind:
    """Reject one record in three, and release another until it has failed as often as it may."""
    return (Kind.ACCEPT, Kind.REJECT, Kind.RELEASE)[int(message.value() or b"") % 3]


def _requires_dead_letters(broker: BrokerUnderTest) -> None:
    if broker.kind == "apache":
        pytest.skip("the scenes of test_dead_letters.py ask Apache Kafka")


def test_rejected_and_exhausted_records_of_librdkafkas_share_consumer(broker: BrokerUnderTest, unique: Unique) -> None:
    _requires_dead_letters(broker)
    topic, group, queue = with_queue(broker, unique, 60)
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, decide=decide) as joined:
        run_until(joined, lambda: sum(map(len, ledger.counts.values())) == 80)
        found = read(broker, queue, 40)
    values = sorted(int(message.value() or b"") for message in found)
    assert values == [number for number in range(60) if number % 3]
    for message in found:
        said = headers(message)
        number = int(message.value() or b"")
        assert (said["__dlq.errors.topic"], said["__dlq.errors.group"]) == (topic, group)
        assert int(said["__dlq.errors.partition"]) == number % 2 == message.partition()
        assert int(said["__dlq.errors.offset"]) == number // 2
        assert said["__dlq.errors.delivery.count"] == ("1" if number % 3 == 1 else "2")
        assert ("rejected" in said["__dlq.errors.message"]) is (number % 3 == 1)


@pytest.mark.interop
def test_java_consumers_read_letters_as_librdkafka_does(
    broker: BrokerUnderTest, unique: Unique, java: JavaDriver
) -> None:
    """Values, header order and partition are compared with KafkaConsumer and the console consumer."""
    _requires_dead_letters(broker)
    topic, group, queue = with_queue(broker, unique, 20)
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, decide=lambda _: Kind.REJECT) as joined:
        run_until(joined, ledger.finished_at_least(20))
        found = read(broker, queue, 20)
    for partition in range(2):
        expected = sorted(
            Said(message.offset() or 0, (message.value() or b"").decode(), list(headers(message).items()))
            for message in found
            if message.partition() == partition
        )
        assert [int(letter.value) for letter in expected] == list(range(partition, 20, 2))
        assert [name.removeprefix(PREFIX) for name, _ in expected[0].headers] == [
            "topic",
            "partition",
            "offset",
            "group",
            "delivery.count",
            "message",
        ]
        assert read_by_java(broker, queue, partition, 10) == expected
        assert read_by_console(broker, java, queue, partition, 10) == expected


def test_a_kept_queue_names_the_member_that_rejected(broker: BrokerUnderTest, unique: Unique) -> None:
    _requires_dead_letters(broker)
    topic, group, queue = with_queue(broker, unique, 10, shareq_dlq_keep="true")
    config = ClientConfig.from_properties(
        {"bootstrap.servers": broker.bootstrap, **protocol.properties(broker.bootstrap)}
    )
    rejected = 0
    with ShareRangeConsumer(config, group, [topic]) as member:
        deadline = time.monotonic() + 30
        while rejected < 10 and time.monotonic() < deadline:
            for got in member.poll(max_records=100, max_wait_ms=500):
                member.acknowledge([AckRange(got.topic_id, got.partition, got.first, got.last)], AcknowledgeType.REJECT)
                rejected += got.last - got.first + 1
        found = read(broker, queue, 10)
    assert {headers(message)["__dlq.errors.disposition"] for message in found} == {"CLIENT_REJECTED"}
    assert all(headers(message)["__dlq.errors.rejected.by"] for message in found)


def test_a_kill_while_kept_records_wait_loses_none(broker: BrokerUnderTest, unique: Unique) -> None:
    """The broker is killed while records die with the queue disabled, which is then enabled."""
    _requires_dead_letters(broker)
    topic, group, queue = with_queue(broker, unique, 30, shareq_dlq_keep="true", errors_deadletterqueue_topic_name="x")
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, decide=lambda _: Kind.REJECT) as joined:
        run_until(joined, ledger.finished_at_least(30))
    broker.restart(kill=True)
    configure_group(broker.bootstrap, group, {"errors.deadletterqueue.topic.name": queue})
    with members(broker.bootstrap, group, topic, Ledger(), decide=decide) as joined:
        joined[0].step(2.0)  # what died is found again by the first fetch
        found = read(broker, queue, 30)
    assert sorted(int(message.value() or b"") for message in found) == list(range(30))
