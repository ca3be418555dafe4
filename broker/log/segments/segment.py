"""The layout of a segment's `.log` file: record batches of magic 2 back to back, without any other bytes.

A segment is named by its base offset in 20 digits and never holds an offset below it. Offsets grow from batch to
batch, with gaps where compaction removed batches. This module is pure: it reads through a function, and finds the
part of a file that is valid.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import Final

from shareq.broker.log.segments.index import MAX_RELATIVE_OFFSET
from shareq.protocol.records.batch import (
    CRC_START,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    BatchHeader,
    Compression,
    read_header,
)
from shareq.protocol.records.checksum import crc32c

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
SNAPSHOT_SUFFIX: Final = ".snapshot"

_OFFSET_DIGITS: Final = 20
UNKNOWN: Final = -1
NO_LIMIT: Final = 2**63 - 1
_CHUNK_BYTES: Final = 1024 * 1024
_HEADER_CHUNK_BYTES: Final = 16 * 1024

ReadAt = Callable[[int, int], bytes]
"""A function `read_at(position, size)` that returns up to `size` bytes of the file; fewer only at its end."""


def file_name(base_offset: int, suffix: str) -> str:
    """Return the name of a segment's file with this suffix."""
    return f"{base_offset:0{_OFFSET_DIGITS}d}{suffix}"


def offset_of_file(name: str, suffix: str) -> int | None:
    """Return the offset in a segment file's name; None for any other file."""
    stem = name.removesuffix(suffix)
    if len(stem) != _OFFSET_DIGITS or stem == name or not stem.isascii() or not stem.isdigit():
        return None
    return int(stem)


class BatchWalk:
    """A walk of the batches of a `.log` file in order, as far as they are valid.

    Iterating gives `(position, header)`. It ends at the end of the file or at the first byte that does not begin a
    whole, sound batch; then `position` is the length of the valid prefix, `next_offset` is the offset that would
    follow, and `fault` describes the problem there (None at the end of the file). With `check_crc`, every byte is
    read and checked, otherwise only headers. Without `gaps`, each batch must begin where the previous one ends, and
    the first one at `next_offset`, unless that is UNKNOWN. No batch may reach beyond `limit` (exclusive).
    """

    def __init__(
        self,
        read_at: ReadAt,
        size: int,
        *,
        position: int = 0,
        next_offset: int = 0,
        check_crc: bool = True,
        gaps: bool = True,
        limit: int | None = None,
    ) -> None:
        self.read_at = read_at
        self.size = size
        self.gaps = gaps
        self.limit = limit
        self._check_crc = check_crc
        self._limit = NO_LIMIT if limit is None else limit
        self._chunk = b""
        self._chunk_at = position
        self.position = position
        self.next_offset = next_offset
        self.fault: str | None = None

    def resumed(self, position: int, next_offset: int, size: int | None = None) -> BatchWalk:
        """Return a new walk of the same file with the same checks, from `position` on, where `next_offset` is
        expected; up to the end, or to `size`.
        """
        return BatchWalk(
            self.read_at,
            self.size if size is None else size,
            position=position,
            next_offset=next_offset,
            check_crc=self._check_crc,
            gaps=self.gaps,
            limit=self.limit,
        )

    def __iter__(self) -> Iterator[tuple[int, BatchHeader]]:
        while self.position < self.size:
            at = self.position
            start = at - self._chunk_at
            if start + HEADER_SIZE > len(self._chunk):
                start = 0
                if not self._load():
                    return
            header = read_header(self._chunk, start)
            size = header.length + LENGTH_OVERHEAD
            base_offset, due = header.base_offset, self.next_offset
            if (
                header.magic != MAGIC
                or (base_offset != due and (base_offset < due or (not self.gaps and due != UNKNOWN)))
                or not HEADER_SIZE <= size <= self.size - at
                or not 0 <= header.last_offset_delta <= MAX_RELATIVE_OFFSET
                or base_offset + header.last_offset_delta >= self._limit
            ):
                self.fault = self._fault_of(header)
                return
            if self._check_crc and self._crc(start, size) != header.crc:
                self.fault = "CRC does not match"
                return
            yield at, header
            self.position = at + size
            self.next_offset = base_offset + header.last_offset_delta + 1

    def batch(self, header: BatchHeader) -> bytes:
        """Return the bytes of the batch with this header, the last one that the walk has given."""
        return self.bytes_at(self.position, header.size)

    def bytes_at(self, position: int, size: int) -> bytes:
        """Return `size` bytes from a position that the walk has passed. Recent ones may still be in memory."""
        start = position - self._chunk_at
        if start >= 0 and start + size <= len(self._chunk):
            return self._chunk[start : start + size]
        return self.read_at(position, size)

    def _load(self) -> bool:
        """Read the next bytes at the position. Return False if not even a header is left."""
        self._chunk = self.read_at(self.position, _CHUNK_BYTES if self._check_crc else _HEADER_CHUNK_BYTES)
        self._chunk_at = self.position
        if len(self._chunk) >= HEADER_SIZE:
            return True
        self.fault = f"{self.size - self.position} bytes where a batch header takes {HEADER_SIZE}"
        return False

    def _fault_of(self, header: BatchHeader) -> str:
        size = header.length + LENGTH_OVERHEAD
        if header.magic != MAGIC:
            return f"magic {header.magic}"
        if size < HEADER_SIZE:
            return f"batch length {header.length}"
        if header.base_offset < self.next_offset:
            return f"base offset {header.base_offset} after offset {self.next_offset - 1}"
        if size > self.size - self.position:
            return f"batch of {size} bytes where {self.size - self.position} are left"
        if not 0 <= header.last_offset_delta <= MAX_RELATIVE_OFFSET:
            return f"last offset delta {header.last_offset_delta}"
        if header.base_offset > self.next_offset and not self.gaps:
            return f"base offset {header.base_offset} where {self.next_offset} is due"
        return f"last offset {header.last_offset} where offset {self._limit} is the next segment's"

    def _crc(self, start: int, size: int) -> int:
        """Return the CRC of the batch at the position, which begins at `start` in the chunk."""
        if start + size <= len(self._chunk):
            return crc32c(memoryview(self._chunk)[start + CRC_START : start + size])
        return _crc_of(self.read_at, self.position + CRC_START, self.position + size)


def valid_batch_after(
    read_at: ReadAt, size: int, position: int, next_offset: int, limit: int | None = None
) -> int | None:
    """Return the position of a sound batch behind the unsound bytes at `position`; None if there is none, so that
    these are a torn tail.

    Since a cut at `position` loses all bytes behind it, every byte is looked at. Bytes inside the batch at
    `position` may look like a batch, if a record contains one. If the header at `position` is plausible, they count
    only if its CRC is right for the bytes before them: then its length is the wrong field. Position -1 stands for
    unsound bytes before the file. A batch that reaches beyond `limit` (exclusive) does not count.
    """
    head = read_at(position, HEADER_SIZE) if position >= 0 else b""
    header = read_header(head) if len(head) == HEADER_SIZE else None
    if header is not None and not _is_credible(header, next_offset):
        header = None
    for candidate in _candidates(read_at, size, position + 1, next_offset):
        found = read_header(read_at(candidate, HEADER_SIZE))
        if not _is_possible(found, next_offset, size - candidate) or (limit is not None and found.last_offset >= limit):
            continue
        inside = header is not None and candidate < position + header.size
        if inside and header is not None and _crc_of(read_at, position + CRC_START, candidate) != header.crc:
            continue
        if _crc_of(read_at, candidate + CRC_START, candidate + found.size) == found.crc:
            return candidate
    return None


def is_sound_at(read_at: ReadAt, size: int, position: int) -> BatchHeader | None:
    """Return the header of the batch at `position` if its CRC is right, whatever its offset; otherwise None."""
    head = read_at(position, HEADER_SIZE) if 0 <= position <= size - HEADER_SIZE else b""
    if len(head) < HEADER_SIZE:
        return None
    header = read_header(head)
    fits = HEADER_SIZE <= header.size <= size - position and 0 <= header.last_offset_delta <= MAX_RELATIVE_OFFSET
    if header.magic != MAGIC or not fits:
        return None
    return header if _crc_of(read_at, position + CRC_START, position + header.size) == header.crc else None


def runs_past_the_end(read_at: ReadAt, size: int, position: int) -> bool:
    """Return True if the bytes from `position` on may be the beginning of a batch whose write was cut off.

    They are not if they are a whole batch of which only the length is wrong.
    """
    left = size - position
    head = read_at(position, HEADER_SIZE)
    if left < HEADER_SIZE or len(head) < HEADER_SIZE:
        return True
    header = read_header(head)
    if header.magic != MAGIC or header.size <= left:
        return False
    return _crc_of(read_at, position + CRC_START, size) != header.crc


def _is_credible(header: BatchHeader, next_offset: int) -> bool:
    """Return True if the log could have written a batch with this header here."""
    return (
        header.base_offset == next_offset
        and header.magic == MAGIC
        and header.size > HEADER_SIZE
        and header.last_offset_delta >= 0
        and header.records_count == header.last_offset_delta + 1
        and header.compression <= Compression.ZSTD
    )


def _is_possible(header: BatchHeader, next_offset: int, left: int) -> bool:
    return (
        next_offset <= header.base_offset <= next_offset + MAX_RELATIVE_OFFSET
        and HEADER_SIZE <= header.size <= left
        and 0 <= header.last_offset_delta <= MAX_RELATIVE_OFFSET
        and 0 <= header.records_count <= header.last_offset_delta + 1
    )


def _candidates(read_at: ReadAt, size: int, start: int, next_offset: int) -> Iterator[int]:
    """Yield positions where the bytes have the form of a header with an offset of this segment."""
    high = {(offset >> 32).to_bytes(4, "big") for offset in (next_offset, next_offset + MAX_RELATIVE_OFFSET)}
    offsets = b"|".join(re.escape(part) for part in sorted(high))
    # A look-ahead finds overlapping matches, too: base offset, length >= 0, epoch, magic 2, CRC, attributes.
    shape = re.compile(rb"(?s)(?=(?:" + offsets + rb").{4}[\x00-\x7f].{7}\x02.{4}\x00[\x00-\x7f])")
    while start + HEADER_SIZE <= size:
        chunk = read_at(start, _CHUNK_BYTES)
        for match in shape.finditer(chunk):
            if start + match.start() + HEADER_SIZE <= size:
                yield start + match.start()
        if len(chunk) < _CHUNK_BYTES:
            return
        start += _CHUNK_BYTES - HEADER_SIZE


def _crc_of(read_at: ReadAt, start: int, end: int) -> int:
    value = 0
    while start < end:
        part = read_at(start, min(_CHUNK_BYTES, end - start))
        if not part:
            raise struct.error("file is shorter than it was")
        value = crc32c(part, value)
        start += len(part)
    return value
