"""The walk over records, compiled and in Python: equal results, and the same as `decode_records`."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.protocol.passes import records as records_walk
from shareq.protocol.passes.records import CANNOT_TELL, KEYLESS, NOT_FOUND, OUT_OF_ORDER, OUT_OF_TIME, UNREADABLE
from shareq.protocol.records.batch import HEADER_SIZE, RecordData, build_batch, decode_records
from shareq.protocol.records.record_codec import Record, read_columns
from tests.support.kafka.raw_batches import raw_headers, raw_record
from tests.support.pass_forms import FORMS, RecordWalk

ALWAYS = (-(2**63) + 1, 2**63 - 1, 0)
nullable = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=20), nullable), max_size=3).map(tuple)
records = st.builds(RecordData, nullable, nullable, headers, st.integers(-5, 2**45))
batches = st.lists(records, min_size=1, max_size=12)

pytestmark = pytest.mark.parametrize("form", FORMS)


@given(batches)
@settings(max_examples=150, deadline=None)
def test_sound_records(form: RecordWalk, data: list[RecordData]) -> None:
    batch = bytes(build_batch(data, timestamp_ms=0))
    decoded = decode_records(batch)
    base = decoded[0].timestamp
    found, newest = form.walk(batch, HEADER_SIZE, len(data), *ALWAYS)
    assert found == (KEYLESS if any(record.key is None for record in data) else 0)
    assert newest == max(record.timestamp for record in decoded) - base


@given(batches, st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_damaged_records_are_readable_to_both_or_to_neither(
    form: RecordWalk, data: list[RecordData], rng: Random
) -> None:
    """Everything that the walk accepts can be decoded."""
    payload = bytearray(build_batch(data, timestamp_ms=0)[HEADER_SIZE:])
    for _ in range(rng.randint(1, 3)):
        payload[rng.randrange(len(payload))] = rng.randrange(256)
    damaged = bytes(payload)
    found, newest = form.walk(damaged, 0, len(data), *ALWAYS)
    assert (found, newest if found != UNREADABLE else 0) == _pure(damaged, len(data))
    if found != UNREADABLE:
        decoded = list(map(Record, *read_columns(damaged, 0, len(data), 0, 0, None)))
        assert newest == max(record.timestamp for record in decoded)
        assert bool(found & KEYLESS) == any(record.key is None for record in decoded)
        assert bool(found & OUT_OF_ORDER) == ([record.offset for record in decoded] != list(range(len(decoded))))


@given(batches, st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_columns_are_what_was_written(form: RecordWalk, data: list[RecordData], rng: Random) -> None:
    batch = bytes(build_batch(data, timestamp_ms=0))
    base = data[0].timestamp_ms or 0
    written = [(100 + at, each.timestamp_ms, each.key, each.value, each.headers) for at, each in enumerate(data)]

    def read(append_time: int | None, low: int, high: int) -> list[Any]:
        found = form.columns(batch, HEADER_SIZE, len(data), 100, base, append_time, low, high, "replace")
        assert found is not None
        return list(zip(*found, strict=True))

    assert read(None, -1, 99) == written
    assert read(7, -1, 99) == [(one[0], 7, *one[2:]) for one in written]
    low, high = sorted((rng.randint(-2, 14), rng.randint(-2, 14)))
    assert read(None, low, high) == written[max(0, low) : max(0, high + 1)]


@given(batches, st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_columns_are_read_of_what_the_walk_can_read(form: RecordWalk, data: list[RecordData], rng: Random) -> None:
    payload = bytearray(build_batch(data, timestamp_ms=0)[HEADER_SIZE:])
    for _ in range(rng.randint(1, 3)):
        payload[rng.randrange(len(payload))] = rng.randrange(256)
    damaged = bytes(payload)
    read = form.columns(damaged, 0, len(data), 0, 0, None, -(2**31), 2**31 - 1, "replace")
    assert (read is None) == (form.walk(damaged, 0, len(data), *ALWAYS)[0] == UNREADABLE)


def _pure(data: bytes, count: int) -> tuple[int, int]:
    found, newest = records_walk.walk(data, 0, count, *ALWAYS)
    return found, newest if found != UNREADABLE else 0


@pytest.mark.parametrize(
    ("data", "count", "found"),
    [
        (raw_record(0) + raw_record(1), 2, KEYLESS),
        (raw_record(0, key=b""), 1, 0),
        (raw_record(0) + raw_record(1), 1, UNREADABLE),
        (raw_record(0), 5, UNREADABLE),
        (b"", 1, UNREADABLE),
        (b"\xff" * 50, 2, UNREADABLE),
        (raw_record(0, key=b"k") + raw_record(0, key=b"k"), 2, OUT_OF_ORDER),
        (raw_record(-1, key=b"k"), 1, OUT_OF_ORDER),
        (raw_record(2**31 - 1, key=b"k"), 1, OUT_OF_ORDER),  # five bytes
        (raw_record(-(2**31), key=b"k"), 1, OUT_OF_ORDER),
        (raw_record(0, longer=1), 1, UNREADABLE),
        (raw_record(0, longer=-1), 1, UNREADABLE),
        (raw_record(0, key=-2), 1, UNREADABLE),
        (raw_record(0, key=2**31 - 1), 1, UNREADABLE),
        (raw_record(0, key=b"k", value=2**31 - 1), 1, UNREADABLE),
        (raw_record(0, key=b"k", headers=raw_headers(2**31 - 1)), 1, UNREADABLE),
        (raw_record(0, key=b"k", headers=raw_headers(1, 2**31 - 1)), 1, UNREADABLE),
        (raw_record(0, key=b"k", headers=raw_headers(1, b"k", b"v")), 1, 0),
        (raw_record(0, key=b"k", headers=raw_headers(1, b"k", b"v") + b"\0"), 1, UNREADABLE),
        (raw_record(0, key=b"k", time_delta=2**63 - 1), 1, 0),
        (raw_record(0, key=b"k", time_delta=b"\x80" * 9 + b"\2"), 1, UNREADABLE),
        (raw_record(0, key=b"k", time_delta=b"\x80" * 10 + b"\0"), 1, UNREADABLE),
        (b"\x14\0\0\0" + b"\x81\0" + b"\2v\0\0\0", 1, UNREADABLE),
        (b"\x10\0\0\0" + b"\x81\0" + b"\2v\0", 1, KEYLESS),  # the key's length -1 in two bytes
    ],
)
def test_what_is_found(form: RecordWalk, data: bytes, count: int, found: int) -> None:
    assert form.walk(data, 0, count, *ALWAYS)[0] == found


def test_times(form: RecordWalk) -> None:
    """The times include both ends, and the time that stands for no time."""
    data = b"".join(raw_record(at, key=b"k", time_delta=delta) for at, delta in enumerate((-10, 5, -99)))
    assert form.walk(data, 0, 3, -10, 5, -99) == (0, 5)
    for low, high, no_time in ((-9, 5, -99), (-10, 4, -99), (-10, 5, -98)):
        assert form.walk(data, 0, 3, low, high, no_time) == (OUT_OF_TIME, 5)
    assert form.walk(data, 0, 3, 2**63 - 1, -(2**63) + 1, 0) == (OUT_OF_TIME, 5)


def test_faults_are_named_record_by_record(form: RecordWalk) -> None:
    keyed = [b"k", None, None, b"k"]
    data = b"".join(raw_record(at, key=key, time_delta=at % 3 * 10) for at, key in enumerate(keyed))
    every = [(1, KEYLESS, 10), (2, KEYLESS, 20)]
    assert form.faults(data, 0, 4, 0, 5, 0, True, 100) == every
    assert form.faults(data, 0, 4, 0, 5, 0, True, 1) == every[:1]
    assert form.faults(data, 0, 4, 0, 5, 0, False, 100) == [(1, OUT_OF_TIME, 10), (2, OUT_OF_TIME, 20)]
    assert form.faults(data, 0, 4, *ALWAYS, False, 100) == []
    assert form.faults(data, 0, 2, 0, 5, 0, True, 100) == every[:1]


def test_an_empty_key_and_both_ends_of_the_time_are_no_fault(form: RecordWalk) -> None:
    data = b"".join(raw_record(at, key=b"", time_delta=delta) for at, delta in enumerate((-10, 5)))
    assert form.faults(data, 0, 2, -10, 5, 0, True, 100) == []
    assert form.faults(data, 0, 2, -9, 4, 0, True, 100) == [(0, OUT_OF_TIME, -10), (1, OUT_OF_TIME, 5)]


@given(batches, st.integers(-10, 2**45), st.integers(0, 12), st.integers(0, 12))
@settings(max_examples=150, deadline=None)
def test_a_time_is_found(form: RecordWalk, data: list[RecordData], least: int, first: int, last: int) -> None:
    batch = bytes(build_batch(data, timestamp_ms=0))
    decoded = decode_records(batch)
    base = decoded[0].timestamp
    expected = next(
        (
            (record.offset, record.timestamp - base)
            for record in decoded
            if record.timestamp >= least and first <= record.offset <= last
        ),
        (NOT_FOUND, 0),
    )
    assert form.find_time(batch, HEADER_SIZE, len(data), least - base, first, last) == expected


@given(batches, st.none() | st.integers(0, 2**45))
@settings(max_examples=100, deadline=None)
def test_keys_are_read(form: RecordWalk, data: list[RecordData], append_time: int | None) -> None:
    batch = bytes(build_batch(data, timestamp_ms=0))
    decoded = decode_records(batch)
    rows = form.read_keys(batch, HEADER_SIZE, len(data), 100, decoded[0].timestamp, append_time)
    assert rows is not None
    assert [row[:4] for row in rows] == [
        (
            100 + record.offset,
            record.timestamp if append_time is None else append_time,
            record.key,
            record.value is not None,
        )
        for record in decoded
    ]
    assert b"".join(batch[row[4] : row[6]] for row in rows) == batch[HEADER_SIZE:]
    first = form.read_keys(batch, HEADER_SIZE, 1, 100, decoded[0].timestamp, append_time)
    assert first == rows[:1]
    assert form.read_keys(batch, rows[0][6], len(data) - 1, 100, decoded[0].timestamp, append_time) == rows[1:]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        raw_record(longer=1),
        raw_record(key=100),
        raw_record(time_delta=b"\x80" * 10 + b"\0"),
        b"\x0c\0\0\0\x06key",
    ],
)
def test_keys_that_cannot_be_read(form: RecordWalk, data: bytes) -> None:
    assert form.read_keys(data, 0, 1, 0, 0, None) is None


def test_a_time_behind_what_cannot_be_read(form: RecordWalk) -> None:
    data = raw_record(0) + b"\xff" * 3 + raw_record(1, time_delta=5)
    assert form.find_time(data, 0, 2, 0, 0, 9) == (0, 0)
    assert form.find_time(data, 0, 2, 1, 0, 9) == (CANNOT_TELL, 0)


def test_the_largest_record(form: RecordWalk) -> None:
    records = [raw_record(index, key=bytes(size)) for index, size in enumerate((3, 300, 30))]
    data = b"before" + b"".join(records)
    assert form.largest(data, len(b"before"), 3) == len(records[1]) - 2  # its length has two bytes
    assert form.largest(data, len(b"before"), 1) == len(records[0]) - 1
    assert form.largest(b"", 0, 0) == 0


def record(delta: int) -> bytes:
    return bytes([12, 0, 0, 2 * delta, 1, 1, 0])


def test_what_comes_before_the_first_wanted_record_is_passed_over_or_walked(form: RecordWalk) -> None:
    """The result is the same with and without missing offsets before the wanted record."""
    for deltas in ([0, 1, 2, 3, 4], [0, 2, 3, 4], [1, 2, 4], [4], [0, 1, 2, 3]):
        data = b"".join(map(record, deltas))
        for first in range(6):
            for last in range(first, 6):
                wanted = [delta for delta in deltas if first <= delta <= last]
                count, parts = form.pick(b"@@" + data, 2, 2 + len(data), len(deltas), [first, last]) or (0, [])
                assert (count, b"".join(parts)) == (len(wanted), b"".join(map(record, wanted)))
    sound = b"".join(map(record, range(4)))
    assert form.pick(sound, 0, len(sound) - 1, 4, [3, 3]) is None, "the record does not end where it should"
    assert form.pick(sound[:-1], 0, len(sound) - 1, 4, [3, 3]) is None
    assert form.pick(record(1) + sound, 0, len(sound) + 7, 5, [2, 3]) is None, "0 comes behind 1"
