from __future__ import annotations

import pytest

from shareq.aio import ClientError
from tests.interop.aio_scenarios.scene import Scene, numbered, take, values
from tests.interop.aio_scenarios.stage import redoes
from tests.support.waiting import comes_true

pytestmark = pytest.mark.interop

OFTEN = {"metadata.max.age.ms": "200"}


@redoes("unsubscribe_stops_delivery", "close_after_unsubscribe_is_clean")
async def test_without_topics_nothing_comes_and_a_poll_says_so(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(5))
    consumer = scene.consumer(group, topic)
    consumer.acknowledge(await take(consumer, 5))
    assert await consumer.commit() == []
    await consumer.subscribe([])
    assert consumer.subscription == frozenset()
    await scene.send(topic, *numbered(5, "later"))
    with pytest.raises(ClientError, match="has no topics: subscribe first"):
        await consumer.poll()
    await comes_true(lambda: not consumer.assignment)
    await consumer.close()
    assert await scene.left(group, topic) == numbered(5, "later")


@redoes("resubscribe_to_different_topic")
async def test_another_subscription_takes_the_place_of_the_first(scene: Scene) -> None:
    group, before, after = scene.group(), scene.topic(), scene.topic()
    await scene.send(before, *numbered(3))
    consumer = scene.consumer(group, before)
    consumer.acknowledge(await take(consumer, 3))
    await consumer.subscribe([after])
    await scene.send(before, *numbered(5, "before"))
    await scene.send(after, *numbered(5, "after"))
    assert values(await take(consumer, 5)) == numbered(5, "after")
    assert await consumer.commit() == []
    await consumer.close()
    assert await scene.left(group, before) == numbered(5, "before")


@redoes("resubscribe_same_topic_keeps_delivering")
async def test_the_same_subscription_changes_nothing(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    await scene.send(topic, *numbered(3))
    consumer = scene.consumer(group, topic)
    consumer.acknowledge(await take(consumer, 3))
    await consumer.subscribe([topic])
    await scene.send(topic, *numbered(3, "more"))
    assert values(await take(consumer, 3)) == numbered(3, "more")


@redoes("ack_after_unsubscribe_does_not_crash", "commit_after_unsubscribe_does_not_crash")
async def test_what_is_in_hand_of_a_dropped_topic_is_acknowledged_all_the_same(scene: Scene) -> None:
    group, before, after = scene.group(), scene.topic(), scene.topic()
    await scene.send(before, *numbered(2))
    consumer = scene.consumer(group, before, acquire_mode="record_limit")
    one, other = await take(consumer, 2)
    await consumer.subscribe([])
    await one.accept()
    consumer.acknowledge(other)
    assert await consumer.commit() == []
    await consumer.subscribe([after])
    await scene.send(after, b"goes on")
    assert values(await take(consumer, 1)) == [b"goes on"]
    await consumer.close()
    assert await scene.left(group, before) == []


@redoes("subscribe_before_topic_exists")
async def test_a_topic_that_is_created_later_is_found(scene: Scene) -> None:
    group = scene.group()
    topic = f"later-{group}"
    consumer = scene.consumer(group, topic, properties=OFTEN)
    assert await consumer.poll(timeout_s=0.1) == []
    scene.create(topic)
    await scene.send(topic, *numbered(10))
    assert values(await take(consumer, 10)) == numbered(10)


@redoes("partition_increase_during_consume")
async def test_partitions_that_are_added_are_read(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic(2)
    consumer = scene.consumer(group, topic, properties=OFTEN)
    for partition in range(2):
        await scene.send(topic, *numbered(5), partition=partition)
    consumer.acknowledge(await take(consumer, 10))
    assert scene.admin.topics.set_partitions({topic: 4}) == {topic: 4}
    for partition in (2, 3):
        await scene.send(topic, *numbered(5), partition=partition)
    records = await take(consumer, 10)
    assert sorted((record.partition, record.offset) for record in records) == [
        (partition, offset) for partition in (2, 3) for offset in range(5)
    ]


@redoes("topic_deletion_under_subscription_keeps_other_topic_flowing")
async def test_a_topic_that_is_deleted_holds_up_no_other(scene: Scene) -> None:
    group, goes, stays = scene.group(), scene.topic(), scene.topic()
    consumer = scene.consumer(group, goes, stays, properties=OFTEN)
    for topic in (goes, stays):
        await scene.send(topic, *numbered(5, topic))
    consumer.acknowledge(await take(consumer, 10))
    assert await consumer.commit() == []
    scene.delete(goes)
    await scene.send(stays, *numbered(5, "more"))
    assert values(await take(consumer, 5)) == numbered(5, "more")


@redoes("topic_recreate_resumes_with_fresh_delivery")
async def test_a_topic_that_is_made_again_is_a_new_one(scene: Scene) -> None:
    group, topic = scene.group(), scene.topic()
    consumer = scene.consumer(group, topic, properties=OFTEN)
    await scene.send(topic, *numbered(5, "before"))
    consumer.acknowledge(await take(consumer, 5))
    assert await consumer.commit() == []
    scene.delete(topic)
    await comes_true(lambda: topic not in {one.name for one in scene.admin.topics.all()})
    scene.create(topic)
    producer = scene.producer()
    for value in numbered(5, "after"):
        await producer.send_and_wait(topic, value)
    records = await take(consumer, 5)
    assert values(records) == numbered(5, "after")
    assert {record.delivery_count for record in records} == {1}
    consumer.acknowledge(records)
    assert await consumer.commit() == []
