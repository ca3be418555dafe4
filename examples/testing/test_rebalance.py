"""A second consumer joins the group.

The wrong code commits rarely, so records since its last commit are processed twice.
"""

import time
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException

from shareq.testing import Broker


def config(bootstrap: str) -> dict[str, Any]:
    own = {"group.id": "readers", "enable.auto.commit": False, "heartbeat.interval.ms": 100}
    return {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", **own}


def wrong(bootstrap: str) -> Consumer:
    """Return a consumer that will commit when it has a hundred records."""
    consumer = Consumer(config(bootstrap))
    consumer.subscribe(["clicks"])
    return consumer


def right(bootstrap: str) -> Consumer:
    """Return a consumer that commits before its partitions go to another member."""
    consumer = Consumer(config(bootstrap))
    consumer.subscribe(["clicks"], on_revoke=commit)
    return consumer


def commit(consumer: Consumer, _partitions: Any) -> None:
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        if error.args[0].name() != "_NO_OFFSET":
            raise


def poll(consumer: Consumer, seen: list[bytes]) -> None:
    message = consumer.poll(0.1)
    if message is not None and message.error() is None:
        seen.append(message.value() or b"")


@pytest.mark.shareq(topics={"clicks": 2})
def test_a_rebalance_repeats_nothing(shareq_broker: Broker, code: Any) -> None:
    seen: list[bytes] = []
    for partition in range(2):
        shareq_broker.produce("clicks", *(f"{partition}-{each}" for each in range(5)), partition=partition)
    first = code(shareq_broker.bootstrap)
    until = time.monotonic() + 20
    while len(seen) < 10:
        assert time.monotonic() < until
        poll(first, seen)
    second = code(shareq_broker.bootstrap)
    while len(second.assignment()) != 1 or len(first.assignment()) != 1:
        assert time.monotonic() < until
        poll(first, seen)
        poll(second, seen)
    for partition in range(2):
        shareq_broker.produce("clicks", "last", partition=partition)
    while seen.count(b"last") < 2:
        assert time.monotonic() < until
        poll(first, seen)
        poll(second, seen)
    first.close()
    second.close()
    assert len(seen) == 12, f"{len(seen) - 12} records came twice"
