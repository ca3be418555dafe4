"""Record batches decoded to Arrow, compared with the reader that takes one record after the other."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StringType, StructType, TimestampType

from shareq.protocol.records.batch import (
    HEADER_SIZE,
    Compression,
    RecordData,
    build_batch,
    decode_records,
    read_header,
    stamp,
    with_append_time,
)
from shareq.protocol.records.control import build_end_transaction_marker
from shareq.protocol.records.record_codec import encode_record, record_extents
from shareq.protocol.records.retain import emptied, open_batch, retained
from shareq.spark.decode import record_blocks, record_scan, record_strides
from shareq.spark.decode.arrow import Range, arrow_schema, decode
from tests.support.bad_records.records import BadRecord, bad_records, batch_of

ALL = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers", "deliveryCount")
EVERYTHING = [(0, 2**62, 1)]
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
Row = dict[str, object]

nullable = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=5), nullable), max_size=4).map(tuple)
records = st.builds(RecordData, nullable, nullable, headers, st.none() | st.integers(-1, 2**45))
kinds = st.sampled_from(["data", "data", "data", "transactional", "append time", "control", "compacted", "emptied"])


@st.composite
def logs(draw: st.DrawFn) -> list[bytes]:
    offset = draw(st.integers(0, 2**40))
    batches: list[bytes] = []
    for kind in draw(st.lists(kinds, min_size=1, max_size=8)):
        batch = draw(batches_of(kind))
        stamp(batch, offset, 7)
        batches.append(bytes(batch))
        offset = read_header(batch).next_offset + draw(st.integers(0, 3))
    return batches


@st.composite
def batches_of(draw: st.DrawFn, kind: str) -> bytearray:
    if kind == "control":
        return build_end_transaction_marker(
            commit=draw(st.booleans()), producer_id=5, producer_epoch=0, coordinator_epoch=0, timestamp_ms=9
        )
    written = draw(st.lists(records, min_size=1, max_size=12))
    codec = draw(st.sampled_from(Compression))
    batch = build_batch(written, timestamp_ms=draw(st.integers(0, 2**42)), compression=codec)
    if kind == "transactional":
        return build_batch(
            written,
            timestamp_ms=4,
            compression=codec,
            producer_id=5,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
    if kind == "append time":
        return with_append_time(batch, draw(st.integers(0, 2**42)))
    if kind == "compacted":
        opened = open_batch(batch)
        kept = draw(st.lists(st.sampled_from(opened.records), min_size=1, unique_by=lambda record: record.offset))
        return retained(opened, sorted(kept), delete_horizon_ms=draw(st.none() | st.integers(0, 2**42)))
    return emptied(read_header(batch)) if kind == "emptied" else batch


@st.composite
def ranges_in(draw: st.DrawFn, batches: Sequence[bytes]) -> list[Range]:
    """Draw ascending, disjoint ranges, some of them without any record."""
    first, last = read_header(batches[0]).base_offset - 3, read_header(batches[-1]).last_offset + 3
    cuts = sorted(draw(st.sets(st.integers(max(first, 0), last), max_size=12)))
    pairs = zip(cuts[0::2], cuts[1::2], strict=False)
    return [(begin, end, draw(st.integers(1, 10))) for begin, end in pairs]


def rows_of(
    data: bytes, ranges: Sequence[Range] = EVERYTHING, names: Sequence[str] = ALL, topic: str = "flights"
) -> list[Row]:
    return list(_rows(decode(data, ranges, names, topic=topic, partition=3), arrow_schema(names)))


def _rows(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[Row]:
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == schema
        assert 0 < batch.num_rows <= 32_768
        yield from batch.to_pylist()


def expected(batches: Sequence[bytes], ranges: Sequence[Range] = EVERYTHING) -> list[Row]:
    return [
        {
            "key": record.key,
            "value": record.value,
            "topic": "flights",
            "partition": 3,
            "offset": record.offset,
            "timestamp": EPOCH + datetime.timedelta(milliseconds=record.timestamp),
            "timestampType": int(read_header(batch).is_log_append_time),
            "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
            "deliveryCount": count,
        }
        for batch in batches
        if not read_header(batch).is_control
        for record in decode_records(batch)
        for first, last, count in ranges
        if first <= record.offset <= last
    ]


WAYS = ("as it is", "side by side", "in pieces", "by strides", "in small blocks")


@contextmanager
def limits(way: str) -> Iterator[None]:
    """Lower the limits, so that a test's small batches are handled as large ones."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "side by side":
            patch.setattr(record_scan, "FEW_LANES", 0)
        if way == "in pieces":
            patch.setattr(record_scan, "FEW_LANES", 0)
            patch.setattr(record_scan, "_WORTH_GUESSING", 1)
            patch.setattr(record_scan, "_STEP_IN_RECORDS", 1_000_000)
        if way == "by strides":
            patch.setattr(record_blocks, "WORTH_A_TRY_OF_FEW", 1)
            patch.setattr(record_strides, "_FIRST_LOOK", 2)
            patch.setattr(record_strides, "_LEAST_MEAN", 0)
        if way == "in small blocks":
            patch.setattr(record_blocks, "_BLOCK_BYTES", 300)
        yield


def test_a_header_whose_key_is_no_utf8_is_shown_as_java_shows_it_and_costs_nothing() -> None:
    bad = list(bad_records(Random(4), 200, 1_800_000_000_000, 1_000))
    data = batch_of([BadRecord(b"k", b"v", [(b"\xff", b"1"), (b"fine", None)], 5), *bad])
    found = [
        row for part in decode(data, EVERYTHING, ["key", "headers"], topic="t", partition=0) for row in part.to_pylist()
    ]
    assert len(found) == 201
    assert found[0]["headers"] == [{"key": "\ufffd", "value": b"1"}, {"key": "fine", "value": None}]
    for made, row in zip(bad, found[1:], strict=True):
        wanted = [{"key": name.decode("utf-8", "replace"), "value": value} for name, value in made.headers]
        assert (row["key"], row["headers"] or []) == (made.key, wanted)


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_kind_of_batch_and_any_ranges(way: str, data: st.DataObject) -> None:
    batches = data.draw(logs())
    ranges = data.draw(ranges_in(batches))
    with limits(way):
        assert rows_of(b"".join(batches)) == expected(batches)
        assert rows_of(b"".join(batches), ranges) == expected(batches, ranges)


def random_values(random: Random) -> Iterator[bytes]:
    while True:
        yield random.randbytes(int(random.expovariate(1 / 80)))


def of_one_size(random: Random) -> Iterator[bytes]:
    while True:
        yield random.randbytes(100)


def of_one_size_mostly(random: Random) -> Iterator[bytes]:
    while True:
        yield random.randbytes(100 if random.random() < 0.998 else 99)


def zeros(random: Random) -> Iterator[bytes]:
    while True:
        yield bytes(random.randrange(300))


def values_that_look_like_records(random: Random) -> Iterator[bytes]:
    """Yield values whose content looks like a batch's records, so that guesses at where a record starts are wrong."""
    while True:
        inside = bytearray()
        for delta in range(40, 60):
            encode_record(inside, delta, 0, None, b"abc", ())
        yield bytes(inside)


def numbers(random: Random) -> Iterator[bytes]:
    while True:
        yield b"".join(random.randrange(9).to_bytes(4, "little") for _ in range(25))


VALUES = (random_values, of_one_size, of_one_size_mostly, zeros, values_that_look_like_records, numbers)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("lengths", [[40_000], [20_000, 1, 1, 20_000], [200] * 150, [1] * 5000], ids=str)
def test_long_batches_and_many(values: Callable[[Random], Iterator[bytes]], lengths: list[int]) -> None:
    """Tens of thousands of records are in batches that are walked side by side and in pieces."""
    random = Random("many records")
    contents = values(random)
    batches: list[bytes] = []
    offset = 0
    for length in lengths[:200] if len(lengths) > 200 and values is not random_values else lengths:
        times = sorted(random.randrange(10**6) for _ in range(length))
        written = [RecordData(b"k" if time % 3 else None, next(contents), (), time) for time in times]
        batches.append(bytes(build_batch(written, timestamp_ms=0, base_offset=offset)))
        offset += length
    every_third = [(first, first + 99, first % 7) for first in range(50, offset, 300)]
    assert rows_of(b"".join(batches)) == expected(batches)
    assert [row["offset"] for row in rows_of(b"".join(batches), every_third)] == [
        number for first, last, _ in every_third for number in range(first, min(last + 1, offset))
    ]


def test_wrong_guesses_are_found_out() -> None:
    """Records inside values are not taken for records, although a piece that starts there would find them."""
    batch = build_batch(
        [
            RecordData(None, value)
            for value, _ in zip(values_that_look_like_records(Random()), range(6000), strict=False)
        ],
        timestamp_ms=0,
    )
    data = np.frombuffer(batch, np.uint8)
    arrays = (np.array([HEADER_SIZE]), np.array([len(batch)]), np.array([6000]))
    starts = record_scan.find_records(data, *arrays).starts
    lanes = record_scan._lanes(data, *arrays)
    true_starts = {HEADER_SIZE, *(np.array(list(record_extents(bytes(batch), HEADER_SIZE, 6000)))[:, 1].tolist())}
    assert set(lanes.tolist()) - true_starts, "no wrong guess: nothing is shown"
    assert starts.tolist() == [start for start, _ in record_extents(bytes(batch), HEADER_SIZE, 6000)]


@pytest.mark.parametrize(
    "counts", [[1000], [3] * 40, [0, 1, 2] * 30, [*range(40), 500]], ids=["one", "equal", "few", "mixed"]
)
def test_headers_of_any_number(counts: list[int]) -> None:
    written = [
        RecordData(
            None, b"v", tuple((f"k{number}é", None if number % 5 == 3 else b"%d" % number) for number in range(count))
        )
        for count in counts
    ]
    batch = bytes(build_batch(written, timestamp_ms=0))
    assert rows_of(batch) == expected([batch])
    assert [row["value"] for row in rows_of(batch, names=["value"])] == [b"v"] * len(counts)


def test_schema_is_that_of_spark() -> None:
    """Spark compares the schema with a task's first batch: types and nullability."""
    types = {
        "key": BinaryType(),
        "value": BinaryType(),
        "topic": StringType(),
        "partition": IntegerType(),
        "offset": LongType(),
        "timestamp": TimestampType(),
        "timestampType": IntegerType(),
        "headers": ArrayType(StructType().add("key", StringType()).add("value", BinaryType())),
        "deliveryCount": IntegerType(),
    }
    for names in (ALL, ALL[::-1], ("value",), ("offset", "headers")):
        schema = StructType()
        for name in names:
            schema = schema.add(name, types[name])
        assert arrow_schema(names) == to_arrow_schema(schema, timezone="UTC")
        batch = bytes(build_batch([RecordData(b"k", b"v", (("h", b"x"),))], timestamp_ms=1))
        (decoded,) = decode(batch, EVERYTHING, names, topic="t", partition=0)
        assert decoded.schema == arrow_schema(names)


@pytest.mark.parametrize("names", [(), ("value", "value"), ("value", "Value"), ("body",)])
def test_columns_there_are_not(names: Sequence[str]) -> None:
    with pytest.raises(ValueError, match="each at most once, of key, value, topic"):
        arrow_schema(names)


@pytest.mark.parametrize("codec", Compression)
def test_batches_outside_of_the_ranges_are_not_looked_at(codec: Compression) -> None:
    batches = [build_batch([RecordData(None, b"v" * 50)] * 10, timestamp_ms=0, compression=codec) for _ in range(4)]
    for number, batch in enumerate(batches):
        stamp(batch, 10 * number, 0)
    for broken in (0, 2):
        batches[broken][70:80] = bytes(10)
    whole = b"".join(batches)
    assert [row["offset"] for row in rows_of(whole, [(12, 14, 1), (19, 19, 1)])] == [12, 13, 14, 19]
    assert [row["offset"] for row in rows_of(whole, [(39, 90, 1)])] == [39]
    assert rows_of(whole, []) == rows_of(whole, [(40, 50, 1)]) == rows_of(b"") == []


@pytest.mark.parametrize("bytes_like", [bytes, bytearray, memoryview])
def test_any_bytes(bytes_like: type) -> None:
    batch = bytes(build_batch([RecordData(b"k", b"v")], timestamp_ms=1))
    assert rows_of(bytes_like(batch)) == expected([batch])


@pytest.mark.parametrize("millis", [2**62, -(2**62), (2**63 - 1) // 1000 + 1])
def test_time_beyond_what_spark_can_hold_is_null(millis: int) -> None:
    """The microseconds of such a time do not fit, but the record is kept."""
    times = [0, millis, 1]
    batch = bytes(build_batch([RecordData(None, b"v", (), time) for time in times], timestamp_ms=0))
    (decoded,) = decode(batch, EVERYTHING, ["timestamp"], topic="t", partition=0)
    assert decoded.column(0).is_null().to_pylist() == [False, True, False]
    (edge,) = decode(
        bytes(build_batch([RecordData(None, None, (), (2**63 - 1) // 1000)], timestamp_ms=0)),
        EVERYTHING,
        ["timestamp"],
        topic="t",
        partition=0,
    )
    assert edge.column(0).cast(pa.int64()).to_pylist() == [(2**63 - 1) // 1000 * 1000]


def test_a_batch_that_is_larger_than_a_block() -> None:
    """One batch has 40 MB, and another batch follows it."""
    batches = [build_batch([RecordData(None, bytes(1_000_000))] * 40, timestamp_ms=0) for _ in range(2)]
    stamp(batches[1], 40, 0)
    decoded = list(decode(b"".join(batches), EVERYTHING, ["value", "offset"], topic="t", partition=0))
    assert [batch.num_rows for batch in decoded] == [40, 40]
    assert pa.Table.from_batches(decoded)["offset"].to_pylist() == list(range(80))
