"""Reading a queue page by page, dead records from their topics, and records that a redrive has already appended to a
log.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from shareq.broker.foundation.turn_budget import LOOK, Breath
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.redrive.letter import Letter, place_of
from shareq.broker.redrive.ports import RedriveLog, RedriveWorld
from shareq.broker.redrive.progress import What
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records.batch import CONTROL, TRANSACTIONAL, Record, decode_records

PAGE_BYTES: Final = 65_536
MOST_OPENED: Final = 4_194_304
"""The most bytes of a decompressed batch; larger ones are not opened."""

_HEADER_ELEMENTS: Final = 10  # that take as long as a header, which may be read from the disk


class Page(NamedTuple):
    """Records of a queue, ascending. `counts` has the outcomes of offsets below `upto` (exclusive) without a
    readable record.
    """

    records: list[Record]
    upto: int
    counts: dict[What, int]


def read_page(log: RedriveLog, first: int, end: int) -> Page | ErrorCode | BeingRead:
    """Read letters from `first` up to `end` (exclusive): at most one batch more than `PAGE_BYTES`.

    Gaps that a cleaner left are not counted; damaged or removed letters are passed over. Error: KAFKA_STORAGE_ERROR.
    """
    if first < log.log_start_offset:
        upto = min(log.log_start_offset, end)
        return Page([], upto, {What.UNREADABLE: upto - first})
    read = log.read(first, PAGE_BYTES, upto=log.high_watermark)  # whole batches: the last one may end behind `end`
    if isinstance(read, BeingRead):
        return read
    if isinstance(read, ErrorCode):
        damaged = log.unreadable_range(first) if read is ErrorCode.CORRUPT_MESSAGE else None
        if damaged is None:
            return read
        upto = min(max(damaged[1], first + 1), end)
        return Page([], upto, {What.UNREADABLE: upto - first})
    if not read.batches:
        return Page([], end, {})
    page = Page([], min(read.batches[-1].last_offset + 1, end), {})
    view = memoryview(read.records)
    for span in read.batches:
        lowest, highest = max(span.base_offset, first), min(span.last_offset, end - 1)
        batch = view[span.position : span.position + span.size]
        # The broker writes letters without transactions: those of others may have been aborted.
        outcome = What.NOT_A_LETTER
        if not span.attributes & (TRANSACTIONAL | CONTROL):
            try:
                opened = decode_records(batch, MOST_OPENED, exact=True, first=lowest, last=highest)
            except MalformedMessage:
                outcome = What.UNREADABLE
            else:
                page.records.extend(opened)
                continue
        page.counts[outcome] = page.counts.get(outcome, 0) + max(highest - lowest + 1, 0)
    return page


class DeadRecords:
    """The look-up of dead records for their letters. `reads` counts the batches that were opened; the last one is
    kept.
    """

    def __init__(self, world: RedriveWorld) -> None:
        self._world = world
        self._log: RedriveLog | None = None
        self._first = 0
        self._last = -1
        self._records: dict[int, Record] = {}
        self.reads = 0

    def find(self, letter: Letter) -> Record | BeingRead | None:
        """Return the dead record; None if it is no longer in the log, or if another record has its offset."""
        log = self._world.log(letter.topic, letter.partition)
        if isinstance(log, ErrorCode) or not log.log_start_offset <= letter.offset < log.high_watermark:
            return None
        if log is not self._log or not self._first <= letter.offset <= self._last:
            being_read = self._open(log, letter.offset)
            if being_read is not None:
                return being_read
        found = self._records.get(letter.offset)
        if found is None or letter.is_bare:
            return found
        return found if (found.key, found.value) == (letter.record.key, letter.record.value) else None

    def _open(self, log: RedriveLog, offset: int) -> BeingRead | None:
        self._log, self._first, self._last, self._records = log, 0, -1, {}
        read = log.read(offset, 1, upto=log.high_watermark, max_records=1)
        if isinstance(read, BeingRead):
            return read
        self.reads += 1
        if isinstance(read, ErrorCode) or not read.batches:
            return None
        span = read.batches[0]
        self._first, self._last = min(offset, span.base_offset), span.last_offset  # a cleaner leaves gaps
        if span.attributes & CONTROL:
            return None
        batch = memoryview(read.records)[span.position : span.position + span.size]
        with suppress(MalformedMessage):
            self._records = {record.offset: record for record in decode_records(batch, MOST_OPENED, exact=True)}
        return None


async def sent_back(
    log: RedriveLog, producer_id: int, first: int, partition: int, breathe: Callable[[int], Breath]
) -> set[int]:
    """Return the offsets in the queue's `partition` of letters that a redrive has sent to the log at `first` or
    behind.

    Raise OSError, MalformedMessage.
    """
    found: set[int] = set()
    offset = max(first, log.log_start_offset)
    while offset < log.log_end_offset and (header := log.next_header(offset)) is not None:
        offset = header.next_offset
        if header.producer_id != producer_id:
            await breathe(_HEADER_ELEMENTS)
            continue
        while isinstance(read := log.read(header.base_offset, 1, upto=log.log_end_offset, max_records=1), BeingRead):
            await read.arrived
        if isinstance(read, ErrorCode):
            raise OSError(f"offset {header.base_offset} cannot be read: {read.name}")
        if not read.batches:
            raise OSError(f"offset {header.base_offset} is not durable yet")
        span = read.batches[0]
        batch = memoryview(read.records)[span.position : span.position + span.size]
        places = [place_of(record) for record in decode_records(batch)]
        found.update(place[1] for place in places if place is not None and place[0] == partition)
        await breathe(LOOK)  # a batch may have many records
    return found
