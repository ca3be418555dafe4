"""The end of a member: what it releases, what it still sends, and a member that is never closed."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from shareq.aio import ClientError, LockLost
from tests.interop.aio_scenarios.scene import PATIENCE_S, SHORT_LOCK, Scene, numbered, places, take, values
from tests.interop.aio_scenarios.stage import redoes

pytestmark = pytest.mark.interop


@redoes("implicit_close_releases_unacked_redelivers")
async def test_a_loop_that_is_left_releases_its_last_record(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(2))
    async with scene.consumer(group, topic, acknowledgement="implicit") as consumer:
        async for record in consumer:
            if record.offset == 1:
                break
    [again] = await take(scene.consumer(group, topic), 1)
    assert (again.offset, again.delivery_count) == (1, 2)


@redoes("explicit_close_partial_acks_releases_remainder", "close_releases_inflight_to_group")
async def test_the_end_sends_what_was_acknowledged_and_releases_the_rest(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(5))
    consumer = scene.consumer(group, topic)
    records = await take(consumer, 4)
    consumer.acknowledge(records[:2])
    await consumer.close()
    assert consumer.metrics.accepted == 2
    with pytest.raises(LockLost):
        await records[3].accept()
    again = await take(scene.consumer(group, topic), 3)
    assert values(again) == numbered(5)[2:]


@redoes(
    "gc_without_close_leaves_group_and_redelivers",
    "dealloc_without_close_on_live_consumer",
    differs="Python warns (`ResourceWarning`); the broker gives the records back, and the member's session runs out",
    alone=True,
)
async def test_a_consumer_that_is_never_closed_warns_and_loses_nothing(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    held: list[tuple[str, int, int]] = []

    async def forget() -> None:
        held.extend(places(await take(scene.unclosed(group, topic), 3)))

    def run() -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            asyncio.run(forget())
            gc.collect()
        warned.extend(str(one.message) for one in caught if one.category is ResourceWarning)

    warned: list[str] = []
    await asyncio.to_thread(run)
    assert [text for text in warned if f"the consumer of share group {group} was never closed" in text]
    again = await take(scene.consumer(group, topic), 3)
    assert places(again) == held
    assert {record.delivery_count for record in again} == {2}


@redoes("double_close_is_idempotent")
async def test_the_end_comes_once(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    for consumer in (scene.consumer(group, topic), scene.consumer(group)):
        await consumer.close()
        await consumer.close()
    started = scene.consumer(group, topic)
    await started.start()
    await asyncio.gather(started.close(), started.close())
    await started.close()


@redoes("close_immediately_after_subscribe_is_clean")
async def test_the_end_may_come_before_the_group_has_answered(scene: Scene) -> None:
    consumer = scene.consumer(scene.group())
    await consumer.start()
    await consumer.subscribe([scene.topic()])
    async with asyncio.timeout(PATIENCE_S):
        await consumer.close()


@redoes(
    "commit_on_closed_consumer_raises",
    differs="`commit` returns what failed in the course of `close`; everything else raises",
)
@redoes("callback_reports_error_during_close")
async def test_after_the_end_a_commit_returns_what_failed_in_its_course(scene: Scene) -> None:
    group, topic = scene.group(SHORT_LOCK), scene.topic()
    await scene.send(topic, *numbered(2))
    holder = scene.consumer(group, topic, prefetch=0, renew_s=0)
    records = await take(holder, 2)
    assert places(await take(scene.consumer(group, topic), 2)) == places(records)
    holder.acknowledge(records)
    await holder.close()
    failed = await holder.commit()
    assert places(record for record, _ in failed) == places(records)
    assert {type(error) for _, error in failed} == {LockLost}
    assert await holder.commit() == []
    for call in (holder.poll, holder.start, lambda: holder.subscribe([topic])):
        with pytest.raises(ClientError, match="is closed"):
            await call()


@redoes("callback_fires_during_close")
async def test_who_waits_for_an_answer_gets_it_while_the_consumer_is_closed(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, topic)
    accepting = [asyncio.create_task(record.accept()) for record in await take(consumer, 3)]
    await asyncio.sleep(0)  # they have begun
    await consumer.close()
    await asyncio.gather(*accepting)
    assert consumer.metrics.accepted == 3


@redoes("callback_exception_propagates_from_poll", differs="what the loop's body raises leaves the loop")
async def test_an_exception_leaves_the_loop_and_its_record_is_released(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(2))

    async def pack() -> None:
        async with scene.consumer(group, topic, acknowledgement="implicit") as consumer:
            async for record in consumer:
                if record.offset == 1:
                    raise ValueError("cannot pack this")

    with pytest.raises(ValueError, match="cannot pack"):
        await pack()
    assert await scene.left(group, topic) == [b"record 1"]


@redoes(
    "callback_fires_on_explicit_commit_async",
    "callback_fires_on_commit_sync",
    "callback_cardinality_multipartition",
    differs="each record's `accept` returns when it is written down",
)
async def test_each_acknowledgement_has_its_own_answer(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic(3)
    for partition in range(3):
        await scene.send(topic, *numbered(2), partition=partition)
    consumer = scene.consumer(group, topic)
    records = await take(consumer, 6)
    await asyncio.gather(*(record.accept() for record in records))
    assert consumer.metrics.accepted == 6


@redoes("callback_fires_on_implicit_mode", differs="`metrics` counts what was accepted by itself")
async def test_what_was_accepted_by_itself_is_counted(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, topic, acknowledgement="implicit")
    await take(consumer, 3)
    assert await consumer.poll(timeout_s=0) == []
    assert await consumer.commit() == []
    assert (consumer.metrics.accepted, consumer.metrics.in_hand) == (3, 0)
