"""Record batches of magic 2: building, checking, stamping, decoding; compared with aiokafka and kafka-python."""

from __future__ import annotations

import contextlib
import struct
from random import Random

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records.batch import (
    ATTRIBUTES_AT,
    CRC_START,
    HEADER_SIZE,
    TRANSACTIONAL,
    BatchHeader,
    Compression,
    Record,
    RecordData,
    attributes_of,
    batch_headers,
    build_batch,
    crc_matches,
    decode_records,
    last_sequence,
    producer_of,
    read_header,
    recompress,
    records_block,
    records_view,
    stamp,
    stamped_prefix,
    validate_batch,
    with_append_time,
    with_max_timestamp,
)
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.retain import emptied
from tests.support.kafka.raw_batches import raw_batch, raw_headers, raw_record

nullable = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=20), nullable), max_size=4).map(tuple)
records = st.builds(RecordData, nullable, nullable, headers, st.none() | st.integers(0, 2**45))
batches = st.lists(records, min_size=1, max_size=20)


def reseal(batch: bytearray) -> bytearray:
    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    return batch


def with_field(batch: bytes | bytearray, at: int, size: int, value: int) -> bytearray:
    changed = bytearray(batch)
    changed[at : at + size] = value.to_bytes(size, "big", signed=True)
    return reseal(changed)


def one(value: bytes = b"v") -> bytearray:
    return build_batch([RecordData(b"k", value)], timestamp_ms=1_000)


def numbered(producer_id: int, epoch: int, sequence: int, *, control: bool = False) -> bytearray:
    return build_batch(
        [RecordData(b"k", b"v")],
        timestamp_ms=1_000,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        control=control,
    )


def test_checksum_is_castagnoli() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@given(batches, st.sampled_from(list(Compression)), st.integers(0, 2**40))
@settings(max_examples=80, deadline=None)
def test_what_was_built_is_valid_and_decodes(data: list[RecordData], codec: Compression, base_offset: int) -> None:
    batch = build_batch(data, timestamp_ms=77, base_offset=base_offset, compression=codec)
    header = validate_batch(batch)
    assert isinstance(header, BatchHeader)
    assert (header.base_offset, header.last_offset, header.records_count) == (
        base_offset,
        base_offset + len(data) - 1,
        len(data),
    )
    times = [77 if record.timestamp_ms is None else record.timestamp_ms for record in data]
    assert header.max_timestamp == max(times)
    assert decode_records(batch) == [
        Record(base_offset + at, time, record.key, record.value, record.headers)
        for at, (record, time) in enumerate(zip(data, times, strict=True))
    ]


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_only_the_wanted_offsets_are_read_of_a_batch(codec: Compression) -> None:
    made = [RecordData(b"%d" % each, b"v" * each, (("h", b"x"),)) for each in range(200)]
    batch = build_batch(made, timestamp_ms=5, base_offset=1_000, compression=codec)
    whole = decode_records(batch)
    for first, last in ((1_000, 1_199), (1_000, 1_000), (1_199, 1_199), (1_070, 1_150), (0, 1_001), (1_198, 2**62)):
        wanted = [each for each in whole if first <= each.offset <= last]
        assert decode_records(batch, first=first, last=last) == wanted
    assert decode_records(batch, first=1_150) == whole[150:]
    assert decode_records(batch, last=1_150) == whole[:151]
    for first, last in ((0, 999), (1_200, 2**62), (1_010, 1_009)):
        assert decode_records(batch, first=first, last=last) == []


def test_a_record_that_cannot_be_read_keeps_no_other_of_its_batch_from_a_reader() -> None:
    bad = raw_record(1, headers=raw_headers(9))
    batch = raw_batch(raw_record(0, value=b"a"), bad, raw_record(2, value=b"c"), base_offset=70)
    assert [each.value for each in decode_records(batch, first=70, last=70)] == [b"a"]
    assert [each.value for each in decode_records(batch, first=72, last=72)] == [b"c"]
    with pytest.raises(MalformedMessage):
        decode_records(batch, first=71, last=71)


@given(batches, st.sampled_from([0, 1, 2, 3, 4]))
@settings(max_examples=60, deadline=None)
def test_what_aiokafka_builds_decodes_to_the_same_records(data: list[RecordData], codec: int) -> None:
    builder = DefaultRecordBatchBuilder(2, codec, False, 5, 1, 7, 1 << 20)
    for at, record in enumerate(data):
        builder.append(at, at * 3, record.key, record.value, list(record.headers))
    batch = bytes(builder.build())
    header = validate_batch(batch)
    assert isinstance(header, BatchHeader)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 1, 7)
    assert decode_records(batch) == [
        Record(at, at * 3, record.key, record.value, record.headers) for at, record in enumerate(data)
    ]


@given(batches, st.sampled_from(list(Compression)))
@settings(max_examples=60, deadline=None)
def test_what_we_build_aiokafka_reads_as_the_same_records(data: list[RecordData], codec: Compression) -> None:
    batch = build_batch(data, timestamp_ms=50, base_offset=10, compression=codec)
    judge = DefaultRecordBatch(bytes(batch))
    assert judge.validate_crc()
    read = [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in judge]
    assert read == [tuple(record) for record in decode_records(batch)]


def test_bytes_are_kafka_pythons_bytes() -> None:
    builder = KafkaPythonBuilder(2, 0, 0, -1, -1, -1, 1 << 20)
    for at in range(200):
        builder.append(at, 1_000 + at, b"key%d" % at, b"v" * at, [("h", b"x"), ("n", None)])
    ours = build_batch(
        [RecordData(b"key%d" % at, b"v" * at, (("h", b"x"), ("n", None)), 1_000 + at) for at in range(200)],
        timestamp_ms=0,
    )
    theirs = bytearray(builder.build())
    stamp(theirs, 0, -1)  # kafka-python writes leader epoch 0
    assert bytes(ours) == bytes(theirs)


def test_stamping_keeps_the_crc_right() -> None:
    batch = one()
    stamp(batch, 123_456_789_012, 7)
    header = validate_batch(batch)
    assert isinstance(header, BatchHeader)
    assert (header.base_offset, header.leader_epoch) == (123_456_789_012, 7)
    assert stamped_prefix(123_456_789_012, header.length, 7) == batch[:16]


def test_log_append_time_gives_every_record_that_time() -> None:
    batch = build_batch([RecordData(None, b"a"), RecordData(None, b"b", (), 5)], timestamp_ms=9)
    stored = with_append_time(batch, 4_000)
    header = validate_batch(stored)
    assert isinstance(header, BatchHeader)
    assert header.is_log_append_time
    assert header.max_timestamp == 4_000
    assert [record.timestamp for record in decode_records(stored)] == [4_000, 4_000]
    assert len(stored) == len(batch)


def test_another_newest_time_changes_nothing_else() -> None:
    batch = one()
    changed = with_max_timestamp(batch, 4_000)
    header = validate_batch(changed)
    assert header == read_header(batch)._replace(max_timestamp=4_000, crc=read_header(changed).crc)
    assert changed[HEADER_SIZE:] == batch[HEADER_SIZE:]
    assert read_header(batch).max_timestamp == 1_000, "it is a copy"


@pytest.mark.parametrize("before", list(Compression))
@pytest.mark.parametrize("after", list(Compression))
def test_recompressing_keeps_the_records(before: Compression, after: Compression) -> None:
    data = [RecordData(b"k%d" % at, b"value" * 20) for at in range(50)]
    batch = build_batch(data, timestamp_ms=3, compression=before, producer_id=1, producer_epoch=0, base_sequence=9)
    stored = recompress(batch, after)
    header = validate_batch(stored)
    assert isinstance(header, BatchHeader)
    assert (header.compression, header.base_sequence) == (after, 9)
    assert decode_records(stored) == decode_records(batch)


def test_walking_batches_stops_before_one_that_is_cut_short() -> None:
    data = bytes(one() + one(b"longer") + one()[:-1])
    walked = list(batch_headers(data))
    assert [position for position, _ in walked] == [0, len(one())]
    assert [position for position, _ in batch_headers(data, len(one()))] == [len(one())]


def test_walking_goes_on_to_the_end_and_over_batches_without_records() -> None:
    empty = emptied(read_header(one()))
    assert len(empty) == HEADER_SIZE
    data = bytes(one() + empty)
    assert [position for position, _ in batch_headers(data)] == [0, len(one())]
    assert [position for position, _ in batch_headers(data + bytes(HEADER_SIZE - 1))] == [0, len(one())]


def test_walking_over_a_length_no_batch_has_raises() -> None:
    with pytest.raises(MalformedMessage, match="record batch with length 10"):
        list(batch_headers(with_field(one(), 8, 4, 10)))


@pytest.mark.parametrize(
    ("what", "batch", "error"),
    [
        ("nothing", b"", ErrorCode.INVALID_RECORD),
        ("half a header", bytes(one())[:40], ErrorCode.INVALID_RECORD),
        ("a cut batch", bytes(one())[:-1], ErrorCode.INVALID_RECORD),
        ("two batches", bytes(one() + one()), ErrorCode.INVALID_RECORD),
        ("magic 0", with_field(one(), 16, 1, 0), ErrorCode.INVALID_RECORD),
        ("magic 1", with_field(one(), 16, 1, 1), ErrorCode.INVALID_RECORD),
        ("a length below the header's", with_field(one(), 8, 4, 48), ErrorCode.CORRUPT_MESSAGE),
        ("a negative length", with_field(one(), 8, 4, -1), ErrorCode.CORRUPT_MESSAGE),
        ("a flipped bit", bytes(one()[:-1] + b"\xff"), ErrorCode.CORRUPT_MESSAGE),
        ("more records than offsets", with_field(one(), 57, 4, 2), ErrorCode.INVALID_RECORD),
        ("more offsets than records", with_field(one(), 23, 4, 1), ErrorCode.INVALID_RECORD),
        ("a negative last offset delta", with_field(with_field(one(), 23, 4, -1), 57, 4, 0), ErrorCode.INVALID_RECORD),
        ("more records than fit", with_field(with_field(one(), 23, 4, 9), 57, 4, 10), ErrorCode.INVALID_RECORD),
        ("codec 5", with_field(one(), 21, 2, 5), ErrorCode.INVALID_RECORD),
        ("attribute bit 7", with_field(one(), 21, 2, 0x80), ErrorCode.INVALID_RECORD),
        ("negative attributes", with_field(one(), 21, 2, -8), ErrorCode.INVALID_RECORD),
        ("producer id -2", with_field(one(), 43, 8, -2), ErrorCode.INVALID_RECORD),
        ("a producer without epoch", with_field(one(), 43, 8, 5), ErrorCode.INVALID_RECORD),
        ("producer id -2 with an epoch", numbered(-2, 0, 0), ErrorCode.INVALID_RECORD),
        ("a producer without sequence", numbered(5, 0, -1), ErrorCode.INVALID_RECORD),
        ("a marker with a sequence", numbered(5, 0, 0, control=True), ErrorCode.INVALID_RECORD),
    ],
)
def test_what_is_not_exactly_one_sound_batch_is_refused(what: str, batch: bytes, error: ErrorCode) -> None:
    assert validate_batch(batch) is error, what
    assert validate_batch(memoryview(batch)) is error, what


@pytest.mark.parametrize("sequence", [0, 5, -7])
def test_without_a_producer_id_the_sequence_means_nothing(sequence: int) -> None:
    """aiokafka's plain producer writes sequence 0."""
    assert isinstance(validate_batch(with_field(one(), 53, 4, sequence)), BatchHeader)


def test_producers_epochs_and_sequences_count_from_zero() -> None:
    assert isinstance(validate_batch(numbered(0, 0, 0)), BatchHeader)
    assert isinstance(validate_batch(numbered(0, 0, -1, control=True)), BatchHeader)


def test_a_compressed_batch_cannot_claim_offsets_without_end() -> None:
    """A batch of a hundred bytes claims two billion offsets."""
    small = build_batch([RecordData(None, b"x" * 30)], timestamp_ms=0, compression=Compression.ZSTD)
    claimed = with_field(with_field(small, 23, 4, 2**31 - 2), 57, 4, 2**31 - 1)
    assert validate_batch(claimed) is ErrorCode.INVALID_RECORD
    many = build_batch([RecordData(None, None)] * 100_000, timestamp_ms=0, compression=Compression.ZSTD)
    assert isinstance(validate_batch(many), BatchHeader)


def test_no_damage_to_a_batch_goes_unnoticed_and_none_raises() -> None:
    rng = Random(1)
    sound = bytes(build_batch([RecordData(b"k", b"v" * 20)] * 3, timestamp_ms=5))
    for _ in range(2_000):
        damaged = bytearray(sound)
        at = rng.randrange(8, len(damaged))
        damaged[at] ^= 1 << rng.randrange(8)
        if not 12 <= at < 16:  # the leader epoch is outside the CRC
            assert isinstance(validate_batch(damaged), ErrorCode), at


def test_records_that_cannot_be_read_are_malformed_and_nothing_else() -> None:
    rng = Random(2)
    sound = bytes(build_batch([RecordData(b"k", b"v" * 9, (("h", b"x"),))] * 3, timestamp_ms=5))
    for _ in range(3_000):
        damaged = bytearray(sound)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(HEADER_SIZE, len(damaged))] = rng.randrange(256)
        with contextlib.suppress(MalformedMessage):
            assert len(decode_records(damaged)) == 3


@pytest.mark.parametrize("count", [2, 4, 1_000, -1])
def test_a_count_that_is_not_the_records_is_malformed(count: int) -> None:
    batch = with_field(build_batch([RecordData(b"k", b"v")] * 3, timestamp_ms=5), 57, 4, count)
    with pytest.raises(MalformedMessage):
        decode_records(batch)


def test_no_headers_may_take_two_bytes() -> None:
    (record,) = decode_records(raw_batch(raw_record(key=b"k", headers=b"\x80\0")))
    assert (record.key, record.headers) == (b"k", ())


def test_decoding_is_bounded() -> None:
    batch = build_batch([RecordData(None, bytes(10_000))], timestamp_ms=0, compression=Compression.GZIP)
    with pytest.raises(MalformedMessage, match="larger than 5000"):
        decode_records(batch, 5_000)
    with pytest.raises(MalformedMessage, match="larger than 5000"):
        decode_records(build_batch([RecordData(None, bytes(10_000))], timestamp_ms=0), 5_000)


def test_sequences_wrap_to_zero() -> None:
    assert last_sequence(2**31 - 1, 0) == 2**31 - 1
    assert last_sequence(2**31 - 1, 1) == 0
    assert last_sequence(2**31 - 3, 9) == 6
    assert last_sequence(-1, 9) == -1


def test_a_batch_needs_a_record() -> None:
    with pytest.raises(ValueError, match="without records"):
        build_batch([], timestamp_ms=0)


def test_header_properties() -> None:
    header = read_header(
        build_batch(
            [RecordData(None, b"")] * 3,
            timestamp_ms=1,
            base_offset=40,
            leader_epoch=2,
            producer_id=8,
            producer_epoch=1,
            base_sequence=2**31 - 2,
            transactional=True,
        )
    )
    assert (header.last_offset, header.next_offset, header.last_sequence) == (42, 43, 0)
    assert header.is_transactional
    assert not header.is_control
    assert not header.has_delete_horizon
    assert header.size == header.length + 12


@given(batches, st.sampled_from(Compression), st.integers(0, 200))
def test_a_batch_within_others_is_checked_and_read_in_place(
    written: list[RecordData], codec: Compression, changed: int
) -> None:
    """The surrounding bytes are ignored, and uncompressed records are not copied."""
    batch = build_batch(written, timestamp_ms=5, compression=codec)
    header = read_header(batch)
    among = bytearray(b"before" + batch + b"more")
    assert crc_matches(among, 6, header)
    view = records_view(among, 6, header)
    assert isinstance(view, memoryview) == (codec is Compression.NONE)
    _, block, start = records_block(batch)
    assert bytes(view) == block[start:]
    view = b""  # or the bytearray could not be changed
    among[6 + CRC_START + changed % (len(batch) - CRC_START)] ^= 1
    assert not crc_matches(among, 6, header)


# -- single fields of a batch that nothing was checked of


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("transactional", [False, True])
def test_attributes_and_producer_are_those_of_the_header(kind: type, transactional: bool) -> None:
    batch = kind(
        build_batch(
            [RecordData(b"k", b"v")],
            timestamp_ms=1_000,
            producer_id=2**40 + 3,
            producer_epoch=300,
            base_sequence=70_000,
            transactional=transactional,
            compression=Compression.GZIP,
        )
    )
    header = read_header(batch)
    assert attributes_of(batch) == header.attributes == Compression.GZIP | (TRANSACTIONAL if transactional else 0)
    assert producer_of(batch) == (header.producer_id, header.producer_epoch, header.base_sequence)
    assert producer_of(batch) == (2**40 + 3, 300, 70_000)


def test_a_batch_that_is_too_short_has_no_attributes_and_no_producer() -> None:
    batch = bytes(
        build_batch([RecordData(b"k", b"v")], timestamp_ms=1, producer_id=5, producer_epoch=1, transactional=True)
    )
    assert attributes_of(batch[: ATTRIBUTES_AT + 1]) == TRANSACTIONAL
    assert attributes_of(batch[:ATTRIBUTES_AT]) == attributes_of(b"") == 0
    assert producer_of(batch[:57]) == (5, 1, -1)
    with pytest.raises(struct.error):
        producer_of(batch[:56])
