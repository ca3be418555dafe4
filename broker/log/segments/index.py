"""The two sparse indexes of a segment, in Apache Kafka's layout. Pure: bytes in, bytes out.

`.index`, 8 bytes an entry:
    0  int32  offset of the entry's batch's LAST record, relative to the segment's base offset
    4  int32  position of the batch's first byte in the `.log` file

`.timeindex`, 12 bytes an entry:
    0  int64  largest timestamp of the segment up to and including the entry's batch, ms
    8  int32  last offset of the batch with that timestamp, relative to the segment's base offset

Offsets, positions and timestamps only grow within a file. An index can always be made again from the log, so a file
that breaks these rules is discarded, never repaired.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import islice
from operator import le, lt
from typing import Final, NamedTuple

OFFSET_ENTRY_BYTES: Final = 8
TIME_ENTRY_BYTES: Final = 12
MAX_RELATIVE_OFFSET: Final = 2**31 - 1
TAIL_BATCHES: Final = 1024  # the least number of newest batches that are listed one by one
MOST_HINTS: Final = 64

_SWAP: Final = sys.byteorder == "little"  # files are big-endian


class OffsetIndex:
    """Sparse map from offsets to batch positions of one segment. Owned by that segment."""

    __slots__ = ("base_offset", "last_offsets", "positions")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.last_offsets = array("i")  # relative
        self.positions = array("i")

    def __len__(self) -> int:
        return len(self.positions)

    def add(self, last_offset: int, position: int) -> None:
        """Add the batch that ends with `last_offset` (inclusive) and starts at `position`."""
        self.last_offsets.append(last_offset - self.base_offset)
        self.positions.append(position)

    def start_before(self, offset: int) -> tuple[int, bool]:
        """Return a position from which to look for the batch that has `offset`, and True if that batch starts
        exactly there.

        The position is that of the last batch in the index that ends at or before `offset`; 0 if there is none.
        """
        at = bisect_right(self.last_offsets, offset - self.base_offset) - 1
        if at < 0:
            return 0, False
        return self.positions[at], self.last_offsets[at] == offset - self.base_offset

    def end_after(self, offset: int) -> int | None:
        """Return the first known batch boundary behind the batch that contains `offset`; None if none is known."""
        at = bisect_left(self.last_offsets, offset - self.base_offset) + 1
        return self.positions[at] if at < len(self.positions) else None

    def boundary_before(self, position: int) -> int:
        """Return the largest position in the index that is at most `position`; 0 if there is none.

        It is a batch boundary.
        """
        at = bisect_right(self.positions, position) - 1
        return self.positions[at] if at >= 0 else 0

    def last_position(self) -> int:
        """Return the position of the last batch in the index; 0 if there is none."""
        return self.positions[-1] if self.positions else 0

    def ends_with(self, last_offset: int) -> bool:
        """Return True if the last batch in the index ends with that offset."""
        return bool(self.last_offsets) and self.last_offsets[-1] == last_offset - self.base_offset

    def agrees(self, last_offset: int, position: int) -> bool:
        """Return True unless the index shows that the batch at `position` has another last offset than `last_offset`
        (inclusive).
        """
        at = bisect_left(self.positions, position)
        entered = at < len(self.positions) and self.positions[at] == position
        return not entered or self.last_offsets[at] == last_offset - self.base_offset

    def truncate(self, entries: int) -> None:
        """Keep the first `entries` entries."""
        del self.last_offsets[entries:]
        del self.positions[entries:]

    def to_bytes(self) -> bytes:
        flat = array("i", bytes(OFFSET_ENTRY_BYTES * len(self.positions)))
        flat[0::2] = self.last_offsets
        flat[1::2] = self.positions
        if _SWAP:
            flat.byteswap()
        return flat.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, base_offset: int, log_size: int, *, sound: bool = False) -> OffsetIndex | None:
        """Return the index in a file's content; None if it is not possible for a log of `log_size` bytes.

        With `sound`, the entries are known to be unchanged, and are not checked one by one.
        """
        if len(data) % OFFSET_ENTRY_BYTES:
            return None
        flat = array("i", data)
        if _SWAP:
            flat.byteswap()
        index = cls(base_offset)
        index.last_offsets = flat[0::2]
        index.positions = flat[1::2]
        if not sound and not (_grows(index.last_offsets) and _grows(index.positions)):
            return None
        return index if index.last_position() < max(log_size, 1) else None


class TimeIndex:
    """Sparse map from timestamps to offsets of one segment. Owned by that segment."""

    __slots__ = ("base_offset", "offsets", "timestamps")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.timestamps = array("q")
        self.offsets = array("i")  # relative

    def __len__(self) -> int:
        return len(self.offsets)

    def maybe_add(self, timestamp: int, offset: int) -> None:
        """Add the largest timestamp so far and its batch's last offset, unless the last entry has the same or a
        later timestamp.
        """
        if timestamp >= 0 and (not self.timestamps or timestamp > self.timestamps[-1]):
            self.timestamps.append(timestamp)
            self.offsets.append(offset - self.base_offset)

    def offset_before(self, timestamp: int) -> int:
        """Return an offset such that every record before it is older than `timestamp`; the base offset if none is
        known.
        """
        at = bisect_left(self.timestamps, timestamp) - 1
        return self.base_offset + (self.offsets[at] if at >= 0 else 0)

    def last(self) -> tuple[int, int] | None:
        """Return the largest timestamp in the index and its offset; None if it is empty."""
        if not self.timestamps:
            return None
        return self.timestamps[-1], self.base_offset + self.offsets[-1]

    def truncate(self, entries: int) -> None:
        """Keep the first `entries` entries."""
        del self.timestamps[entries:]
        del self.offsets[entries:]

    def to_bytes(self) -> bytes:
        times, offsets = self.timestamps[:], self.offsets[:]
        if _SWAP:
            times.byteswap()
            offsets.byteswap()
        flat = array("i", bytes(TIME_ENTRY_BYTES * len(offsets)))
        halves = array("i", times.tobytes())
        flat[0::3] = halves[0::2]
        flat[1::3] = halves[1::2]
        flat[2::3] = offsets
        return flat.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, base_offset: int, *, sound: bool = False) -> TimeIndex | None:
        """Return the index in a file's content; None if it breaks the rules. `sound` is as in
        `OffsetIndex.from_bytes`.
        """
        if len(data) % TIME_ENTRY_BYTES:
            return None
        flat = array("i", data)
        halves = array("i", bytes(8 * (len(flat) // 3)))
        halves[0::2] = flat[0::3]
        halves[1::2] = flat[1::3]
        index = cls(base_offset)
        index.timestamps = array("q", halves.tobytes())
        index.offsets = flat[2::3]
        if _SWAP:
            index.timestamps.byteswap()
            index.offsets.byteswap()
        return index if sound or (_grows(index.timestamps) and _does_not_shrink(index.offsets)) else None


class MapMark(NamedTuple):
    """The extent of a `SegmentMap` at some time."""

    entries: int
    time_entries: int
    max_timestamp: int
    max_timestamp_offset: int
    since_entry: int


class SegmentMap:
    """The places of one segment's batches: sparse indexes, and every batch of the segment's last part. Owned by the
    segment.

    `max_timestamp` is the largest timestamp of the segment (-1 if none), `max_timestamp_offset` the last offset of
    its batch.
    """

    __slots__ = (
        "_hints",
        "_interval",
        "_since_entry",
        "_tail_last_offsets",
        "_tail_positions",
        "max_timestamp",
        "max_timestamp_offset",
        "offsets",
        "times",
    )

    def __init__(
        self, base_offset: int, interval_bytes: int, offsets: OffsetIndex | None = None, times: TimeIndex | None = None
    ) -> None:
        self.offsets = offsets or OffsetIndex(base_offset)
        self.times = times or TimeIndex(base_offset)
        self.max_timestamp, self.max_timestamp_offset = self.times.last() or (-1, base_offset)
        self._interval = interval_bytes
        self._since_entry = 0
        self._tail_last_offsets = array("q")
        self._tail_positions = array("q")
        self._hints: dict[int, int] = {}

    def add(self, last_offset: int, position: int, size: int, max_timestamp: int) -> None:
        """Add the next batch: its last offset (inclusive), start position, size in bytes and largest timestamp."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        since = self._since_entry
        if since > self._interval:  # Apache Kafka's rule: an entry for the batch after more than the interval
            self.offsets.add(last_offset, position)
            self.times.maybe_add(self.max_timestamp, self.max_timestamp_offset)
            since = 0
        self._since_entry = since + size
        self._tail_last_offsets.append(last_offset)
        positions = self._tail_positions
        positions.append(position)
        if len(positions) > 2 * TAIL_BATCHES:
            del positions[:TAIL_BATCHES]
            del self._tail_last_offsets[:TAIL_BATCHES]

    def mark(self) -> MapMark:
        """Return the present state, for `reset`."""
        entries, time_entries = len(self.offsets.positions), len(self.times.offsets)
        return MapMark(entries, time_entries, self.max_timestamp, self.max_timestamp_offset, self._since_entry)

    def reset(self, mark: MapMark, log_end_offset: int) -> None:
        """Forget the batches added since `mark`; the remaining ones end before `log_end_offset`."""
        entries, times, self.max_timestamp, self.max_timestamp_offset, self._since_entry = mark
        self.offsets.truncate(entries)
        self.times.truncate(times)
        keep = bisect_left(self._tail_last_offsets, log_end_offset)
        del self._tail_last_offsets[keep:]
        del self._tail_positions[keep:]
        self._hints.clear()

    def forget_tail(self) -> None:
        """Drop the list of single batches, which are rarely needed now that the segment is sealed."""
        self._tail_last_offsets = array("q")
        self._tail_positions = array("q")

    def hint(self, offset: int, position: int) -> None:
        """Remember that the batch with `offset`, or the first one after it, starts at `position`."""
        if len(self._hints) >= MOST_HINTS:
            self._hints.clear()
        self._hints[offset] = position

    def start_of(self, offset: int) -> tuple[int, bool]:
        """Return a position from which to look for the first batch that ends at or after `offset`, and True if it
        starts exactly there.
        """
        tail = self._tail_last_offsets
        if tail and offset >= tail[0]:
            at = bisect_left(tail, offset)
            if at < len(tail):
                return self._tail_positions[at], True
        position = self._hints.get(offset)
        if position is not None:
            return position, True
        return self.offsets.start_before(offset)

    def ends_before(self, offset: int) -> bool:
        """Return True if the last batch is known to end before `offset`."""
        tail = self._tail_last_offsets
        return bool(tail) and offset > tail[-1]

    def last_offset(self) -> int | None:
        """Return the last offset (inclusive) of the newest batch, None if no batch is known individually."""
        return self._tail_last_offsets[-1] if self._tail_last_offsets else None

    def agrees(self, last_offset: int, position: int) -> bool:
        """Return True unless the map shows that the batch at `position` has another last offset than `last_offset`
        (inclusive).
        """
        tail = self._tail_positions
        if tail and position >= tail[0]:
            at = bisect_left(tail, position)
            return at == len(tail) or tail[at] != position or self._tail_last_offsets[at] == last_offset
        return self.offsets.agrees(last_offset, position)

    def end_after(self, offset: int) -> int | None:
        """Return the first known batch boundary behind the batch that has `offset`; None if none is known."""
        tail = self._tail_last_offsets
        if not tail or offset < tail[0]:
            return self.offsets.end_after(offset)
        at = bisect_left(tail, offset) + 1
        return self._tail_positions[at] if at < len(tail) else None

    def boundary_before(self, position: int) -> int:
        """Return the largest known start of a batch that is at most `position`; 0 if there is none."""
        tail = self._tail_positions
        if tail and position >= tail[0]:
            return tail[bisect_right(tail, position) - 1]
        return self.offsets.boundary_before(position)

    def finish_times(self) -> None:
        """Add the largest timestamp as the last entry of the time index, as a finished file has it."""
        self.times.maybe_add(self.max_timestamp, self.max_timestamp_offset)


def _grows(numbers: array[int]) -> bool:
    """Return True if the numbers are not negative and each is larger than the previous one."""
    return not numbers or (numbers[0] >= 0 and all(map(lt, numbers, islice(numbers, 1, None))))


def _does_not_shrink(numbers: array[int]) -> bool:
    return not numbers or (numbers[0] >= 0 and all(map(le, numbers, islice(numbers, 1, None))))
