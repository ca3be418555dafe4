"""The records of one partition as this node's readers see them: those in the cache, and NOT_HERE_YET for all others.

    log start ....... [chunk] ....... [chunk][chunk] high watermark
                         ^ a slow reader        ^ the foremost reader        ^ where the tail is polled

When a reader is in the second half of its chunk, the next one is fetched. Ahead of the foremost reader, new records are
fetched at the tail until half a chunk of them waits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import Ends, Traffic
from shareq.broker.log.segments.reader import EMPTY, BatchSpan, Found, ReadResult
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.broker.topics.ports import NOT_HERE_YET, NotHereYet
from shareq.cluster.link.leaders import PartitionLeader
from shareq.cluster.records.aborted import united
from shareq.cluster.records.cache import Chunk, ChunkCache, Place
from shareq.cluster.records.chunks import EpochStart, Fault
from shareq.protocol.errors import ErrorCode

MOST_EPOCHS: Final = 100
"""The most leader epochs, the newest ones, whose first known offsets are remembered."""
JOINED_BYTES: Final = 64 * 1024
"""A read that has fewer bytes at the end of a chunk continues in the next one. Joining chunks copies them, so large
reads do not.
"""

_last_offset = attrgetter("last_offset")


class LogEnds(NamedTuple):
    """The ends of a log: its first offset, and two exclusive ends."""

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int


class Anchor(NamedTuple):
    """The last place of a log whose leader epoch is known: the batch before `offset`; or, unless `is_record`, the
    newest epoch when the log ended at `offset`. A leader whose log has this place has all earlier records, too.
    """

    epoch: int
    offset: int
    is_record: bool


NO_ANCHOR: Final = Anchor(-1, 0, is_record=False)


class Wants(Protocol):
    """The port by which sources have records fetched and ask for ends."""

    def want(self, source: PartitionRecords, offset: int) -> None:
        """Have the records at `offset` fetched: a reader needs them, or will soon."""

    def tail_wanted(self, source: PartitionRecords) -> None:
        """Have the source polled at its tail again."""

    def ends(self, source: PartitionRecords) -> Pending[Ends | ErrorCode]:
        """Ask for the ends of the source's log, set them at the source, and return them."""

    def offset_for_timestamp(self, source: PartitionRecords, timestamp_ms: int) -> Pending[Found | ErrorCode | None]:
        """Ask for the first record with that timestamp or a later one."""


class _Ahead(NamedTuple):
    """A chunk that was fetched at the tail. It counts as ahead until a reader reaches `middle`."""

    middle: int
    cost: int


class PartitionRecords:
    """`RecordSource` and `FetchedLog` of one partition.

    `led_epoch` returns the epoch since which this node leads the partition.

    `RecordFeed` asks the brokers and hands in ends and chunks. `generation` grows whenever answers to earlier requests
    must be ignored. `chunk_bytes`: how much is requested at a time.
    """

    __slots__ = (
        "_ahead",
        "_beyond",
        "_cache",
        "_damaged",
        "_led_epoch",
        "_shown_upto",
        "_wants",
        "ahead_bytes",
        "anchor",
        "chunk_bytes",
        "epochs",
        "foremost",
        "generation",
        "has_ends",
        "held_until_ms",
        "high_watermark",
        "is_validating",
        "last_stable_offset",
        "leader",
        "log_start_offset",
        "partition",
        "place",
        "refusal",
        "refused_at",
        "tail_offset",
        "topic",
        "topic_id",
        "traffic",
    )

    def __init__(
        self,
        topic: str,
        place: Place,
        cache: ChunkCache,
        wants: Wants,
        led_epoch: Callable[[], int],
        chunk_bytes: int,
    ) -> None:
        self.topic: Final = topic
        self.place: Final = place
        self.topic_id: Final = place.topic_id
        self.partition: Final = place.partition
        self.traffic: Final = Traffic()
        self.chunk_bytes: Final = chunk_bytes
        self._cache: Final = cache
        self._wants: Final = wants
        self._led_epoch: Final = led_epoch
        self._ahead: Final[deque[_Ahead]] = deque()
        self.epochs: Final[dict[int, int]] = {}
        self.log_start_offset = 0
        self.high_watermark = 0
        self.last_stable_offset = 0
        self.refusal = ErrorCode.NONE
        self.refused_at = -1
        self.has_ends = False
        self.leader: PartitionLeader | None = None
        self.anchor = NO_ANCHOR
        self.generation = 0
        self.is_validating = False
        self.held_until_ms = 0
        self.tail_offset = 0
        self.foremost = -1
        self.ahead_bytes = 0
        self._damaged: Fault | None = None
        self._beyond: int | None = None
        self._shown_upto = 0  # exclusive; what was put at the end

    # -- what readers ask

    @property
    def leader_epoch(self) -> int:
        return self._led_epoch()

    @property
    def log_end_offset(self) -> int:
        return self.high_watermark

    def read(
        self, offset: int, max_bytes: int, *, upto: int, max_records: int | None = None, min_one_batch: bool = True
    ) -> ReadResult | ErrorCode | NotHereYet:
        """See `RecordSource.read` and `FetchedLog.read`. If `upto` is not above the last stable offset, the reader may
        want committed records, so only decided chunks serve it.
        """
        if self.refusal:
            return self.refusal
        if self.has_ends and offset < self.log_start_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        if offset > self.high_watermark and self._beyond is not None and offset >= self._beyond:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        if not self.has_ends or self.is_validating:
            return NOT_HERE_YET
        if offset > self.high_watermark:
            self._wants.want(self, offset)
            return NOT_HERE_YET
        if offset >= upto:
            return EMPTY
        chunk = self._cache.find(self.place, offset, decided=upto <= self.last_stable_offset)
        if chunk is None:
            self._moved_to(offset)
            self._wants.want(self, offset)  # what is damaged, too: it may be sound when it comes again
            return ErrorCode.CORRUPT_MESSAGE if self.unreadable_range(offset) is not None else NOT_HERE_YET
        stop = upto if max_records is None else min(upto, offset + max_records)
        return self._taken(chunk, offset, max_bytes, upto, stop, min_one_batch=min_one_batch)

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        damaged = self._damaged
        if damaged is not None and damaged.first_offset <= offset < damaged.next_offset:
            return damaged.first_offset, damaged.next_offset
        return None

    def available_bytes(self, offset: int, upto: int) -> int:
        """See `RecordSource.available_bytes`. Missing records count as one chunk, because a read has that much
        fetched.
        """
        decided, total = upto <= self.last_stable_offset, 0
        while offset < upto:
            if not self._cache.has(self.place, offset, decided=decided):
                return total + self.chunk_bytes
            chunk = self._cache.find(self.place, offset, decided=decided)
            assert chunk is not None
            first = bisect_left(chunk.batches, offset, key=_last_offset)
            end = bisect_left(chunk.batches, upto, first, key=_last_offset)
            if end == first:
                break
            total += _end(chunk.batches[end - 1]) - chunk.batches[first].position
            if end < len(chunk.batches):
                break
            offset = chunk.next_offset
        return total

    def in_one_segment(self, offset: int, upto: int) -> bool:
        """Return True: a read ends with its chunk, but the rest follows soon."""
        return True

    def aborted_transactions(self, first_offset: int, upper_bound: int) -> Sequence[AbortedTransaction]:
        chunks = self._cache.overlapping(self.place, first_offset, upper_bound)
        return united((chunk.aborted or () for chunk in chunks), first_offset, upper_bound)

    def ends(self) -> Pending[Ends | ErrorCode]:
        return self._wants.ends(self)

    def offset_for_timestamp(self, timestamp_ms: int) -> Pending[Found | ErrorCode | None]:
        return self._wants.offset_for_timestamp(self, timestamp_ms)

    # -- what its feed has

    @property
    def wants_tail(self) -> bool:
        """True if the tail should be polled, because less than half a chunk lies ahead of the foremost reader."""
        return (
            self.has_ends
            and not self.refusal
            and not self.is_validating
            and self.ahead_bytes < self.chunk_bytes // 2
            and self.leader is not None
        )

    def lacks(self, offset: int) -> bool:
        """Return True if the cache may not have enough for every reader at `offset`."""
        return not self._cache.has(self.place, offset, decided=offset < self.last_stable_offset)

    def set_ends(self, ends: LogEnds) -> bool:
        """Set the log's ends that the cluster has reported; lower values are ignored. Return True if an end has
        moved.
        """
        before = (self.log_start_offset, self.high_watermark, self.last_stable_offset, self.has_ends)
        self.log_start_offset = max(self.log_start_offset, ends.log_start_offset)
        self.high_watermark = max(self.high_watermark, ends.high_watermark, self.log_start_offset)
        self.last_stable_offset = max(self.last_stable_offset, min(ends.last_stable_offset, self.high_watermark))
        self.last_stable_offset = max(self.last_stable_offset, self.log_start_offset)
        if not self.has_ends:
            self.has_ends = True
            self.tail_offset = self.high_watermark
        self.tail_offset = max(self.tail_offset, self.log_start_offset)
        if self.high_watermark > before[1]:
            self._beyond = None
        if self.log_start_offset > before[0]:
            self._cache.forget(self.place, below=self.log_start_offset)
            if self.refusal is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT and self.refused_at < self.log_start_offset:
                self.refusal = ErrorCode.NONE
        return before != (self.log_start_offset, self.high_watermark, self.last_stable_offset, True)

    def is_read_at_end(self, offset: int) -> bool:
        """Return True if the log ends at `offset`, and a reader has read everything before it."""
        at_end = offset == self.high_watermark == self.foremost
        return at_end and self.has_ends and not self.is_validating and not self.refusal

    def put_at_end(self, chunk: Chunk) -> None:
        """Keep a committed chunk that begins at the high watermark, before the poll brings it with its leader epoch.

        If the last stable offset is the high watermark, no transaction is open, and both move.
        """
        self._cache.put(self.place, chunk)
        end = self._shown_upto = chunk.next_offset
        is_stable = chunk.aborted is not None and self.last_stable_offset == self.high_watermark
        self.set_ends(LogEnds(self.log_start_offset, end, end if is_stable else self.last_stable_offset))

    def put(self, chunk: Chunk, epochs: Sequence[EpochStart]) -> bool:
        """Keep a received chunk, with the leader epochs of its batches; return True if it may be new to readers."""
        is_new = self._cache.put(self.place, chunk) or chunk.next_offset > self._shown_upto
        for epoch, offset in epochs:
            self.epochs[epoch] = min(offset, self.epochs.get(epoch, offset))
            if len(self.epochs) > MOST_EPOCHS:
                del self.epochs[min(self.epochs)]
        if chunk.next_offset >= self.anchor.offset:
            self.anchor = Anchor(epochs[-1].epoch, chunk.next_offset, is_record=True)
        damaged = self._damaged
        if damaged is not None and chunk.first_offset <= damaged.first_offset < chunk.next_offset:
            self._damaged = None
        if chunk.first_offset <= self.tail_offset < chunk.next_offset:
            self.tail_offset = chunk.next_offset
            middle = _middle(chunk)
            if middle > self.foremost:
                self._ahead.append(_Ahead(middle, chunk.cost))
                self.ahead_bytes += chunk.cost
        return is_new

    def set_anchor(self, epoch: int, offset: int) -> None:
        """Note the leader epoch in which the log ended at `offset`."""
        if offset > self.anchor.offset:
            self.anchor = Anchor(epoch, offset, is_record=False)

    def note_fault(self, fault: Fault) -> None:
        """Remember the damaged offsets, or the error with which the whole partition is refused."""
        if fault.error is ErrorCode.CORRUPT_MESSAGE:
            self._damaged = fault
            if self.tail_offset == fault.first_offset:
                self.tail_offset = fault.next_offset
        else:
            self.refusal, self.refused_at = fault.error, fault.first_offset

    def note_beyond(self, offset: int) -> None:
        """Remember that the cluster's log does not reach to `offset`."""
        if offset > self.high_watermark:
            self._beyond = offset if self._beyond is None else min(offset, self._beyond)

    def cut(self, end_offset: int) -> None:
        """Drop everything known, because the log was truncated at `end_offset` and may have other records from there
        on. The ends have to be asked for again.
        """
        self._cache.forget(self.place)
        self._ahead.clear()
        self.ahead_bytes = 0
        self.foremost = -1
        self.generation += 1
        self.has_ends = False
        self.high_watermark = max(end_offset, self.log_start_offset)
        self.last_stable_offset = min(self.last_stable_offset, self.high_watermark)
        self.anchor = NO_ANCHOR
        self.epochs.clear()
        self._damaged = self._beyond = None
        self._shown_upto = 0

    # -- inside

    def _taken(
        self, chunk: Chunk, offset: int, max_bytes: int, upto: int, stop: int, *, min_one_batch: bool
    ) -> ReadResult:
        """Return whole batches from the one with `offset` to the end of its chunk; if these are few bytes, also of the
        next chunks.
        """
        spans, first, end = chunk.batches, *_slice_of(chunk, offset, max_bytes, upto, stop)
        if first == end:
            if not min_one_batch or first == len(spans) or spans[first].last_offset >= upto:
                return EMPTY
            end = first + 1
        parts = [_part(chunk, first, end)]
        size = len(parts[0].records)
        while end == len(spans) and chunk.next_offset < stop and size < JOINED_BYTES:
            more = self._cache.find(self.place, chunk.next_offset, decided=upto <= self.last_stable_offset)
            if more is None:
                break
            first, end = _slice_of(more, chunk.next_offset, max_bytes - size, upto, stop)
            if first == end:
                end = len(spans)
                break
            chunk, spans = more, more.batches
            parts.append(_part(chunk, first, end))
            size += len(parts[-1].records)
        self._moved_to(spans[end - 1].last_offset + 1)
        if spans[end - 1].last_offset + 1 >= _middle(chunk) and chunk.next_offset < self.high_watermark:
            self._want_next(chunk.next_offset)
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _want_next(self, offset: int) -> None:
        if self.lacks(offset):
            self._wants.want(self, offset)

    def _moved_to(self, offset: int) -> None:
        if offset > self.foremost:
            self.foremost = offset
            ahead, wanted = self._ahead, self.wants_tail
            while ahead and ahead[0].middle <= offset:
                self.ahead_bytes -= ahead.popleft().cost
            if not wanted and self.wants_tail:
                self._wants.tail_wanted(self)


def _end(span: BatchSpan) -> int:
    return span.position + span.size


def _middle(chunk: Chunk) -> int:
    """Return the base offset of the batch in the middle of the chunk's bytes; for the first batch, its last offset."""
    batches = chunk.batches
    index = bisect_left(batches, len(chunk.records) // 2, key=_end)
    return batches[index].base_offset if index else batches[0].last_offset


def _slice_of(chunk: Chunk, offset: int, max_bytes: int, upto: int, stop: int) -> tuple[int, int]:
    """Return the indices (the second exclusive) of the batches to read: from the one with `offset`, below `upto`,
    within `max_bytes`, and at most up to the one that holds the last offset before `stop`.
    """
    spans = chunk.batches
    first = bisect_left(spans, offset, key=_last_offset)
    end = min(bisect_left(spans, stop - 1, first, key=_last_offset) + 1, len(spans))
    end = bisect_left(spans, upto, first, end, key=_last_offset)
    if first < end:
        end = bisect_right(spans, spans[first].position + max_bytes, first, end, key=_end)
    return first, end


def _part(chunk: Chunk, first: int, end: int) -> ReadResult:
    spans = chunk.batches
    if first == 0 and end == len(spans):
        return ReadResult(chunk.records, spans)
    start = spans[first].position
    return ReadResult(chunk.records[start : _end(spans[end - 1])], _moved(spans[first:end], -start))


def _joined(parts: Sequence[ReadResult]) -> ReadResult:
    spans: list[BatchSpan] = []
    size = 0
    for part in parts:
        spans += _moved(part.batches, size)
        size += len(part.records)
    return ReadResult(b"".join([part.records for part in parts]), spans)


def _moved(spans: Sequence[BatchSpan], by: int) -> Sequence[BatchSpan]:
    return [span._replace(position=span.position + by) for span in spans] if by else spans
