"""The decompression of a large batch's records piece by piece, so that the caller may pause between two pieces. Pure.

gzip and zstd are decompressed as streams, lz4 and snappy block by block. Snappy in a single block is decompressed in
one call, because no library that is used here can do otherwise. The value of a record that is longer than a piece is
left out, as no caller reads it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.passes.records import CANNOT_TELL, NOT_FOUND, find_time, whole_records
from shareq.protocol.primitives import uvarint
from shareq.protocol.records.batch import HEADER_SIZE, BatchHeader
from shareq.protocol.records.compression import (
    Compression,
    TooLargeToOpen,
    snappy_blocks,
)
from shareq.protocol.records.lz4_frames import lz4_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

PIECE_BYTES: Final = 64 * 1024
"""The bytes that are decompressed at a time: a twentieth of a millisecond, with gzip a quarter."""

_INPUT_BYTES: Final = 64 * 1024  # compressed bytes that are given to a decompressor at a time
_LONGEST_NUMBER: Final = 5  # bytes of a length
_INT64_MAX: Final = 2**63 - 1


class Run(NamedTuple):
    """Whole records that follow each other, without other bytes: `records` of them in `data`, maybe none.

    `opened`: the bytes that were decompressed for them. `longest`: the bytes of a record whose value was left out, 0 if
    there is none.
    """

    data: bytes
    records: int
    opened: int
    longest: int


class Step(NamedTuple):
    """A searched run: the bytes that were decompressed for it, the number of its records, and timestamp (ms) and offset
    of the record that was found in it.
    """

    opened: int
    records: int
    found: tuple[int, int] | None


class _Decompressor(Protocol):
    """The interface of Python's own decompressors of gzip and zstd, for one frame."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


def record_runs(opened_pieces: Iterator[bytes], count: int) -> Iterator[Run]:
    """Yield the `count` records of a batch from decompressed pieces, as runs; runs without records are pauses.

    Raises `MalformedMessage` if the records do not fill the pieces exactly, as far as their lengths show, and the
    errors of `pieces`.
    """
    rest: list[bytes] = []  # of a record that is not here whole
    held = needed = skip = longest = 0
    for piece in opened_pieces:
        opened = len(piece)
        if skip >= opened:
            skip -= opened
            yield Run(b"", 0, opened, 0)
            continue
        part = piece[skip:] if skip else piece
        skip = 0
        rest.append(part)
        held += len(part)
        if held < needed:
            yield Run(b"", 0, opened, 0)
            continue
        data = b"".join(rest) if len(rest) > 1 else part
        found, end = whole_records(data, 0, count)
        count -= found
        yield Run(data[:end], found, opened, longest if found else 0)
        if found:
            longest = 0
        left = data[end:]
        if not count and left:
            raise MalformedMessage(f"{len(left)} bytes behind the last record")
        shortened = _without_value(left)
        if shortened is not None:
            longest, left, skip = shortened
        rest, held, needed = [left], len(left), _size(left)
    if count or skip:
        raise MalformedMessage(f"{count} records that are missing, or cannot be read")


def find_in_steps(
    header: BatchHeader, batch: bytes, timestamp: int, start_offset: int, upto: int, max_bytes: int
) -> Iterator[Step]:
    """Search as `find_record` does, run by run, up to the run with the record or the last run. Raises the same
    errors.
    """
    base_offset, base_time = header.base_offset, header.base_timestamp
    least = min(max(timestamp - base_time, -_INT64_MAX), _INT64_MAX)
    first, last = max(start_offset - base_offset, 0), min(upto - 1 - base_offset, header.last_offset_delta)
    left = header.records_count
    payload = memoryview(batch)[HEADER_SIZE:]
    for run in record_runs(pieces(Compression(header.compression), payload, max_bytes), left):
        offset, delta = find_time(run.data, 0, run.records, least, first, last)
        if offset == CANNOT_TELL:
            raise MalformedMessage("records that cannot be read")
        yield Step(run.opened, run.records, None if offset == NOT_FOUND else (base_time + delta, base_offset + offset))
        left -= run.records
        if not left:
            return


def _without_value(data: bytes) -> tuple[int, bytes, int] | None:
    """Return the beginning of a record, whose value continues beyond `data`, as a record with an empty value.

    Return the record's length, that beginning, and the number of missing bytes of the value; None if the record has
    another form.
    """
    try:
        size, at = _number(data, 0)
        pos = at + 1  # behind the attributes
        for _ in range(2):  # the deltas
            _, pos = _number(data, pos)
        key, pos = _number(data, pos)
        value_at = pos + max(key, 0)
        value, pos = _number(data, value_at)
    except IndexError:
        return None
    stop = at + size
    if value <= 0 or pos + value >= stop or pos + value <= len(data):
        return None
    body = data[at:value_at] + b"\0"
    return size, uvarint(2 * (len(body) + stop - pos - value)) + body, pos + value - len(data)


def _size(data: bytes) -> int:
    """Return the bytes of the record that begins with `data`; 1 if they are unknown."""
    try:
        size, at = _number(data, 0)
    except IndexError:
        if len(data) > _LONGEST_NUMBER:
            raise MalformedMessage("a length that cannot be read") from None
        return 1
    if data and size <= 0:
        raise MalformedMessage(f"a record of {size} bytes")
    return at + size


def _number(data: bytes, pos: int) -> tuple[int, int]:
    """Return a zig-zag number, and the position after it. Raises IndexError if it is incomplete or too long."""
    value = shift = 0
    while shift < 70:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), pos
        shift += 7
    raise IndexError


def pieces(codec: Compression, payload: memoryview, max_bytes: int) -> Iterator[bytes]:
    """Yield the decompressed content, `PIECE_BYTES` at a time. Raise `MalformedMessage` and `TooLargeToOpen`."""
    total = 0
    for piece in _opened(codec, payload, max_bytes):
        total += len(piece)
        if total > max_bytes:
            raise TooLargeToOpen(f"records are larger than {max_bytes} bytes when decompressed")
        if len(piece) <= PIECE_BYTES:
            yield piece
        else:
            yield from (piece[at : at + PIECE_BYTES] for at in range(0, len(piece), PIECE_BYTES))


def _opened(codec: Compression, payload: memoryview, max_bytes: int) -> Iterator[bytes]:
    if codec is Compression.GZIP:
        return _gzip(payload)
    if codec is Compression.ZSTD:
        return _zstd(payload)
    if codec is Compression.SNAPPY:
        return snappy_blocks(payload, max_bytes)
    if codec is Compression.LZ4:
        return lz4_blocks(payload)
    return (bytes(payload[at : at + PIECE_BYTES]) for at in range(0, len(payload), PIECE_BYTES))


def _gzip(payload: memoryview) -> Iterator[bytes]:
    import zlib

    def make() -> tuple[_Decompressor, Callable[[bytes], bytes], Callable[[], bytes]]:
        member = zlib.decompressobj(31)  # gzip's header and trailer
        return member, lambda data: member.decompress(data, PIECE_BYTES), lambda: member.unconsumed_tail

    return _frames("gzip", payload, make, zlib.error)


def _zstd(payload: memoryview) -> Iterator[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    def make() -> tuple[_Decompressor, Callable[[bytes], bytes], Callable[[], bytes]]:
        frame = zstd.ZstdDecompressor()
        return frame, lambda data: frame.decompress(data, PIECE_BYTES), lambda: b""  # keeps what it does not take

    return _frames("zstd", payload, make, zstd.ZstdError)


def _frames(
    name: str,
    payload: memoryview,
    make: Callable[[], tuple[_Decompressor, Callable[[bytes], bytes], Callable[[], bytes]]],
    error: type[Exception],
) -> Iterator[bytes]:
    """Yield the content of the frames of a format, one after the other.

    `make` returns a decompressor, its function that decompresses, and the one that returns its unused bytes.
    """
    at = 0
    data = b""
    try:
        while data or at < len(payload):
            frame, read, left_over = make()
            while not frame.eof:
                if not data:
                    data = bytes(payload[at : at + _INPUT_BYTES])
                    at += len(data)
                piece = read(data)
                data = left_over()
                if piece:
                    yield piece
                elif not frame.eof and not data and at >= len(payload):
                    raise MalformedMessage(f"{name} data cut short")
            data = frame.unused_data
    except error as broken:
        raise MalformedMessage(f"{name} data cannot be read: {broken}") from broken
