"""A transaction is aborted. The wrong code is a consumer with its defaults, which sees what never happened."""

from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from shareq.testing import Broker


def wrong(bootstrap: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer("payments", bootstrap_servers=bootstrap, auto_offset_reset="earliest")


def right(bootstrap: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        "payments", bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    )


@pytest.mark.shareq(topics=["payments"])
async def test_an_aborted_payment_is_none(shareq_broker: Broker, code: Any) -> None:
    async with AIOKafkaProducer(bootstrap_servers=shareq_broker.bootstrap, transactional_id="till") as producer:
        await producer.begin_transaction()
        await producer.send_and_wait("payments", b"100")
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_and_wait("payments", b"7")
    total = 0
    async with code(shareq_broker.bootstrap) as consumer:
        async for record in consumer:
            total += int(record.value)
            if record.value == b"7":
                break
    assert total == 7
