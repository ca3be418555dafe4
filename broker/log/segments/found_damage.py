"""Damage found by a read: its extent is determined, so that the records behind it stay readable."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from shareq.broker.log.segments.damage import DamagedRange, SoundWalk, WalkAcross, described
from shareq.broker.log.segments.files import Segment
from shareq.broker.log.segments.segment import UNKNOWN
from shareq.protocol.records.batch import BatchHeader

logger = logging.getLogger(__name__)


class HeaderWalk(WalkAcross):
    """A walk of a segment's batch headers from the batch at `position` on, around known damage.

    Iterating gives `(position, header)`; no CRC is checked.
    """

    def __init__(self, segment: Segment, position: int) -> None:
        super().__init__(segment.batches(position, check_crc=False))
        self._segment = segment

    def __iter__(self) -> Iterator[tuple[int, BatchHeader]]:
        segment, position, due = self._segment, self._walk.position, self._walk.next_offset
        for lost in segment.damaged:
            if lost.end > position or lost.position == lost.end == position:
                self._walk = self._walk.resumed(position, due, lost.position)
                yield from self._walk
                if self._walk.fault is not None:
                    return
                position, due = lost.end, lost.next_offset
        self._walk = self._walk.resumed(position, due, segment.size)
        yield from self._walk


def look_closer(segment: Segment, position: int) -> bool:
    """Note the damage from the batch at `position` on, up to the next sound batch. Return False if there is none.

    Each range is logged once. The segment's map must be proven. Waits for the disk. Raise OSError as the file does.
    """
    with segment.waiting():
        return _look_closer(segment, position)


def _look_closer(segment: Segment, position: int) -> bool:
    start = segment.map.offsets.boundary_before(position - 1) if position else 0
    walk = _walked(segment, start, position)
    if any(lost.first_offset == UNKNOWN for lost in walk.damaged) or walk.next_offset == UNKNOWN:
        walk = _walked(segment, 0, position)  # inside damage the expected offset is not known
    return sum(_lose(segment, lost) for lost in walk.losses(segment.end_offset, segment.map.last_offset())) > 0


def miss_the_end(segment: Segment) -> bool:
    """Note the offsets missing at the end of a sealed segment, before the next one begins. Return False if there are
    none.

    Waits for the disk.
    """
    walk = HeaderWalk(segment, segment.map.offsets.last_position())
    with segment.waiting():
        for _ in walk:
            pass
    end = segment.end_offset
    if end is None or walk.fault is not None or not 0 <= walk.next_offset < end:
        return False
    return _lose(segment, DamagedRange(walk.next_offset, end, segment.size, segment.size, "missing"))


def _walked(segment: Segment, start: int, position: int) -> SoundWalk:
    """Return the walk from `start` on to the first sound batch behind `position`."""
    walk = SoundWalk(segment.batches(start))
    for at, _ in walk:
        if at > position:
            break
    return walk


def _lose(segment: Segment, lost: DamagedRange) -> bool:
    if not segment.lose(lost):
        return False
    logger.error("%s: %s", segment.log_path, described(lost))
    return True
