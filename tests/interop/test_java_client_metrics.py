"""The metrics of Apache Kafka's share consumer, which must be plausible with our answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest

from devtools.clients.admin import configure_group, create_topic, produce, read_from_start
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import Delivered, JavaDriver, JavaShareConsumer

pytestmark = pytest.mark.interop
BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000"}
Unique = Callable[[str], str]

RECORDS = 120
VALUE_BYTES = 100


def measured(consumer: JavaShareConsumer) -> Mapping[str, float]:
    return consumer.metrics("consumer-share-fetch-manager-metrics")


def first_records(consumer: JavaShareConsumer) -> list[Delivered]:
    deadline = time.monotonic() + 30
    while not (records := consumer.poll()):
        assert time.monotonic() < deadline, "nothing came within 30 s"
    return records


def all_records(consumer: JavaShareConsumer, number: int) -> list[Delivered]:
    got: list[Delivered] = []
    deadline = time.monotonic() + 30
    while len(got) < number:
        assert time.monotonic() < deadline, f"{len(got)} of {number} records within 30 s"
        records = consumer.poll()
        got += records
        consumer.acknowledge((record.partition, record.offset, "ACCEPT") for record in records)
        assert set(consumer.commit_sync().values()) <= {None}
    return got


def test_metrics_of_fetches_and_acknowledgements(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    create_topic(broker.bootstrap, topic, 2)
    produce(broker.bootstrap, topic, ((number % 2, b"x" * VALUE_BYTES) for number in range(RECORDS)))
    consumer = java.consumer(broker.bootstrap, group, topic, share_acknowledgement_mode="explicit")
    all_records(consumer, RECORDS)
    reported = measured(consumer)
    assert reported["records-consumed-total"] == RECORDS
    assert reported["acknowledgements-send-total"] == RECORDS
    assert reported["acknowledgements-error-total"] == 0
    assert RECORDS * VALUE_BYTES <= reported["bytes-consumed-total"] < 2 * RECORDS * VALUE_BYTES
    assert 1 <= reported["records-per-request-max"] <= RECORDS
    assert 0 < reported["fetch-size-max"] <= reported["bytes-consumed-total"]
    assert reported["fetch-total"] >= 1
    assert 0 <= reported["fetch-latency-avg"] <= reported["fetch-latency-max"] < 30_000
    assert reported["fetch-throttle-time-max"] == 0
    for name in ("records-consumed-rate", "acknowledgements-send-rate", "fetch-rate"):
        assert reported[name] > 0, name
    consumer.close()


def test_acknowledgements_that_come_too_late(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    """The records' locks have expired, and another member holds them."""
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    configure_group(broker.bootstrap, group, {"share.record.lock.duration.ms": "1000"})
    create_topic(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, ((0, b"%d" % number) for number in range(10)))
    late = java.consumer(broker.bootstrap, group, topic, share_acknowledgement_mode="explicit")
    held = first_records(late)
    other = java.consumer(broker.bootstrap, group, topic, share_acknowledgement_mode="explicit")
    assert {record.delivery_count for record in first_records(other)} == {2}
    late.acknowledge((record.partition, record.offset, "ACCEPT") for record in held)
    assert set(late.commit_sync().values()) == {"InvalidRecordStateException"}
    reported = measured(late)
    assert reported["acknowledgements-send-total"] == len(held)
    assert reported["acknowledgements-error-total"] == len(held)
    late.close()
    other.close()
