"""Invalid record batches: one error that names the place, never a wrong row, a crash or unbounded memory."""

from __future__ import annotations

import resource
from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.primitives import zigzag_varint
from shareq.protocol.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    Compression,
    Headers,
    RecordData,
    build_batch,
    decode_records,
    encode_batch,
    read_header,
    stamp,
)
from shareq.protocol.records.compression import compress
from shareq.spark.decode.arrow import Range, decode
from tests.spark.decode.test_arrow import ALL, EVERYTHING, WAYS, Row, batches_of, expected, limits, rows_of

ONE = bytes(build_batch([RecordData(b"k", b"v", (("h", b"x"),))] * 3, timestamp_ms=5, base_offset=100))


def refusal(data: bytes, ranges: Sequence[Range] = EVERYTHING) -> str:
    with pytest.raises(MalformedMessage) as refused:
        for _ in decode(data, ranges, ALL, topic="flights", partition=3):
            pass
    return str(refused.value)


def rows_or_refusal(data: bytes) -> list[Row] | None:
    try:
        return rows_of(data)
    except MalformedMessage as refused:
        if not str(refused).startswith("flights-3: record"):
            raise
    except OverflowError:
        pass  # of this test: Python's dates end before Spark's
    return None


def with_payload(payload: bytes, count: int, codec: Compression = Compression.NONE) -> bytes:
    """Return a batch with a valid CRC, whose records need not be valid."""
    header = BatchHeader(100, 0, 0, 2, 0, codec, count - 1, 0, 0, -1, -1, -1, count)
    return bytes(encode_batch(header, payload))


def record(body: bytes, length: int | None = None) -> bytes:
    return zigzag_varint(len(body) if length is None else length) + body


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_byte_of_the_records_changed(way: str, data: st.DataObject) -> None:
    """The CRC is made valid again; the result is the simple reader's rows, or a refusal.

    Offsets that do not ascend are refused here alone.
    """
    batch = data.draw(batches_of("data"))
    header = read_header(batch)
    payload = bytearray(batch[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(payload) - 1))
        payload[at] = data.draw(st.sampled_from([0, 1, 2, 127, 128, 255]) | st.integers(0, 255))
    count = data.draw(st.sampled_from([header.records_count, 1, 2, 0, 2**31 - 1]))
    changed = bytes(encode_batch(header._replace(records_count=count), payload))
    with limits(way):
        rows = rows_or_refusal(changed)
    assert not count or rows is None or rows == expected([changed])


@given(st.binary(max_size=300))
def test_any_bytes_at_all(data: bytes) -> None:
    assert not data or refusal(data).startswith("flights-3: ")


@given(st.integers(0, len(ONE) - 1), st.integers(1, 255))
def test_any_byte_of_a_batch_changed(at: int, change: int) -> None:
    """Each byte is changed in turn, except for base offset and leader epoch, which the CRC does not cover."""
    changed = bytearray(ONE)
    changed[at] ^= change
    if at < 8 or 12 <= at < 16:
        return
    refusal(bytes(changed))


def test_says_where() -> None:
    changed = bytearray(ONE)
    changed[-1] ^= 1
    assert refusal(bytes(changed)) == "flights-3: record batch at offset 100: its CRC does not match"
    old = bytearray(ONE)
    old[16] = 1
    assert refusal(bytes(old)) == "flights-3: record batch at offset 100: magic 1, only 2 can be read"
    assert refusal(ONE + ONE[:20]) == "flights-3: 20 bytes after the last whole record batch"
    short = bytearray(ONE)
    short[8:12] = (20).to_bytes(4, "big")
    assert refusal(bytes(short)) == "flights-3: record batch with length 20, byte 0 of an answer"
    codec = bytes(encode_batch(read_header(ONE)._replace(attributes=5), ONE[HEADER_SIZE:]))
    assert refusal(codec) == "flights-3: record batch at offset 100: compression codec 5"


GOOD = b"\0\0\0\x01\x02v\0"
CASES = {
    "more records said than there are": (record(GOOD), 2),
    "fewer records said than there are": (record(GOOD) + record(b"\0\0\x02\x01\x02v\0"), 1),
    "2^31-1 records said": (record(GOOD), 2**31 - 1),
    "a length of -1": (record(GOOD, -1), 1),
    "a length beyond the batch": (record(GOOD, 60), 1),
    "a length without an end": (b"\xff" * 30, 1),
    "a length of six bytes": (b"\x8e\x80\x80\x80\x80\x00" + GOOD, 1),
    "a time of eleven bytes": (record(b"\0" + b"\x80" * 10 + b"\0\x01\x02v\0"), 1),
    "an offset of six bytes": (record(b"\0\0" + b"\x80" * 5 + b"\x01\x02v\0"), 1),
    "a record of less than it must have": (record(b"\0\0\0\x01\x01") + bytes(3), 1),
    "a key beyond the record": (record(b"\0\0\0\x7e\x02v\0"), 1),
    "a key beyond everything": (record(b"\0\0\0\xfe\xff\xff\xff\x0fv\0"), 1),
    "a key of -2": (record(b"\0\0\0\x03\x02v\0"), 1),
    "a value of -2": (record(b"\0\0\0\x01\x03v\0"), 1),
    "bytes after the headers": (record(b"\0\0\0\x01\x02v\0more"), 1),
    "a record that ends before its headers": (record(b"\0\0\0\x01\x02vv", 6) + b"\x0c" + bytes(6), 2),
    "-1 headers": (record(b"\0\0\0\x01\x02v\x01"), 1),
    "more headers than bytes": (record(b"\0\0\0\x01\x02v\xfe\xff\xff\xff\x0f"), 1),
    "a header without a key": (record(b"\0\0\0\x01\x02v\x02\x01\x01"), 1),
    "a header's value of -2": (record(b"\0\0\0\x01\x02v\x02\x02k\x03"), 1),
    "a header beyond the record": (record(b"\0\0\0\x01\x02v\x02\x02k\x7e"), 1),
    "a header's key cut short": (record(b"\0\0\0\x01\x02v\x02\xff\xff"), 1),
    "an offset before the batch": (record(b"\0\0\x01\x01\x02v\0"), 1),
    "an offset behind the batch": (record(b"\0\0\x02\x01\x02v\0"), 1),
    "an offset twice": (record(GOOD) * 2, 2),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("around", [0, 50])
def test_records_that_are_none(case: str, around: int) -> None:
    """Such bytes are refused alone, and among many valid batches, where records are read side by side."""
    payload, count = CASES[case]
    bad = with_payload(payload, count)
    before = many(around, 0, ())
    after = many(around, 2**31 + 200, (("k", b"v"),))
    places = ("flights-3: record batch at offset 100: ", "flights-3: record at offset ")
    assert refusal(before + bad + after).startswith(places)


def many(count: int, first: int, headers: Headers) -> bytes:
    record = [RecordData(None, b"x", headers)]
    return b"".join(bytes(build_batch(record, timestamp_ms=0, base_offset=first + at)) for at in range(count))


def test_offsets_of_batches_ascend() -> None:
    at = len(ONE)
    assert refusal(ONE + ONE) == f"flights-3: record batch at offset 100 behind that at 100, byte {at} of an answer"
    inside = bytearray(ONE)
    stamp(inside, 102, 0)
    assert refusal(ONE + bytes(inside)) == "flights-3: record batch at offset 102: offset delta 0 is out of order"


def test_a_last_offset_that_is_too_low_hides_no_records() -> None:
    """The batch seems to be outside of the range; only its CRC reveals the damage."""
    changed = bytes(encode_batch(read_header(ONE)._replace(last_offset_delta=0), ONE[HEADER_SIZE:]))
    changed = changed[:17] + ONE[17:21] + changed[21:]
    following = bytes(build_batch([RecordData(None, None)], timestamp_ms=0, base_offset=200))
    for data in (changed, changed + following):
        assert refusal(data, [(102, 102, 1)]) == "flights-3: record batch at offset 100: its CRC does not match"


SPOILS: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "none": lambda data: b"",
}


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec])
@pytest.mark.parametrize("spoil", SPOILS)
def test_compressed_bytes_that_are_none(codec: Compression, spoil: str) -> None:
    payload = b"".join(record(b"\0\0" + zigzag_varint(number) + b"\x01\x02v\0") for number in range(500))
    assert "record batch at offset 100: " in refusal(with_payload(SPOILS[spoil](compress(codec, payload)), 500, codec))


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD, Compression.SNAPPY])
def test_a_bomb_is_refused(codec: Compression) -> None:
    """The decompression of one batch stops at 64 MB."""
    bomb = with_payload(compress(codec, bytes(70 * 2**20)), 1, codec)
    assert refusal(bomb).endswith("records are larger than 67108864 bytes when decompressed")


def test_many_batches_that_expand_are_not_held_together() -> None:
    """20 batches of 60 MB each, out of 100 kB, are decoded without holding all in memory."""
    payload = record(b"\0\0\0\x01" + zigzag_varint(60_000_000) + bytes(60_000_000) + b"\0")
    batch = with_payload(compress(Compression.ZSTD, payload), 1, Compression.ZSTD)
    batches = [bytes(offset.to_bytes(8, "big")) + batch[8:] for offset in range(20)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sizes = [part.num_rows for part in decode(b"".join(batches), EVERYTHING, ALL, topic="t", partition=0)]
    assert sizes == [1] * 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000  # kB


def test_random_bytes_under_a_right_crc() -> None:
    random = Random("bytes")
    for _ in range(20):
        payload = random.randbytes(500_000)
        assert refusal(with_payload(payload, random.choice([5000, 60_000]))).startswith("flights-3: record")


def test_both_readers_refuse_the_same() -> None:
    for case, (payload, count) in CASES.items():
        if not case.startswith("an offset"):
            with pytest.raises(MalformedMessage):
                decode_records(with_payload(payload, count))
