"""Our own client: a share-group member that acquires ranges, and plain fetches of ranges."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from devtools.clients.admin import configure_group, create_topic, produce, read_from_start
from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError
from shareq.client.fetch import Fetched, OffsetsGone, RangeFetcher, TopicGone
from shareq.client.network import Network
from shareq.client.offsets import OffsetRanges
from shareq.client.share.range_consumer import ShareRangeConsumer
from shareq.client.share.session import AckRange, AcquiredRange
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import LENGTH_OVERHEAD, batch_headers
from shareq.protocol.share import AcknowledgeType
from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.filled import filled_topic
from tests.interop.support.share_wire import eventually

BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000"}
LOCK_MS = 1500
ACCEPT, RELEASE, REJECT, RENEW = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
    AcknowledgeType.RENEW,
)
WAIT_S = 30

Unique = Callable[[str], str]
Held = dict[int, OffsetRanges]
"""Offsets by partition."""


def config(broker: BrokerUnderTest, **properties: str) -> ClientConfig:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    security = protocol.properties(broker.bootstrap)
    return ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap, **security, **given})


@contextmanager
def member(broker: BrokerUnderTest, group: str, *topics: str) -> Iterator[ShareRangeConsumer]:
    with ShareRangeConsumer(config(broker), group, topics) as consumer:
        yield consumer


def acquire(consumer: ShareRangeConsumer, records: int, *, max_records: int = 10_000) -> list[AcquiredRange]:
    acquired: list[AcquiredRange] = []
    deadline = time.monotonic() + WAIT_S
    while sum(one.last - one.first + 1 for one in acquired) < records:
        assert time.monotonic() < deadline, acquired
        acquired += consumer.poll(max_records=max_records, max_wait_ms=500)
    return acquired


def acks(acquired: Sequence[AcquiredRange]) -> list[AckRange]:
    return [AckRange(one.topic_id, one.partition, one.first, one.last) for one in acquired]


def held(acquired: Sequence[AcquiredRange]) -> Held:
    found: Held = {}
    for one in acquired:
        found.setdefault(one.partition, OffsetRanges()).add(one.first, one.last)
    return found


def errors(results: Sequence[tuple[AckRange, ErrorCode]]) -> set[ErrorCode]:
    return {error for _, error in results}


@pytest.mark.parametrize("partitions", [1, 3])
def test_what_is_accepted_does_not_come_again(broker: BrokerUnderTest, unique: Unique, partitions: int) -> None:
    topic, group = filled_topic(broker, unique, partitions, 1000 * partitions)
    with member(broker, group, topic) as consumer:
        acquired = acquire(consumer, 1000 * partitions)
        assert held(acquired) == {partition: OffsetRanges([(0, 999)]) for partition in range(partitions)}
        assert {(one.topic, one.delivery_count) for one in acquired} == {(topic, 1)}
        assert {(one.topic_id, one.partition) for one in acquired} == consumer.assignment
        assert consumer.lock_timeout_ms == 30_000
        results = consumer.acknowledge(acks(acquired), ACCEPT)
        assert sorted(one for one, _ in results) == sorted(acks(acquired))
        assert errors(results) == {ErrorCode.NONE}
        assert consumer.poll(max_records=100, max_wait_ms=200) == []
    with member(broker, group, topic) as later:
        produce(broker.bootstrap, topic, [(0, b"marker")])
        assert [(one.first, one.last) for one in acquire(later, 1)] == [(1000, 1000)]


def test_released_ranges_come_again_and_rejected_ones_do_not(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = filled_topic(broker, unique, 1, 300, batch_records=100)
    with member(broker, group, topic) as consumer:
        topic_id = acquire(consumer, 300)[0].topic_id
        assert errors(consumer.acknowledge([AckRange(topic_id, 0, 10, 19)], RELEASE)) == {ErrorCode.NONE}
        assert errors(consumer.acknowledge([AckRange(topic_id, 0, 20, 299)], REJECT)) == {ErrorCode.NONE}
        again = acquire(consumer, 10)
        assert held(again) == {0: OffsetRanges([(10, 19)])}
        assert {one.delivery_count for one in again} == {2}


def test_one_range_whose_lock_is_gone_does_not_fail_the_others(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = filled_topic(broker, unique, 1, 400, batch_records=10)
    with member(broker, group, topic) as consumer:
        topic_id = acquire(consumer, 400)[0].topic_id
        consumer.acknowledge([AckRange(topic_id, 0, 130, 139)], REJECT)
        tens = [AckRange(topic_id, 0, first, first + 9) for first in range(10, 400, 10)]
        results = dict(consumer.acknowledge(tens, ACCEPT))
        # Offset 0 is still held: below the start offset, which would move on, everything can be acknowledged.
        assert {one.first: error for one, error in results.items() if error} == {130: ErrorCode.INVALID_RECORD_STATE}
        assert len(results) == 39


def test_a_strict_limit_is_kept(broker: BrokerUnderTest, unique: Unique) -> None:
    """KIP-1206: without the limit the whole batch would be acquired."""
    topic, group = filled_topic(broker, unique, 2, 1000)
    with member(broker, group, topic) as consumer:
        total = 0
        while total < 21:
            acquired = consumer.poll(max_records=7, max_wait_ms=1000, strict=True)
            assert sum(one.last - one.first + 1 for one in acquired) <= 7
            total += sum(one.last - one.first + 1 for one in acquired)


def test_renewed_locks_hold_and_others_expire(broker: BrokerUnderTest, unique: Unique) -> None:
    """KIP-1222: only renewed locks outlast their duration."""
    topic, group = filled_topic(broker, unique, 1, 20, batch_records=10)
    configure_group(broker.bootstrap, group, {"share.record.lock.duration.ms": str(LOCK_MS)})
    with member(broker, group, topic) as holder, member(broker, group, topic) as other:
        acquired = acquire(holder, 20)
        assert holder.lock_timeout_ms == LOCK_MS
        topic_id = acquired[0].topic_id
        kept, dropped = AckRange(topic_id, 0, 0, 9), AckRange(topic_id, 0, 10, 19)
        seen: list[AcquiredRange] = []
        deadline = time.monotonic() + WAIT_S
        renewals = 0
        while not seen or renewals < 5:
            assert time.monotonic() < deadline
            assert errors(holder.acknowledge([kept], RENEW)) == {ErrorCode.NONE}
            renewals += 1
            seen += other.poll(max_records=100, max_wait_ms=LOCK_MS // 3)
        assert held(seen) == {0: OffsetRanges([(10, 19)])}
        assert seen[0].delivery_count == 2  # its lock runs out, too, where the rounds take long
        assert dict(holder.acknowledge([kept, dropped], ACCEPT)) == {
            kept: ErrorCode.NONE,
            dropped: ErrorCode.INVALID_RECORD_STATE,
        }


def test_closing_gives_back_what_is_held(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = filled_topic(broker, unique, 2, 100)
    started = time.monotonic()
    with member(broker, group, topic) as first:
        acquire(first, 100)
    with member(broker, group, topic) as second:
        again = acquire(second, 100)
    assert {one.delivery_count for one in again} == {2}
    assert time.monotonic() - started < 25  # by closing, not by the end of the locks


def test_two_members_share_a_topic(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = filled_topic(broker, unique, 4, 2000, batch_records=50)
    taken: list[tuple[int, int]] = []
    done = threading.Event()

    def work(consumer: ShareRangeConsumer) -> None:
        while not done.is_set():
            acquired = consumer.poll(max_records=100, max_wait_ms=200)
            results = consumer.acknowledge(acks(acquired), ACCEPT)
            assert errors(results) <= {ErrorCode.NONE}
            for one, _ in results:
                taken.extend((one.partition, offset) for offset in range(one.first, one.last + 1))

    with member(broker, group, topic) as left, member(broker, group, topic) as right:
        threads = [threading.Thread(target=work, args=[consumer]) for consumer in (left, right)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + WAIT_S
        while len(taken) < 2000 and time.monotonic() < deadline:
            done.wait(0.05)
        done.set()
        for thread in threads:
            thread.join()
        assert left.member_id != right.member_id
    assert sorted(taken) == [(partition, offset) for partition in range(4) for offset in range(500)]


def test_a_topic_that_comes_later_is_acquired_from(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, group = unique("topic"), unique("group")
    read_from_start(broker.bootstrap, group)
    with member(broker, group, topic) as consumer:
        started = time.monotonic()
        assert consumer.poll(max_records=10, max_wait_ms=300) == []
        assert time.monotonic() - started < 5
        assert not consumer.has_assignment
        create_topic(broker.bootstrap, topic, 1)
        produce(broker.bootstrap, topic, [(0, b"value")])
        assert held(acquire(consumer, 1)) == {0: OffsetRanges([(0, 0)])}


def test_a_refused_member_says_why(broker: BrokerUnderTest, unique: Unique) -> None:
    group = unique("group")
    with member(broker, group) as consumer, pytest.raises(BrokerError, match=f"share group {group}: INVALID_REQUEST"):
        consumer.poll(max_records=1, max_wait_ms=10_000)


def test_a_fetch_brings_exactly_the_batches_of_a_range(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, _ = filled_topic(broker, unique, 2, 600, batch_records=10)
    topic_id = id_of(broker, topic)
    fetcher = RangeFetcher(config(broker))
    for first, last in [(0, 299), (0, 0), (299, 299), (5, 5), (115, 224), (9, 10)]:
        fetched = list(fetcher.fetch(topic_id, topic, 1, first, last))
        assert offsets(fetched).covers(first, last)
        assert {(one.log_start_offset, one.high_watermark) for one in fetched} == {(0, 300)}
    fetcher.close()


@pytest.mark.parametrize("most", [500, 50])
def test_a_fetch_in_small_answers_has_no_cut_batches(broker: BrokerUnderTest, unique: Unique, most: int) -> None:
    topic, _ = filled_topic(broker, unique, 1, 300, batch_records=10)
    fetcher = RangeFetcher(config(broker, max_partition_fetch_bytes=str(most)))
    fetched = list(fetcher.fetch(id_of(broker, topic), topic, 0, 3, 287))
    assert len(fetched) > 5
    assert offsets(fetched).covers(3, 287)
    assert sum(len(one.data) for one in fetched) == sum(
        header.length + LENGTH_OVERHEAD for one in fetched for _, header in batch_headers(bytes(one.data))
    )
    fetcher.close()


def test_a_range_may_end_with_a_marker(broker: BrokerUnderTest, unique: Unique) -> None:
    topic = unique("topic")
    create_topic(broker.bootstrap, topic, 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": unique("id")})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"value", partition=0)
    producer.flush()
    producer.abort_transaction()
    fetcher = RangeFetcher(config(broker))
    assert offsets(list(fetcher.fetch(id_of(broker, topic), topic, 0, 0, 1))).bounds == (0, 1)
    fetcher.close()


def test_offsets_and_topics_that_are_gone(broker: BrokerUnderTest, unique: Unique) -> None:
    topic, _ = filled_topic(broker, unique, 1, 100, batch_records=10)
    topic_id = id_of(broker, topic)
    fetcher = RangeFetcher(config(broker))
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 40)]).values():
        deleted.result()
    with pytest.raises(OffsetsGone) as gone:
        list(fetcher.fetch(topic_id, topic, 0, 30, 60))
    assert (gone.value.offset, gone.value.log_start, gone.value.log_end) == (30, 40, 100)
    assert offsets(list(fetcher.fetch(topic_id, topic, 0, 40, 60))).covers(40, 60)
    with pytest.raises(OffsetsGone, match=f"partition {topic}-0: offset 200 is not in the log, which has 40 to 99"):
        list(fetcher.fetch(topic_id, topic, 0, 200, 201))
    admin.delete_topics([topic])[topic].result()
    create_topic_again(broker, topic)
    with pytest.raises(TopicGone, match=f"partition {topic}-0: there is no topic with the id"):
        list(fetcher.fetch(topic_id, topic, 0, 40, 60))
    fetcher.close()


def test_a_kill_takes_the_locks_and_nothing_else(broker: BrokerUnderTest, unique: Unique) -> None:
    """Acknowledgements of earlier acquisitions are refused, their records come again, and fetches resume."""
    topic, group = filled_topic(broker, unique, 2, 1000, batch_records=10)
    fetcher = RangeFetcher(config(broker, max_partition_fetch_bytes="500"))
    with member(broker, group, topic) as consumer:
        acquired = acquire(consumer, 1000)
        before = dict(consumer.generation)
        reading = fetcher.fetch(acquired[0].topic_id, topic, 0, 0, 499)
        fetched = [next(reading)]
        broker.restart(kill=True)
        assert errors(consumer.acknowledge(acks(acquired), ACCEPT)) <= {
            ErrorCode.NETWORK_EXCEPTION,
            ErrorCode.SHARE_SESSION_NOT_FOUND,
        }
        assert all(consumer.generation[place] > generation for place, generation in before.items())
        fetched += reading
        assert offsets(fetched) == OffsetRanges([(0, 499)])
        again = acquire(consumer, 1000)
        assert held(again) == held(acquired)
        assert errors(consumer.acknowledge(acks(again), ACCEPT)) == {ErrorCode.NONE}
        assert consumer.poll(max_records=100, max_wait_ms=200) == []
    fetcher.close()


def offsets(fetched: Sequence[Fetched]) -> OffsetRanges:
    return OffsetRanges(
        (header.base_offset, header.base_offset + header.last_offset_delta)
        for one in fetched
        for _, header in batch_headers(bytes(one.data))
    )


def id_of(broker: BrokerUnderTest, topic: str) -> bytes:
    network = Network(config(broker))
    try:
        return eventually(lambda: network.topic_ids([topic]).get(topic))
    finally:
        network.close()


def create_topic_again(broker: BrokerUnderTest, topic: str) -> None:
    def attempt() -> bool | None:
        try:
            create_topic(broker.bootstrap, topic, 1)
        except KafkaException:
            return None
        return True

    eventually(attempt)
