"""The delivery of records: members, groups, topics, partitions, limits."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from shareq.aio import ShareConsumer
from tests.interop.aio_scenarios.scene import SHORT_LOCK, Scene, fetched_in_vain, numbered, places, take, values
from tests.interop.aio_scenarios.stage import redoes
from tests.support.waiting import comes_true

pytestmark = pytest.mark.interop


@redoes("basic_consume_records", "messages_in_offset_order_single_consumer", "earliest_delivers_pre_subscribe_backlog")
async def test_all_records_come_in_their_order(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(30))
    records = await take(scene.consumer(group, topic), 30)
    assert values(records) == numbered(30)
    assert places(records) == [(topic, 0, offset) for offset in range(30)]
    assert {record.delivery_count for record in records} == {1}


@redoes(
    "poll_returns_messages",
    "poll_empty_existing_topic_returns_empty_then_delivers",
    differs="`poll` returns a plain list",
)
async def test_a_poll_returns_a_list_that_may_be_empty(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    consumer = scene.consumer(group, topic)
    assert await consumer.poll(timeout_s=0.1) == []
    await scene.send(topic, *numbered(3))
    records = await take(consumer, 3)
    assert type(records) is list
    assert values(records) == numbered(3)


@redoes("poll_with_zero_timeout")
async def test_a_poll_that_does_not_wait_gets_what_has_come(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    consumer = scene.consumer(group, topic)
    assert await consumer.poll(timeout_s=0) == []
    await scene.send(topic, *numbered(5))
    await comes_true(lambda: consumer.metrics.buffered == 5)
    assert values(await consumer.poll(timeout_s=0)) == numbered(5)


@pytest.mark.parametrize("members", [2, 3])
@redoes("concurrent_consumers", "three_consumers_no_overlap")
async def test_members_get_each_record_once(scene: Scene, members: int) -> None:
    group, topic = scene.group(), scene.topic()
    seen: Counter[bytes | None] = Counter()
    joined = [scene.consumer(group, topic, acknowledgement="implicit", prefetch=2) for _ in range(members)]

    async def work(member: ShareConsumer) -> None:
        async for record in member:
            seen[record.value] += 1

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        for member in joined:
            tasks.create_task(work(member))
        await scene.send(topic, *numbered(60), apart=True)
        await comes_true(lambda: len(seen) == 60)
        for member in joined:
            await member.close()
    assert set(seen) == set(numbered(60))
    assert seen.total() <= 60 + members, "what a loop was left with is released at the end, and may come once more"


@redoes("independent_share_groups")
async def test_each_group_gets_every_record(scene: Scene) -> None:
    groups, topic = [scene.group(), scene.group()], scene.topic()
    await scene.send(topic, *numbered(10))
    for group in groups:
        assert values(await take(scene.consumer(group, topic), 10)) == numbered(10)


@redoes("multi_topic_subscription")
async def test_all_topics_of_the_subscription_come(scene: Scene) -> None:
    group, topics = scene.group(), [scene.topic(), scene.topic()]
    for topic in topics:
        await scene.send(topic, *numbered(5))
    records = await take(scene.consumer(group, *topics), 10)
    assert sorted(places(records)) == sorted((topic, 0, offset) for topic in topics for offset in range(5))


@redoes("multi_consumer_overlapping_subscriptions")
async def test_members_get_only_what_each_has_subscribed_to(scene: Scene) -> None:
    group = scene.group()
    both, left, right = scene.topic(), scene.topic(), scene.topic()
    one, other = scene.consumer(group, both, left), scene.consumer(group, both, right)
    for member, own in ((one, left), (other, right)):
        await member.start()
        await comes_true(lambda member=member, own=own: (own, 0) in member.assignment)  # type: ignore[misc]
    for topic in (both, left, right):
        await scene.send(topic, *numbered(10, topic))
    await comes_true(lambda: one.metrics.received + other.metrics.received == 30)
    of_one, of_other = await one.poll(timeout_s=0), await other.poll(timeout_s=0)
    assert {record.topic for record in of_one} - {both} == {left}
    assert {record.topic for record in of_other} - {both} == {right}
    assert sorted(values(of_one + of_other)) == sorted(  # type: ignore[type-var]
        value for topic in (both, left, right) for value in numbered(10, topic)
    )


@pytest.mark.parametrize("filled", [(0, 1, 2), (0, 2)])
@redoes("single_consumer_multi_partition_full_coverage", "sparse_partitions_do_not_stall")
async def test_every_partition_with_records_is_read(scene: Scene, filled: tuple[int, ...]) -> None:
    group, topic = scene.group(), scene.topic(3)
    for partition in filled:
        await scene.send(topic, *numbered(10), partition=partition)
    records = await take(scene.consumer(group, topic), 10 * len(filled))
    assert sorted(places(records)) == [(topic, partition, offset) for partition in filled for offset in range(10)]


@pytest.mark.parametrize("apart", [True, False])
@redoes("max_poll_records_caps_batch")
@redoes(
    "poll_returns_whole_batch_exceeding_max_poll_records",
    differs="`poll` never returns more than it was asked for; the rest of a batch waits",
)
async def test_a_poll_returns_as_many_as_it_was_asked_for(scene: Scene, apart: bool) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(10), apart=apart)
    consumer = scene.consumer(group, topic)
    await consumer.start()
    await comes_true(lambda: consumer.metrics.buffered == 10)
    assert [len(await consumer.poll(max_records=4)) for _ in range(3)] == [4, 4, 2]


@redoes("records_before_join_not_delivered", "two_groups_earliest_vs_latest")
async def test_where_a_group_begins_is_its_own(scene: Scene) -> None:
    from_start, from_end, topic = scene.group(), scene.group(reset="latest"), scene.topic()
    await scene.send(topic, *numbered(10, "old"))
    late = scene.consumer(from_end, topic)
    sent = 0
    while not (found := await late.poll(timeout_s=0.1)):
        await scene.send(topic, b"new %d" % sent)
        sent += 1
    news = numbered(sent, "new")
    assert values(found) == news[-len(found) :]
    assert values(await take(scene.consumer(from_start, topic), 10 + sent)) == [*numbered(10, "old"), *news]


@redoes("implicit_ack_no_redelivery")
async def test_what_was_accepted_by_asking_for_more_does_not_come_again(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(10))
    consumer = scene.consumer(group, topic, acknowledgement="implicit")
    assert values(await take(consumer, 10)) == numbered(10)
    await scene.send(topic, b"the next")
    assert values(await take(consumer, 1)) == [b"the next"]
    assert await consumer.commit() == []
    assert consumer.metrics.accepted == 11
    await consumer.close()
    assert await scene.left(group, topic) == []


@pytest.mark.parametrize("alone", [False, True])
@redoes("records_redelivered_after_lock_timeout", "single_consumer_self_redelivery_increments_delivery_count")
async def test_a_record_whose_lock_ends_comes_again(scene: Scene, alone: bool) -> None:
    group, topic = scene.group(SHORT_LOCK), scene.topic()
    await scene.send(topic, b"slow")
    holder = scene.consumer(group, topic, prefetch=0, renew_s=0)
    [record] = await take(holder, 1)
    [again] = await take(holder if alone else scene.consumer(group, topic), 1)
    assert places([again]) == places([record])
    assert (record.delivery_count, again.delivery_count) == (1, 2)


@redoes("partition_max_record_locks_caps_in_flight")
async def test_a_partition_has_no_more_locks_than_its_group_allows(scene: Scene) -> None:
    group, topic = scene.group({"share.partition.max.record.locks": "100"}), scene.topic()
    await scene.send(topic, *numbered(250), apart=True)
    consumer = scene.consumer(group, topic, prefetch=1000)
    seen = []
    for expected in (100, 100, 50):
        await consumer.start()
        await comes_true(lambda expected=expected: consumer.metrics.buffered == expected)  # type: ignore[misc]
        await fetched_in_vain(consumer, 1)
        records = await consumer.poll()
        seen += values(records)
        consumer.acknowledge(records)
        assert await consumer.commit() == []
    assert seen == numbered(250)


@redoes(
    "max_poll_interval_exceeded_then_rejoins",
    differs="a member that asks for nothing stays in its group; after `renew_s` it gives up what it has acquired",
)
async def test_a_member_that_asks_for_nothing_gives_up_what_it_has_acquired(scene: Scene) -> None:
    group, topic = scene.group(SHORT_LOCK), scene.topic()
    await scene.send(topic, *numbered(3))
    stalled = scene.consumer(group, topic, renew_s=0.1)
    [first] = await take(stalled, 1)
    other = scene.consumer(group, topic)
    again = await take(other, 3)
    assert values(again) == numbered(3)
    assert {record.delivery_count for record in again} == {2}, (
        "it does not acquire them again to give them up once more"
    )
    await comes_true(lambda: stalled.metrics.lost == 2)
    other.acknowledge(again)
    assert await other.commit() == []
    await other.close()
    await scene.send(topic, b"the next")
    assert values(await take(stalled, 1)) == [b"the next"]
    assert first.delivery_count == 1


@redoes("blocking_poll_longer_than_max_poll_interval_does_not_falsely_trip")
async def test_a_long_wait_for_records_costs_nothing(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    consumer = scene.consumer(group, topic, renew_s=0.1)
    waiting = asyncio.create_task(consumer.getone())
    await fetched_in_vain(consumer)
    await scene.send(topic, b"late")
    record = await waiting
    assert record.value == b"late"
    await record.accept()
