"""The leader moves before an acknowledgement arrives, and the record is delivered again. The wrong code ships twice."""

from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer

from shareq.testing import Broker


def wrong(consumer: ShareConsumer, message: Any, shipped: list[bytes]) -> None:
    """Count an order as shipped, whatever the broker answered."""
    consumer.acknowledge(message, AcknowledgeType.ACCEPT)
    consumer.commit_sync()
    shipped.append(message.value())


def right(consumer: ShareConsumer, message: Any, shipped: list[bytes]) -> None:
    """Count an order as shipped when the broker has recorded it as accepted; all others come again."""
    consumer.acknowledge(message, AcknowledgeType.ACCEPT)
    if not any(consumer.commit_sync().values()):
        shipped.append(message.value())


@pytest.mark.shareq(topics=["orders"], groups=["shippers"])
def test_an_order_is_shipped_once_though_the_leader_was_lost(shareq_broker: Broker, code: Any) -> None:
    shipped: list[bytes] = []
    config = {"bootstrap.servers": shareq_broker.bootstrap, "group.id": "shippers"}
    with ShareConsumer({**config, "share.acknowledgement.mode": "explicit"}) as consumer:
        consumer.subscribe(["orders"])
        shareq_broker.produce("orders", "a vase")
        lost = False
        for _ in range(20):
            for message in consumer.poll(0.5):
                if lost:
                    code(consumer, message, shipped)
                    continue
                lost = True
                with shareq_broker.faults.leader_lost("orders"):
                    code(consumer, message, shipped)
            if shareq_broker.undone("shippers", "orders") == 0:
                break
    shareq_broker.assert_acknowledged("shippers", "orders", 1)
    assert shipped == [b"a vase"]
