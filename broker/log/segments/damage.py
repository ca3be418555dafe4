"""The readable part of a damaged `.log` file: its sound batches, and the offsets lost between them.

A batch is sound if its CRC is right and its offsets are possible. BaseOffset and Length are not covered by the CRC.
A wrong length makes the CRC wrong. A wrong base offset is found only by comparison with other batches: in a segment
that was never cleaned, each batch begins where the previous one ends; in others, offsets grow. A segment ends where
the next one begins. If one of two batches must be in the wrong place, the one that also fits its other neighbour is
sound; if both fit or neither does, none is. This module is pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from shareq.broker.log.segments.segment import NO_LIMIT, BatchWalk, ReadAt, is_sound_at, valid_batch_after
from shareq.protocol.records.batch import HEADER_SIZE, BatchHeader, Compression

_SECTOR_BYTES: Final = 512
_LEAST_RECORD_BYTES: Final = 7  # without key, value and headers


class DamagedRange(NamedTuple):
    """Offsets from `first_offset` to `next_offset` (exclusive) that cannot be read, and the bytes that held them.

    Positions are those in the segment's file; `end` is exclusive. If there are no such bytes, the offsets are
    missing.
    """

    first_offset: int
    next_offset: int
    position: int
    end: int
    fault: str


def covering(ranges: Sequence[DamagedRange], offset: int) -> DamagedRange | None:
    """Return the range that contains the offset, None if there is none. `ranges` are in order."""
    at = bisect_right(ranges, offset, key=_first_offset) - 1
    return ranges[at] if at >= 0 and offset < ranges[at].next_offset else None


def _first_offset(damaged: DamagedRange) -> int:
    return damaged.first_offset


def described(damaged: DamagedRange) -> str:
    """Describe damage for the log: the loss, its cause, and the consequence."""
    first, after, position, end, fault = damaged
    if position == end:
        return f"records with offsets {first} to {after - 1} are missing; the rest stays readable"
    if first >= after:
        return f"damaged at byte {position}: {fault}; {end - position} bytes are kept as they are"
    return (
        f"damaged at byte {position} (offset {first}): {fault}; offsets {first} to {after - 1} cannot be read, "
        f"{end - position} bytes are kept as they are"
    )


class WalkAcross:
    """A walk of a `.log` file in stretches, each of them a `BatchWalk`. Its position is that of the present stretch."""

    def __init__(self, first: BatchWalk) -> None:
        self._walk = first

    @property
    def position(self) -> int:
        return self._walk.position

    @property
    def next_offset(self) -> int:
        """The offset expected next; UNKNOWN before the first batch if the first stretch began so."""
        return self._walk.next_offset

    @property
    def fault(self) -> str | None:
        """The fault at the position; None at the end of the file."""
        return self._walk.fault

    def batch(self, header: BatchHeader, position: int) -> bytes:
        return self._walk.bytes_at(position, header.size)


class SoundWalk(WalkAcross):
    """A walk of the sound batches of a `.log` file in order, across damage, which begins as the walk `first`.

    Iterating gives `(position, header)` and fills `damaged`. It ends at the end of the file, or where no sound batch
    follows: then `fault` describes the damage at `position`. If `first` does not check CRCs, only headers are read,
    except around an invalid one.
    """

    def __init__(self, first: BatchWalk) -> None:
        super().__init__(first)
        self._read_at = first.read_at
        self._size = first.size
        self._gaps = first.gaps
        self._limit = first.limit
        self._held: tuple[int, BatchHeader, int] | None = None  # the last batch, and the offset expected there
        self.damaged: list[DamagedRange] = []

    def losses(self, end: int | None, last_known: int | None) -> list[DamagedRange]:
        """Return all unreadable parts, at the end of the walk.

        Unsound bytes at the end are included: they reach to the segment's `end` (exclusive) or, without one, to the
        last known offset.
        """
        if self.fault is None:
            return self.damaged
        if end is None:
            end = max(self.next_offset, -1 if last_known is None else last_known) + 1
        return [*self.damaged, DamagedRange(self.next_offset, end, self.position, self._size, self.fault)]

    def __iter__(self) -> Iterator[tuple[int, BatchHeader]]:
        if self._gaps:
            yield from self._with_gaps()
            return
        while True:
            yield from self._walk
            if self._walk.fault is None or not self._go_on():
                return

    def _with_gaps(self) -> Iterator[tuple[int, BatchHeader]]:
        """Yield each batch once the next one has not shown that its offset is wrong."""
        while True:
            due = self._walk.next_offset
            for position, header in self._walk:
                if self._held is not None:
                    yield self._held[:2]
                self._held = (position, header, due)
                due = header.next_offset
            goes_on = self._walk.fault is not None and self._go_on()
            held, self._held = self._held, None
            if held is not None:
                yield held[:2]
            if not goes_on:
                return

    def _go_on(self) -> bool:
        """Skip the damage at the position. Return False if no sound batch follows."""
        position = self._walk.position
        header = is_sound_at(self._read_at, self._size, position)
        if header is None:
            return self._resume_behind(position, self._walk.next_offset)
        follower = is_sound_at(self._read_at, self._size, position + header.size)
        if self._gaps:
            self._judge_with_gaps(position, header, follower)
        else:
            self._judge(position, header, follower)
        return True

    def _resume_behind(self, position: int, due: int) -> bool:
        found = valid_batch_after(self._read_at, self._size, position, due, self._limit)
        if found is None:
            return False
        header = is_sound_at(self._read_at, self._size, found)
        assert header is not None
        after = max(header.base_offset, due + 1) if self._gaps else header.base_offset  # these bytes held a record
        self._lose(due, after, position, found)
        return True

    def _judge(self, position: int, header: BatchHeader, follower: BatchHeader | None) -> None:
        """Note the damage at a sound batch that does not begin at the expected offset: either it is misplaced, or
        records before it are missing.
        """
        due, end = self._walk.next_offset, position + header.size
        here = due + header.last_offset_delta + 1
        if follower is not None:
            is_next = follower.base_offset == header.next_offset
        else:
            is_next = header.next_offset == self._limit
        if header.base_offset > due and is_next and header.next_offset <= (self._limit or NO_LIMIT):
            self._lose(due, header.base_offset, position, position)
        else:
            self._lose(due, here, position, end)

    def _judge_with_gaps(self, position: int, header: BatchHeader, follower: BatchHeader | None) -> None:
        """Note the damage at a sound batch that begins before the end of the previous one, or ends beyond the limit:
        one of them is misplaced.
        """
        due, end = self._walk.next_offset, position + header.size
        count = header.last_offset_delta + 1
        bound = follower.base_offset if follower is not None else self._limit or NO_LIMIT
        fits_here = due + count <= bound
        beyond = header.next_offset > (self._limit or NO_LIMIT)
        held = None if beyond else self._held
        if held is not None and held[2] + held[1].last_offset_delta + 1 <= header.base_offset:
            at, _, was_due = held
            self._held = None
            if fits_here:
                self._lose(was_due, bound if follower is not None else due + count, at, end)
            else:
                self._lose(was_due, header.base_offset, at, position)
            return
        next_offset = bound if fits_here and follower is not None else due + count
        self._lose(due, next_offset, position, end)

    def _lose(self, first_offset: int, next_offset: int, position: int, end: int) -> None:
        """Note these offsets and bytes as lost, and continue at the position `end` with `next_offset`."""
        fault = self._walk.fault or ""
        next_offset = min(next_offset, self._limit or NO_LIMIT)
        self.damaged.append(DamagedRange(first_offset, next_offset, position, end, fault))
        self._walk = self._walk.resumed(end, next_offset)


def read_around(read_at: ReadAt, position: int, size: int) -> tuple[bytes, int]:
    """Return bytes read from `position`, with zeros for sectors that the disk cannot read, and the number of these
    zeros.
    """
    parts: list[bytes] = []
    lost = 0
    at, end = position, position + size
    while at < end:
        wanted = min(_SECTOR_BYTES - at % _SECTOR_BYTES, end - at)
        try:
            parts.append(read_at(at, wanted))
        except OSError:
            parts.append(bytes(wanted))
            lost += wanted
        at += wanted
    return b"".join(parts), lost


def believed_end(read_at: ReadAt, size: int, position: int, next_offset: int) -> int:
    """Return the log end offset that the headers of the unsound bytes from `position` on suggest.

    A header has the number of records twice. If these differ, believe the larger one whose records fit into the batch's
    bytes; in a compressed batch, simply the larger one.
    """
    walk = BatchWalk(read_at, size, position=position, next_offset=next_offset, check_crc=False, gaps=False)
    end = next_offset
    for _, header in walk:
        end = header.base_offset + _believed_records(header)
        if end != header.next_offset:
            break
    return max(end, next_offset + 1)


def _believed_records(header: BatchHeader) -> int:
    counts = (header.last_offset_delta + 1, header.records_count)
    if counts[0] == counts[1]:
        return counts[0]
    is_plain = header.compression == Compression.NONE
    most = (header.size - HEADER_SIZE) // _LEAST_RECORD_BYTES if is_plain else max(counts)
    return max((records for records in counts if 0 < records <= most), default=1)
