"""A worker that is too slow loses its lock, and another one does the work as well. The wrong code counts it twice."""

from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, Message, ShareConsumer

from shareq.testing import Broker

Ledger = dict[Any, int]


def wrong(ledger: Ledger, message: Message, amount: int) -> None:
    """Write a line for each delivery."""
    ledger[len(ledger)] = amount


def right(ledger: Ledger, message: Message, amount: int) -> None:
    """Write one line for each record, identified by partition and offset, however often it is delivered."""
    ledger[message.topic(), message.partition(), message.offset()] = amount


def member(bootstrap: str) -> ShareConsumer:
    config = {"bootstrap.servers": bootstrap, "group.id": "bookkeepers", "share.acknowledgement.mode": "explicit"}
    consumer = ShareConsumer(config)
    consumer.subscribe(["payments"])
    return consumer


def next_record(consumer: ShareConsumer) -> Message:
    for _ in range(20):
        for message in consumer.poll(0.5):
            return message
    raise AssertionError("no record came")


@pytest.mark.shareq(topics=["payments"], groups=["bookkeepers"])
def test_a_payment_counts_once_though_a_lock_was_lost(shareq_broker: Broker, code: Any) -> None:
    ledger: Ledger = {}
    shareq_broker.produce("payments", "100")
    slow, quick = member(shareq_broker.bootstrap), member(shareq_broker.bootstrap)
    late = next_record(slow)
    shareq_broker.clock.advance(31)  # the lock ends, while the worker is still at it

    again = next_record(quick)
    code(ledger, again, int(again.value() or 0))
    quick.acknowledge(again, AcknowledgeType.ACCEPT)
    quick.commit_sync()

    code(ledger, late, int(late.value() or 0))
    slow.acknowledge(late, AcknowledgeType.ACCEPT)
    slow.commit_sync()  # says nothing: the group is done with the record

    assert sum(ledger.values()) == 100
    slow.close()
    quick.close()
