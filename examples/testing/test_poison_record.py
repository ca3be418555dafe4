"""An unreadable record should not be tried again. The wrong code releases it until it is dead."""

import json
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer

from shareq.testing import Broker


def worker(bootstrap: str, after_failure: AcknowledgeType, polls: int) -> int:
    """Work on orders. Return how often one could not be read."""
    config = {"bootstrap.servers": bootstrap, "group.id": "packers", "share.acknowledgement.mode": "explicit"}
    failures = 0
    with ShareConsumer(config) as consumer:
        consumer.subscribe(["orders"])
        for _ in range(polls):
            for message in consumer.poll(0.5):
                try:
                    json.loads(message.value() or b"")
                    consumer.acknowledge(message, AcknowledgeType.ACCEPT)
                except ValueError:
                    failures += 1
                    consumer.acknowledge(message, after_failure)
            consumer.commit_sync()
    return failures


def wrong(bootstrap: str, polls: int) -> int:
    return worker(bootstrap, AcknowledgeType.RELEASE, polls)


def right(bootstrap: str, polls: int) -> int:
    return worker(bootstrap, AcknowledgeType.REJECT, polls)


@pytest.mark.shareq(topics=["orders"], groups={"packers": {"deliveries": 5, "dead_letters": "dlq.orders"}})
def test_poison_is_a_dead_letter_at_once(shareq_broker: Broker, code: Any) -> None:
    shareq_broker.produce("orders", '{"item": "vase"}', "no JSON", '{"item": "pears"}')
    failures = code(shareq_broker.bootstrap, polls=6)
    shareq_broker.assert_dead_lettered("packers", "no JSON")
    assert failures == 1
