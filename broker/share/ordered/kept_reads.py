"""Reads of large record batches, kept for later fetches of their other records.

With order by key a fetch gets one record of each key at most, so a batch of ten thousand records is delivered in many
fetches. Reading a megabyte and checking its CRC for each of them would cost more than all else that they do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import BatchSpan, ReadResult
from shareq.broker.share.core.values import AcquiredRange
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.share.ordered import answer
from shareq.broker.share.ordered.answer import Marks
from shareq.broker.share.ports import NotHereYet
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.keys import KeyHashes

LEAST_BYTES: Final = 16 * 1024
"""The size in bytes from which a read is kept. A smaller one costs little to repeat."""
MOST_BYTES: Final = 4 * 1024 * 1024
"""The size in bytes above which a read is not kept."""
TOTAL_BYTES: Final = 32 * 1024 * 1024
"""The most bytes kept for all share partitions together; beyond that, the least recently used reads are dropped."""

_last_offset = attrgetter("last_offset")
_new: Final = tuple.__new__  # what BatchSpan(...) does, at half its price


class KeptReads:
    """The last large read of each share partition.

    Records below the high watermark never change unless the log is cut, and then their reads are forgotten. The caller
    asks the log if the records may still be handed out.
    """

    __slots__ = ("_marks", "_reads", "held_bytes")

    def __init__(self) -> None:
        self._reads: dict[SharePartitionKey, ReadResult] = {}  # the one used last is the last one
        self._marks: dict[SharePartitionKey, tuple[bytes, Marks]] = {}
        self.held_bytes = 0

    def put(self, key: SharePartitionKey, read: ReadResult) -> None:
        """Keep this read in place of the share partition's last one."""
        self.forget(key)
        size = len(read.records)
        if LEAST_BYTES <= size <= MOST_BYTES:
            self._reads[key] = read
            self._marks[key] = (read.records, {})
            self.held_bytes += size
            while self.held_bytes > TOTAL_BYTES:
                self.forget(next(iter(self._reads)))

    def known_until(self, key: SharePartitionKey) -> int:
        """Return the last offset (inclusive) of the share partition's kept read; -1 if it has none."""
        read = self._reads.get(key)
        return -1 if read is None else read.batches[-1].last_offset

    def get(self, key: SharePartitionKey, offset: int, until: int, upto: int, max_bytes: int) -> ReadResult | None:
        """Return a kept read from `offset` on that reaches `until` (inclusive), or as far as records exist below `upto`
        (exclusive); None if there is none.

        Return a read of more than `max_bytes` only if it is a single batch, as any read would.
        """
        read = self._reads.get(key)
        if read is None:
            return None
        spans = read.batches
        if not spans[0].base_offset <= offset <= spans[-1].last_offset or spans[-1].last_offset < min(until, upto - 1):
            return None
        first = bisect_left(spans, offset, key=_last_offset)
        if spans[first].base_offset > offset or spans[-1].last_offset >= upto:
            return None
        end = spans[-1].position + spans[-1].size
        if first + 1 < len(spans) and end - spans[first].position > max_bytes:
            return None
        self._reads[key] = self._reads.pop(key)
        return ReadResult(read.records, spans[first:]) if first else read

    def read(
        self, leader: SharePartitionLeader, offset: int, until: int, upto: int, max_bytes: int
    ) -> ReadResult | ErrorCode | NotHereYet | BeingRead:
        """Read the share partition's log from `offset` to `until` (inclusive), below `upto` (exclusive), as `log.read`
        does.

        Kept batches are not read again, and are kept until all their records are finished.
        """
        key, log = leader.key, leader.log
        if offset >= log.log_start_offset and not log.refusal:
            kept = self.get(key, offset, until, upto, max_bytes)
            if kept is None:
                front = self.get(key, offset, offset, upto, max_bytes)
                if front is not None and self._read_on(leader, front, until, upto, max_bytes):
                    kept = self.get(key, offset, until, upto, max_bytes)
            if kept is not None:
                return kept
        fresh = log.read(offset, max_bytes, upto=upto, max_records=until - offset + 1)
        if isinstance(fresh, ReadResult):
            self.put(key, fresh)
        return fresh

    def _read_on(self, leader: SharePartitionLeader, front: ReadResult, until: int, upto: int, max_bytes: int) -> bool:
        """Add the records behind the kept read to it, and drop its batches below the share partition's start offset.

        `front` is the part of the kept read that is still wanted. Return False if there are no records behind it, or
        too many.
        """
        key, spans, last = leader.key, front.batches, front.batches[-1].last_offset
        room = max_bytes - (len(front.records) - spans[0].position)
        if room <= 0 or leader.log.unreadable_range(last + 1) is not None:
            return False
        more = leader.log.read(last + 1, room, upto=upto, max_records=until - last)
        if not isinstance(more, ReadResult) or not 0 < len(more.records) <= room:
            return False
        kept = self._reads[key].batches
        spans = kept[bisect_left(kept, leader.core.start_offset, key=_last_offset) :]
        gone = spans[0].position
        end = len(front.records) - gone
        moved = _moved(spans, -gone) + _moved(more.batches, end)
        records = b"".join((memoryview(front.records)[gone:], more.records))
        marks = self._marks[key][1]
        self.put(key, ReadResult(records, moved))
        if key in self._marks:
            left = {at - gone: (index, start - gone) for at, (index, start) in marks.items() if at >= gone}
            self._marks[key] = (records, left)
        return True

    def cut_to(self, key: SharePartitionKey, read: ReadResult, acquired: Sequence[AcquiredRange]) -> bytes | memoryview:
        """Return the record batches of the acquired ranges, as `answer.cut_to` does."""
        return answer.cut_to(read, acquired, self.marks(key, read))

    @staticmethod
    def key_hashes(read: ReadResult, wanted: tuple[int, int] | None) -> KeyHashes:
        """Return the hashes of keys, as `answer.key_hashes` does."""
        return answer.key_hashes(read, wanted)

    @staticmethod
    def size_of_last(read: ReadResult, acquired: Sequence[AcquiredRange]) -> int:
        """Return the size of the last batch, as `answer.size_of_last` does."""
        return answer.size_of_last(read, acquired)

    def marks(self, key: SharePartitionKey, read: ReadResult) -> Marks | None:
        """Return the places of records found in exactly these bytes; None if the read is not kept."""
        kept = self._marks.get(key)
        return kept[1] if kept is not None and kept[0] is read.records else None

    def forget(self, key: SharePartitionKey) -> None:
        """Drop the kept read of the share partition."""
        read = self._reads.pop(key, None)
        if read is not None:
            del self._marks[key]
            self.held_bytes -= len(read.records)


def _moved(spans: Sequence[BatchSpan], by: int) -> list[BatchSpan]:
    """Return the batches with their positions moved by `by` bytes."""
    return [
        _new(BatchSpan, (base, last, position + by, size, attributes, producer_id))
        for base, last, position, size, attributes, producer_id in spans
    ]
