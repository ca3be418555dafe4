"""A record batch of which compaction has removed records.

Remaining records keep their offset, their time and their bytes; the batch keeps base offset, LastOffsetDelta and the
producer's fields, so that its offsets and sequences stay the same with fewer records in it, or none. MaxTimestamp is
that of the remaining records; a batch without any keeps the old one. In a batch with a delete horizon, BaseTimestamp is
that horizon (ms), and its records' time deltas are relative to it.

A batch of a few kilobytes may have a quarter of a million records, each of which takes a microsecond or two. So callers
that have to pause can handle a batch in slices of `SLICE_RECORDS`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.passes.records import read_keys
from shareq.protocol.primitives import zigzag_varint
from shareq.protocol.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    BatchHeader,
    Compression,
    encode_batch,
    read_header,
    records_block,
)
from shareq.protocol.records.compression import MAX_DECOMPRESSED_BYTES, compress, compress_in_steps
from shareq.protocol.records.opening import pieces

SLICE_RECORDS: Final = 3_000
OPENED_AT_ONCE: Final = 512 * 1024
"""The most bytes of compressed records that callers which have to pause decompress, and compress, in one call."""
_PIECES: Final = 4  # of 64 KiB opened, that take as long as so many records


class KeyedRecord(NamedTuple):
    """One record, read up to its key. The fields that end in `_at` are positions in its batch's uncompressed records.

    The bytes from `start` to `end` are the whole record with its length; those from `rest_at` on do not depend on the
    batch's base timestamp.
    """

    offset: int
    timestamp: int
    key: bytes | None
    has_value: bool
    start: int
    rest_at: int
    end: int


_keyed: Final = KeyedRecord._make


class Opened(NamedTuple):
    """A batch, its uncompressed records as bytes, and the parsed records."""

    header: BatchHeader
    data: bytes
    records: list[KeyedRecord]


def open_batch(batch: bytes | bytearray | memoryview, most_opened: int = MAX_DECOMPRESSED_BYTES) -> Opened:
    """Read a batch up to the keys of its records. Raises `MalformedMessage` for unreadable records, `TooLargeToOpen`
    for compressed records of more than `most_opened` bytes.
    """
    opened, slices = in_slices(batch, most_opened)
    return opened._replace(records=list(chain.from_iterable(slices)))


def in_slices(
    batch: bytes | bytearray | memoryview, most_opened: int = MAX_DECOMPRESSED_BYTES
) -> tuple[Opened, Iterator[list[KeyedRecord]]]:
    """Return a batch with decompressed records, and an iterator that parses them, at most `SLICE_RECORDS` at a time.
    Both raise `MalformedMessage`, as `open_batch` does.
    """
    header, data, pos = records_block(batch, max(most_opened, len(batch)))
    return Opened(header, data, []), _slices(header, data, pos)


def open_in_steps(batch: bytes) -> Generator[int, None, tuple[Opened, Iterator[list[KeyedRecord]]]]:
    """Return the same as `in_slices`, but decompress the records in steps; after each step, yield the number of records
    that would take as long.
    """
    header = read_header(batch, 0)
    codec = Compression(header.attributes & CODEC_MASK)
    if codec is Compression.NONE:
        return in_slices(batch)
    parts = []
    for part in pieces(codec, memoryview(batch)[HEADER_SIZE:], MAX_DECOMPRESSED_BYTES):
        parts.append(part)
        if len(parts) % _PIECES == 0:
            yield SLICE_RECORDS
    data = b"".join(parts)
    yield SLICE_RECORDS
    return Opened(header, data, []), _slices(header, data, 0)


def _slices(header: BatchHeader, data: bytes, pos: int) -> Iterator[list[KeyedRecord]]:
    left = header.records_count
    while left > 0:
        records = _read(header, data, pos, min(left, SLICE_RECORDS))
        pos = records[-1].end
        left -= len(records)
        yield records
    if pos != len(data):
        raise MalformedMessage("a batch with other bytes behind its records")


def _read(header: BatchHeader, data: bytes, pos: int, count: int) -> list[KeyedRecord]:
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    rows = read_keys(data, pos, count, header.base_offset, header.base_timestamp, append_time)
    if rows is None:
        raise MalformedMessage("a record that cannot be read as far as its value")
    return list(map(_keyed, rows))


def retained(opened: Opened, kept: Sequence[KeyedRecord], delete_horizon_ms: int | None = None) -> bytearray:
    """Return the batch with only these of its records, at least one, and with this delete horizon if it is given."""
    if delete_horizon_ms is None:
        payload = _as_they_are(opened.data, kept)
    else:
        payload = _timed_from(delete_horizon_ms, opened.data, kept)
    newest = max(record.timestamp for record in kept)
    codec = Compression(opened.header.attributes & CODEC_MASK)
    if codec is not Compression.NONE:
        payload = compress(codec, payload)
    return _encoded(opened.header, payload, len(kept), newest, delete_horizon_ms)


class KeptRecords:
    """The records that remain in a batch with many, slice by slice; `count` of them.

    They are kept as bytes, because Python's garbage collector would visit that many objects again and again.
    """

    __slots__ = ("_counts", "_newest", "_opened", "_parts", "count")

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._parts: list[bytes] = []
        self._counts: list[int] = []
        self._newest: list[int] = []
        self.count = 0

    def add(self, records: Sequence[KeyedRecord]) -> None:
        """Add the next records that remain, at most `SLICE_RECORDS`."""
        if records:
            self._parts.append(_as_they_are(self._opened.data, records))
            self._counts.append(len(records))
            self._newest.append(max(record.timestamp for record in records))
            self.count += len(records)

    def written(self, delete_horizon_ms: int | None) -> Generator[int, None, bytearray]:
        """Return the same bytes as `retained` for these records, at least one, in steps; after each step, yield the
        number of records that would take as long.
        """
        parts, header = self._parts, self._opened.header
        if delete_horizon_ms is not None:
            for index, count in enumerate(self._counts):
                records = _read(header, parts[index], 0, count)
                parts[index] = _timed_from(delete_horizon_ms, parts[index], records)
                yield count
        payload = b"".join(parts)
        yield SLICE_RECORDS
        packing = compress_in_steps(Compression(header.attributes & CODEC_MASK), payload)
        while True:
            try:
                next(packing)
            except StopIteration as end:
                payload = end.value
                break
            yield SLICE_RECORDS
        return _encoded(header, payload, self.count, max(self._newest), delete_horizon_ms)


def _encoded(header: BatchHeader, payload: bytes, count: int, newest: int, delete_horizon_ms: int | None) -> bytearray:
    """Return the batch with `payload`, `count` other records in the same codec; `newest` is their highest timestamp."""
    if delete_horizon_ms is not None:
        header = header._replace(base_timestamp=delete_horizon_ms, attributes=header.attributes | DELETE_HORIZON)
    if not header.attributes & LOG_APPEND_TIME:
        header = header._replace(max_timestamp=newest)
    return encode_batch(header._replace(records_count=count), payload)


def emptied(header: BatchHeader) -> bytearray:
    """Return the batch without records; it keeps its offsets and its producer's sequence numbers."""
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON)
    return encode_batch(header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, records_count=0), b"")


def _as_they_are(data: bytes, records: Sequence[KeyedRecord]) -> bytes:
    return b"".join([data[record.start : record.end] for record in records])


def _timed_from(base_time: int, data: bytes, records: Sequence[KeyedRecord]) -> bytes:
    out = bytearray()
    for record in records:
        rest = data[record.rest_at : record.end]
        delta = zigzag_varint(record.timestamp - base_time)
        out += zigzag_varint(1 + len(delta) + len(rest))
        out += b"\0"  # attributes
        out += delta
        out += rest
    return bytes(out)
