"""A batch cut to some of its records reads like the whole one without the others."""

from __future__ import annotations

from itertools import chain
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.protocol.records.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    Compression,
    RecordData,
    build_batch,
    decode_records,
    read_header,
    with_append_time,
    with_records,
)
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.compression import compress
from shareq.protocol.records.cut import MOST_COMPRESSED, cut
from shareq.protocol.records.retain import open_batch, retained
from tests.support.kafka.raw_batches import raw_record
from tests.support.pass_forms import FORMS, RecordWalk

T0 = 1_700_000_000_000
BASE = 2**40
OPENED = 1 << 20

keys = st.none() | st.binary(max_size=80)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=2).map(tuple)
times = st.integers(T0 - 10**4, T0 + 10**6)
records = st.lists(
    st.builds(RecordData, keys, st.none() | st.binary(max_size=300), headers, times), min_size=1, max_size=40
)


def batch_of(contents: list[RecordData], codec: Compression, *, transactional: bool = True) -> bytes:
    return bytes(
        build_batch(
            contents,
            timestamp_ms=T0,
            base_offset=BASE,
            leader_epoch=3,
            producer_id=7,
            producer_epoch=1,
            base_sequence=40,
            compression=codec,
            transactional=transactional,
        )
    )


def ranges_of(offsets: list[int], apart: list[bool]) -> list[int]:
    """Return first and last offsets alternately; neighbours form one range unless `apart` says otherwise."""
    found: list[tuple[int, int]] = []
    for offset, alone in zip(offsets, apart, strict=True):
        if found and found[-1][1] == offset - 1 and not alone:
            found[-1] = (found[-1][0], offset)
        else:
            found.append((offset, offset))
    return list(chain.from_iterable(found))


@given(
    contents=records,
    codec=st.sampled_from(Compression),
    data=st.data(),
    horizon=st.none() | st.integers(0, 2**62),
    append_time=st.none() | st.integers(0, 2**62),
)
@settings(max_examples=500, deadline=None)
def test_a_client_reads_of_a_cut_batch_what_it_reads_of_those_records_in_the_whole_one(
    contents: list[RecordData], codec: Compression, data: st.DataObject, horizon: int | None, append_time: int | None
) -> None:
    """The batches have all codecs, gaps of compaction, delete horizons, and log append time."""
    batch = batch_of(contents, codec)
    if append_time is not None:
        batch = bytes(with_append_time(batch, append_time))
    if data.draw(st.booleans()):
        opened = open_batch(batch)
        keep = data.draw(st.sets(st.sampled_from(range(len(contents))), min_size=1))
        batch = bytes(retained(opened, [opened.records[index] for index in sorted(keep)], horizon))
    wanted = sorted(data.draw(st.sets(st.sampled_from(range(len(contents))), min_size=1)))
    apart = data.draw(st.lists(st.booleans(), min_size=len(wanted), max_size=len(wanted)))
    before = data.draw(st.sampled_from((b"", batch)))
    marks: dict[int, tuple[int, int]] | None = data.draw(st.none() | st.builds(dict))
    if marks is not None:  # as another call left them
        first = data.draw(st.integers(0, len(contents) - 1))
        cut(
            before + batch + before,
            len(before),
            [first, data.draw(st.integers(first, len(contents) - 1))],
            OPENED,
            marks,
        )

    part, opened_bytes = cut(before + batch + before, len(before), ranges_of(wanted, apart), OPENED, marks)

    expected = [record for record in decode_records(batch) if record.offset - BASE in wanted]
    assert bool(opened_bytes) is (codec is not Compression.NONE)
    if part is None:  # the whole batch is sent
        smaller = [record for record in decode_records(batch) if record.offset - BASE not in wanted]
        assert codec is not Compression.NONE or not smaller
        return
    assert len(part) < len(batch)
    if not part:
        assert expected == []
        return
    assert decode_records(part) == expected
    header, whole = read_header(part), read_header(batch)
    assert header.crc == crc32c(memoryview(part)[21:])
    assert header.compression in (Compression.NONE, codec)
    changed = {"length": header.length, "crc": header.crc, "records_count": len(expected)}
    codecs = whole.attributes & ~CODEC_MASK | header.compression
    assert header == whole._replace(attributes=codecs, **changed)


def test_what_compresses_well_is_compressed_again() -> None:
    contents = [RecordData(b"%d" % index, bytes(200)) for index in range(400)]
    batch = batch_of(contents, Compression.ZSTD)
    part, _ = cut(batch, 0, [0, 99], OPENED)
    assert part is not None
    assert read_header(part).compression == Compression.ZSTD
    assert decode_records(part) == decode_records(batch)[:100]


def test_what_would_not_be_smaller_is_left_whole() -> None:
    contents = [RecordData(None, bytes(20_000)) for _ in range(40)]
    batch = batch_of(contents, Compression.GZIP)
    assert cut(batch, 0, [0, 38], OPENED).batch is None  # too much to compress again
    assert cut(batch_of(contents, Compression.NONE), 0, [0, 39], OPENED).batch is None


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
def test_no_more_is_opened_than_allowed(codec: Compression) -> None:
    batch = batch_of([RecordData(None, bytes(5_000)) for _ in range(10)], codec)
    assert cut(batch, 0, [0, 0], 49_999) == (None, 49_999)
    assert cut(batch, 0, [0, 0], 51_000).batch is not None


def test_what_cannot_be_opened_is_left_whole() -> None:
    batch = bytearray(batch_of([RecordData(b"k" * 50, b"v" * 50)], Compression.ZSTD))
    batch[HEADER_SIZE:] = b"\xff" * (len(batch) - HEADER_SIZE)
    assert cut(bytes(batch), 0, [0, 0], OPENED).batch is None


def test_the_batch_is_the_one_at_the_position() -> None:
    one = batch_of([RecordData(b"k", b"v" * 9)] * 3, Compression.NONE, transactional=False)
    other = batch_of([RecordData(b"%d" % index, b"v" * index) for index in range(40)], Compression.NONE)
    part, _ = cut(one + other + one, len(one), [30, 31], OPENED)
    assert part is not None
    assert decode_records(part) == decode_records(other)[30:32]
    assert read_header(part).attributes == read_header(other).attributes


def test_what_lies_before_a_mark_is_not_looked_at_again() -> None:
    """The bytes before the mark are damaged here."""
    batch = batch_of([RecordData(b"%d" % index, b"v") for index in range(9)], Compression.NONE)
    marks: dict[int, tuple[int, int]] = {}
    expected = [cut(batch, 0, wanted, OPENED).batch for wanted in ([4, 4], [6, 7], [8, 8])]
    cut(batch, 0, [4, 4], OPENED, marks)
    index, start = marks[0]
    assert index == 4
    damaged = batch[:HEADER_SIZE] + b"\xff" * (start - HEADER_SIZE) + batch[start:]
    assert cut(damaged, 0, [4, 4], OPENED).batch is None
    assert [cut(damaged, 0, wanted, OPENED, marks).batch for wanted in ([4, 4], [6, 7], [8, 8])] == expected


def test_what_is_wanted_from_before_a_mark_on_is_all_found() -> None:
    batch = batch_of([RecordData(b"%d" % index, b"v") for index in range(9)], Compression.NONE)
    marks: dict[int, tuple[int, int]] = {}
    cut(batch, 0, [4, 4], OPENED, marks)
    assert cut(batch, 0, [2, 6], OPENED, marks) == cut(batch, 0, [2, 6], OPENED)


def test_what_was_opened_counts_also_where_records_cannot_be_picked() -> None:
    whole = batch_of([RecordData(b"k", b"v")] * 2, Compression.ZSTD)
    payload = compress(Compression.ZSTD, bytes(70))
    batch = with_records(whole, 0, read_header(whole).attributes, 2, payload)
    assert cut(bytes(batch), 0, [0, 0], OPENED) == (None, 70)


def test_it_is_compressed_again_from_the_size_of_the_whole_batch_on() -> None:
    """The batch has one incompressible record, and as many small ones as come near the original size."""
    noise = RecordData(None, Random(1).randbytes(1_000))
    for count, length in chain(((count, 20) for count in range(30, 45)), ((44, length) for length in range(60))):
        others = [RecordData(None, bytes(20))] * (count - 1) + [RecordData(None, bytes(length))]
        batch = batch_of([noise, *others, *others], Compression.ZSTD)
        part, _ = cut(batch, 0, [1, count], OPENED)
        assert part is not None
        payload = sum(each.end - each.start for each in open_batch(batch).records[1 : count + 1])
        as_it_is = HEADER_SIZE + payload < len(batch)
        assert read_header(part).compression == (Compression.NONE if as_it_is else Compression.ZSTD)


@pytest.mark.parametrize("beyond", [0, 1])
def test_what_is_compressed_again_is_bounded(beyond: int) -> None:
    noise = RecordData(None, Random(1).randbytes(1_000))
    overhead = (
        len(batch_of([RecordData(None, bytes(MOST_COMPRESSED))], Compression.NONE)) - MOST_COMPRESSED - HEADER_SIZE
    )
    batch = batch_of([RecordData(None, bytes(MOST_COMPRESSED - overhead + beyond)), noise], Compression.ZSTD)
    assert (cut(batch, 0, [0, 0], OPENED).batch is None) is bool(beyond)


@pytest.mark.parametrize("form", FORMS)
@given(records, st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_damaged_records_are_not_picked_beyond_their_end(
    form: RecordWalk, contents: list[RecordData], rng: Random
) -> None:
    payload = bytearray(batch_of(contents, Compression.NONE)[HEADER_SIZE:])
    for _ in range(rng.randint(1, 3)):
        payload[rng.randrange(len(payload))] = rng.randrange(256)
    end = rng.randint(0, len(payload))
    first = rng.randrange(len(contents))
    picked = form.pick(bytes(payload), 0, end, len(contents), [first, rng.randrange(first, len(contents))])
    if picked is not None:
        count, parts = picked
        assert count <= len(contents)
        assert sum(map(len, parts)) <= end


@pytest.mark.parametrize("form", FORMS)
@given(records, st.data())
@settings(max_examples=200, deadline=None)
def test_neighbours_are_picked_together(form: RecordWalk, contents: list[RecordData], data: st.DataObject) -> None:
    batch = batch_of(contents, Compression.NONE)
    wanted = sorted(data.draw(st.sets(st.sampled_from(range(len(contents))), min_size=1)))
    flat = list(chain.from_iterable((delta, delta) for delta in wanted))
    opened = open_batch(batch)
    picked = form.pick(batch, HEADER_SIZE, len(batch), len(contents), flat)
    assert picked is not None
    count, parts = picked
    assert count == len(wanted)
    assert b"".join(parts) == b"".join(batch[opened.records[at].start : opened.records[at].end] for at in wanted)
    assert len(parts) == len(ranges_of(wanted, [False] * len(wanted))) // 2


@pytest.mark.parametrize("form", FORMS)
def test_records_out_of_their_order_are_not_picked(form: RecordWalk) -> None:
    contents = [RecordData(b"a", b"1"), RecordData(b"b", b"2")]
    opened = open_batch(batch_of(contents, Compression.NONE))
    one, other = (opened.data[record.start : record.end] for record in opened.records)
    assert form.pick(other + one, 0, len(one + other), 2, [0, 1]) is None
    assert form.pick(one + other, 0, len(one + other), 2, [0, 1]) == (2, [one + other])


@pytest.mark.parametrize("form", FORMS)
def test_a_record_is_not_passed_over_for_one_that_is_missing_before_it(form: RecordWalk) -> None:
    """The third record's key length equals the wanted offset delta."""
    parts = [raw_record(0, key=b"k"), raw_record(2, key=b"k"), raw_record(3, key=b"kk")]
    assert form.pick(b"".join(parts), 0, sum(map(len, parts)), 3, [2, 2]) == (1, [parts[1]])


@pytest.mark.parametrize("form", FORMS)
def test_the_time_of_a_picked_record_may_take_several_bytes(form: RecordWalk) -> None:
    """The timestamp is read even if its first byte is 0x80."""
    contents = [RecordData(b"k", b"v", (), T0 + delta) for delta in (0, 64, 63, 8_192, -64)]
    opened = open_batch(batch_of(contents, Compression.NONE))
    parts = [opened.data[record.start : record.end] for record in opened.records]
    for at, part in enumerate(parts):
        assert form.pick(b"".join(parts), 0, sum(map(len, parts)), len(parts), [at, at]) == (1, [part])
