"""Backups of a working broker, each restored: clients continue, and nothing confirmed before the backup is missing."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from devtools.clients.admin import QUIET, create_topic, produce, read_from_start
from shareq.testing import Broker
from shareq.testing.broker import child_environment
from tests.interop.support.share_ledger import Ledger, members, run_until

pytestmark = [pytest.mark.interop, pytest.mark.crash]

BACKUPS = 3
KEYS = 20
COMMITTED = {"isolation.level": "read_committed", "auto.offset.reset": "earliest", "enable.auto.commit": False}


class Load:
    """Work on one broker in threads, and what the broker has confirmed so far."""

    def __init__(self, broker: Broker) -> None:
        self.bootstrap = broker.bootstrap
        self.over = threading.Event()
        self.failures: list[str] = []
        self.pairs = 0  # transactions committed
        self.queued = 0
        self.latest = [0] * KEYS
        self.ledger = Ledger()

    def run(self, work: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except Exception as error:
                self.failures.append(repr(error))

        thread = threading.Thread(target=guarded)
        thread.start()
        return thread

    def write_pairs(self) -> None:
        """Write transactions: the number n into two topics, and n + 1 as a committed offset."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": "pairs", "linger.ms": 0, **QUIET})
        producer.init_transactions(20)
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "pairs", **QUIET})
        group = consumer.consumer_group_metadata()
        while not self.over.is_set():
            producer.begin_transaction()
            for topic in ("left", "right"):
                producer.produce(topic, b"%d" % self.pairs, partition=self.pairs % 2)
            offset = [TopicPartition("queue", 0, self.pairs + 1)]
            producer.send_offsets_to_transaction(offset, group, 20)
            producer.commit_transaction(20)
            self.pairs += 1
        consumer.close()

    def fill_queue(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 2, **QUIET})
        while not self.over.is_set():
            for number in range(self.queued, self.queued + 50):
                producer.produce("queue", b"%d" % number, partition=0)
            assert producer.flush(20) == 0
            self.queued += 50
            time.sleep(0.01)

    def drain_queue(self) -> None:
        with members(self.bootstrap, "workers", "queue", self.ledger, poll_records=20) as joined:
            while not self.over.is_set():
                for member in joined:
                    member.step(0.05)

    def count_up(self) -> None:
        """Write to a compacted topic with small segments, where each key's value only grows."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 1, **QUIET})
        number = 0
        while not self.over.is_set():
            number += 1
            for key in range(KEYS):
                producer.produce("latest", b"%d" % number + b" " * 3000, b"%d" % key)
            assert producer.flush(20) == 0
            self.latest = [number] * KEYS

    def make_and_delete(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, **QUIET})
        producer = Producer({"bootstrap.servers": self.bootstrap, **QUIET})
        number = 0
        while not self.over.is_set():
            topic = f"passing-{number % 3}"
            create_topic(self.bootstrap, topic, 2)
            for each in range(20):
                producer.produce(topic, b"x" * 100, partition=each % 2)
            producer.flush(20)
            admin.delete_topics([topic])[topic].result(20)
            number += 1


@contextmanager
def at_work(broker: Broker) -> Iterator[Load]:
    load = Load(broker)
    read_from_start(broker.bootstrap, "workers")
    for topic in ("left", "right"):
        create_topic(broker.bootstrap, topic, 2)
    create_topic(broker.bootstrap, "queue")
    small = {"segment_bytes": str(1 << 20), "min_cleanable_dirty_ratio": "0.01", "max_compaction_lag_ms": "1000"}
    create_topic(broker.bootstrap, "latest", 1, cleanup_policy="compact", **small)
    works = (load.write_pairs, load.fill_queue, load.drain_queue, load.count_up, load.make_and_delete)
    threads = [load.run(work) for work in works]
    try:
        yield load
    finally:
        load.over.set()
        for thread in threads:
            thread.join(30)
    assert not load.failures


def shareq(*arguments: object) -> str:
    command = [sys.executable, "-m", "shareq", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, env=child_environment(), check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def read_all(bootstrap: str, topic: str, partitions: int) -> list[tuple[bytes | None, bytes | None]]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", **COMMITTED, **QUIET})
    places = [TopicPartition(topic, partition, 0) for partition in range(partitions)]
    ends = {place.partition: consumer.get_watermark_offsets(place, timeout=20)[1] for place in places}
    consumer.assign(places)
    found = []
    deadline = time.monotonic() + 30
    while any(each.offset < ends[each.partition] for each in consumer.position(places)):
        if all(ends[place.partition] == 0 for place in places):
            break
        assert time.monotonic() < deadline, f"{topic}: {consumer.position(places)} of {ends}"
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append((message.key(), message.value()))
    consumer.close()
    return found


def test_backups_under_load(tmp_path: Path) -> None:
    dest = tmp_path / "backups"
    before: list[tuple[int, int, int, set[int]]] = []
    with (
        Broker(data_dir=tmp_path / "data", config={"log.cleaner.backoff.ms": "100"}) as broker,
        at_work(broker) as load,
    ):
        for _ in range(BACKUPS):
            time.sleep(2)
            finished = {offset for _, offset in list(load.ledger.finished)}
            before.append((load.pairs, load.queued, load.latest[0], finished))
            shareq("backup", broker.data_dir, dest)
        assert load.pairs > 10
        assert load.ledger.finished
    names = [path.stem for path in sorted((dest / "backups").iterdir())]
    assert len(names) == BACKUPS
    shareq("backup", "--check", dest)
    for name, answered in zip(names, before, strict=True):
        data = tmp_path / name
        shareq("restore", dest, data, "--backup", name)
        with Broker(data_dir=data) as restored:
            assert "ERROR" not in restored.log
            check(restored, *answered, {offset for _, offset in [*load.ledger.finished, *load.ledger.unknown]})
            check_that_clients_go_on(restored)


def check(broker: Broker, pairs: int, queued: int, latest: int, finished: set[int], later: set[int]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "pairs", **QUIET})
    producer.init_transactions(30)  # ends what was under way
    left, right = (sorted(int(value or b"") for _, value in read_all(broker.bootstrap, topic, 2)) for topic in PAIR)
    assert left == right == list(range(len(left))), "transactions are whole"
    assert len(left) >= pairs
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "pairs", **QUIET})
    (committed,) = consumer.committed([TopicPartition("queue", 0)], 20)
    consumer.close()
    assert committed.offset == len(left), "the offset is that of the last whole transaction"
    values = {int(key or b""): int(value or b"") for key, value in read_all(broker.bootstrap, "latest", 1)}
    assert all(values[key] >= latest for key in range(KEYS))
    queue = [int(value or b"") for _, value in read_all(broker.bootstrap, "queue", 1)]
    assert queue == list(range(len(queue)))
    assert len(queue) >= queued
    produce(broker.bootstrap, "queue", [(0, b"new")] * 50)
    ledger = Ledger()
    with members(broker.bootstrap, "workers", "queue", ledger) as joined:
        run_until(joined, lambda: len(queue) + 49 in {offset for _, offset in ledger.counts})
        run_until(joined, lambda: time.monotonic() - ledger.last_delivery > 1.5)
    delivered = {offset for _, offset in ledger.counts}
    assert not delivered & finished, "acknowledged before the backup began"
    assert delivered >= set(range(len(queue))) - later, "everything else is delivered"


PAIR = ("left", "right")


def check_that_clients_go_on(broker: Broker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "pairs", **QUIET})
    producer.init_transactions(30)
    producer.begin_transaction()
    for topic in PAIR:
        producer.produce(topic, b"new", partition=0)
    producer.commit_transaction(20)
    for topic in PAIR:
        assert (None, b"new") in read_all(broker.bootstrap, topic, 2)
