"""A share consumer on the event loop with scripted brokers: acknowledgements, leader changes, losses, closing."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest

from shareq.aio import (
    AcknowledgeType,
    BrokerError,
    ClientError,
    ConfigError,
    LockLost,
    ShareConsumer,
    ShareRecord,
    UnsupportedApi,
)
from shareq.protocol import ack_delays
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest
from shareq.protocol.records.batch import Compression, build_batch, decode_columns
from shareq.protocol.records.compression import MAX_DECOMPRESSED_BYTES
from shareq.protocol.records.record_codec import RecordData
from tests.support.fakes import scripted_peer
from tests.support.fakes.scripted_share_cluster import TOPIC, Node, ShareCluster, batches_of_offsets, refuse
from tests.support.waiting import comes_true

ACCEPT: Final = AcknowledgeType.ACCEPT
RELEASE: Final = AcknowledgeType.RELEASE
REJECT: Final = AcknowledgeType.REJECT
RENEW: Final = AcknowledgeType.RENEW
PATIENCE_S = 20

Join = Callable[..., ShareConsumer]


@pytest.fixture
def cluster() -> Any:
    with ShareCluster(2) as found:
        for node in found.nodes.values():
            node.records = batches_of_offsets
        yield found


async def take(consumer: ShareConsumer, count: int) -> list[ShareRecord]:
    found: list[ShareRecord] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < count:
            found += await consumer.poll(timeout_s=1, max_records=count - len(found))
    return found


async def take_nothing(consumer: ShareConsumer) -> None:
    await consumer.start()
    await comes_true(lambda: consumer.assignment)


def acknowledged(node: Node) -> list[tuple[int, int, int, list[int]]]:
    """Return partition, first offset, last offset and types of each acknowledgement sent."""
    return [
        (partition.partition_index, one.first_offset, one.last_offset, one.acknowledge_types)
        for request in node.acknowledgements
        for topic in request.topics
        for partition in topic.partitions
        for one in partition.acknowledgement_batches
    ]


async def test_records_are_acknowledged_one_by_one_in_any_order(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 3))
    consumer = join(acknowledgement="explicit")
    records = await take(consumer, 4)
    assert [(record.topic, record.partition, record.offset, record.value) for record in records] == [
        (TOPIC, 0, at, b"%d" % at) for at in range(4)
    ]
    await records[2].accept()
    await records[0].release()
    await records[3].reject()
    await records[1].renew()
    assert acknowledged(cluster.nodes[1]) == [(0, 2, 2, [1]), (0, 0, 0, [2]), (0, 3, 3, [3]), (0, 1, 1, [4])]
    with pytest.raises(ClientError, match="it was acknowledged before"):
        await records[2].accept()
    await records[1].accept()
    metrics = consumer.metrics
    assert (metrics.received, metrics.accepted, metrics.released, metrics.rejected, metrics.renewed) == (4, 2, 1, 1, 1)
    assert metrics.in_hand == 0


async def test_a_loop_accepts_each_record_when_it_asks_for_the_next(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 2))
    consumer = join()
    seen: list[bytes | None] = []
    async for record in consumer:
        seen.append(record.value)
        if len(seen) == 3:
            break
    await consumer.close()
    assert seen == [b"0", b"1", b"2"]
    assert sorted(acknowledged(cluster.nodes[1])) in (
        [(0, 0, 0, [1]), (0, 1, 1, [1])],
        [(0, 0, 1, [1])],
    ), "the last is released with the session"


async def test_what_was_acknowledged_in_the_loop_is_not_accepted_after_it(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 1))
    consumer = join()
    async for record in consumer:
        if record.offset == 1:
            break
        await record.reject()
    await consumer.commit()
    assert acknowledged(cluster.nodes[1])[0] == (0, 0, 0, [REJECT])
    assert all(types != [ACCEPT] or first != 0 for _, first, _, types in acknowledged(cluster.nodes[1]))


async def test_several_records_are_acknowledged_at_once_or_none_of_them(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 4))
    consumer = join(acknowledgement="explicit")
    records = await take(consumer, 5)
    consumer.acknowledge(records[:2])
    with pytest.raises(ClientError, match="it was acknowledged before"):
        consumer.acknowledge(records)
    consumer.acknowledge((record for record in records[2:]), AcknowledgeType.REJECT)
    assert await consumer.commit() == []
    assert acknowledged(cluster.nodes[1]) == [(0, 0, 1, [ACCEPT]), (0, 2, 4, [REJECT])]


async def test_what_cannot_be_acknowledged_says_why(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 0))
    consumer, other = join(acknowledgement="explicit"), join(acknowledgement="explicit")
    [record] = await take(consumer, 1)
    with pytest.raises(ClientError, match="another consumer handed it out"):
        other.acknowledge(record)
    for nonsense in (None, 7, "text"):
        with pytest.raises(TypeError):
            consumer.acknowledge(nonsense)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"kind is .*GAP"):
        consumer.acknowledge(record, AcknowledgeType.GAP)
    await record.accept()
    assert acknowledged(cluster.nodes[1]) == [(0, 0, 0, [ACCEPT])]


async def test_another_thread_or_loop_is_refused(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 0))
    consumer = join(acknowledgement="explicit")
    [record] = await take(consumer, 1)
    for misuse in (lambda: consumer.acknowledge(record), lambda: asyncio.run(record.accept())):
        with pytest.raises(ClientError, match=r"another event loop.*call_soon_threadsafe"):
            await asyncio.to_thread(misuse)
    with pytest.raises(ClientError, match="another event loop"):
        await asyncio.to_thread(asyncio.run, consumer.poll())
    await record.accept()


async def test_two_leaders_are_asked_side_by_side(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 0))
    cluster.nodes[2].ready[1].append((7, 7))
    consumer = join(acknowledgement="explicit")
    records = await take(consumer, 2)
    assert {(record.partition, record.offset) for record in records} == {(0, 0), (1, 7)}
    for record in records:
        consumer.acknowledge(record)
    assert await consumer.commit() == []
    assert acknowledged(cluster.nodes[1]) == [(0, 0, 0, [1])]
    assert acknowledged(cluster.nodes[2]) == [(1, 7, 7, [1])]


async def test_records_that_cannot_be_read_are_rejected_and_missing_ones_are_gaps(
    cluster: ShareCluster, join: Join
) -> None:
    def damaged(ready: list[tuple[int, int]]) -> bytes:
        data = bytearray(batches_of_offsets(ready[1:]))
        data[-1] ^= 1
        return bytes(data)

    cluster.nodes[1].records = damaged
    cluster.nodes[1].ready[0].extend([(0, 1), (2, 3)])
    join()._check_open()
    consumer = join()
    assert await consumer.poll(timeout_s=0.3) == []
    await comes_true(lambda: len(acknowledged(cluster.nodes[1])) == 2)
    assert acknowledged(cluster.nodes[1]) == [(0, 0, 1, [0]), (0, 2, 3, [REJECT])]


async def test_a_lost_lock_costs_no_other_acknowledgement(cluster: ShareCluster, join: Join) -> None:
    node = cluster.nodes[1]
    node.ready[0].append((0, 3))
    consumer = join(acknowledgement="explicit")
    records = await take(consumer, 4)
    refuse(node, 2)
    for record in records:
        consumer.acknowledge(record)
    [(record, error)] = await consumer.commit()
    assert (record, type(error)) == (records[2], LockLost)
    assert consumer.metrics.accepted == 3
    with pytest.raises(LockLost):
        await records[2].accept()


async def test_an_error_that_passes_is_tried_again(cluster: ShareCluster, join: Join) -> None:
    node = cluster.nodes[1]
    node.ready[0].append((0, 0))
    consumer = join(acknowledgement="explicit")
    [record] = await take(consumer, 1)
    node.ack_errors[0] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    accepting = asyncio.create_task(record.accept())
    await comes_true(lambda: len(node.acknowledgements) > 1)
    node.ack_errors.clear()
    await accepting


async def test_a_connection_that_ends_loses_what_is_held_and_is_made_again(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 1))
    consumer = join(acknowledgement="explicit")
    records = await take(consumer, 2)
    cluster.hang_up(1)
    with pytest.raises(LockLost):
        await records[0].accept()
    cluster.nodes[1].ready[0].append((0, 0))
    [again] = await take(consumer, 1)
    await again.accept()


async def test_locks_are_renewed_while_records_are_in_hand(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].lock_ms = 1_600  # a loop that a busy machine stalls for half of this time loses the lock
    cluster.nodes[1].ready[0].append((0, 0))
    consumer = join(acknowledgement="explicit")
    [record] = await take(consumer, 1)
    await comes_true(lambda: consumer.metrics.renewed >= 2)
    await record.accept()
    assert acknowledged(cluster.nodes[1])[-1] == (0, 0, 0, [ACCEPT])
    renewals = [one for one in cluster.nodes[1].acknowledgements if one.is_renew_ack]
    assert len(renewals) >= 2


async def test_a_release_with_a_delay_says_so_to_a_broker_of_ours(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 0))
    consumer = join(acknowledgement="explicit")
    [record] = await take(consumer, 1)
    await record.release(delay_s=1.5)
    (sent,) = [one for request in cluster.nodes[1].acknowledgements for one in request.topics[0].partitions]
    assert sent.unknown_tags == ack_delays.tags_of([ack_delays.Later(0, 0, 1_500)])


async def test_a_release_with_a_delay_is_refused_where_the_broker_would_lose_it(
    cluster: ShareCluster, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is still held, and acknowledgements sent beside it count."""
    others = [row for row in scripted_peer.EVERYTHING if row.api_key != ApiKey.START_REDRIVE]
    monkeypatch.setattr(scripted_peer, "EVERYTHING", others)
    cluster.nodes[1].ready[0].append((0, 1))
    consumer = join(acknowledgement="explicit")
    first, second = await take(consumer, 2)
    outcomes = await asyncio.gather(first.release(delay_s=5), second.accept(), return_exceptions=True)
    assert [type(each) for each in outcomes] == [UnsupportedApi, type(None)]
    with pytest.raises(ClientError, match="delay_s is -1"):
        await first.release(delay_s=-1)
    await first.release()
    assert acknowledged(cluster.nodes[1]) == [(0, 1, 1, [1]), (0, 0, 0, [2])]
    sent = [one for request in cluster.nodes[1].acknowledgements for one in request.topics[0].partitions]
    assert not any(each.unknown_tags for each in sent)


async def test_brokers_that_know_no_renewals_are_sent_none(
    cluster: ShareCluster, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = list(scripted_peer.EVERYTHING)
    for at, row in enumerate(offered):
        if row.api_key == ApiKey.SHARE_ACKNOWLEDGE:
            offered[at] = type(row)(row.api_key, row.min_version, 1)
    monkeypatch.setattr(scripted_peer, "EVERYTHING", offered)
    cluster.nodes[1].lock_ms = 100
    cluster.nodes[1].ready[0].append((0, 0))
    consumer = join(acknowledgement="explicit")
    [record] = await take(consumer, 1)
    with pytest.raises(UnsupportedApi, match=r"Apache Kafka 4\.2"):
        await record.renew()
    await record.accept()
    assert not any(request.is_renew_ack for request in cluster.nodes[1].acknowledgements)


async def test_a_group_that_refuses_the_member_ends_the_waiting(cluster: ShareCluster, join: Join) -> None:
    cluster.heartbeat_errors.append(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    consumer = join()
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
        async with asyncio.timeout(PATIENCE_S):
            await consumer.getone()


async def test_dropped_topics_are_acquired_no_more_and_what_waits_of_them_is_released(
    cluster: ShareCluster, join: Join
) -> None:
    cluster.nodes[1].ready[0].append((0, 2))
    consumer = join(acknowledgement="explicit")
    [record] = await take(consumer, 1)
    cluster.nodes[1].waits.clear()
    await comes_true(cluster.nodes[1].waits.is_set)
    await consumer.subscribe(["other"])
    cluster.nodes[1].ready[0].append((3, 3))
    await comes_true(lambda: acknowledged(cluster.nodes[1])[:1] == [(0, 1, 2, [RELEASE])])
    await comes_true(lambda: any(one.forgotten_topics_data for one in cluster.nodes[1].fetches))
    assert consumer.metrics.buffered == 0
    assert cluster.nodes[1].ready[0], "it would have to be released again"
    await record.accept()
    assert await consumer.commit() == []
    cluster.nodes[2].ready[1].append((0, 0))
    assert await consumer.poll(timeout_s=0.2) == []


async def test_a_consumer_without_topics_stays_in_the_group_and_says_what_it_lacks(
    cluster: ShareCluster, join: Join
) -> None:
    consumer = join()
    await consumer.start()
    await comes_true(lambda: consumer.assignment)
    await consumer.subscribe([])
    await comes_true(lambda: any(one.subscribed_topic_names == [] for one in cluster.nodes[1].heartbeats))
    with pytest.raises(ClientError, match="has no topics: subscribe first"):
        await consumer.poll()
    await consumer.subscribe([TOPIC])
    cluster.nodes[1].ready[0].append((0, 0))
    await take(consumer, 1)


@pytest.mark.filterwarnings("ignore:unclosed (transport|.socket):ResourceWarning")  # of the loop that has ended
def test_a_consumer_that_is_never_closed_warns(cluster: ShareCluster) -> None:
    async def start() -> None:
        await ShareConsumer(cluster.nodes[1].broker.bootstrap, "forgetful", [TOPIC]).start()

    def forget() -> None:
        asyncio.run(start())
        gc.collect()

    with pytest.warns(ResourceWarning, match="share group forgetful was never closed"):
        forget()


async def test_the_end_sends_what_waits_and_releases_the_rest(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 4))
    consumer = join(acknowledgement="explicit")
    records = await take(consumer, 3)
    consumer.acknowledge(records[0])
    await consumer.close()
    sent: list[ShareAcknowledgeRequest] = cluster.nodes[1].acknowledgements
    assert acknowledged(cluster.nodes[1]) == [(0, 0, 0, [1])]
    assert sent[-1].share_session_epoch == -1
    assert cluster.nodes[1].heartbeats[-1].member_epoch == -1
    with pytest.raises(LockLost):
        await records[1].accept()
    with pytest.raises(ClientError, match="is closed"):
        await consumer.poll()


async def test_who_ends_it_a_second_time_waits_for_the_first(cluster: ShareCluster, join: Join) -> None:
    """A signal's task closes the consumer; the program must not exit before that is done."""
    cluster.nodes[1].ready[0].append((0, 0))
    async with join(acknowledgement="explicit") as consumer:
        async for record in consumer:
            consumer.acknowledge(record)
            closing = asyncio.create_task(consumer.close())
    assert cluster.nodes[1].heartbeats[-1].member_epoch == -1
    assert acknowledged(cluster.nodes[1]) == [(0, 0, 0, [ACCEPT])]
    await closing


async def test_the_end_waits_for_what_is_in_hand_if_it_is_asked_to(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 0))
    consumer = join(acknowledgement="explicit")
    [record] = await take(consumer, 1)
    closing = asyncio.create_task(consumer.close(drain_s=PATIENCE_S))
    await asyncio.sleep(0)
    assert not closing.done()
    await record.accept()
    await closing
    assert acknowledged(cluster.nodes[1]) == [(0, 0, 0, [1])]


async def test_a_member_whose_brokers_are_all_away_leaves_at_once(cluster: ShareCluster, join: Join) -> None:
    """Looking for the coordinator once delayed the end of a worker after SIGTERM by five seconds."""
    consumer = join()
    await take_nothing(consumer)
    for node in cluster.nodes.values():
        node.broker.close()
    consumer._network.forget_coordinator("g")  # as after a heartbeat that failed
    async with asyncio.timeout(2):
        await consumer.close()


async def test_a_loop_ends_when_the_consumer_is_closed(cluster: ShareCluster, join: Join) -> None:
    consumer = join()

    async def loop() -> None:
        async for _ in consumer:
            pass

    looping = asyncio.create_task(loop())
    await comes_true(lambda: cluster.nodes[1].fetches)
    await consumer.close()
    async with asyncio.timeout(PATIENCE_S):
        await looping


@pytest.mark.parametrize("renew_s", [0, 0.05])
async def test_what_nobody_asks_for_is_given_up_and_not_acquired_again(
    cluster: ShareCluster, join: Join, renew_s: float
) -> None:
    """Each acquisition would count as a delivery, until the broker archives the record."""
    cluster.nodes[1].lock_ms = 100
    cluster.nodes[1].ready[0] += [(0, 0), (1, 1)]
    consumer = join(acknowledgement="explicit", renew_s=renew_s)
    assert await consumer.poll(timeout_s=PATIENCE_S, max_records=1)
    # The second record arrived and was released for good; the test may miss the moment when it was buffered.
    await comes_true(lambda: consumer.metrics.received == 2 and not consumer.metrics.buffered)
    cluster.nodes[1].ready[0].append((1, 1))
    await asyncio.sleep(0.3)
    assert cluster.nodes[1].ready[0], "it waits until the program asks"
    [record] = await take(consumer, 1)
    assert record.offset == 1
    await record.accept()


async def test_without_prefetch_nothing_is_acquired_that_nobody_waits_for(cluster: ShareCluster, join: Join) -> None:
    cluster.nodes[1].ready[0].append((0, 0))
    consumer = join(prefetch=0, acknowledgement="explicit", acquire_mode="record_limit")
    [record] = await take(consumer, 1)
    asked = len(cluster.nodes[1].fetches)
    await record.accept()
    assert len(cluster.nodes[1].fetches) == asked
    assert cluster.nodes[1].fetches[-1].max_records == 1
    assert cluster.nodes[1].fetches[-1].share_acquire_mode == 1


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"acknowledgement": "auto"}, "acknowledgement: 'auto': must be implicit or explicit"),
        ({"acquire_mode": "all"}, "acquire_mode: 'all'"),
        ({"prefetch": -1}, "prefetch and renew_s must be 0 or more"),
        ({"properties": {"auto.offset.reset": "earliest"}}, "share.auto.offset.reset"),
    ],
)
async def test_options_that_cannot_be_are_refused(join: Join, more: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        join(**more)


@pytest.mark.parametrize("large", [False, True])
async def test_a_batch_that_may_be_large_is_opened_beside_the_loop(
    cluster: ShareCluster, join: Join, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    """64 MB of records may take a few kilobytes, and would block the loop for a second."""
    opened_on: list[threading.Thread] = []

    def noticed(*given: Any, **named: Any) -> Any:
        opened_on.append(threading.current_thread())
        return decode_columns(*given, **named)

    def compressed(_: list[tuple[int, int]]) -> bytes:
        values = [RecordData(None, bytes(300_000))] * 4
        return bytes(build_batch(values, timestamp_ms=5, compression=Compression.GZIP))

    monkeypatch.setattr("shareq.client.aio.consumer.records.decode_columns", noticed)
    if large:
        cluster.nodes[1].records = compressed
    cluster.nodes[1].ready[0].append((0, 3))
    assert len(await take(join(), 4)) == 4
    assert opened_on
    assert (threading.main_thread() in opened_on) != large


async def test_a_batch_that_is_too_large_to_open_is_rejected(cluster: ShareCluster, join: Join) -> None:
    def too_large(_: list[tuple[int, int]]) -> bytes:
        large = RecordData(None, bytes(MAX_DECOMPRESSED_BYTES + 1))
        return bytes(build_batch([large], timestamp_ms=5, compression=Compression.ZSTD))

    node = cluster.nodes[1]
    node.records = too_large
    node.ready[0].append((0, 0))
    consumer = join()
    assert await consumer.poll(timeout_s=0.2) == []
    await comes_true(lambda: acknowledged(node) == [(0, 0, 0, [3])])
