"""Compacted logs as clients and Apache Kafka's own tools read them: gaps, batches without records, delete horizons."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PlainTopicPartition

from devtools.clients.admin import QUIET, create_topic, read_from_start
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.share_ledger import Ledger, members, mixed, run_until

BROKER_SETTINGS = {"log.cleaner.backoff.ms": "200"}
OUR_SETTINGS = {"share.coordinator.state.topic.segment.bytes": "20000"}  # Apache Kafka has no segments so small
TOPIC = "compacted"
KEYS = 20
CLEANED_WITHIN_S = 60

Row = tuple[int, bytes | None, bytes | None]
"""Offset, key and value of a record."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compacted topic after the first pass of the cleaner, as librdkafka reads it."""

    broker: BrokerUnderTest
    rows: list[Row]
    end_offset: int

    def files(self, suffix: str, topic: str = TOPIC) -> list[Path]:
        return sorted(file for file in self.broker.data_dir.glob(f"{topic}-*/*{suffix}") if file.stat().st_size)


def read_with_librdkafka(bootstrap: str, start: int = 0) -> tuple[list[Row], int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False, **QUIET})
    rows: list[Row] = []
    with closing(consumer):
        _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=10)
        consumer.assign([TopicPartition(TOPIC, 0, start)])
        deadline = time.monotonic() + 20
        while not rows or rows[-1][0] < end - 1:
            assert time.monotonic() < deadline, f"stands still after {rows[-1:]}"
            message: Message | None = consumer.poll(1)
            if message is not None:
                assert message.error() is None, message.error()
                key, value = message.key(), message.value()
                assert not isinstance(key, str)
                assert not isinstance(value, str)
                rows.append((message.offset() or 0, key, value))
    return rows, end


@pytest.fixture(scope="module")
def compacted(broker: BrokerUnderTest) -> Compacted:
    """Return a topic with tombstones, an idempotent producer without remaining batches, compression, many segments."""
    create_topic(
        broker.bootstrap,
        TOPIC,
        cleanup_policy="compact",
        internal_segment_bytes="4000",
        min_cleanable_dirty_ratio="0.01",
    )
    quick = {"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "batch.num.messages": 3, **QUIET}
    superseded = Producer({**quick, "enable.idempotence": True})
    for number in range(6):
        superseded.produce(TOPIC, b"old %d" % number, key=b"k%d" % number)
    assert superseded.flush(30) == 0
    for codec in ("snappy", "lz4", "zstd", "none", "gzip"):  # what is left is gzip: kafka-python may have no other
        plain = Producer({**quick, "compression.type": codec})
        for number in range(200):
            value = None if number % KEYS == 7 else b"%s %d " % (codec.encode(), number) * 5
            plain.produce(TOPIC, value, key=b"k%d" % (number % KEYS))
        assert plain.flush(30) == 0
    deadline = time.monotonic() + CLEANED_WITHIN_S
    rows, end = read_with_librdkafka(broker.bootstrap)
    while len(rows) > 250:
        assert time.monotonic() < deadline, f"{len(rows)} records are left"
        time.sleep(0.1)
        rows, end = read_with_librdkafka(broker.bootstrap)
    return Compacted(broker, rows, end)


@contextmanager
def stopped(broker: BrokerUnderTest) -> Iterator[None]:
    broker.stop()
    try:
        yield
    finally:
        broker.start()


def latest(rows: list[Row]) -> dict[bytes | None, bytes | None]:
    return {key: value for _, key, value in rows}


def test_librdkafka_reads_the_last_value_of_every_key(compacted: Compacted) -> None:
    offsets = [offset for offset, _, _ in compacted.rows]
    assert offsets == sorted(set(offsets))
    values = latest(compacted.rows)
    assert set(values) == {b"k%d" % number for number in range(KEYS)}
    assert values[b"k7"] is None
    assert all(b"gzip 1" in (value or b"") for key, value in values.items() if key != b"k7")


@pytest.mark.parametrize("start", [1, 5, 77, 311, 600])
def test_librdkafka_goes_on_from_an_offset_that_is_gone(compacted: Compacted, start: int) -> None:
    rows, _ = read_with_librdkafka(compacted.broker.bootstrap, start)
    assert latest(rows) == latest(compacted.rows)
    assert rows[0][0] >= start


def test_kafka_python_reads_the_same(compacted: Compacted) -> None:
    place = PlainTopicPartition(TOPIC, 0)
    rows: list[Row] = []
    consumer = KafkaConsumer(bootstrap_servers=compacted.broker.bootstrap, enable_auto_commit=False)
    with closing(consumer):
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        while consumer.position(place) < compacted.end_offset:
            for records in consumer.poll(timeout_ms=500).values():
                rows += [(record.offset, record.key, record.value) for record in records]
    assert latest(rows) == latest(compacted.rows)


async def test_aiokafka_reads_the_same(compacted: Compacted) -> None:
    place = AioTopicPartition(TOPIC, 0)
    rows: list[Row] = []
    async with AIOKafkaConsumer(
        bootstrap_servers=compacted.broker.bootstrap, enable_auto_commit=False, max_poll_records=50
    ) as consumer:
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        while await consumer.position(place) < compacted.end_offset:
            for records in (await consumer.getmany(place, timeout_ms=500)).values():
                rows += [(record.offset, record.key, record.value) for record in records]
    assert latest(rows) == latest(compacted.rows)


def test_a_share_group_reads_the_same(compacted: Compacted) -> None:
    """librdkafka's share consumer acknowledges removed offsets as gaps by itself."""
    group = "over-gaps"
    read_from_start(compacted.broker.bootstrap, group)
    ledger = Ledger()
    keys = {key for _, key, _ in compacted.rows}
    with members(compacted.broker.bootstrap, group, TOPIC, ledger, decide=mixed) as joined:
        run_until(joined, ledger.finished_at_least(len(keys) + 10))


@pytest.mark.interop
def test_dump_log_segments_reads_every_batch(java: JavaDriver, compacted: Compacted) -> None:
    """The tool finds every record valid, a tombstone's delete horizon, and a batch without records."""
    with stopped(compacted.broker):  # no cleaner that takes files away while they are read
        result = java.tool(
            "DumpLogSegments", "--print-data-log", "--files", ",".join(map(str, compacted.files(".log")))
        )
    assert result.code == 0, result.output
    assert "isvalid: false" not in result.output
    assert re.search(r"deleteHorizonMs: OptionalLong\[\d+\]", result.output)
    assert re.search(r"count: 0 .*producerId: \d+ ", result.output)
    offsets = [int(offset) for offset in re.findall(r"\| offset: (\d+) ", result.output)]
    assert offsets == sorted(offsets)
    assert {offset for offset, _, _ in compacted.rows} >= set(offsets)


@pytest.mark.interop
def test_indexes_of_cleaned_segments(java: JavaDriver, compacted: Compacted) -> None:
    if compacted.broker.kind == "apache":
        pytest.skip("Apache Kafka's time indexes keep entries of batches that it emptied, and its tool reports them")
    with stopped(compacted.broker):
        files = ",".join(map(str, compacted.files(".index") + compacted.files(".timeindex")))
        for arguments in ((), ("--index-sanity-check",), ("--verify-index-only",)):
            output = java.tool("DumpLogSegments", *arguments, "--files", files).output
            assert "Mismatches" not in output
            assert "Found timestamp mismatch" not in output
            assert "out of order" not in output


@pytest.mark.interop
def test_compacted_share_state_is_read_by_apache_kafkas_decoder(java: JavaDriver, compacted: Compacted) -> None:
    """Snapshots, and the updates after them, are read regardless of what preceded."""
    broker, group, topic = compacted.broker, "state", "worked"
    if broker.kind == "apache":
        pytest.skip("Apache Kafka does not compact its share state")
    create_topic(broker.bootstrap, topic)
    read_from_start(broker.bootstrap, group)
    producer = Producer({"bootstrap.servers": broker.bootstrap, **QUIET})
    for number in range(3_000):
        producer.produce(topic, b"v%d" % number)
    assert producer.flush(30) == 0
    ledger = Ledger()
    with members(broker.bootstrap, group, topic, ledger, decide=mixed) as joined:
        run_until(joined, ledger.finished_at_least(2_900))
    with stopped(broker):
        files = ",".join(map(str, compacted.files(".log", "__share_group_state")))
        result = java.tool("DumpLogSegments", "--share-group-state-decoder", "--files", files)
    assert result.code == 0, result.output
    assert "isvalid: false" not in result.output
    assert "Could not" not in result.output
    assert f'"groupId":"{group}"' in result.output
