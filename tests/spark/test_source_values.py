from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from devtools.clients.admin import QUIET
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.share_stream import ShareStream

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

Headers = list[tuple[str, str | bytes | None]]
Record = tuple[bytes | None, bytes | None, Headers, int]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
STAMPS = [1, 999, 1_700_000_000_123, 1_750_000_000_999]


@pytest.fixture
def stream(spark: SparkSession, broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path) -> ShareStream:
    return ShareStream(spark, broker.bootstrap, unique("topic"), unique("group"), tmp_path)


def test_columns_and_values_equal_what_was_produced(stream: ShareStream) -> None:
    """Null and empty keys and values, headers of every kind and the producer's times are kept, in every compression."""
    records: list[Record] = [
        (b"key", b"value", [], STAMPS[0]),
        (None, b"value", [("one", b"1"), ("two", None), ("one", b"")], STAMPS[1]),
        (b"key", None, [("\u00e9t\u00e9", b"\xff\x00")], STAMPS[2]),
        (b"", b"", [], STAMPS[3]),
    ]
    records.extend((b"k%d" % n, b"v" * n, [("n", b"%d" % n)], STAMPS[2] + n) for n in range(200))
    topics = {codec: f"{stream.topic}-{codec}" for codec in CODECS}
    for codec, topic in topics.items():
        one = replace(stream, topic=topic).create()
        send(one, records, {"compression.type": codec})
    rows = stream.load(subscribe=",".join(topics.values()), includeHeaders=True, includeDeliveryCount=True)
    found = [row for batch in stream.drain(rows) for row in batch.rows]
    assert found[0].__fields__ == [
        *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers", "deliveryCount")
    ]
    for topic in topics.values():
        check(topic, sorted((row for row in found if row.topic == topic), key=lambda row: row.offset), records)


def check(topic: str, found: Sequence[Row], records: Sequence[Record]) -> None:
    for offset, (row, (key, value, headers, stamp)) in enumerate(zip(found, records, strict=True)):
        assert (row.key, row.value) == (key, value)
        assert (row.topic, row.partition, row.offset) == (topic, 0, offset)
        assert row.timestamp.replace(tzinfo=UTC) == datetime.fromtimestamp(stamp / 1000, UTC)
        assert row.timestampType == 0
        assert (None if row.headers is None else [tuple(header) for header in row.headers]) == (headers or None)
        assert row.deliveryCount == 1


def test_times_of_the_broker_are_of_type_1(stream: ShareStream) -> None:
    stream.create(message_timestamp_type="LogAppendTime")
    before = datetime.now(UTC).replace(microsecond=0)
    send(stream, [(None, b"value", [], STAMPS[0])] * 3, {})
    (batch,) = stream.drain()
    for row in batch.rows:
        assert row.timestampType == 1
        assert before <= row.timestamp.replace(tzinfo=UTC) <= datetime.now(UTC)


def test_records_of_aborted_transactions_are_not_there_and_markers_neither(stream: ShareStream) -> None:
    """A group that reads committed records gets neither aborted records nor markers, and all others exactly."""
    stream.create({"share.isolation.level": "read_committed"})
    producer = Producer({"bootstrap.servers": stream.bootstrap, "transactional.id": stream.topic, **QUIET})
    producer.init_transactions(30)
    for value, commit in ((b"kept", True), (b"aborted", False), (b"kept too", True)):
        producer.begin_transaction()
        for _ in range(5):
            producer.produce(stream.topic, value)
        producer.commit_transaction(30) if commit else producer.abort_transaction(30)
    rows = [row for batch in stream.drain() for row in batch.rows]
    assert [row.value for row in sorted(rows, key=lambda row: row.offset)] == [b"kept"] * 5 + [b"kept too"] * 5


def test_a_schema_chooses_columns_in_any_order(stream: ShareStream) -> None:
    stream.create()
    values = stream.produce(30)
    (batch,) = stream.drain(stream.load_columns("value binary, offset bigint, topic string"))
    assert batch.rows[0].__fields__ == ["value", "offset", "topic"]
    assert sorted(row.value for row in batch.rows) == sorted(values)


def test_several_topics_and_partitions(stream: ShareStream, unique: Callable[[str], str]) -> None:
    stream.partitions = 3
    stream.create()
    other = ShareStream(stream.spark, stream.bootstrap, unique("other"), stream.group, stream.folder)
    other.create()
    values = [*stream.produce(90), *other.produce(20, start=1000)]
    rows = [
        row for batch in stream.drain(stream.load(subscribe=f"{stream.topic}, {other.topic}")) for row in batch.rows
    ]
    assert sorted(row.value for row in rows) == sorted(values)
    assert {(row.topic, row.partition) for row in rows} == {*((stream.topic, n) for n in range(3)), (other.topic, 0)}


def send(stream: ShareStream, records: Sequence[Record], properties: dict[str, str]) -> None:
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": stream.bootstrap, "linger.ms": 50, **properties, **QUIET})
    for key, value, headers, stamp in records:
        producer.produce(
            stream.topic, value, key, headers=headers, timestamp=stamp,
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )  # fmt: skip
    assert not producer.flush(30)
    assert not failures
