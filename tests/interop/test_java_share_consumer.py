"""Apache Kafka's KafkaShareConsumer 4.3.1: acknowledgement types, renewal, acquire modes, restarts and kills."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

import pytest

from devtools.clients.admin import configure_group, produce
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.filled import filled_topic
from tests.interop.support.java_driver import Delivered, JavaDriver, JavaError, JavaShareConsumer

pytestmark = pytest.mark.interop
BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000"}
Unique = Callable[[str], str]
Place = tuple[int, int]


def poll_until(consumer: JavaShareConsumer, timeout_s: float = 30) -> list[Delivered]:
    deadline = time.monotonic() + timeout_s
    while not (records := consumer.poll()):
        assert time.monotonic() < deadline, f"nothing within {timeout_s} s"
    return records


def test_implicit_acknowledgement(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    topic, group = filled_topic(broker, unique, 3, records=300)
    consumer = java.consumer(broker.bootstrap, group, topic)
    got: list[Delivered] = []
    while len(got) < 300:
        got += poll_until(consumer)
    assert sorted(int(record.value) for record in got) == list(range(300))
    assert {record.delivery_count for record in got} == {1}
    assert set(consumer.commit_sync().values()) <= {None}
    assert consumer.poll(300) == []
    assert {error for _, _, error in consumer.callbacks()} == {None}
    consumer.close()


def test_explicit_acknowledgement(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    """A record comes again after RELEASE, counted as the second delivery; never after ACCEPT or REJECT."""
    topic, group = filled_topic(broker, unique, 2, records=100)
    consumer = java.consumer(broker.bootstrap, group, topic, share_acknowledgement_mode="explicit")
    counts: dict[Place, list[int]] = defaultdict(list)
    done = 0
    while done < 100:
        acks = []
        for record in poll_until(consumer):
            counts[record[:2]].append(record.delivery_count)
            kind = "RELEASE" if record.delivery_count == 1 and record.offset % 5 == 0 else "ACCEPT"
            kind = "REJECT" if record.offset % 7 == 1 else kind
            acks.append((record.partition, record.offset, kind))
            done += kind != "RELEASE"
        consumer.acknowledge(acks)
        assert set(consumer.commit_sync().values()) == {None}
    assert counts == {
        (partition, offset): [1, 2] if offset % 5 == 0 and offset % 7 != 1 else [1]
        for partition in range(2)
        for offset in range(50)
    }
    assert consumer.poll(300) == []
    consumer.close()


def test_unacknowledged_records_stop_the_next_poll(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    topic, group = filled_topic(broker, unique, 1, records=10)
    consumer = java.consumer(broker.bootstrap, group, topic, share_acknowledgement_mode="explicit")
    poll_until(consumer)
    with pytest.raises(JavaError, match="IllegalStateException"):
        consumer.poll()
    consumer.close()
    after = java.consumer(broker.bootstrap, group, topic)
    assert {record.delivery_count for record in poll_until(after)} == {2}  # closing has released them
    after.close()


def test_renewal_keeps_the_lock(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    """KIP-1222: records renewed for over two lock durations go to no other member and count one delivery."""
    topic, group = filled_topic(broker, unique, 1, records=20)
    configure_group(broker.bootstrap, group, {"share.record.lock.duration.ms": "2000"})
    worker = java.consumer(broker.bootstrap, group, topic, share_acknowledgement_mode="explicit")
    held = poll_until(worker)
    assert len(held) == 20
    assert worker.lock_timeout_ms() == 2000
    other = java.consumer(broker.bootstrap, group, topic)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        worker.acknowledge((0, record.offset, "RENEW") for record in held)
        assert set(worker.commit_sync().values()) == {None}
        again = worker.poll(50)  # renewed records are handed out again by the client itself
        assert {record.delivery_count for record in again} <= {1}
        assert other.poll(400) == []
    worker.acknowledge((0, record.offset, "ACCEPT") for record in held)
    assert set(worker.commit_sync().values()) == {None}
    produce(broker.bootstrap, topic, [(0, b"marker")])
    assert [record.value for record in poll_until(other)] == ["marker"]
    worker.close()
    other.close()


def test_lock_that_is_not_renewed_expires(broker: BrokerUnderTest, java: JavaDriver, unique: Unique) -> None:
    topic, group = filled_topic(broker, unique, 1, records=10)
    configure_group(broker.bootstrap, group, {"share.record.lock.duration.ms": "1000"})
    slow = java.consumer(broker.bootstrap, group, topic, share_acknowledgement_mode="explicit")
    held = poll_until(slow)
    quick = java.consumer(broker.bootstrap, group, topic)
    assert {(record.offset, record.delivery_count) for record in poll_until(quick)} == {(n, 2) for n in range(10)}
    assert set(quick.commit_sync().values()) == {None}
    slow.acknowledge((0, record.offset, "ACCEPT") for record in held)
    slow.commit_sync()  # behind the start offset by now: answered as a success, and without any effect
    slow.close()
    quick.close()


@pytest.mark.parametrize("mode", ["record_limit", "batch_optimized"])
def test_acquire_mode(broker: BrokerUnderTest, java: JavaDriver, unique: Unique, mode: str) -> None:
    """KIP-1206: with record_limit no poll exceeds max.poll.records, even within one record batch."""
    topic, group = filled_topic(broker, unique, 1, records=100)
    consumer = java.consumer(broker.bootstrap, group, topic, share_acquire_mode=mode, max_poll_records=7)
    polls: list[list[Delivered]] = []
    while sum(map(len, polls)) < 100:
        polls.append(poll_until(consumer))
    assert sorted(int(record.value) for poll in polls for record in poll) == list(range(100))
    if mode == "record_limit":
        assert max(map(len, polls)) <= 7
    assert set(consumer.commit_sync().values()) <= {None}
    consumer.close()


@pytest.mark.crash
@pytest.mark.parametrize(
    "kill", [pytest.param(False, marks=pytest.mark.thorough, id="clean restart"), pytest.param(True, id="kill -9")]
)
def test_restart_loses_nothing_and_revives_nothing(
    broker: BrokerUnderTest, java: JavaDriver, unique: Unique, kill: bool
) -> None:
    records = 1000
    topic, group = filled_topic(broker, unique, 2, records, batch_records=20)
    consumers = [
        java.consumer(broker.bootstrap, group, topic, share_acknowledgement_mode="explicit", max_poll_records=20)
        for _ in range(2)
    ]
    seen: set[int] = set()
    confirmed: set[Place] = set()
    unknown: set[Place] = set()
    revived: list[Place] = []
    last_delivery = time.monotonic()

    def step(consumer: JavaShareConsumer) -> None:
        nonlocal last_delivery
        delivered = consumer.poll(100)
        for record in delivered:
            seen.add(int(record.value))
            unknown.discard(record[:2])
            if record[:2] in confirmed:
                revived.append(record[:2])
            last_delivery = time.monotonic()
        if delivered:
            consumer.acknowledge((record.partition, record.offset, "ACCEPT") for record in delivered)
            consumer.commit_sync()
        for partition, offset, error in consumer.callbacks():
            (confirmed if error is None else unknown).add((partition, offset))

    def work() -> None:
        for consumer in consumers:
            step(consumer)

    while len(confirmed) < records // 5:
        work()
    broker.restart_while(work, kill=kill)
    deadline = time.monotonic() + 60
    while len(confirmed | unknown) < records or time.monotonic() < last_delivery + 1.5:
        work()
        assert time.monotonic() < deadline, f"{len(confirmed)} confirmed, {len(unknown)} unknown"
    for consumer in consumers:
        consumer.close()
    assert seen == set(range(records)), "a record was lost"
    assert not revived, "a confirmed acknowledgement was forgotten"
