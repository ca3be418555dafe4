"""kafka-python: a producer, and a consumer with assigned partitions (no group), over restarts and kills."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import closing

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from devtools.clients.admin import create_topic
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.plain_log import Promised, Read

Unique = Callable[[str], str]


def producer(bootstrap: str, **settings: object) -> KafkaProducer:
    return KafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        reconnect_backoff_max_ms=250,
        request_timeout_ms=5000,
        delivery_timeout_ms=60_000,
        **settings,
    )


def read_all(bootstrap: str, topic: str, partitions: int) -> Read:
    read = Read()
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    with closing(KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)) as consumer:
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        ends = consumer.end_offsets(places)
        while any(consumer.position(place) < end for place, end in ends.items()):
            for place, records in consumer.poll(timeout_ms=500).items():
                for record in records:
                    read.add(place.partition, record.offset, record.value)
    return read


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_records_come_back_with_key_headers_and_timestamp(
    broker: BrokerUnderTest, unique: Unique, compression: str | None
) -> None:
    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 2)
    place = TopicPartition(topic, 1)
    with closing(producer(broker.bootstrap, compression_type=compression, linger_ms=10)) as sender:
        sent = [
            sender.send(
                topic, b"v%d" % n, key=b"k%d" % n, headers=[("h", b"%d" % n)], partition=1, timestamp_ms=1_700_000 + n
            )
            for n in range(100)
        ]
        assert [future.get(30).offset for future in sent] == list(range(100))
    with closing(KafkaConsumer(bootstrap_servers=broker.bootstrap, enable_auto_commit=False)) as consumer:
        consumer.assign([place])
        consumer.seek(place, 40)
        records: list[ConsumerRecord] = []
        while len(records) < 60:
            records += consumer.poll(timeout_ms=500).get(place, [])
        assert [record.offset for record in records] == list(range(40, 100))
        assert [(r.key, r.value, r.headers, r.timestamp) for r in records] == [
            (b"k%d" % n, b"v%d" % n, [("h", b"%d" % n)], 1_700_000 + n) for n in range(40, 100)
        ]
        assert consumer.beginning_offsets([place]) == {place: 0}
        found = consumer.offsets_for_times({place: 1_700_000 + 55})[place]
        assert (found.offset, found.timestamp) == (55, 1_700_055)


@pytest.mark.crash
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
@pytest.mark.parametrize("kill", [False, True], ids=["clean restart", "kill -9"])
def test_confirmed_records_outlive_a_restart(
    broker: BrokerUnderTest, unique: Unique, kill: bool, idempotent: bool
) -> None:
    """No confirmed record is lost; an idempotent producer's retries leave no duplicates."""
    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 2)
    promised = Promised()
    with closing(producer(broker.bootstrap, enable_idempotence=idempotent, linger_ms=2)) as sender:
        numbers = itertools.count()

        def send_some() -> None:
            sent = {}
            for number in itertools.islice(numbers, 100):
                sent[b"%d" % number] = sender.send(topic, b"%d" % number, partition=number % 2)
            for value, future in sent.items():
                answer = future.get(60)
                promised.confirmed[(answer.partition, answer.offset)] = value

        for _ in range(5):
            send_some()
        broker.restart_while(send_some, kill=kill)
        send_some()
    read_all(broker.bootstrap, topic, 2).check(promised, once=idempotent)
