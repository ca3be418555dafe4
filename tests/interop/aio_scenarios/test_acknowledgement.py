"""Acknowledgements of records: the effect of each type, which of several counts, and invalid ones."""

from __future__ import annotations

import asyncio

import pytest

from shareq.aio import AcknowledgeType, ClientError, LockLost, ShareConsumer
from tests.interop.aio_scenarios.scene import SHORT_LOCK, Scene, numbered, places, take, values
from tests.interop.aio_scenarios.stage import redoes

pytestmark = pytest.mark.interop

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
HANDED_OUT_ANY_TIME = "several tasks work on records at once, so a poll waits for none of them"
ONCE = "a verdict may be on its way already: the first stands, the second is a `ClientError`"


@redoes(
    "implicit_mode_acknowledge_raises",
    "implicit_acknowledge_raises_commit_still_works",
    differs="a verdict is allowed, and stands in place of the implicit one",
)
async def test_a_verdict_stands_in_place_of_the_implicit_one(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, topic, acknowledgement="implicit")
    records = await take(consumer, 3)
    consumer.acknowledge(records[1], REJECT)
    assert await consumer.commit() == []
    assert (consumer.metrics.accepted, consumer.metrics.rejected) == (2, 1)
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes("implicit_mode_autocommits_on_next_poll")
async def test_asking_for_more_accepts_what_was_handed_out_before(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, topic, acknowledgement="implicit")
    assert values(await take(consumer, 3)) == numbered(3)
    assert await consumer.poll(timeout_s=0) == []
    await consumer.close()
    assert consumer.metrics.accepted == 3
    assert await scene.left(group, topic) == []


@pytest.mark.parametrize("verdict", ["accept", "reject"])
@redoes("explicit_accept_prevents_redelivery", "explicit_reject_prevents_redelivery", "reject_persists_through_commit")
async def test_what_is_accepted_or_rejected_comes_to_nobody_again(scene: Scene, verdict: str) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, topic)
    for record in await take(consumer, 3):
        await getattr(record, verdict)()
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes(
    "explicit_release_causes_redelivery",
    "release_through_commit_returns_record_to_available",
    "explicit_commit_async_release_redelivers",
)
async def test_what_is_released_comes_again_with_a_higher_count(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, b"later")
    consumer = scene.consumer(group, topic)
    [record] = await take(consumer, 1)
    await record.release()
    [again] = await take(consumer, 1)
    assert places([again]) == places([record])
    assert (record.delivery_count, again.delivery_count) == (1, 2)


@redoes(
    "unacked_records_block_next_poll",
    "partial_ack_still_blocks_next_poll",
    "partial_ack_commit_then_unacked_blocks_poll",
    differs=HANDED_OUT_ANY_TIME,
)
async def test_a_poll_does_not_wait_for_what_is_in_hand(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(5))
    consumer = scene.consumer(group, topic)
    first = await take(consumer, 3)
    consumer.acknowledge(first[0])
    assert await consumer.commit() == []
    more = await take(consumer, 2)
    assert values(first + more) == numbered(5)
    assert consumer.metrics.in_hand == 4
    consumer.acknowledge([*more, *first[1:]])
    assert await consumer.commit() == []
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes("delivery_attempt_limit_archives_record", "committed_releases_archive_at_delivery_limit")
async def test_a_record_that_is_released_too_often_is_given_up(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, b"poison")
    consumer = scene.consumer(group, topic)
    counts = []
    for _ in range(5):
        [record] = await take(consumer, 1)
        counts.append(record.delivery_count)
        await record.release()
    assert counts == [1, 2, 3, 4, 5]
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes("mixed_ack_types_in_single_batch", "commit_with_mixed_ack_types", "commit_async_with_mixed_ack_types")
async def test_verdicts_of_all_kinds_on_one_batch(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(6))
    consumer = scene.consumer(group, topic)
    records = await take(consumer, 6)
    for at, kind in enumerate((ACCEPT, RELEASE, REJECT)):
        consumer.acknowledge(records[at::3], kind)
    assert await consumer.commit() == []
    again = await take(consumer, 2)
    assert places(again) == places(records[1::3])
    assert {record.delivery_count for record in again} == {2}
    consumer.acknowledge(again)
    assert await consumer.commit() == []
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes("out_of_order_acks_within_batch")
async def test_records_are_acknowledged_in_any_order(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(5))
    consumer = scene.consumer(group, topic)
    records = await take(consumer, 5)
    for at in (4, 0, 3, 1, 2):
        await records[at].accept()
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes(
    "double_ack_same_record_is_lenient",
    "reack_overwrite_accept_then_release_redelivers",
    "reack_overwrite_accept_then_reject_archives",
    differs=ONCE,
)
@redoes("ack_offset_from_prior_batch_raises")
async def test_a_record_is_acknowledged_once(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(2))
    consumer = scene.consumer(group, topic)
    one, other = await take(consumer, 2)
    consumer.acknowledge(one)
    for kind in (ACCEPT, RELEASE, REJECT):
        with pytest.raises(ClientError, match="it was acknowledged before"):
            consumer.acknowledge([other, one], kind)
    assert await consumer.commit() == []
    with pytest.raises(ClientError, match="it was acknowledged before"):
        await one.release()
    await other.accept()
    await consumer.close()
    assert await scene.left(group, topic) == []


@redoes("acknowledge_rejects_non_message_argument")
async def test_only_records_are_acknowledged(scene: Scene) -> None:
    consumer = scene.consumer(scene.group(), scene.topic())
    for nonsense in (None, 7, "text", object(), [None]):
        with pytest.raises(TypeError):
            consumer.acknowledge(nonsense)  # type: ignore[arg-type]
    assert await consumer.commit() == []


@redoes("acknowledge_foreign_message_rejected")
async def test_a_record_of_another_member_is_not_acknowledged(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, b"apples")
    owner, other = scene.consumer(group, topic, prefetch=0), scene.consumer(group, topic)
    [record] = await take(owner, 1)
    await other.start()
    with pytest.raises(ClientError, match="another consumer handed it out"):
        other.acknowledge(record, REJECT)
    await record.release()
    [again] = await take(other, 1)
    assert again.value == b"apples"
    await again.accept()


@redoes(
    "acknowledgement_commit_cb_reentrant_call_raises_state",
    "callback_reentrancy_guard",
    "callback_reentrancy_guard_covers_all_methods",
    differs="there is no callback; every method may be called while others wait",
)
async def test_every_method_may_be_called_while_others_wait(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(6))
    consumer = scene.consumer(group, topic)
    found = []

    async def work() -> None:
        record = await consumer.getone()
        found.append(record.value)
        await consumer.subscribe([topic])
        await asyncio.gather(record.accept(), consumer.commit(), consumer.poll(timeout_s=0, max_records=1))

    async with asyncio.timeout(60):
        await asyncio.gather(*(work() for _ in range(3)))
    assert len(set(found)) == 3
    assert consumer.metrics.accepted == 3
    assert await consumer.commit() == []


@redoes("share_consumer_methods_rejected_from_other_thread")
async def test_another_thread_is_refused(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, b"apples")
    consumer = scene.consumer(group, topic)
    [record] = await take(consumer, 1)

    async def poll(consumer: ShareConsumer) -> None:
        await consumer.poll()

    with pytest.raises(ClientError, match="another event loop"):
        await asyncio.to_thread(consumer.acknowledge, record)
    with pytest.raises(ClientError, match="another event loop"):
        await asyncio.to_thread(asyncio.run, poll(consumer))
    loop = asyncio.get_running_loop()
    await asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(record.accept(), loop).result())
    assert consumer.metrics.accepted == 1


@redoes("commit_after_lock_expiry", "callback_reports_invalid_record_state_on_commit_async")
async def test_a_verdict_after_the_end_of_the_lock_says_so(scene: Scene) -> None:
    group, topic = scene.group(SHORT_LOCK), scene.topic()
    await scene.send(topic, b"slow")
    holder = scene.consumer(group, topic, prefetch=0, renew_s=0)
    [record] = await take(holder, 1)
    other = scene.consumer(group, topic)
    [again] = await take(other, 1)
    with pytest.raises(LockLost):
        await record.accept()
    with pytest.raises(LockLost):
        holder.acknowledge(record)
    await again.accept()


@redoes("lock_steal_with_committed_ack", "redelivery_increments_delivery_count_and_commits")
async def test_who_got_the_record_after_the_lock_decides(scene: Scene) -> None:
    group, topic = scene.group(SHORT_LOCK), scene.topic()
    await scene.send(topic, *numbered(2))
    holder, thief = scene.consumer(group, topic, prefetch=0, renew_s=0), scene.consumer(group, topic)
    records = await take(holder, 2)
    stolen = await take(thief, 2)
    assert places(stolen) == places(records)
    assert [record.delivery_count for record in stolen] == [2, 2]
    await stolen[1].accept()
    with pytest.raises(LockLost):
        await records[1].release()
    await stolen[0].accept()
    for member in (holder, thief):
        await member.close()
    assert await scene.left(group, topic) == []
