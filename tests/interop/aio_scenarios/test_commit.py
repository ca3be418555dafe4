"""`acknowledge`, which does not wait, and `commit`, which waits for all: results, times, more partitions and topics."""

from __future__ import annotations

import asyncio

import pytest

from shareq.aio import AcknowledgeType, LockLost, ShareConsumer
from tests.interop.aio_scenarios.scene import PATIENCE_S, SHORT_LOCK, Scene, numbered, places, take, values
from tests.interop.aio_scenarios.stage import redoes
from tests.support.waiting import comes_true

pytestmark = pytest.mark.interop

FAILURES = "`commit` returns what was not taken, record by record; `[]` says that all was"
NO_TWO = "`acknowledge` does not wait, `commit` does: there is no second kind of commit"


@pytest.mark.parametrize("mode", ["implicit", "explicit"])
@redoes(
    "implicit_commit_sync_returns_partition_results",
    "explicit_commit_sync_succeeds",
    "commit_with_explicit_mode",
    "per_partition_commit_results_all_succeed",
    differs=FAILURES,
)
@redoes("implicit_commit_async_persists", "explicit_commit_async_accept_persists", differs=NO_TWO)
async def test_a_commit_that_returns_nothing_has_written_all_down(scene: Scene, mode: str) -> None:
    group, topic = scene.group(), scene.topic(3)
    for partition in range(3):
        await scene.send(topic, *numbered(3), partition=partition)
    consumer = scene.consumer(group, topic, acknowledgement=mode)
    records = await take(consumer, 9)
    if mode == "explicit":
        consumer.acknowledge(records)
    assert await consumer.commit() == []
    assert consumer.metrics.accepted == 9
    await consumer.close()
    other = scene.consumer(group, topic)
    for partition in range(3):
        await scene.send(topic, b"marker", partition=partition)
    assert values(await take(other, 3)) == [b"marker"] * 3


@redoes("commit_spans_multiple_topics", "commit_async_spans_multiple_topics")
async def test_one_commit_for_several_topics(scene: Scene) -> None:
    group, topics = scene.group(), [scene.topic(), scene.topic()]
    for topic in topics:
        await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, *topics)
    consumer.acknowledge(await take(consumer, 6))
    assert await consumer.commit() == []
    await consumer.close()
    assert await scene.left(group, *topics) == []


@redoes(
    "commit_with_nothing_pending_returns_empty",
    "explicit_commit_with_no_acks_is_noop",
    "commit_before_first_poll_is_noop",
    "commit_before_subscribe_is_noop",
    "commit_with_zero_timeout_returns_fast",
    "commit_with_infinite_timeout_returns_when_idle",
    "explicit_commit_async_with_no_acks_is_noop",
    "commit_async_before_subscribe_is_noop",
    "callback_not_invoked_on_empty_commit",
    "commit_async_tight_loop_stays_fast",
)
async def test_a_commit_of_nothing_returns_at_once(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    consumer = scene.consumer(group)

    async def commit() -> None:
        for _ in range(50):
            turns = asyncio.create_task(asyncio.sleep(0))
            assert await consumer.commit() == []
            assert not turns.done(), "nothing was waited for, not even a turn of the loop"
            await turns

    await commit()
    await consumer.subscribe([topic])
    await commit()
    assert await consumer.poll(timeout_s=0.1) == []
    await commit()


@redoes("repeated_commit_returns_empty_on_second_call", "explicit_commit_after_implicit_autocommit_is_noop")
async def test_a_second_commit_has_nothing_to_do(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, topic, acknowledgement="implicit")
    await take(consumer, 3)
    assert await consumer.poll(timeout_s=0) == []
    for _ in range(2):
        assert await consumer.commit() == []
        assert consumer.metrics.accepted == 3


@redoes("commit_with_large_batch")
async def test_ten_thousand_records_one_by_one(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(10_000))
    consumer = scene.consumer(group, topic, prefetch=2000)
    seen: list[bytes | None] = []
    while len(seen) < 10_000:
        records = await take(consumer, 1)
        records += await consumer.poll(timeout_s=0, max_records=2000)
        seen += values(records)
        consumer.acknowledge(records)
        assert await consumer.commit() == []
    assert seen == numbered(10_000)
    assert consumer.metrics.accepted == 10_000


@redoes("commit_handles_high_volume_across_two_consumers")
async def test_two_members_share_ten_thousand_records(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic(6)
    members = [scene.consumer(group, topic) for _ in range(2)]
    seen: list[tuple[str, int, int]] = []

    async def work(member: ShareConsumer) -> None:
        while len(seen) < 10_000:
            records = await member.poll(timeout_s=0.2)
            member.acknowledge(records)
            assert await member.commit() == []
            seen.extend(places(records))

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        for member in members:
            tasks.create_task(work(member))
        for partition in range(6):
            count = 10_000 // 6 + (partition < 10_000 % 6)
            tasks.create_task(scene.send(topic, *numbered(count), partition=partition))
    assert len(set(seen)) == len(seen) == 10_000
    assert sum(member.metrics.accepted for member in members) == 10_000


@redoes(
    "implicit_commit_async_returns_immediately",
    "async_commit_does_not_block",
    "commit_async_return_value_is_always_none",
    differs=NO_TWO,
    alone=True,
)
@redoes("sync_commit_releases_gil", differs="nothing blocks the thread: other tasks run while a commit waits")
@redoes("commit_with_short_timeout_does_not_crash", differs="`asyncio.timeout` bounds a commit")
async def test_a_broker_that_does_not_answer_blocks_no_one(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, topic)
    records = await take(consumer, 3)
    scene.broker.pause()
    try:
        assert consumer.acknowledge(records) is None  # type: ignore[func-returns-value]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await consumer.commit()
        waiting = asyncio.create_task(consumer.commit())
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
    finally:
        scene.broker.resume()
    assert await waiting == []
    assert consumer.metrics.accepted == 3
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes("async_then_sync_commit_both_complete", "multiple_commit_async_then_sync_drains_all")
async def test_commits_side_by_side_all_return(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(5))
    consumer = scene.consumer(group, topic)
    consumer.acknowledge(await take(consumer, 5))
    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.gather(*(consumer.commit() for _ in range(4))) == [[], [], [], []]
    assert consumer.metrics.accepted == 5


@redoes("per_partition_commit_results_with_lock_expiry", "callback_reports_invalid_record_state_on_commit_sync")
async def test_a_commit_returns_the_records_whose_locks_were_lost_and_takes_the_others(scene: Scene) -> None:
    group, topic = scene.group(SHORT_LOCK), scene.topic()
    await scene.send(topic, *numbered(2))
    holder = scene.consumer(group, topic, prefetch=0, renew_s=0)
    lost = await take(holder, 2)
    assert places(await take(scene.consumer(group, topic, prefetch=0), 2)) == places(lost)
    await scene.send(topic, b"in time")
    [held] = await take(holder, 1)
    holder.acknowledge([held, *lost])
    failed = await holder.commit()
    assert sorted(places(record for record, _ in failed)) == sorted(places(lost))
    assert {type(error) for _, error in failed} == {LockLost}
    assert holder.metrics.accepted == 1


@pytest.mark.parametrize("kind", [AcknowledgeType.ACCEPT, AcknowledgeType.REJECT])
@redoes("commit_before_close_persists_acks", "explicit_commit_async_reject_archives", "commit_async_inside_with_block")
async def test_what_was_committed_outlives_the_member(scene: Scene, kind: AcknowledgeType) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    async with scene.consumer(group, topic) as consumer:
        consumer.acknowledge(await take(consumer, 3), kind)
        assert await consumer.commit() == []
    assert await scene.left(group, topic) == []


@redoes("commit_async_then_immediate_close_persists")
async def test_what_was_acknowledged_goes_with_the_end(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, topic)
    consumer.acknowledge(await take(consumer, 3))
    await consumer.close()
    await comes_true(lambda: consumer.metrics.accepted == 3)
    assert await scene.left(group, topic) == []
