"""Transactional producers of every client: commit, abort, fencing, and who reads what; exactly once over kills.

librdkafka, kafka-python and aiokafka work in transaction version 1, Apache Kafka's own producer in version 2.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.interop.support.admin import configure_group, create_topic, produce
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.exactly_once import copy_in_processes
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
KILLS = 3


@pytest.fixture(scope="module")
def transactions_in_java() -> Iterator[JavaProcess]:
    missing = why_no_java()
    if missing is not None:
        pytest.skip(missing)
    process = JavaProcess(JAVA_SOURCE, timeout_s=300)
    yield process
    process.close()


@pytest.fixture(params=["librdkafka", "kafka-python", "aiokafka", "java"])
def new_producer(request: pytest.FixtureRequest, broker: BrokerUnderTest) -> Iterator[NewProducer]:
    """A producer of a transactional id, initialized."""
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
    """A transaction is begun, with three records in each of two partitions."""
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
    """What was answered before it counts with what comes after; what was aborted stays so."""
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


# Exactly once: consume, produce, and commit the offsets with what was produced.


class KillsInBetween:
    """Kills the broker now and then while something is at work; `kills` of them in all."""

    def __init__(self, broker: BrokerUnderTest, kills: int, seed: int) -> None:
        self._broker = broker
        self._left = kills
        self._rng = random.Random(seed)

    def while_at_work(self, work: Callable[[], None]) -> None:
        failed: list[BaseException] = []

        def at_work() -> None:
            try:
                work()
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=at_work)
        thread.start()
        while thread.is_alive():
            thread.join(self._rng.uniform(0.2, 0.7))
            if self._left and thread.is_alive():
                self._left -= 1
                self._broker.restart(kill=True)
        if failed:
            raise failed[0]
        assert not self._left, "the work was done before the last kill"


def copied(broker: BrokerUnderTest, topic: str, count: int) -> None:
    assert sorted(map(int, read_values(broker.bootstrap, topic, 3, "read_committed"))) == list(range(count))


@pytest.mark.crash
def test_exactly_once_in_java(broker: BrokerUnderTest, unique: Unique, transactions_in_java: JavaProcess) -> None:
    source, target, count = unique("source"), unique("target"), 10_000
    create_topic(broker.bootstrap, source)
    create_topic(broker.bootstrap, target, 3)
    produce(broker.bootstrap, source, ((0, str(number).encode()) for number in range(count)))
    clients = {"bootstrap.servers": broker.bootstrap, "reconnect.backoff.max.ms": "200", "request.timeout.ms": "5000"}
    config = {**clients, "transactional.id": unique("id"), "max.block.ms": "20000", "delivery.timeout.ms": "20000"}
    consumer = {**clients, "group.id": unique("group"), "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    consumer |= {"isolation.level": "read_committed", "max.poll.records": "10", "session.timeout.ms": "6000"}
    answer: dict[str, Any] = {}
    arguments = {"from": source, "to": target, "count": count}
    KillsInBetween(broker, KILLS, seed=1).while_at_work(
        lambda: answer.update(transactions_in_java.call("copy", config=config, consumer=consumer, **arguments))
    )
    assert answer["transactions"] >= count / 10
    copied(broker, target, count)


@pytest.mark.crash
def test_exactly_once_in_librdkafka(broker: BrokerUnderTest, unique: Unique) -> None:
    source, target, count = unique("source"), unique("target"), 5_000
    create_topic(broker.bootstrap, source)
    create_topic(broker.bootstrap, target, 3)
    produce(broker.bootstrap, source, ((0, str(number).encode()) for number in range(count)))
    name = unique("id")
    KillsInBetween(broker, KILLS, seed=2).while_at_work(
        lambda: copy_in_processes(broker.bootstrap, source, target, name, count)
    )
    copied(broker, target, count)
