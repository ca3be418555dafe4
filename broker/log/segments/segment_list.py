"""The segments of one log in order: the lookup of an offset's segment, and reads across segments."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Sequence

from shareq.broker.foundation.turn_budget import Breath
from shareq.broker.log.segments.damage import DamagedRange, covering
from shareq.broker.log.segments.files import Segment
from shareq.broker.log.segments.found_damage import miss_the_end
from shareq.broker.log.segments.reader import EMPTY, Found, ReadResult, find_timestamp, position_of, read_segment
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import HEADER_SIZE, NO_TIMESTAMP, BatchHeader, read_header


class SegmentList:
    """Segments by ascending base offset; the last one is the active one. Owned by its log."""

    __slots__ = ("_bases", "_segments", "missing")

    def __init__(self) -> None:
        self.missing: list[DamagedRange] = []  # offsets that no segment has, in order
        self._segments: list[Segment] = []
        self._bases: list[int] = []

    def __len__(self) -> int:
        return len(self._segments)

    def all(self) -> Sequence[Segment]:
        """Return the segments. The sequence changes when the log does."""
        return self._segments

    def from_offset(self, offset: int) -> Sequence[Segment]:
        """Return the segments from the one to which `offset` belongs up to the last one."""
        return self._segments[self._at(offset) :]

    def base_of(self, at: int) -> int:
        return self._bases[at]

    def add(self, segment: Segment) -> None:
        """Add a segment at the end."""
        self._segments.append(segment)
        self._bases.append(segment.base_offset)

    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def before(self, offset: int) -> Sequence[Segment]:
        """Return the segments that end at or before `offset`, except the last one of the log."""
        return self._segments[: max(bisect_right(self._bases, offset) - 1, 0)]

    def remove_before(self, offset: int) -> int:
        """Remove the segments that end at or before `offset`, with their files; return how many. The last one stays."""
        going = self.before(offset)
        for segment in going:
            self._bases.pop(0)
            self._segments.pop(0)
            segment.remove()
        return len(going)

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """Replace adjoining segments by one segment; the caller handles their files. Raise ValueError if they are
        not in the list.
        """
        at = self._segments.index(old[0])
        if self._segments[at : at + len(old)] != list(old):
            raise ValueError(f"{new.log_path}: not in the place of {[segment.base_offset for segment in old]}")
        self._segments[at : at + len(old)] = [new]
        self._bases[at : at + len(old)] = [new.base_offset]

    def _at(self, offset: int) -> int:
        """Return the index of the segment to which `offset` belongs."""
        bases = self._bases
        if bases and offset >= bases[-1]:
            return len(bases) - 1
        return max(bisect_right(bases, offset) - 1, 0)

    def read(
        self, offset: int, max_bytes: int, upto: int, min_one_batch: bool, max_offsets: int | None
    ) -> ReadResult | ErrorCode:
        """Read like `read_segment`, from the first segment that has a batch at `offset` or after it.

        Raise OSError as the files do.

        If an index file led to the damage, the index file itself may be wrong: its map is then rebuilt from the log.
        """
        if self.missing and covering(self.missing, offset) is not None:
            return ErrorCode.CORRUPT_MESSAGE
        at = self._at(offset)
        while at < len(self._segments):
            segment = self._segments[at]
            if segment.damaged and covering(segment.damaged, offset) is not None:
                return ErrorCode.CORRUPT_MESSAGE
            result = read_segment(
                segment, offset, max_bytes, upto, min_one_batch=min_one_batch, max_offsets=max_offsets
            )
            if result is ErrorCode.CORRUPT_MESSAGE and not segment.map_proven and segment is not self._segments[-1]:
                segment.rebuild_map()
            elif isinstance(result, ErrorCode) or result.batches or position_of(segment, offset) is not None:
                return result
            elif segment.end_offset is not None and offset < segment.end_offset:
                miss_the_end(segment)
                return ErrorCode.CORRUPT_MESSAGE
            elif segment.damaged and covering(segment.damaged, offset) is not None:
                return ErrorCode.CORRUPT_MESSAGE  # the search for the batch has found the damage
            else:
                at += 1
        return ErrorCode.CORRUPT_MESSAGE if self._segments else EMPTY

    def miss(self, offset: int, end_offset: int) -> None:
        """Note that a read at `offset` was refused because of damage, unless that is known.

        If no batch follows, no record up to `end_offset` (exclusive) is readable. Raise OSError as the file does.
        """
        if self._lost_at(offset) is None:
            is_last = bool(self._segments) and position_of(self._segments[-1], offset) is None
            after = end_offset if is_last and offset >= self._bases[-1] else offset + 1
            insort(self.missing, DamagedRange(offset, after, 0, 0, "unreadable"))

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        """Return the known unreadable offsets around `offset`, as the first one and the end (exclusive); None if
        there are none.
        """
        found = self._lost_at(offset)
        if found is None:
            return None
        first, after = found
        while (lost := self._lost_at(after)) is not None:
            after = lost[1]
        return first, after

    def behind_missing(self, offset: int) -> int:
        """Return `offset`, or the end (exclusive) of the gap between segments that begins there."""
        missing = covering(self.missing, offset)
        return offset if missing is None else missing.next_offset

    def any_lost(self) -> bool:
        """Return True if any offsets are known to be unreadable."""
        return bool(self.missing) or any(segment.damaged for segment in self._segments)

    def _lost_at(self, offset: int) -> tuple[int, int] | None:
        lost = covering(self.missing, offset)
        if lost is None and self._segments:
            lost = covering(self._segments[self._at(offset)].damaged, offset)
        return None if lost is None else (lost.first_offset, lost.next_offset)

    def bytes_between(self, offset: int, upto: int) -> int:
        """Return the number of bytes of the batches from the one that has `offset` to the last below `upto`
        (exclusive).

        `upto` must be above `offset`. Return 0 if no segment is left.
        """
        if not self._segments:
            return 0
        first, last = self._at(offset), self._at(upto - 1)
        end = position_of(self._segments[last], upto)
        if end is None:
            end = self._segments[last].size
        start = position_of(self._segments[first], offset)
        if start is None:
            start = self._segments[first].size
        return sum(segment.size for segment in self._segments[first:last]) + end - start

    def most_between(self, offset: int, upto: int) -> int:
        """Return at least the result of `bytes_between`, without reading files."""
        return sum(segment.size for segment in self._segments[self._at(offset) : self._at(upto - 1) + 1])

    def in_one_segment(self, offset: int, upto: int) -> bool:
        """Return True if one segment has both offsets, so that one read may cover them."""
        return self._at(offset) == self._at(upto)

    def next_header(self, offset: int) -> BatchHeader | None:
        """Return the header of the batch that has `offset`, or of the first one after it.

        Return None behind the last batch, and for a batch that is not completely inside its segment, since its
        length is not trusted. Raise OSError as the files do.
        """
        for segment in self._segments:
            position = None if segment.map.ends_before(offset) else position_of(segment, offset)
            if position is not None and position + HEADER_SIZE <= segment.size:
                header = read_header(segment.read_at(position, HEADER_SIZE))
                return header if position + header.size <= segment.size else None
        return None

    async def find_timestamp(
        self, timestamp: int, start_offset: int, upto: int, most_opened: int, breathe: Callable[[int], Breath]
    ) -> Found | None:
        """Return the first record with at least that timestamp, from `start_offset` on and below `upto`; see
        `reader.find_timestamp`.
        """
        for segment in list(self._segments):  # they may be replaced in a pause
            while (arrived := segment.load_map()) is not None:
                await arrived
            if segment.map.max_timestamp >= timestamp:
                found = await find_timestamp(segment, timestamp, start_offset, upto, most_opened, breathe)
                if found is not None:
                    return found
        return None

    def max_timestamp(self, *, but_last: bool) -> int:
        """Return the largest timestamp of the segments; -1 if there are none."""
        segments = self._segments[: -1 if but_last else None]
        return max((segment.map.max_timestamp for segment in segments), default=NO_TIMESTAMP)
