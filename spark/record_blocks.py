"""Record batches, checked and decompressed, in blocks that can be read as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import HEADER_SIZE, MAGIC, BatchHeader, batch_headers, crc_matches, records_view
from shareq.protocol.records.record_codec import MIN_RECORD_BYTES
from shareq.spark.record_scan import Array, Extents, UnreadableBatch, find_records

__all__ = ["Block", "Range", "blocks"]

Range = tuple[int, int, int]
"""First and last offset, inclusive, and the delivery count of the records in between."""

_BLOCK_BYTES: Final = 32 * 1024 * 1024  # with one batch more, what is held decompressed at a time
_MAX_POSITION: Final = 2**31 - 1  # Arrow's offsets into bytes are of 32 bits

_NO_OFFSET: Final = 2**63  # above all offsets
_NO_RANGE: Final = (_NO_OFFSET, _NO_OFFSET, 0)
_Piece = bytes | memoryview


class Block(NamedTuple):
    """Batches to be read together: their records, uncompressed, and what their headers say, batch by batch."""

    place: str
    """Topic and partition, for messages."""
    data: Array
    """Bytes; those of a batch's records are from `starts` to `ends`, exclusive, and hold `counts` > 0 of them."""
    starts: Array
    ends: Array
    counts: Array
    base_offsets: Array
    last_deltas: Array
    base_timestamps: Array
    max_timestamps: Array
    """That of all its records where `has_append_time`; both in milliseconds."""
    has_append_time: Array

    def find_records(self) -> Extents:
        """Where all records of the block are, in order. Raises `MalformedMessage`."""
        try:
            return find_records(self.data, self.starts, self.ends, self.counts)
        except UnreadableBatch as error:
            raise self.malformed(error.batch, error.reason) from None

    def malformed(self, batch: int, reason: str) -> MalformedMessage:
        return _malformed(self.place, int(self.base_offsets[batch]), reason)


def blocks(data: memoryview, ranges: Sequence[Range], place: str) -> Iterator[Block]:
    """The data batches of `data` that have offsets in the ranges (ascending, disjoint), each checked.

    Raises `MalformedMessage` as `shareq.spark.arrow.decode` tells.
    """
    headers: list[BatchHeader] = []
    pieces: list[_Piece] = []
    positions: list[int] = []
    size = 0
    for position, header in _batches_in(data, ranges, place):
        piece = _records(data[position : position + header.size], header, place)
        if header.is_control or not header.records_count:
            continue
        if pieces and size + len(piece) > _BLOCK_BYTES:
            yield _block(data, headers, pieces, positions, place)
            headers, pieces, positions, size = [], [], [], 0
        headers.append(header)
        pieces.append(piece)
        positions.append(position + HEADER_SIZE)
        size += len(piece)
    if pieces:
        yield _block(data, headers, pieces, positions, place)


def _batches_in(data: memoryview, ranges: Sequence[Range], place: str) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each batch that may have offsets in the ranges; nothing of it is checked.

    May: from its base offset to that of the batch behind it. Its own last offset is only to be believed when its CRC is
    right, and one that is too low must not hide its records.
    """
    left = iter(ranges)
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


def _records(batch: memoryview, header: BatchHeader, place: str) -> _Piece:
    """The uncompressed records of a batch that is as its header says."""
    if header.magic != MAGIC:
        raise _malformed(place, header.base_offset, f"magic {header.magic}, only {MAGIC} can be read")
    if not crc_matches(batch, header):
        raise _malformed(place, header.base_offset, "its CRC does not match")
    try:
        records = records_view(batch, header)
    except MalformedMessage as error:
        raise _malformed(place, header.base_offset, str(error)) from None
    if not 0 <= header.records_count <= min(header.last_offset_delta + 1, len(records) // MIN_RECORD_BYTES):
        reason = f"{header.records_count} records in {len(records)} bytes, last offset delta {header.last_offset_delta}"
        raise _malformed(place, header.base_offset, reason)
    return records


def _block(
    data: memoryview, headers: list[BatchHeader], pieces: list[_Piece], positions: list[int], place: str
) -> Block:
    sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
    first, end = positions[0], positions[-1] + len(pieces[-1])
    if end - first <= _MAX_POSITION and all(isinstance(piece, memoryview) for piece in pieces):
        joined: _Piece = data[first:end]  # nothing was compressed: the records stay where they are
        starts = np.array(positions, np.int64) - first
    else:
        joined = b"".join(pieces)
        starts = np.cumsum(sizes) - sizes
    return Block(
        place,
        np.frombuffer(joined, np.uint8),
        starts,
        starts + sizes,
        _column(header.records_count for header in headers),
        _column(header.base_offset for header in headers),
        _column(header.last_offset_delta for header in headers),
        _column(header.base_timestamp for header in headers),
        _column(header.max_timestamp for header in headers),
        np.array([header.is_log_append_time for header in headers]),
    )


def _column(numbers: Iterable[int]) -> Array:
    return np.fromiter(numbers, np.int64)


def _malformed(place: str, offset: int, reason: str) -> MalformedMessage:
    return MalformedMessage(f"{place}: record batch at offset {offset}: {reason}")
