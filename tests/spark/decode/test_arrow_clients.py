from __future__ import annotations

import base64
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka.record.default_records import DefaultRecordBatchBuilder

from devtools.clients.admin import QUIET, create_topic
from shareq.protocol.records.batch import Compression, read_header
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.decode.test_arrow import EPOCH, Row, expected, rows_of

NOW = 1_700_000_000_000
JAVA = dict(line.split("\t") for line in Path(__file__).with_name("java_batches.tsv").read_text().splitlines())


def reported(offset: int, row: tuple[bytes | None, bytes | None, Sequence[tuple[str, object]], int]) -> Row:
    key, value, headers, millis = row
    return {
        "key": key,
        "value": value,
        "offset": offset,
        "timestamp": millis,
        "headers": [{"key": name, "value": content} for name, content in headers] or None,
    }


def seen(data: bytes) -> list[Row]:
    """Return the columns that the producer sets, with times in milliseconds."""
    rows = rows_of(data, names=["key", "value", "offset", "timestamp", "headers"])
    return [{**row, "timestamp": round((row["timestamp"] - EPOCH).total_seconds() * 1000)} for row in rows]  # type: ignore[operator]


def by_java(number: int) -> Row:
    key = b"key-%d" % number if number % 3 else None
    value = b"value-%d" % number * number if number % 5 else None
    headers = [(f"h{at}", None if at == 1 else bytes([at])) for at in range(number % 4)]
    return reported(1000 + number, (key, value, headers, NOW + number * 7919 % 1000 - 500))


@pytest.mark.parametrize("name", ["none", "gzip", "snappy", "lz4", "zstd", "transactional"])
def test_java(name: str) -> None:
    batch = base64.b64decode(JAVA[name])
    assert seen(batch) == [by_java(number) for number in range(20)]
    assert {row["timestampType"] for row in rows_of(batch)} == {0}


def test_java_append_time() -> None:
    """Each record has the batch's time, regardless of its own delta."""
    batch = base64.b64decode(JAVA["append time"])
    assert seen(batch) == [{**by_java(number), "timestamp": NOW} for number in range(20)]
    assert {row["timestampType"] for row in rows_of(batch)} == {1}


def test_java_transaction_marker() -> None:
    assert rows_of(base64.b64decode(JAVA["commit"])) == []


@pytest.mark.parametrize("codec", Compression)
def test_librdkafka(codec: Compression, broker: BrokerUnderTest, unique: Callable[[str], str]) -> None:
    """The log is decoded as the broker stores it: several batches, some of one record."""
    topic = unique(codec.name.lower())
    create_topic(broker.bootstrap, topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec.name.lower(), **QUIET})
    rows: list[Row] = []
    for count in (1, 400, 1, 30):
        for number in range(count):
            key = b"%d" % number if number % 2 else None
            value = None if number % 7 == 3 else b"value" * number
            headers: list[tuple[str, str | bytes | None]] = [("n", b"%d" % number), ("none", None)] * (number % 3)
            producer.produce(topic, value, key, headers=headers, timestamp=NOW - number)
            rows.append(reported(len(rows), (key, value, headers, NOW - number)))
        assert producer.flush(20) == 0
    (log,) = (broker.data_dir / f"{topic}-0").glob("*.log")
    data = log.read_bytes()
    assert {read_header(data).compression, codec} <= {codec, Compression.NONE}  # of one record, if that is smaller
    assert seen(data) == rows


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP, Compression.ZSTD])
def test_kafka_python(codec: Compression) -> None:
    if codec is Compression.ZSTD and importlib.util.find_spec("zstandard") is None:
        pytest.skip("kafka-python needs zstandard for this")
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    rows: list[Row] = []
    for number in range(300):
        key, value = b"key%d" % number if number % 2 else None, b"v" * number if number % 3 else None
        headers: list[tuple[str, bytes | None]] = [("h", b"x"), ("n", None)] * (number % 2)
        builder.append(number, NOW + number, key, value, headers)
        rows.append(reported(number, (key, value, headers, NOW + number)))
    batch = bytes(builder.build())
    assert read_header(batch).compression == codec
    assert seen(batch) == rows
    assert rows_of(batch) == expected([batch])
