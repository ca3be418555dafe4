"""Transactional producers of every client: commit, abort, fencing, and visibility to readers.

librdkafka, kafka-python and aiokafka use transaction version 1, Apache Kafka's own producer version 2.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from devtools.clients.admin import configure_group, create_topic, produce
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver, JavaProcess, why_no_java
from tests.interop.support.share_ledger import Ledger, members, run_until
from tests.interop.support.transactional import (
    JAVA_SOURCE,
    AiokafkaProducer,
    Fenced,
    JavaProducer,
    KafkaPythonProducer,
    LibrdkafkaProducer,
    TransactionalProducer,
    read_values,
)

pytestmark = pytest.mark.interop
Unique = Callable[[str], str]
NewProducer = Callable[[str], TransactionalProducer]
BROKER_SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="module")
def transactions_in_java() -> Iterator[JavaProcess]:
    missing = why_no_java()
    if missing is not None:
        pytest.skip(missing)
    process = JavaProcess(JAVA_SOURCE)
    yield process
    process.close()


@pytest.fixture(params=["librdkafka", "kafka-python", "aiokafka", "java"])
def new_producer(request: pytest.FixtureRequest, broker: BrokerUnderTest) -> Iterator[NewProducer]:
    made: list[TransactionalProducer] = []

    def make(transactional_id: str) -> TransactionalProducer:
        producer: TransactionalProducer
        if request.param == "java":
            java = request.getfixturevalue("transactions_in_java")
            producer = JavaProducer(java, broker.bootstrap, transactional_id)
        elif request.param == "kafka-python":
            producer = KafkaPythonProducer(broker.bootstrap, transactional_id)
        elif request.param == "aiokafka":
            producer = AiokafkaProducer(broker.bootstrap, transactional_id)
        else:
            producer = LibrdkafkaProducer(broker.bootstrap, transactional_id)
        made.append(producer)
        return producer

    yield make
    for producer in made:
        producer.close()


def written(producer: TransactionalProducer, topic: str, name: str) -> list[str]:
    """Begin a transaction and write three records to each of two partitions."""
    producer.begin()
    values = [f"{name}-{number}" for number in range(6)]
    producer.send(topic, 0, values[:3])
    producer.send(topic, 1, values[3:])
    return values


def test_committed_and_aborted_transactions(broker: BrokerUnderTest, unique: Unique, new_producer: NewProducer) -> None:
    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 2)
    producer = new_producer(unique("id"))
    committed: list[str] = []
    everything: list[str] = []
    for number in range(6):
        values = written(producer, topic, f"t{number}")
        everything += values
        if number % 3 == 1:
            producer.abort()
        else:
            producer.commit()
            committed += values
    assert sorted(read_values(broker.bootstrap, topic, 2, "read_committed")) == sorted(committed)
    assert sorted(read_values(broker.bootstrap, topic, 2, "read_uncommitted")) == sorted(everything)


def test_an_open_transaction_holds_readers_back(
    broker: BrokerUnderTest, unique: Unique, new_producer: NewProducer
) -> None:
    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 2)
    producer = new_producer(unique("id"))
    first = written(producer, topic, "first")
    produce(broker.bootstrap, topic, [(0, b"plain")])
    assert read_values(broker.bootstrap, topic, 2, "read_committed") == []
    producer.commit()
    assert sorted(read_values(broker.bootstrap, topic, 2, "read_committed")) == sorted([*first, "plain"])


def test_a_second_producer_fences_the_first(broker: BrokerUnderTest, unique: Unique, new_producer: NewProducer) -> None:
    topic, name = unique("topic"), unique("id")
    create_topic(broker.bootstrap, topic, 2)
    zombie = new_producer(name)
    written(zombie, topic, "lost")
    producer = new_producer(name)

    def go_on() -> None:
        zombie.send(topic, 0, ["zombie"])
        zombie.commit()

    with pytest.raises(Fenced):
        go_on()
    values = written(producer, topic, "kept")
    producer.commit()
    assert sorted(read_values(broker.bootstrap, topic, 2, "read_committed")) == sorted(values)


def test_share_consumers_get_what_is_committed(
    broker: BrokerUnderTest, unique: Unique, new_producer: NewProducer, java: JavaDriver
) -> None:
    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 2)
    producer = new_producer(unique("id"))
    kept = written(producer, topic, "kept")
    producer.commit()
    written(producer, topic, "lost")
    producer.abort()
    kept += written(producer, topic, "kept too")
    producer.commit()
    group, java_group = unique("librdkafka"), unique("java")
    for each in (group, java_group):
        configs = {"share.auto.offset.reset": "earliest", "share.isolation.level": "read_committed"}
        configure_group(broker.bootstrap, each, configs)
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger) as joined:
        run_until(joined, ledger.finished_at_least(len(kept)))
        joined[0].step(0.3)
    assert sorted(value.decode() for value in ledger.values.values()) == sorted(kept)
    consumer = java.consumer(broker.bootstrap, java_group, topic)
    got: list[str] = []
    deadline = time.monotonic() + 30
    while len(got) < len(kept):
        assert time.monotonic() < deadline, got
        got += [record.value for record in consumer.poll(300)]
    assert consumer.poll(300) == []
    consumer.close()
    assert sorted(got) == sorted(kept)


@pytest.mark.crash
@pytest.mark.parametrize(
    "kill", [pytest.param(False, marks=pytest.mark.thorough, id="clean restart"), pytest.param(True, id="kill -9")]
)
def test_a_transaction_outlives_a_restart(
    broker: BrokerUnderTest, unique: Unique, new_producer: NewProducer, kill: bool
) -> None:
    """Records from before and after the restart are committed together; aborted ones stay aborted."""
    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 2)
    producer = new_producer(unique("id"))
    written(producer, topic, "lost")
    producer.abort()
    values = written(producer, topic, "before")
    broker.restart(kill=kill)
    producer.send(topic, 0, ["after"])
    producer.commit()
    assert sorted(read_values(broker.bootstrap, topic, 2, "read_committed")) == sorted([*values, "after"])
