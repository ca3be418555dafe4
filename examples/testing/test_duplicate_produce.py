"""The answer to a write is lost, and the producer writes again. The wrong code has switched idempotence off."""

from typing import Any

import pytest
from kafka import KafkaProducer

from shareq.testing import Broker


def wrong(bootstrap: str) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=bootstrap, acks="all", retries=5, enable_idempotence=False)


def right(bootstrap: str) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=bootstrap, acks="all", retries=5, enable_idempotence=True)


@pytest.mark.shareq(topics=["payments"])
def test_a_payment_is_written_once_though_its_answer_was_lost(shareq_broker: Broker, code: Any) -> None:
    producer = code(shareq_broker.bootstrap)
    with shareq_broker.faults.on("Produce", nth=1).drop_answer() as fault:
        producer.send("payments", b"100").get(20)
        assert fault.hits == 1
    producer.close()
    assert [each.value for each in shareq_broker.records("payments")] == [b"100"]
