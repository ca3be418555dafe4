"""A record whose work failed has to be delivered again. The wrong code lets the client accept it."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer

from shareq.testing import Broker

Pack = Callable[[bytes], None]


def wrong(bootstrap: str, pack: Pack, polls: int) -> None:
    """Use implicit acknowledgement: the next poll accepts the records of the last one, failed or not."""
    with ShareConsumer({"bootstrap.servers": bootstrap, "group.id": "packers"}) as consumer:
        consumer.subscribe(["orders"])
        for _ in range(polls):
            for message in consumer.poll(0.5):
                try:
                    pack(message.value() or b"")
                except OSError as error:
                    print("not packed:", error)


def right(bootstrap: str, pack: Pack, polls: int) -> None:
    """Use explicit acknowledgement, and release failed records."""
    config = {"bootstrap.servers": bootstrap, "group.id": "packers", "share.acknowledgement.mode": "explicit"}
    with ShareConsumer(config) as consumer:
        consumer.subscribe(["orders"])
        for _ in range(polls):
            for message in consumer.poll(0.5):
                try:
                    pack(message.value() or b"")
                except OSError:
                    consumer.acknowledge(message, AcknowledgeType.RELEASE)
                else:
                    consumer.acknowledge(message, AcknowledgeType.ACCEPT)
            consumer.commit_sync()


@pytest.mark.shareq(topics=["orders"], groups=["packers"])
def test_what_failed_is_done_in_the_end(shareq_broker: Broker, code: Any) -> None:
    packed: list[bytes] = []
    failures = iter([OSError("no glue")])

    def pack(order: bytes) -> None:
        if order == b"a vase" and (failure := next(failures, None)):
            raise failure
        packed.append(order)

    shareq_broker.produce("orders", "apples", "a vase", "pears")
    code(shareq_broker.bootstrap, pack, polls=5)
    assert sorted(packed) == [b"a vase", b"apples", b"pears"]
    shareq_broker.assert_acknowledged("packers", "orders", 3)
