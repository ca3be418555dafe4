"""Batches without some of their records: the rest reads as before, and the batch keeps its offset range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import (
    HEADER_SIZE,
    Compression,
    RecordData,
    build_batch,
    decode_records,
    read_header,
    with_append_time,
)
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.compression import TooLargeToOpen
from shareq.protocol.records.retain import (
    SLICE_RECORDS,
    KeptRecords,
    emptied,
    in_slices,
    open_batch,
    open_in_steps,
    retained,
)

T0 = 1_700_000_000_000
KEPT_FIELDS = (
    "base_offset",
    "leader_epoch",
    "magic",
    "last_offset_delta",
    "producer_id",
    "producer_epoch",
    "base_sequence",
)

keys = st.one_of(st.none(), st.binary(max_size=200))
headers = st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=9))), max_size=2).map(tuple)
records = st.lists(
    st.builds(RecordData, keys, st.one_of(st.none(), st.binary(max_size=300)), headers, st.integers(T0, T0 + 10**6)),
    min_size=1,
    max_size=12,
)


def batch_of(contents: list[RecordData], codec: Compression) -> bytes:
    return bytes(
        build_batch(
            contents,
            timestamp_ms=T0,
            base_offset=2**40,
            leader_epoch=3,
            producer_id=7,
            producer_epoch=1,
            base_sequence=40,
            compression=codec,
            transactional=True,
        )
    )


@given(records, st.sampled_from(Compression), st.data(), st.one_of(st.none(), st.integers(0, 2**63 - 1)))
def test_what_is_kept_reads_as_before(
    contents: list[RecordData], codec: Compression, data: st.DataObject, horizon: int | None
) -> None:
    batch = batch_of(contents, codec)
    before = decode_records(batch)
    opened = open_batch(batch)
    assert [(r.offset, r.timestamp, r.key, r.has_value) for r in opened.records] == [
        (r.offset, r.timestamp, r.key, r.value is not None) for r in before
    ]
    picked = data.draw(st.sets(st.sampled_from(range(len(before))), min_size=1).map(sorted))
    after = retained(opened, [opened.records[at] for at in picked], horizon)
    assert decode_records(after) == [before[at] for at in picked]
    old, new = read_header(batch), read_header(after)
    assert all(getattr(old, name) == getattr(new, name) for name in KEPT_FIELDS)
    assert new.records_count == len(picked)
    assert new.max_timestamp == max(before[at].timestamp for at in picked)
    assert new.compression == codec
    assert (new.has_delete_horizon, new.base_timestamp) == (
        (False, old.base_timestamp) if horizon is None else (True, horizon)
    )
    assert (new.length + 12, new.crc) == (len(after), crc32c(after[21:]))


@given(records, st.integers(0, 2**62))
def test_a_delete_horizon_stays_through_later_removals(contents: list[RecordData], horizon: int) -> None:
    before = decode_records(batch_of(contents, Compression.NONE))
    opened = open_batch(batch_of(contents, Compression.NONE))
    once = open_batch(retained(opened, opened.records, horizon))
    twice = retained(once, once.records[-1:])
    assert decode_records(twice) == before[-1:]
    assert read_header(twice).base_timestamp == horizon


def test_nothing_removed_and_no_horizon_gives_the_same_bytes() -> None:
    batch = batch_of([RecordData(b"k", b"v"), RecordData(b"l", None)], Compression.NONE)
    opened = open_batch(batch)
    assert retained(opened, opened.records) == batch


@pytest.mark.parametrize("codec", Compression)
def test_an_emptied_batch_reports_its_offsets_and_its_producer(codec: Compression) -> None:
    batch = batch_of([RecordData(b"k", b"v"), RecordData(b"k", b"w")], codec)
    old, empty = read_header(batch), emptied(read_header(batch))
    new = read_header(empty)
    assert len(empty) == HEADER_SIZE
    assert decode_records(empty) == []
    assert open_batch(bytes(empty)).records == []
    assert all(getattr(old, name) == getattr(new, name) for name in KEPT_FIELDS)
    assert (new.max_timestamp, new.is_transactional, new.compression) == (old.max_timestamp, True, 0)
    assert (new.base_timestamp, new.newest_timestamp) == (-1, -1)
    assert new.crc == crc32c(empty[21:])


def test_log_append_time_stays_the_time_of_all() -> None:
    batch = bytes(with_append_time(batch_of([RecordData(b"k", b"v"), RecordData(b"l", None)], Compression.LZ4), T0 + 9))
    opened = open_batch(batch)
    assert [record.timestamp for record in opened.records] == [T0 + 9] * 2
    for horizon in (None, T0 + 5):
        after = retained(opened, opened.records[:1], horizon)
        assert [record.timestamp for record in decode_records(after)] == [T0 + 9]
        assert read_header(after).max_timestamp == T0 + 9


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
def test_more_than_is_allowed_is_not_opened(codec: Compression) -> None:
    batch = batch_of([RecordData(b"k", bytes(9_000))] * 9, codec)
    assert len(open_batch(batch, 90_000).records) == 9
    with pytest.raises(TooLargeToOpen):
        open_batch(batch, 80_000)


@pytest.mark.parametrize("cut", [1, 2, 7])
def test_records_that_cannot_be_read_are_refused(cut: int) -> None:
    batch = bytearray(batch_of([RecordData(b"key", b"value")], Compression.NONE)[:-cut])
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    with pytest.raises(MalformedMessage):
        open_batch(bytes(batch))


def test_a_key_longer_than_its_record_is_refused() -> None:
    batch = bytearray(batch_of([RecordData(b"key", b"value")], Compression.NONE))
    at = batch.index(b"key") - 1
    batch[at] = 100  # zig-zag 50
    with pytest.raises(MalformedMessage):
        open_batch(bytes(batch))


# -- in slices


def numbered(count: int, codec: Compression = Compression.NONE) -> bytes:
    """Return a batch of `count` records, in which later ones are older and every third is a tombstone."""
    return batch_of(
        [RecordData(b"%d" % n, None if n % 3 == 0 else b"v%d" % n, (), T0 + count - n) for n in range(count)], codec
    )


@pytest.mark.parametrize(
    ("count", "slices"),
    [
        (1, [1]),
        (SLICE_RECORDS, [SLICE_RECORDS]),
        (SLICE_RECORDS + 1, [SLICE_RECORDS, 1]),
        (2 * SLICE_RECORDS + 7, [SLICE_RECORDS, SLICE_RECORDS, 7]),
    ],
)
def test_a_batch_is_read_in_slices_and_is_the_same(count: int, slices: list[int]) -> None:
    batch = numbered(count)
    opened, parts = in_slices(batch)
    assert opened.records == []
    read = list(parts)
    assert [len(part) for part in read] == slices
    assert [record for part in read for record in part] == open_batch(batch).records


@pytest.mark.parametrize("codec", Compression)
def test_a_batch_that_is_opened_in_steps_is_the_same(codec: Compression) -> None:
    batch = batch_of([RecordData(b"k%d" % n, b"v" * 900) for n in range(600)], codec)
    steps, pauses = open_in_steps(batch), list[int]()
    while True:
        try:
            pauses.append(next(steps))
        except StopIteration as end:
            opened, slices = end.value
            break
    whole = open_batch(batch)
    assert (opened.header, opened.records) == (whole.header, [])
    assert [record for part in slices for record in part] == whole.records
    assert opened.data == whole.data
    pieces = {Compression.NONE: 0, Compression.SNAPPY: 17}.get(codec, 9)  # of snappy half as long
    assert pauses == [SLICE_RECORDS] * (pieces // 4 + bool(pieces))


@pytest.mark.parametrize("spoiled", [numbered(3) + b"\0", bytes(emptied(read_header(numbered(3)))) + b"\0"])
def test_other_bytes_behind_the_records_are_refused(spoiled: bytes) -> None:
    batch = bytearray(spoiled)
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    with pytest.raises(MalformedMessage, match="behind its records"):
        open_batch(bytes(batch))


@pytest.mark.parametrize("horizon", [None, T0 - 5])
@pytest.mark.parametrize("append_time", [False, True])
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_what_is_kept_slice_by_slice_is_what_is_kept_at_once(
    codec: Compression, append_time: bool, horizon: int | None
) -> None:
    batch = numbered(20, codec)
    if append_time:
        batch = bytes(with_append_time(batch, T0 + 9))
    opened = open_batch(batch)
    parts = [opened.records[4:9], [], opened.records[9:10], opened.records[15:]]
    kept = KeptRecords(opened)
    for part in parts:
        kept.add(part)
    assert kept.count == 11
    steps = kept.written(horizon)
    taken: list[int] = []
    while True:
        try:
            taken.append(next(steps))
        except StopIteration as end:
            written = end.value
            break
    assert taken == ([5, 1, 5] if horizon is not None else []) + [SLICE_RECORDS]
    assert written == retained(opened, [record for part in parts for record in part], horizon)
    assert [record.value for record in decode_records(written)] == [
        record.value
        for record in decode_records(batch)
        if 4 <= record.offset - 2**40 <= 9 or record.offset - 2**40 > 14
    ]
