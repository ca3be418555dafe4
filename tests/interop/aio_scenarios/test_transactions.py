"""Records of transactions; the producer is librdkafka's, as ours has no transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.interop.aio_scenarios.scene import Scene, fetched_in_vain, take, values
from tests.interop.aio_scenarios.stage import redoes
from tests.interop.support.transactional import LibrdkafkaProducer

pytestmark = pytest.mark.interop

COMMITTED = {"share.isolation.level": "read_committed"}


@contextmanager
def transactional(scene: Scene, name: str) -> Iterator[LibrdkafkaProducer]:
    producer = LibrdkafkaProducer(scene.broker.bootstrap, f"transactional {name}")
    try:
        yield producer
    finally:
        producer.close()


@redoes("open_transaction_stalls_share_group")
async def test_an_open_transaction_holds_records_back(scene: Scene) -> None:
    group, topic = scene.group(COMMITTED), scene.topic()
    consumer = scene.consumer(group, topic)
    with transactional(scene, topic) as producer:
        producer.begin()
        await asyncio.to_thread(producer.send, topic, 0, ["one", "two"])
        await consumer.start()
        await fetched_in_vain(consumer)
        await asyncio.to_thread(producer.commit)
        assert values(await take(consumer, 2)) == [b"one", b"two"]


@redoes("read_uncommitted_delivers_uncommitted_records")
async def test_a_group_that_reads_uncommitted_waits_for_no_transaction(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    with transactional(scene, topic) as producer:
        producer.begin()
        await asyncio.to_thread(producer.send, topic, 0, ["one", "two"])
        assert values(await take(scene.consumer(group, topic), 2)) == [b"one", b"two"]
        await asyncio.to_thread(producer.abort)


@redoes("read_committed_skips_aborted_transaction")
async def test_what_was_aborted_does_not_come(scene: Scene) -> None:
    group, topic = scene.group(COMMITTED), scene.topic()
    with transactional(scene, topic) as producer:
        for word, end in (("aborted", producer.abort), ("committed", producer.commit)):
            producer.begin()
            await asyncio.to_thread(producer.send, topic, 0, [word])
            await asyncio.to_thread(end)
    consumer = scene.consumer(group, topic)
    [record] = await take(consumer, 1)
    assert record.value == b"committed"
    await record.accept()
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes("read_committed_delivers_committed_transactions_with_marker_gap")
async def test_the_marks_of_transactions_are_offsets_without_records(scene: Scene) -> None:
    group, topic = scene.group(COMMITTED), scene.topic()
    with transactional(scene, topic) as producer:
        for number in range(2):
            producer.begin()
            await asyncio.to_thread(producer.send, topic, 0, [f"{number} one", f"{number} two"])
            await asyncio.to_thread(producer.commit)
    consumer = scene.consumer(group, topic)
    records = await take(consumer, 4)
    assert [record.offset for record in records] == [0, 1, 3, 4]
    assert values(records) == [b"0 one", b"0 two", b"1 one", b"1 two"]
    consumer.acknowledge(records)
    assert await consumer.commit() == []
    await consumer.close()
    assert await scene.left(group, topic) == []
