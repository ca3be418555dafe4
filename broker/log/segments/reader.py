"""Reading whole batches from a segment: the first one is found, all are read at once, and every CRC is checked."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Final, NamedTuple

from shareq.broker.foundation.loop.effort import AT_ONCE, RECORD_EFFORT, RECORDS_AT_ONCE, elements_of
from shareq.broker.foundation.turn_budget import Breath, unpaused
from shareq.broker.log.segments.damage import SoundWalk
from shareq.broker.log.segments.files import Segment
from shareq.broker.log.segments.found_damage import HeaderWalk, look_closer
from shareq.broker.log.segments.segment import UNKNOWN, BatchWalk
from shareq.broker.log.settings import MOST_RECORDS
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records.batch import (
    CONTROL,
    CRC_START,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    find_record,
)
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.compression import MAX_DECOMPRESSED_BYTES, TooLargeToOpen

logger = logging.getLogger(__name__)

# BaseOffset, Length, Magic, CRC, Attributes, LastOffsetDelta, ProducerId of a batch header.
_SPAN: Final = struct.Struct(">qi4xbIhi16xq")
_SIZE: Final = struct.Struct(">i")
_BASE_OFFSET: Final = struct.Struct(">q")


class BatchSpan(NamedTuple):
    """One batch within the bytes of a read: `records[position : position + size]`. Offsets are inclusive."""

    base_offset: int
    last_offset: int
    position: int
    size: int
    attributes: int
    producer_id: int

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0


class ReadResult(NamedTuple):
    """The bytes of whole batches, one behind the other, and the place of each. The first may begin before the
    requested offset.
    """

    records: bytes
    batches: Sequence[BatchSpan]


class Found(NamedTuple):
    """A record found by its time, in ms since the epoch."""

    timestamp: int
    offset: int


MOST_BATCHES: Final = 4_000
"""The most batches of one read; small ones take 0.7 µs each."""

LOOKED_AT_BYTES: Final = 1024 * 1024
"""The bytes that are read to find a record by its time, unless the index has gaps."""

_LEAST_LENGTH: Final = HEADER_SIZE - LENGTH_OVERHEAD
_new: Final = tuple.__new__  # what BatchSpan(...) does, at half its price
EMPTY: Final = ReadResult(b"", ())


def read_segment(
    segment: Segment, offset: int, max_bytes: int, upto: int, *, min_one_batch: bool, max_offsets: int | None
) -> ReadResult | ErrorCode:
    """Return whole batches of one segment, from the one that has `offset` or the first after it, all below `upto`
    (exclusive).

    There are at most `max_bytes`, but with `min_one_batch` at least one batch; at most `MOST_BATCHES`; and none
    behind the batch with the `max_offsets`th offset. Return CORRUPT_MESSAGE if the first batch is damaged; damaged
    batches are never returned. Raise OSError as the file does.
    """
    start = position_of(segment, offset)
    if start is None:
        return EMPTY
    stop = upto if max_offsets is None else min(upto, offset + max_offsets)
    extent = _extent(segment, start, max_bytes, stop)
    data = segment.read_at(start, max(extent, HEADER_SIZE) if min_one_batch else extent)
    spans, end, fault = _sound_batches(data, offset, upto, stop, segment.gaps)
    if not spans and fault is None:
        left = segment.size - start
        size = _SIZE.unpack_from(data, 8)[0] + LENGTH_OVERHEAD if len(data) >= HEADER_SIZE else HEADER_SIZE
        if size > left:
            fault = f"batch of at least {size} bytes where {left} are left"
        elif size > len(data) and min_one_batch:
            data = segment.read_at(start, size)
            spans, end, fault = _sound_batches(data, offset, upto, stop, segment.gaps)
    if not spans and fault is None and len(data) >= HEADER_SIZE:
        fault = _misplaced(segment, start, data)
    if spans and (spans[0].base_offset != offset or segment.gaps):
        spans, end, fault = _without_misplaced(segment, start, offset, spans, end, fault)
    if not spans:
        return EMPTY if fault is None else _damaged(segment, start, offset, fault)
    segment.map.hint(spans[-1].last_offset + 1, start + end)
    segment.was_read(start, start + end)
    return ReadResult(data if end == len(data) else data[:end], spans)


def _extent(segment: Segment, start: int, max_bytes: int, stop: int) -> int:
    """Return how many bytes to read from `start` on: up to a batch boundary if one is known."""
    segment_map = segment.map
    end = segment.size
    if end - start > max_bytes:
        end = start + max_bytes
        boundary = segment_map.boundary_before(end)
        if boundary > start:
            end = boundary
    known_end = segment_map.end_after(stop - 1)
    if known_end is not None and start < known_end < end:
        end = known_end
    return end - start


_Sound = tuple[list[BatchSpan], int, str | None]
"""The spans of whole, sound batches, the position where they end, and the fault of the next batch."""


def _without_misplaced(
    segment: Segment, start: int, offset: int, spans: list[BatchSpan], end: int, fault: str | None
) -> _Sound:
    """Return the sound batches without one at the wrong offset, since the CRC does not cover a base offset."""
    first = spans[0]
    if first.base_offset != offset and not segment.map.agrees(first.last_offset, start):
        return [], 0, f"base offset {first.base_offset} of another batch"
    if not segment.gaps:
        return spans, end, fault
    if first.base_offset < offset and first.base_offset < _due_at(segment, start):
        return [], 0, f"base offset {first.base_offset} of the batch before it"
    last, due = spans[-1], spans[-2].last_offset + 1 if len(spans) > 1 else offset
    if last.base_offset > due:  # a gap, unless the next batch is misplaced
        head = segment.read_at(start + end, 8)
        follows = _BASE_OFFSET.unpack(head)[0] if len(head) == 8 else segment.end_offset
        if follows is not None and follows <= last.last_offset:
            return spans[:-1], last.position, f"base offset {last.base_offset} before base offset {follows}"
    return spans, end, fault


def _due_at(segment: Segment, position: int) -> int:
    """Return the offset expected behind the batch that ends at `position`; UNKNOWN if that is not known."""
    start = segment.map.offsets.boundary_before(position - 1) if position else 0
    due = UNKNOWN if start else segment.base_offset
    walk = BatchWalk(segment.read_at, position, position=start, next_offset=due, check_crc=False)
    for _ in walk:
        pass
    return walk.next_offset if walk.fault is None else UNKNOWN


def _misplaced(segment: Segment, start: int, data: bytes) -> str | None:
    """Return the fault of a first batch that was not read because of its offsets; None if it only lies beyond the
    read's limit.
    """
    base_offset, _, _, _, _, last_delta, _ = _SPAN.unpack_from(data)
    last_offset = base_offset + last_delta
    if last_offset < segment.limit and segment.map.agrees(last_offset, start):
        return None
    return f"base offset {base_offset} of another batch"


def _sound_batches(data: bytes, offset: int, upto: int, stop: int, gaps: bool) -> _Sound:
    """Return the sound batches from the start of `data`: those below `upto`, up to the one that reaches `stop`."""
    spans: list[BatchSpan] = []
    append = spans.append
    unpack = _SPAN.unpack_from
    view = memoryview(data)
    at, total = 0, len(data)
    last_header = total - HEADER_SIZE
    for _ in repeat(None, MOST_BATCHES):
        if at > last_header:
            break
        base_offset, length, magic, crc, attributes, last_delta, producer_id = unpack(data, at)
        end = at + length + LENGTH_OVERHEAD
        last_offset = base_offset + last_delta
        if end > total and magic == MAGIC:
            break
        if magic != MAGIC or length < _LEAST_LENGTH or last_offset < offset:
            return spans, at, "no batch header"
        if base_offset != offset and ((base_offset > offset and not gaps) or (base_offset < offset and spans)):
            return spans, at, f"base offset {base_offset} where {offset} is due"
        if crc32c(view[at + CRC_START : end]) != crc:
            return spans, at, "CRC does not match"
        if last_offset >= upto:
            break
        append(_new(BatchSpan, (base_offset, last_offset, at, end - at, attributes, producer_id)))
        at = end
        offset = last_offset + 1
        if offset >= stop:
            break
    return spans, at, None


def _damaged(segment: Segment, position: int, offset: int, fault: str) -> ErrorCode:
    if not segment.map_proven or not look_closer(segment, position):
        logger.error("%s: damaged at byte %d (offset %d): %s; not served", segment.log_path, position, offset, fault)
    return ErrorCode.CORRUPT_MESSAGE


def position_of(segment: Segment, offset: int) -> int | None:
    """Return the position of the batch that has `offset`, or of the first one after it; None if the segment ends
    before.
    """
    if segment.map.ends_before(offset):
        return None
    position, exact = segment.map.start_of(offset)
    if exact:
        return position if position < segment.size else None
    while True:
        walk = HeaderWalk(segment, position)
        for at, header in walk:
            if header.base_offset + header.last_offset_delta >= offset:
                segment.map.hint(offset, at)
                return at
        if walk.fault is None:
            segment.map.hint(offset, segment.size)
            return None
        if not segment.map_proven or not look_closer(segment, walk.position):
            return walk.position  # the read will report the fault there


async def find_timestamp(
    segment: Segment,
    timestamp: int,
    start_offset: int,
    upto: int,
    most_opened: int = MAX_DECOMPRESSED_BYTES,
    breathe: Callable[[int], Breath] = unpaused,
) -> Found | None:
    """Return the first record of the segment with at least that timestamp, from `start_offset` and below `upto`.

    Damage is passed over. A batch with more than `most_opened` bytes of records, or with too many records, is not
    opened: the result is its first offset. This breathes while it looks into a large batch.
    """
    segment_map = segment.map
    first = max(start_offset, segment_map.times.offset_before(timestamp))
    position, _ = segment_map.start_of(first)
    if (arrived := segment.load(position, LOOKED_AT_BYTES)) is not None:
        await arrived
    walk = SoundWalk(segment.batches(position))
    for at, header in walk:
        if header.base_offset >= upto:
            return None
        if header.newest_timestamp < timestamp or header.last_offset < start_offset:
            continue
        if header.is_log_append_time:
            return Found(header.max_timestamp, max(header.base_offset, start_offset))
        try:
            batch = walk.batch(header, at)
            found = await _look_into(header, batch, timestamp, start_offset, upto, most_opened, breathe=breathe)
        except TooLargeToOpen:
            return Found(header.max_timestamp, max(header.base_offset, start_offset))
        except MalformedMessage as error:  # the producer's records are malformed, so only the header is used
            logger.warning("%s: records at offset %d: %s", segment.log_path, header.base_offset, error)
            return Found(header.max_timestamp, max(header.base_offset, start_offset))
        if found is not None:
            return Found(*found)
    return None


async def _look_into(
    header: BatchHeader,
    batch: bytes,
    timestamp: int,
    start_offset: int,
    upto: int,
    most_opened: int,
    *,
    breathe: Callable[[int], Breath],
) -> tuple[int, int] | None:
    """Call `find_record`, in steps if it takes longer than a turn.

    Raise TooLargeToOpen for a batch that no producer could have sent to this broker; the caller then uses its first
    offset.
    """
    if header.compression and header.records_count > MOST_RECORDS:
        raise TooLargeToOpen(f"{header.records_count} records")
    if header.records_count <= RECORDS_AT_ONCE:
        try:
            return find_record(batch, timestamp, start_offset, upto, min(AT_ONCE, most_opened))
        except TooLargeToOpen:
            if most_opened <= AT_ONCE:
                raise
    from shareq.protocol.records.opening import find_in_steps  # large batches alone need it

    await breathe(elements_of(AT_ONCE))
    for step in find_in_steps(header, batch, timestamp, start_offset, upto, max(most_opened, len(batch))):
        if step.found is not None:
            return step.found
        await breathe(elements_of(step.opened + RECORD_EFFORT * step.records))
    return None
