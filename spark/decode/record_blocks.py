"""Record batches, checked and decompressed, in blocks that can be read as one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import (
    CONTROL,
    HEADER_FORMAT,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME,
    MAGIC,
    BatchHeader,
    batch_headers,
    crc_matches,
    read_header,
    records_view,
)
from shareq.protocol.records.record_codec import MIN_RECORD_BYTES
from shareq.spark.decode.record_scan import FEW_LANES, Array, Extents, UnreadableBatch, find_records
from shareq.spark.decode.record_strides import WORTH_A_TRY, WORTH_A_TRY_OF_FEW, find_by_strides

__all__ = ["Block", "Range", "blocks"]

Range = tuple[int, int, int]
"""First and last offset, inclusive, and the delivery count of the records in between."""

_BLOCK_BYTES: Final = 32 * 1024 * 1024  # with one batch more, what is held decompressed at a time
_FAILURES: Final = 3  # tries that find no records of one size, before others are not tried
_MAX_POSITION: Final = 2**31 - 1  # Arrow's offsets into bytes are of 32 bits

_NO_OFFSET: Final = 2**63  # above all offsets
_NO_RANGE: Final = (_NO_OFFSET, _NO_OFFSET, 0)
_HEADER: Final = np.dtype(
    [(name, f">{code}") for name, code in zip(BatchHeader._fields, HEADER_FORMAT[1:], strict=True)]
)
_HEADER_BYTES: Final = np.arange(HEADER_SIZE)


class Block(NamedTuple):
    """Batches to be read together: their records, uncompressed, and their headers, batch by batch."""

    place: str
    """Topic and partition, for messages."""
    data: Array
    """The records' bytes: those of a batch are from `starts` to `ends`, exclusive, and hold `counts` > 0 records."""
    starts: Array
    ends: Array
    counts: Array
    base_offsets: Array
    last_deltas: Array
    base_timestamps: Array
    max_timestamps: Array
    """The largest timestamp of each batch, and of all its records if `has_append_time`; in milliseconds."""
    has_append_time: Array

    def find_records(self) -> Extents:
        """Find all records of the block, in order. Raise `MalformedMessage`."""
        found = Extents.of(int(self.counts.sum()))
        firsts = np.cumsum(self.counts) - self.counts
        left = self._without_strides(found, firsts)
        if not left.size:
            return found
        counts = self.counts[left]
        try:
            others = find_records(self.data, self.starts[left], self.ends[left], counts)
        except UnreadableBatch as error:
            raise self.malformed(int(left[error.batch]), error.reason) from None
        if left.size == self.counts.size:
            return others
        rows = np.arange(others.starts.size) + np.repeat(firsts[left] - (np.cumsum(counts) - counts), counts)
        found.starts[rows], found.ends[rows] = others
        return found

    def _without_strides(self, found: Extents, firsts: Array) -> Array:
        """Put long batches with records of one size into `found`. Return the batches that are left."""
        left = np.ones(self.counts.size, np.bool_)
        failed = 0
        worth = WORTH_A_TRY if self.counts.size > FEW_LANES else WORTH_A_TRY_OF_FEW
        for batch in np.flatnonzero(self.counts >= worth).tolist():
            start, end, count = int(self.starts[batch]), int(self.ends[batch]), int(self.counts[batch])
            extents = find_by_strides(self.data, start, end, count)
            if extents is not None:
                found.put(int(firsts[batch]), extents)
                left[batch] = False
            else:
                failed += 1
                if failed == _FAILURES and left.all():
                    break  # sizes vary here
        return np.flatnonzero(left)

    def malformed(self, batch: int, reason: str) -> MalformedMessage:
        return _malformed(self.place, int(self.base_offsets[batch]), reason)


def blocks(data: memoryview, ranges: Sequence[Range], place: str) -> Iterator[Block]:
    """Yield the data batches of `data` that have offsets in the ranges (ascending, disjoint), each checked.

    Raises `MalformedMessage` as `shareq.spark.decode.arrow.decode` says.
    """
    positions: list[int] = []
    decompressed: dict[int, bytes] = {}
    size = 0
    for position, header in _batches_in(data, ranges, place):
        records = _records(data, position, header, place)
        if header.attributes & CONTROL or not header.records_count:
            continue
        if positions and size + len(records) > _BLOCK_BYTES:
            yield _block(data, positions, decompressed, place)
            positions, decompressed, size = [], {}, 0
        positions.append(position)
        size += len(records)
        if isinstance(records, bytes):
            decompressed[position] = records
    if positions:
        yield _block(data, positions, decompressed, place)


def _batches_in(data: memoryview, ranges: Sequence[Range], place: str) -> Iterator[tuple[int, BatchHeader]]:
    """Return position and header of each batch that may have offsets in the ranges, without checks.

    A batch may have offsets from its base offset to that of the next batch. Its own last offset is only to be believed
    when its CRC is right, and one that is too low must not hide its records.
    """
    lowest = read_header(data).base_offset if len(data) >= HEADER_SIZE else 0
    left = islice(ranges, bisect_left(ranges, lowest, key=itemgetter(1)), None)
    first, last, _ = next(left, _NO_RANGE)
    before: tuple[int, BatchHeader] | None = None
    end = 0
    try:
        for position, header in batch_headers(data):
            base = header.base_offset
            if before is not None:
                if base <= before[1].base_offset:
                    raise MalformedMessage(f"record batch at offset {base} behind that at {before[1].base_offset}")
                if first < base:
                    yield before
            before = position, header
            end = position + header.size
            while last < base:
                first, last, _ = next(left, _NO_RANGE)
            if first == _NO_OFFSET:
                return
    except MalformedMessage as error:
        raise MalformedMessage(f"{place}: {error}, byte {end} of an answer") from None
    if end != len(data):
        raise MalformedMessage(f"{place}: {len(data) - end} bytes after the last whole record batch")
    if before is not None:
        yield before


def _records(data: memoryview, position: int, header: BatchHeader, place: str) -> bytes | memoryview:
    """Return the uncompressed records of a batch, checked against its header."""
    if header.magic != MAGIC:
        raise _malformed(place, header.base_offset, f"magic {header.magic}, only {MAGIC} can be read")
    if not crc_matches(data, position, header):
        raise _malformed(place, header.base_offset, "its CRC does not match")
    try:
        records = records_view(data, position, header)
    except MalformedMessage as error:
        raise _malformed(place, header.base_offset, str(error)) from None
    count, last_delta = header.records_count, header.last_offset_delta
    if not 0 <= count <= last_delta + 1 or count * MIN_RECORD_BYTES > len(records):
        reason = f"{count} records in {len(records)} bytes, last offset delta {last_delta}"
        raise _malformed(place, header.base_offset, reason)
    return records


def _block(data: memoryview, positions: list[int], decompressed: dict[int, bytes], place: str) -> Block:
    """Return the batches at these positions as a block: their records are in `data`, or in `decompressed`."""
    at = np.array(positions, np.int64)
    said = np.frombuffer(data, np.uint8)[at[:, None] + _HEADER_BYTES].view(_HEADER)[:, 0]
    starts = at + HEADER_SIZE
    ends = at + LENGTH_OVERHEAD + said["length"]
    first, end = int(starts[0]), int(ends[-1])
    if decompressed or end - first > _MAX_POSITION:
        uncompressed = zip(positions, starts.tolist(), ends.tolist(), strict=True)
        pieces = [decompressed.get(position, data[start:end]) for position, start, end in uncompressed]
        ends = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))
        starts = np.concatenate([[0], ends[:-1]])
        joined: bytes | memoryview = b"".join(pieces)
    else:
        joined = data[first:end]
        starts, ends = starts - first, ends - first
    return Block(
        place=place,
        data=np.frombuffer(joined, np.uint8),
        starts=starts,
        ends=ends,
        counts=said["records_count"].astype(np.int64),
        base_offsets=said["base_offset"].astype(np.int64),
        last_deltas=said["last_offset_delta"].astype(np.int64),
        base_timestamps=said["base_timestamp"].astype(np.int64),
        max_timestamps=said["max_timestamp"].astype(np.int64),
        has_append_time=said["attributes"] & LOG_APPEND_TIME != 0,
    )


def _malformed(place: str, offset: int, reason: str) -> MalformedMessage:
    return MalformedMessage(f"{place}: record batch at offset {offset}: {reason}")
