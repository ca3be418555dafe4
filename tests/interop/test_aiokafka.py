"""aiokafka: a producer, and a consumer with assigned partitions (no group), over restarts and kills."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from devtools.clients.admin import create_topic
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.plain_log import Promised, Read

Unique = Callable[[str], str]


async def read_all(bootstrap: str, topic: str, partitions: int) -> Read:
    read = Read()
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False) as consumer:
        consumer.assign(places)
        await consumer.seek_to_beginning(*places)
        ends = await consumer.end_offsets(places)
        while any([await consumer.position(place) < end for place, end in ends.items()]):
            for place, records in (await consumer.getmany(*places, timeout_ms=500)).items():
                for record in records:
                    read.add(place.partition, record.offset, record.value)
    return read


@pytest.mark.crash
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
@pytest.mark.parametrize("kill", [False, True], ids=["clean restart", "kill -9"])
async def test_confirmed_records_outlive_a_restart(
    broker: BrokerUnderTest, unique: Unique, kill: bool, idempotent: bool
) -> None:
    """No confirmed record is lost; an idempotent producer's retries leave no duplicates."""
    topic = unique("topic")
    await asyncio.to_thread(create_topic, broker.bootstrap, topic, 2)
    promised = Promised()
    numbers = itertools.count()
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap, acks="all", enable_idempotence=idempotent, request_timeout_ms=60_000
    ) as producer:

        async def send_some() -> None:
            values = [b"%d" % number for number in itertools.islice(numbers, 100)]
            sent = [await producer.send(topic, value, partition=n % 2) for n, value in enumerate(values)]
            for value, answer in zip(values, await asyncio.gather(*sent, return_exceptions=True), strict=True):
                if isinstance(answer, BaseException):
                    promised.failed.add(value)
                else:
                    promised.confirmed[(answer.partition, answer.offset)] = value

        for _ in range(5):
            await send_some()
        restart = asyncio.create_task(asyncio.to_thread(broker.restart, kill=kill))
        while not restart.done():
            await send_some()
        await restart
        await send_some()
    assert promised.confirmed
    (await read_all(broker.bootstrap, topic, 2)).check(promised, once=idempotent)
