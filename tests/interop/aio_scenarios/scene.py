"""The common setup of the scenarios: topics and groups on one broker, members and producers, closed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from itertools import count
from typing import Any, Final

from shareq.aio import Producer, ShareConsumer, ShareRecord
from shareq.client.admin import Admin
from shareq.client.admin.configs import Change
from shareq.client.admin.topics import NewTopic
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError
from shareq.client.network import Network
from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.support.waiting import comes_true

PATIENCE_S: Final = 60
SHORT_LOCK: Final = {"share.record.lock.duration.ms": "1000"}
MARKER: Final = b"marker"

_numbers = count(1)


class Scene:
    """One test's setup. Groups begin at the first record; consumers acknowledge explicitly unless set to implicit."""

    def __init__(self, broker: BrokerUnderTest, admin: Admin, stack: AsyncExitStack) -> None:
        self.broker = broker
        self.admin = admin
        self._stack = stack
        self._properties = protocol.properties(broker.bootstrap)
        self._producer: Producer | None = None

    # -- what is made

    def group(self, configs: dict[str, str] | None = None, *, reset: str = "earliest") -> str:
        """Create a group. Call it before creating topics: a broker that knows the topics then knows the configs."""
        group = f"group-{next(_numbers)}"
        change = Change({"share.auto.offset.reset": reset, **(configs or {})})
        _succeeded(self.admin.configs.alter({("group", group): change}))
        return group

    def topic(self, partitions: int = 1, **configs: str) -> str:
        return self.create(f"topic-{next(_numbers)}", partitions, **configs)

    def create(self, topic: str, partitions: int = 1, **configs: str) -> str:
        named = {name.replace("_", "."): value for name, value in configs.items()}
        _succeeded(self.admin.topics.create([NewTopic(topic, partitions, 1, named)]))
        return topic

    def delete(self, topic: str) -> None:
        _succeeded(self.admin.topics.delete([topic]))

    def consumer(self, group: str, *topics: str, **more: Any) -> ShareConsumer:
        consumer = self.unclosed(group, *topics, **more)
        self._stack.push_async_callback(consumer.close)
        return consumer

    def unclosed(self, group: str, *topics: str, **more: Any) -> ShareConsumer:
        """Return a member that is not closed at the test's end: the test closes it, or leaves it open."""
        properties = {**self._properties, **more.pop("properties", {})}
        options = {"acknowledgement": "explicit", **more}
        return ShareConsumer(self.broker.bootstrap, group, topics, properties=properties, **options)

    def producer(self, **more: Any) -> Producer:
        producer = Producer(self.broker.bootstrap, properties=self._properties, **more)
        self._stack.push_async_callback(producer.close)
        return producer

    # -- records

    async def send(self, topic: str, *values: bytes, partition: int | None = None, apart: bool = False) -> None:
        """Send records, in one batch or, `apart`, in one each."""
        self._producer = producer = self._producer or self.producer()
        sent = []
        for value in values:
            sent.append(await producer.send(topic, value, partition=partition))
            if apart:
                await sent[-1]
        await asyncio.gather(*sent)

    async def left(self, group: str, *topics: str) -> list[bytes | None]:
        """Return the values of earlier records that another member still receives; it accepts all of them."""
        member = self.consumer(group, *topics)
        for topic in topics:
            await self.send(topic, MARKER)
        found: list[bytes | None] = []
        while found.count(MARKER) < len(topics):
            [record] = await take(member, 1)
            found.append(record.value)
            await record.accept()
        await member.close()
        return [value for value in found if value != MARKER]


def _succeeded(outcomes: dict[Any, Any]) -> None:
    for outcome in outcomes.values():
        if isinstance(outcome, ClientError):
            raise outcome


def admin_of(broker: BrokerUnderTest) -> Admin:
    properties = {"bootstrap.servers": broker.bootstrap, **protocol.properties(broker.bootstrap)}
    return Admin(Network(ClientConfig.from_properties(properties)))


async def take(consumer: ShareConsumer, count: int) -> list[ShareRecord]:
    """Return the next records; TimeoutError if they do not come."""
    found: list[ShareRecord] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < count:
            found += await consumer.poll(timeout_s=PATIENCE_S, max_records=count - len(found))
    return found


async def fetched_in_vain(consumer: ShareConsumer, times: int = 2) -> None:
    """Wait until the consumer has fetched so many times without getting records."""
    received, before = consumer.metrics.received, consumer.metrics.fetches
    await comes_true(lambda: consumer.metrics.fetches >= before + times + 1)  # the first may have been under way
    assert consumer.metrics.received == received


def values(records: Iterable[ShareRecord]) -> list[bytes | None]:
    return [record.value for record in records]


def places(records: Iterable[ShareRecord]) -> list[tuple[str, int, int]]:
    return [(record.topic, record.partition, record.offset) for record in records]


def numbered(count: int, word: str = "record") -> Sequence[bytes]:
    return [b"%s %d" % (word.encode(), number) for number in range(count)]
