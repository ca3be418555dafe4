"""A share consumer's loops over records and batches: what they accept, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any, Final

import pytest

from shareq.aio import AcknowledgeType, ClientError, LockLost, ShareBatch, ShareConsumer
from shareq.client.aio.consumer.records import State
from tests.support.fakes.scripted_share_cluster import TOPIC, Node, ShareCluster, batches_of_offsets, refuse
from tests.support.waiting import comes_true

ACCEPT: Final = int(AcknowledgeType.ACCEPT)
RELEASE: Final = int(AcknowledgeType.RELEASE)
REJECT: Final = int(AcknowledgeType.REJECT)
RENEW: Final = int(AcknowledgeType.RENEW)

Join = Callable[..., ShareConsumer]


@pytest.fixture
def cluster() -> Any:
    with ShareCluster(2) as found:
        for node in found.nodes.values():
            node.records = batches_of_offsets
        yield found


def acknowledged(node: Node) -> list[tuple[int, int, int]]:
    """Return first offset, last offset and type of each acknowledgement sent."""
    return [
        (one.first_offset, one.last_offset, one.acknowledge_types[0])
        for request in node.acknowledgements
        for topic in request.topics
        for partition in topic.partitions
        for one in partition.acknowledgement_batches
    ]


def offsets(batch: ShareBatch) -> list[int]:
    return [record.offset for record in batch]


async def test_a_batch_is_accepted_when_the_next_is_asked_for(cluster: ShareCluster, join: Join) -> None:
    node = cluster.nodes[1]
    node.ready[0].append((0, 9))
    consumer = join()
    seen = []
    async for batch in consumer.batches(max_records=4):
        seen.append(offsets(batch))
        assert (batch.topic, batch.partition, batch[0].value) == (TOPIC, 0, b"%d" % batch[0].offset)
        if len(seen) == 3:
            break
    await consumer.close()
    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert acknowledged(node) == [(0, 7, ACCEPT)], "the last is released with the session"


async def test_a_batch_is_of_one_partition(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 1))
    cluster.nodes[2].ready[1].append((0, 1))
    consumer = join(acknowledgement="explicit")
    await consumer.start()
    await comes_true(lambda: consumer.metrics.buffered == 4)
    batches = consumer.batches()
    found = [await anext(batches), await anext(batches)]
    assert sorted((batch.partition, len(batch)) for batch in found) == [(0, 2), (1, 2)]
    for batch in found:
        await batch.accept()
    assert acknowledged(cluster.nodes[1]) == acknowledged(cluster.nodes[2]) == [(0, 1, ACCEPT)]


async def test_what_was_acknowledged_of_a_batch_stays_as_it_is(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 5))
    consumer = join(acknowledgement="explicit")
    batch = await anext(consumer.batches())
    await batch[1].reject()
    consumer.acknowledge(batch[4], AcknowledgeType.RELEASE)
    await batch.accept()
    assert acknowledged(cluster.nodes[1])[0] == (1, 1, REJECT)
    assert sorted(acknowledged(cluster.nodes[1])[1:]) == [(0, 0, 1), (2, 3, 1), (4, 4, 2), (5, 5, 1)]
    await batch.accept()  # there is nothing left of it
    metrics = consumer.metrics
    assert (metrics.accepted, metrics.released, metrics.rejected, metrics.in_hand) == (4, 1, 1, 0)


async def test_a_batch_is_renewed_released_and_rejected_as_a_whole(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 3))
    consumer = join(acknowledgement="explicit")
    batches = consumer.batches(max_records=2)
    first, second = await anext(batches), await anext(batches)
    await first.renew()
    await first.release("not now")
    await second.reject("never")
    assert acknowledged(cluster.nodes[1]) == [(0, 1, RENEW), (0, 1, RELEASE), (2, 3, REJECT)]
    assert consumer.metrics.renewed == 2


async def test_a_lost_lock_in_a_batch_costs_no_other_record(cluster: ShareCluster, join: Join) -> None:
    node = cluster.nodes[1]
    node.ready[0].append((0, 9))
    consumer = join(acknowledgement="explicit")
    batch = await anext(consumer.batches())
    refuse(node, 2)
    with pytest.raises(LockLost):
        await batch.accept()
    assert [record.offset for record in batch if record.state is State.LOST] == [2]
    assert consumer.metrics.accepted == 9
    with pytest.raises(LockLost):
        await batch.accept()


async def test_a_loop_left_by_an_error_keeps_what_it_acknowledged(cluster: ShareCluster, join: Join) -> None:
    node = cluster.nodes[1]
    node.ready[0].append((0, 3))
    consumer = join()

    async def fail() -> None:
        async for batch in consumer.batches():
            await batch[0].accept()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    await consumer.close()
    assert acknowledged(node) == [(0, 0, ACCEPT)]


@pytest.mark.parametrize("by_batches", [False, True])
async def test_a_loop_ends_when_the_consumer_is_closed(cluster: ShareCluster, join: Join, by_batches: bool) -> None:
    cluster.nodes[1].ready[0].append((0, 3))
    consumer = join()
    seen = 0
    loop: AsyncIterator[Any] = consumer.batches(max_records=2) if by_batches else aiter(consumer)
    async for _ in loop:
        seen += 1
        await consumer.close()
    assert seen == 1
    with pytest.raises(ClientError, match="is closed"):
        await consumer.poll()


@pytest.mark.parametrize("by_batches", [False, True])
async def test_a_loop_that_waits_ends_when_the_consumer_is_closed(
    cluster: ShareCluster, join: Join, by_batches: bool
) -> None:
    consumer = join()
    await consumer.start()

    async def seen() -> int:
        loop: AsyncIterator[Any] = consumer.batches() if by_batches else aiter(consumer)
        return len([each async for each in loop])

    counting = asyncio.create_task(seen())
    await comes_true(lambda: consumer.assignment)
    await consumer.close()
    assert await counting == 0


@pytest.mark.parametrize("by_batches", [False, True])
async def test_a_step_that_is_cancelled_loses_no_record(cluster: ShareCluster, join: Join, by_batches: bool) -> None:
    node = cluster.nodes[1]
    consumer = join()
    loop: AsyncIterator[Any] = consumer.batches(max_records=1) if by_batches else aiter(consumer)
    step = asyncio.ensure_future(anext(loop))
    await comes_true(lambda: consumer.assignment)
    node.ready[0].append((0, 99))
    await comes_true(lambda: consumer.metrics.received)
    seen: list[int] = []
    for number in count():
        if len(seen) == 100:
            break
        step.cancel()
        try:
            found = await step
        except asyncio.CancelledError:
            pass
        else:
            seen += [record.offset for record in found] if by_batches else [found.offset]
        step = asyncio.ensure_future(anext(loop))
        if number % 3:  # else it is cancelled before it begins
            await asyncio.sleep(0)
    step.cancel()
    await asyncio.gather(step, return_exceptions=True)
    assert seen == list(range(100))
    await consumer.close()
    assert {at for first, last, _ in acknowledged(node) for at in range(first, last + 1)} >= set(range(99))


async def test_a_loop_over_records_that_are_there_accepts_them_together(cluster: ShareCluster, join: Join) -> None:
    node = cluster.nodes[1]
    node.ready[0].append((0, 99))
    consumer = join()
    await consumer.start()
    await comes_true(lambda: consumer.metrics.buffered == 100)
    seen = 0
    async for _ in consumer:
        seen += 1
        if seen == 100:
            break
    assert await consumer.commit() == []
    assert [sum(last + 1 - first for first, last, _ in acknowledged(node)), len(acknowledged(node)) < 10] == [100, True]
    assert consumer.metrics.accepted == 100


async def test_an_accepted_record_is_sent_while_the_loop_works_on_the_next(cluster: ShareCluster, join: Join) -> None:
    node = cluster.nodes[1]
    node.ready[0].append((0, 1))
    async for record in (consumer := join()):
        if record.offset == 1:
            await comes_true(lambda: acknowledged(node) == [(0, 0, ACCEPT)])
            break
    assert consumer.metrics.accepted == 1


async def test_a_lock_that_is_lost_in_the_turn_of_its_acceptance_is_returned_by_commit(
    cluster: ShareCluster, join: Join
) -> None:
    cluster.nodes[1].ready[0].append((0, 1))
    consumer = join()
    batches = consumer.batches(max_records=1)
    [first] = await anext(batches)
    await anext(batches)
    consumer._sessions[1].lose("for this test", None)
    [(record, error)] = await consumer.commit()
    assert (record, type(error)) == (first, LockLost)
    assert consumer.metrics.refused == 1


async def test_what_was_acquired_ahead_goes_back_but_for_the_first(cluster: ShareCluster, join: Join) -> None:
    node = cluster.nodes[1]
    node.ready[0].append((0, 9))
    consumer = join(acknowledgement="explicit")
    await consumer.start()
    await comes_true(lambda: consumer.metrics.buffered == 10)
    assert [record.offset for record in consumer.take_ready(2)] == [0, 1]
    consumer.acquire_ahead(3)
    assert consumer.give_back(3) == 5
    assert await consumer.commit() == []
    assert acknowledged(node) == [(5, 9, RELEASE)]
    assert consumer.lock_s == node.lock_ms / 1000
    assert [record.offset for record in consumer.take_ready(9)] == [2, 3, 4]
    assert consumer.take_ready(9) == []


async def test_more_is_acquired_when_half_of_what_is_ahead_is_left(cluster: ShareCluster, join: Join) -> None:
    node = cluster.nodes[1]
    node.ready[0].append((0, 7))
    consumer = join(acknowledgement="explicit", prefetch=8)
    await consumer.start()
    await comes_true(lambda: consumer.metrics.buffered == 8)
    consumer.take_ready(3)
    assert consumer.room() == 0
    consumer.take_ready(1)
    assert consumer.room() > 0


def test_a_batch_takes_a_record_at_least() -> None:
    with pytest.raises(ValueError, match="must be 1 or more"):
        ShareConsumer("127.0.0.1:1", "g", ["t"]).batches(max_records=0)
