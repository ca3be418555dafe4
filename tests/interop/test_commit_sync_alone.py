"""The duration of librdkafka's `commit_sync` against librdkafka's own mock broker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import pytest
from confluent_kafka import AcknowledgeType, Producer, ShareConsumer

from tests.support.fakes.librdkafka_cluster import LibrdkafkaCluster

pytestmark = pytest.mark.interop

TOPIC, GROUP = "t", "g"
LEADER, OTHER = 1, 2
TIMEOUT_S: Final = 3.0
SLACK_S: Final = 5.0
"""The delay that a busy machine may add; a call that never returned would take longer."""


@pytest.fixture
def cluster() -> Iterator[LibrdkafkaCluster]:
    with LibrdkafkaCluster(2) as cluster:
        cluster.create_topic(TOPIC, 1)
        cluster.lead(TOPIC, 0, LEADER)
        cluster.coordinate(GROUP, OTHER)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for number in range(20):
            producer.produce(TOPIC, b"%d" % number)
        assert producer.flush(20) == 0
        yield cluster


@pytest.fixture
def consumer(cluster: LibrdkafkaCluster) -> ShareConsumer:
    """Return a consumer that has accepted records. It is not closed, which would wait for a silent broker as well."""
    consumer = ShareConsumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": GROUP,
            "share.acknowledgement.mode": "explicit",
            "max.poll.records": 4,
            "log_level": 0,
        }
    )
    consumer.subscribe([TOPIC])
    accept_some(consumer)
    return consumer


def accept_some(consumer: ShareConsumer) -> None:
    by = time.monotonic() + 30
    while not (records := [each for each in consumer.poll(0.5) if each.error() is None]):
        assert time.monotonic() < by
    for record in records:
        consumer.acknowledge(record, AcknowledgeType.ACCEPT)


def committed(consumer: ShareConsumer) -> tuple[list[str | None], float]:
    """Return the partitions' commit errors, and the seconds that the commit took."""
    began = time.monotonic()
    outcome = consumer.commit_sync(TIMEOUT_S)
    took_s = time.monotonic() - began
    return [None if error is None else error.args[0].name() for error in outcome.values()], took_s


def test_a_broker_that_answers_is_waited_for_no_longer(consumer: ShareConsumer) -> None:
    errors, took_s = committed(consumer)
    assert errors == [None]
    assert took_s < TIMEOUT_S


@pytest.mark.parametrize("moves", [False, True])
def test_a_silent_broker_is_waited_for_until_the_timeout(
    cluster: LibrdkafkaCluster, consumer: ShareConsumer, moves: bool
) -> None:
    """The call waits for the whole timeout, even if another broker leads by then.

    So a watchdog shorter than the timeout takes the call for a hang.
    """
    cluster.silence(LEADER)
    if moves:
        cluster.lead(TOPIC, 0, OTHER)
    errors, took_s = committed(consumer)
    assert errors == ["REQUEST_TIMED_OUT"]
    assert TIMEOUT_S <= took_s < TIMEOUT_S + SLACK_S


def test_a_killed_broker_is_not_waited_for(cluster: LibrdkafkaCluster, consumer: ShareConsumer) -> None:
    cluster.kill(LEADER)
    errors, took_s = committed(consumer)
    assert errors in (["_TRANSPORT"], ["NOT_LEADER_FOR_PARTITION"])  # the latter once the client has seen the end
    assert took_s < TIMEOUT_S
