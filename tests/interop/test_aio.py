"""`shareq.aio` on a broker: sends, single acknowledgements, and broker restarts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from devtools.clients.admin import configure_group, create_topic, read_from_start
from shareq.aio import BrokerError, LockLost, Producer, ShareConsumer, ShareRecord
from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.cluster import Cluster

pytestmark = pytest.mark.interop

BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000"}
WAIT_S = 60

Unique = Callable[[str], str]


def consumer_of(broker: BrokerUnderTest, group: str, topic: str, **more: Any) -> ShareConsumer:
    properties = {**protocol.properties(broker.bootstrap), **more.pop("properties", {})}
    return ShareConsumer(broker.bootstrap, group, [topic], properties=properties, **more)


def producer_of(broker: BrokerUnderTest, **more: Any) -> Producer:
    return Producer(broker.bootstrap, properties=protocol.properties(broker.bootstrap), **more)


async def fill(broker: BrokerUnderTest, topic: str, values: Iterable[bytes], **more: Any) -> None:
    async with producer_of(broker, **more) as producer:
        for sent in [await producer.send(topic, value) for value in values]:
            await sent


async def take(consumer: ShareConsumer, count: int) -> list[ShareRecord]:
    found: list[ShareRecord] = []
    async with asyncio.timeout(WAIT_S):
        while len(found) < count:
            found += await consumer.poll(max_records=count - len(found))
    return found


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_what_is_sent_is_read_by_others(broker: BrokerUnderTest, unique: Unique, compression: Any) -> None:
    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 3)
    async with producer_of(broker, compression=compression) as producer:
        sent = [
            await producer.send(topic, b"v%d" % at, key=b"k%d" % at, headers=[("h", b"%d" % at)], timestamp_ms=at)
            for at in range(300)
        ]
        appended = [await each for each in sent]
        last = await producer.send_and_wait(topic, None, partition=2)
    where = {(one.partition, one.offset): at for at, one in enumerate(appended)}
    assert len(where) == 300
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": unique("g")})
    reader.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(3)])
    seen: dict[tuple[int, int], Any] = {}
    while len(seen) < 301:
        for message in reader.consume(500, 5):
            assert message.error() is None
            seen[message.partition() or 0, message.offset() or 0] = message
    reader.close()
    for place, at in where.items():
        message = seen[place]
        assert (message.value(), message.key()) == (b"v%d" % at, b"k%d" % at)
        assert (message.headers(), message.timestamp()[1]) == ([("h", b"%d" % at)], at)
    assert seen[2, last.offset].value() is None


async def test_keys_go_where_librdkafka_sends_them(broker: BrokerUnderTest, unique: Unique) -> None:
    from confluent_kafka import Producer as Librdkafka

    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 5)
    theirs: dict[bytes, int] = {}

    def note(_: Any, sent: Any) -> None:
        theirs[sent.key()] = sent.partition()

    other = Librdkafka({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2"})
    for at in range(100):
        key = b"key %d" % at
        other.produce(topic, b"", key, on_delivery=note)
    other.flush(WAIT_S)
    async with producer_of(broker) as producer:
        ours = {key: (await producer.send_and_wait(topic, b"", key=key)).partition for key in theirs}
    assert len(ours) == 100
    assert ours == theirs


async def test_several_members_share_the_records(broker: BrokerUnderTest, unique: Unique) -> None:
    """Each member holds its records until another one has received some."""
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 2)
    read_from_start(broker.bootstrap, group)
    seen: Counter[bytes | None] = Counter()
    members = [consumer_of(broker, group, topic, prefetch=10, acquire_mode="record_limit") for _ in range(3)]
    shared = asyncio.Event()

    async def work(member: ShareConsumer) -> None:
        async for record in member:
            seen[record.value] += 1
            if sum(each.metrics.received > 0 for each in members) > 1:
                shared.set()
            await shared.wait()
            if sum(seen.values()) == 600:
                await record.accept()
                return

    tasks = [asyncio.create_task(work(member)) for member in members]
    await fill(broker, topic, (b"%d" % at for at in range(600)))
    async with asyncio.timeout(WAIT_S):
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for member in members:
            await member.close()
        await asyncio.gather(*tasks)
    assert seen == Counter(b"%d" % at for at in range(600))


async def test_each_verdict_has_its_effect(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 1)
    read_from_start(broker.bootstrap, group)
    await fill(broker, topic, (b"%d" % at for at in range(4)))
    async with consumer_of(broker, group, topic, acknowledgement="explicit") as consumer:
        records = {record.value: record for record in await take(consumer, 4)}
        await records[b"0"].accept()
        await records[b"1"].release()
        await records[b"2"].reject()
        await records[b"3"].renew()
        [again] = await take(consumer, 1)
        assert (again.value, again.delivery_count) == (b"1", 2)
        consumer.acknowledge(again)
        consumer.acknowledge(records[b"3"])
        assert await consumer.commit() == []
        assert await consumer.poll(timeout_s=1) == []


async def test_locks_are_renewed_and_end_without_that(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 1)
    read_from_start(broker.bootstrap, group)
    configure_group(broker.bootstrap, group, {"share.record.lock.duration.ms": "1000"})
    await fill(broker, topic, [b"slow"])
    async with consumer_of(broker, group, topic, acknowledgement="explicit") as consumer:
        [record] = await take(consumer, 1)
        async with asyncio.timeout(WAIT_S):
            while consumer.metrics.renewed < 3:
                await asyncio.sleep(0.1)
        assert record.delivery_count == 1
        await record.release()
    async with consumer_of(broker, group, topic, acknowledgement="explicit", renew_s=0) as careless:
        [record] = await take(careless, 1)
        [again] = await take(careless, 1)
        assert again.delivery_count == record.delivery_count + 1
        with pytest.raises(LockLost):
            await record.accept()
        await again.accept()


async def test_a_broker_that_is_killed_costs_nothing(broker: BrokerUnderTest, cluster: Cluster, unique: Unique) -> None:
    """Each record is in the log once, in order, and is delivered until it is accepted, but not afterwards.

    A record whose acknowledgement had no answer is either redelivered or accepted.
    """
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 1)
    read_from_start(broker.bootstrap, group)
    count = 3000
    accepted: set[bytes | None] = set()
    doubled: list[ShareRecord] = []
    unknown: set[bytes | None] = set()

    async def work(consumer: ShareConsumer) -> None:
        while len(accepted | unknown) < count or await asyncio.to_thread(cluster.undone, group, topic) > 0:
            for record in await consumer.poll(max_records=100):
                if record.value in accepted:
                    doubled.append(record)
                try:
                    await record.accept()
                    accepted.add(record.value)
                except LockLost:
                    unknown.add(record.value)

    async with producer_of(broker) as producer, consumer_of(broker, group, topic, acknowledgement="explicit") as member:
        working = asyncio.create_task(work(member))
        sent = []
        for at in range(count):
            sent.append(await producer.send(topic, b"%d" % at))
            if at == count // 2:
                await producer.flush()
                await asyncio.to_thread(broker.restart, kill=True)
        offsets = [(await each).offset for each in sent]
        async with asyncio.timeout(WAIT_S):
            await working
    assert accepted | unknown == {b"%d" % at for at in range(count)}
    assert len(accepted) > len(unknown)
    assert not doubled
    known = [offset for offset in offsets if offset >= 0]
    assert known == sorted(set(known))


async def test_what_a_broker_refuses_says_why(broker: BrokerUnderTest, unique: Unique) -> None:
    async with producer_of(broker, max_request_bytes=5 << 20, max_block_ms=500) as producer:
        topic = unique("topic")
        create_topic(broker.bootstrap, topic, 1)
        with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
            await producer.send_and_wait(topic, bytes(4 << 20))
        assert (await producer.send_and_wait(topic, b"small")).offset == 0
        with pytest.raises(BrokerError, match=f"partition {topic}-7"):
            await producer.send(topic, b"", partition=7)
        with pytest.raises(BrokerError, match="INVALID_TOPIC"):
            await producer.send("no/topic", b"")


async def test_a_batch_that_is_too_large_is_sent_in_halves(broker: BrokerUnderTest, unique: Unique) -> None:
    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 1, max_message_bytes="10000")
    async with producer_of(broker, batch_bytes=1 << 20, linger_ms=50) as producer:
        sent = [await producer.send(topic, bytes(1000)) for _ in range(64)]
        assert [(await each).offset for each in sent] == list(range(64))
