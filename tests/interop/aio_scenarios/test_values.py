"""The parts of a record: key, value, headers, time; values that cannot be decoded."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.interop.aio_scenarios.scene import Scene, take
from tests.interop.aio_scenarios.stage import redoes

pytestmark = pytest.mark.interop

BROKEN = b"{"


@redoes("message_fields_preserved", "header_order_preserved")
async def test_key_value_and_headers_in_their_order(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    headers = [("colour", b"red"), ("size", None), ("colour", b"green"), ("", b"")]
    await scene.producer().send_and_wait(topic, b"apples", key=b"customer 7", headers=headers)
    [record] = await take(scene.consumer(group, topic), 1)
    assert (record.key, record.value, list(record.headers)) == (b"customer 7", b"apples", headers)


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
@redoes(
    "timestamp_and_type_preserved",
    differs="a record has no type of its time: the topic's message.timestamp.type says it",
)
async def test_the_time_is_the_producers_or_the_brokers(scene: Scene, kind: str) -> None:
    group, topic = scene.group(), scene.topic(message_timestamp_type=kind)
    appended = await scene.producer().send_and_wait(topic, b"apples", timestamp_ms=1_234_567_890_123)
    [record] = await take(scene.consumer(group, topic), 1)
    assert record.timestamp == appended.timestamp
    assert (record.timestamp == 1_234_567_890_123) is (kind == "CreateTime")


@redoes("zero_byte_and_null_key_value")
async def test_nothing_and_empty_are_two_things(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    producer = scene.producer()
    await producer.send_and_wait(topic, b"", key=b"", partition=0)
    await producer.send_and_wait(topic, None, key=None)
    empty, nothing = await take(scene.consumer(group, topic), 2)
    assert (empty.key, empty.value) == (b"", b"")
    assert (nothing.key, nothing.value) == (None, None)


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@redoes("compression_codec_roundtrip")
async def test_every_compression_is_undone(scene: Scene, compression: Any) -> None:
    group, topic = scene.group(), scene.topic()
    sent = [b"a word said %d times " % number * number for number in range(20)]
    producer = scene.producer(compression=compression, linger_ms=1000)
    for value in sent:
        await producer.send(topic, value)
    await producer.flush()
    assert [record.value for record in await take(scene.consumer(group, topic), 20)] == sent


@redoes("record_larger_than_fetch_max_bytes_delivered")
async def test_a_record_that_is_larger_than_an_answer_may_be_comes_all_the_same(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    sent = [b"small", bytes(50_000), b"after it"]
    await scene.send(topic, *sent, apart=True)
    assert [record.value for record in await take(scene.consumer(group, topic, max_bytes=1000), 3)] == sent


@redoes(
    "explicit_poison_marked_not_raised",
    "explicit_poison_reject_not_redelivered",
    differs="values are bytes; the program decodes them, and rejects what it cannot",
)
async def test_what_cannot_be_decoded_is_rejected_and_the_rest_is_not_held_up(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, b'"one"', BROKEN, b'"two"')
    consumer = scene.consumer(group, topic)
    decoded, broken = [], []
    for record in await take(consumer, 3):
        try:
            decoded.append(json.loads(record.value or b""))
            await record.accept()
        except ValueError:
            broken.append(record.value)
            await record.reject()
    assert (decoded, broken) == (["one", "two"], [BROKEN])
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes(
    "implicit_poison_marked_not_raised",
    "implicit_poison_forward_progress",
    differs="values are bytes; the loop rejects what it cannot decode, and goes on",
)
async def test_a_loop_goes_on_after_what_it_cannot_decode(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, BROKEN)
    consumer = scene.consumer(group, topic, acknowledgement="implicit")
    async with asyncio.timeout(60):
        async for record in consumer:
            try:
                assert json.loads(record.value or b"") == "good"
                break
            except ValueError:
                await record.reject()
                await scene.send(topic, b'"good"')
    assert await consumer.commit() == []
    await consumer.close()
    assert consumer.metrics.rejected == 1
    assert await scene.left(group, topic) == []
