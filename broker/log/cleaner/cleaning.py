"""One pass of the cleaner over one log: note the newest record of each subject, copy the surviving records, swap the
segments.

The pass is a coroutine. It counts the bytes read, so that its driver can pause it, and waits for a new segment's
sync; meanwhile the log is in use. It always begins at the log's start, so that a tombstone is removed only when no
older record of its key is left.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import SyncErrors
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import NO_PAUSE, PAUSE, Breath
from shareq.broker.log.cleaner.candidates import Candidate, Source
from shareq.broker.log.cleaner.rewrite import BatchCleaner, paced
from shareq.broker.log.cleaner.survivors import Newest, Rule
from shareq.broker.log.cleaner.transactions import TransactionTrace
from shareq.broker.log.segments.files import FilePool, Segment, remove_quietly
from shareq.broker.log.segments.index import MAX_RELATIVE_OFFSET, OFFSET_ENTRY_BYTES, MapMark
from shareq.broker.log.segments.segment import BatchWalk
from shareq.broker.log.segments.swap import commit, discard, finish, new_cleaned_segment
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records.batch import BatchHeader, read_header
from shareq.protocol.records.compression import TooLargeToOpen
from shareq.protocol.records.retain import OPENED_AT_ONCE, SLICE_RECORDS, emptied, in_slices, open_in_steps

RECORD_BYTES: Final = 100  # the least bytes that a record counts as, since a small, compressed batch may have many
_BUFFER_BYTES: Final = 32 * 1024  # are written together
_MAX_SEGMENT_BYTES: Final = 2**31 - 1
_LOAD_BYTES: Final = 1024 * 1024  # as much as the walk of a segment reads at a time

_Take = Callable[[BatchHeader, bytes], Awaitable[bool]]
"""A function that processes the next batch, and returns False to end the walk."""


class DamagedLogError(Exception):
    """Error: a sealed segment cannot be read, and cleaning it would lose the records behind the damage."""


class PassAbandonedError(Exception):
    """Error, though not a fault: the log has changed during the pass (it was deleted, cut at its front, or is no
    longer compacted).
    """


@dataclass(slots=True)
class Counts:
    """The progress of a pass."""

    segments_before: int = 0
    segments_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    records_removed: int = 0


class CleaningPass:
    """One pass over a log's first segments. Those below the first dirty offset have been cleaned before.

    `room` is the most subjects held in memory. With `sync`, file names must survive a power loss, too. `pace` counts
    the bytes read, small records as more, and returns the pending for which the pass waits. `sync_segment` syncs a
    segment to stable storage.
    """

    def __init__(
        self,
        pool: FilePool,
        candidate: Candidate,
        rule: Rule,
        room: int,
        now_wall_ms: int,
        *,
        sync: bool,
        pace: Callable[[int], Breath],
        sync_segment: Callable[[Segment], Pending[SyncErrors]],
    ) -> None:
        self.log = candidate.log
        self.counts = Counts()
        self._pool = pool
        self._sources = candidate.sources
        self._first_dirty = candidate.first_dirty_offset
        self._now_wall_ms = now_wall_ms
        self._sync = sync
        self._newest = Newest(rule, room, candidate.first_dirty_offset)
        self._head = self._sources[0].segment
        self._output: _Output | None = None
        self._pace = pace
        self._sync_segment = sync_segment

    @property
    def end_offset(self) -> int:
        return self._newest.end_offset

    async def run(self) -> None:
        """Clean all records below `end_offset`.

        Raise DamagedLogError, PassAbandonedError or OSError. The log is sound then, and partly cleaned; so it is if
        the coroutine is closed.
        """
        try:
            await self._note()
            await self._clean()
        finally:
            self._discard()

    def _discard(self) -> None:
        """Remove the segment that was being written."""
        if self._output is not None:
            discard(self._pool.fs, self._output.segment)
            self._output = None

    async def _clean(self) -> None:
        cleaner = BatchCleaner(
            self._newest,
            self._trace(self._sources[0].segment.base_offset),
            self._is_last_of_producer,
            self._now_wall_ms,
            self.log.settings.delete_retention_ms,
        )
        at = 0
        while at < len(self._sources) and self._sources[at].segment.base_offset < self.end_offset:
            at = await self._clean_group(cleaner, at)

    # -- first: what is newest

    async def _note(self) -> None:
        note_batch = partial(self._note_batch, self._trace(self._first_dirty))
        for source in self._sources:
            if source.end_offset <= self._first_dirty:
                continue
            if not await self._go_through(source, self._first_dirty, note_batch):
                return
            self._newest.note((), source.end_offset)

    async def _note_batch(self, trace: TransactionTrace, header: BatchHeader, batch: bytes) -> bool:
        """Note the newest records of a batch. Return False if there is no room for its subjects."""
        if header.is_control:
            trace.is_outlived(header, batch)
        if header.is_control or trace.is_aborted(header):
            return self._newest.note((), header.next_offset)
        if header.records_count <= SLICE_RECORDS:
            try:
                _, slices = in_slices(batch, OPENED_AT_ONCE)
                return self._newest.note(chain.from_iterable(slices), header.next_offset)
            except TooLargeToOpen:
                pass
        _, slices = await paced(open_in_steps(batch), self._took)
        return await self._newest.note_slices(slices, header.next_offset, self._took)

    def _trace(self, first_offset: int) -> TransactionTrace:
        return TransactionTrace(self.log.aborted_transactions(first_offset, self._sources[-1].end_offset))

    # -- then: what survives, written into as few segments as there are places for

    async def _clean_group(self, cleaner: BatchCleaner, at: int) -> int:
        """Clean sources, from index `at` on, into one segment that replaces them. Return the index of the next
        source.
        """
        first = self._sources[at].segment
        settings = self.log.settings
        output = self._output = _Output(
            new_cleaned_segment(self._pool, self.log.folder, first.base_offset, settings.index_interval_bytes)
        )
        limit = min(settings.segment_bytes, _index_limit(settings), _MAX_SEGMENT_BYTES)
        following = at
        while following < len(self._sources):
            source = self._sources[following]
            joins = following > at
            if joins and not self._may_join(first, source, output.size, limit):
                break
            mark, trace = output.mark(), cleaner.trace.copy()
            clean_batch = partial(self._clean_batch, output, cleaner, limit if joins else None)
            if not await self._go_through(source, source.segment.base_offset, clean_batch):
                output.back_to(mark)
                cleaner.trace = trace
                break
            following += 1
        await self._replace(output, self._sources[at:following], cleaner.trace)
        return following

    def _may_join(self, first: Segment, source: Source, size: int, limit: int) -> bool:
        """Return True if it is worth trying to add this source to the segment that begins with `first`."""
        if source.segment.base_offset >= self.end_offset:
            return False  # no record in it may be judged yet
        if source.end_offset - first.base_offset > MAX_RELATIVE_OFFSET:
            return False
        # Much of a segment that was never cleaned may be removed. If it is not, the segment is read twice.
        is_dirty = source.end_offset > self._first_dirty
        return size + source.segment.size <= limit or (is_dirty and 2 * size <= limit)

    async def _clean_batch(
        self, output: _Output, cleaner: BatchCleaner, limit: int | None, header: BatchHeader, batch: bytes
    ) -> bool:
        """Append the surviving part of a batch. Return False once the segment is larger than `limit`."""
        cleaned = await cleaner.clean(header, batch, self._took)
        output.put(header, cleaned.batch, changed=cleaned.batch is not batch, removed=cleaned.removed)
        return limit is None or output.size <= limit

    async def _replace(self, output: _Output, group: Sequence[Source], trace: TransactionTrace) -> None:
        """Swap the output for its sources, unless it has the same content."""
        counts, log = self.counts, self.log
        counts.segments_before += len(group)
        counts.segments_after += 1
        size = sum(source.segment.size for source in group)
        counts.bytes_before += size
        if (len(group) == 1 and not output.changed) or output.is_empty:
            self._discard()
            counts.bytes_after += size
            self._head = log.segments[0]
            return
        output.end()
        segment = output.segment
        errors = await self._sync_segment(segment)
        if errors:
            raise next(iter(errors.values()))
        self._check()
        old = [source.segment for source in group]
        end_offset = group[-1].end_offset
        aborted = [entry for entry in trace.kept if segment.base_offset <= entry.last_offset < end_offset]
        fs = self._pool.fs
        self._output = None
        commit(fs, log.folder, segment, aborted, sync=self._sync)
        segment.seal()
        log.replace_segments(old, segment, end_offset, aborted)
        if self._head is old[0]:
            self._head = segment
        for source in old:
            source.close()
            source.drop_map()
        deleted = finish(fs, log.folder, segment.base_offset, end_offset, sync=self._sync)
        segment.suffix = ""
        segment.write_indexes(sync=False)
        counts.bytes_after += segment.size
        counts.records_removed += output.removed
        for path in deleted:
            await PAUSE  # the system may take long for a large file
            self._check()
            remove_quietly(fs, path)

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        producer = self.log.producers.get(header.producer_id)
        if producer is None:
            return False
        if producer.batches:
            return producer.batches[-1].last_offset == header.last_offset
        return header.is_control and header.producer_epoch == producer.epoch

    # -- reading, and living with the log

    async def _go_through(self, source: Source, first_offset: int, take: _Take) -> bool:
        """Call `take` for the batches from the one that contains `first_offset` on. Return False once `take` has
        returned False.
        """
        segment = source.segment
        position = segment.map.start_of(first_offset)[0] if first_offset > segment.base_offset else 0
        walk = BatchWalk(
            segment.read_at,
            segment.size,
            position=position,
            next_offset=segment.base_offset,
            limit=source.end_offset,
        )
        loaded = await self._load(segment, position)
        for _, header in walk:
            if header.last_offset >= first_offset:
                try:
                    goes_on = await take(header, walk.batch(header))
                except MalformedMessage as error:
                    raise DamagedLogError(
                        f"{segment.log_path}: records of the batch at offset {header.base_offset}: {error}"
                    ) from error
                if not goes_on:
                    return False
            counted = RECORD_BYTES * header.records_count
            large = header.records_count > SLICE_RECORDS  # its records are counted as they are processed
            breath = self._pace(max(header.size - counted, 1) if large else max(header.size, counted))
            if breath is not NO_PAUSE:
                await breath
                self._check()
            if loaded - walk.position < _LOAD_BYTES:
                loaded = await self._load(segment, loaded)
        if walk.fault is not None:
            raise DamagedLogError(
                f"{segment.log_path}: {walk.fault} at byte {walk.position} (offset {walk.next_offset})"
            )
        return True

    async def _load(self, segment: Segment, position: int) -> int:
        """Load the next bytes into memory before they are read. Return the position (exclusive) up to which they are
        loaded.
        """
        if (arrived := segment.load(position, 2 * _LOAD_BYTES)) is not None:
            await arrived
            self._check()
        return position + 2 * _LOAD_BYTES

    async def _took(self, records: int) -> None:
        """Count the processed records of a large batch."""
        await self._pace(RECORD_BYTES * max(records, 1))
        self._check()

    def _check(self) -> None:
        log = self.log
        segments = log.segments
        if log.refusal is not ErrorCode.NONE or not log.settings.compact or segments[0] is not self._head:
            raise PassAbandonedError


class _Mark(NamedTuple):
    size: int
    map: MapMark
    end_offset: int
    dropped: BatchHeader | None
    changed: bool
    removed: int


class _Output:
    """A segment being written. `changed` is True if it is not simply a copy of its sources."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.changed = False
        self.removed = 0
        self._buffer: list[bytes | bytearray] = []
        self._buffered = 0
        self._end_offset = segment.base_offset
        self._dropped: BatchHeader | None = None  # the last batch, if it was dropped

    @property
    def size(self) -> int:
        return self.segment.size + self._buffered

    @property
    def is_empty(self) -> bool:
        """True if no bytes were added, and no batch was dropped whose place has to be kept."""
        return not self.size and self._dropped is None

    def put(self, header: BatchHeader, batch: bytes | bytearray | None, *, changed: bool, removed: int) -> None:
        """Append the cleaned form of the next batch; None if nothing of the batch is left."""
        if self._dropped is not None:
            self.changed = True  # the previous batch was dropped
        if batch is not None or header.records_count:
            self.changed = self.changed or changed
        self.removed += removed
        self._dropped = header if batch is None else None
        if batch is not None:
            self._append(read_header(batch) if changed else header, batch)

    def flush(self) -> None:
        """Write the buffered batches. Raise OSError if that fails."""
        if self._buffer:
            self.segment.append(self._buffer, self._buffered)
            self._buffer = []
            self._buffered = 0

    def end(self) -> None:
        """Write the rest of the output. If its last batch was dropped, an empty one shows where the segment ends."""
        if self._dropped is not None:
            batch = emptied(self._dropped)
            self._append(read_header(batch), batch)
        self.flush()
        self.segment.synced = 0

    def mark(self) -> _Mark:
        """Return the present state, for `back_to`. This writes the buffer; raise OSError if that fails."""
        self.flush()
        segment_map = self.segment.map
        return _Mark(self.segment.size, segment_map.mark(), self._end_offset, self._dropped, self.changed, self.removed)

    def back_to(self, mark: _Mark) -> None:
        """Undo everything after the mark. Raise OSError if that fails."""
        self._buffer, self._buffered = [], 0
        if self.segment.size > mark.size:
            self.segment.cut_at(mark.size)
        self.segment.map.reset(mark.map, mark.end_offset)
        _, _, self._end_offset, self._dropped, self.changed, self.removed = mark

    def _append(self, header: BatchHeader, batch: bytes | bytearray) -> None:
        self.segment.map.add(header.last_offset, self.size, len(batch), header.newest_timestamp)
        self._buffer.append(batch)
        self._buffered += len(batch)
        self._end_offset = header.next_offset
        if self._buffered >= _BUFFER_BYTES:
            self.flush()


def _index_limit(settings: LogSettings) -> int:
    """Return the largest segment size whose offset index stays within `segment.index.bytes`."""
    return settings.segment_index_bytes // OFFSET_ENTRY_BYTES * max(settings.index_interval_bytes, 1)
