"""The broker is away for longer than the producer is patient. The wrong code sends and forgets."""

from collections.abc import Iterable
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer

from shareq.testing import Broker

IMPATIENT = {"message.timeout.ms": 500, "reconnect.backoff.max.ms": 100, "log_level": 0}


class wrong:
    """A program that sends and forgets."""

    def __init__(self, bootstrap: str) -> None:
        self.producer = Producer({"bootstrap.servers": bootstrap, **IMPATIENT})

    def send(self, orders: Iterable[bytes]) -> None:
        for order in orders:
            self.producer.produce("orders", order)
        self.producer.flush(5)


class right:
    """A program that keeps undelivered records, and sends them first the next time."""

    def __init__(self, bootstrap: str) -> None:
        self.producer = Producer({"bootstrap.servers": bootstrap, **IMPATIENT, "enable.idempotence": True})
        self.undelivered: list[bytes] = []

    def send(self, orders: Iterable[bytes]) -> None:
        waiting, self.undelivered = [*self.undelivered, *orders], []
        for order in waiting:
            self.producer.produce("orders", order, on_delivery=self._delivered)
        self.producer.flush(5)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.undelivered.append(message.value() or b"")


@pytest.mark.shareq(topics=["orders"])
def test_nothing_is_lost_while_the_broker_is_away(shareq_broker: Broker, code: Any) -> None:
    shop = code(shareq_broker.bootstrap)
    shop.send([b"apples"])
    shareq_broker.kill()
    shop.send([b"a vase"])
    shareq_broker.start()
    shop.send([b"pears"])
    for _ in range(10):
        shop.send([])
        if len(shareq_broker.records("orders")) == 3:
            break
    assert sorted(each.text for each in shareq_broker.records("orders")) == ["a vase", "apples", "pears"]
