"""The map of the source's offsets to those of the target (MirrorMaker's offset syncs). Pure.

A target's partition begins at offset 0 and has no gaps, the source's begins where retention has left it, and has gaps
where compaction took records or transactions have their markers. It keeps few of them: the place of the copy every so
many bytes, and the gaps between two of these. The source is not asked again: it may have been compacted since.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

SPACING_BYTES: Final = 64 << 20
MOST_SYNCS: Final = 1_000
"""The most syncs of one partition that are about SPACING_BYTES apart; beyond that, they are farther apart."""
MOST_NUMBERS: Final = 8_000
"""The most numbers of runs between two syncs, apart from those of one batch."""


class OffsetSync(NamedTuple):
    """The position of a copy: the source's next offset, the target's, the number of bytes, and their checksum.

    Everything below `upstream` that moves is below `downstream`.
    """

    upstream: int
    downstream: int = 0
    size: int = 0
    checksum: int = 0


class Place(NamedTuple):
    """The place of an offset among syncs: it is below the sync with this number.

    `exact` is the target's offset if the syncs alone give it.
    """

    number: int
    exact: int | None


class Runs:
    """The offsets of records after a sync, as runs without gaps: `numbers` are gap, length, gap, length."""

    def __init__(self, upstream: int, numbers: Iterable[int] = ()) -> None:
        self.numbers = list(numbers)
        self._next = upstream + sum(self.numbers)

    def add(self, first: int, records: int) -> None:
        """Add records with ascending offsets from `first` on, which is after all others."""
        gap = first - self._next
        if gap or not self.numbers:
            self.numbers += gap, records
        else:
            self.numbers[-1] += records
        self._next = first + records


def is_due(last: OffsetSync, position: OffsetSync, runs: Runs) -> bool:
    """Return True if the position is far enough from the last sync to be kept as a sync."""
    spacing = max(SPACING_BYTES, position.size // MOST_SYNCS)
    return position.size - last.size >= spacing or len(runs.numbers) >= MOST_NUMBERS


def find(syncs: Sequence[OffsetSync], offset: int) -> Place:
    """Return the place of a source's offset among syncs, which ascend; the last is the copy's position.

    An offset below the first was removed at the source, and counts as that of the first record. One after everything
    copied counts as the end of the copy.
    """
    at = bisect_left(syncs, offset, key=lambda one: one.upstream)
    above = syncs[min(at, len(syncs) - 1)]
    if at in (0, len(syncs)) or above.upstream == offset:
        return Place(at, above.downstream)
    below = syncs[at - 1]
    is_alike = above.upstream - below.upstream == above.downstream - below.downstream
    return Place(at, below.downstream + offset - below.upstream if is_alike else None)


def located(below: OffsetSync, numbers: Sequence[int], offsets: Sequence[int]) -> dict[int, int]:
    """Return, for each of the ascending offsets, the target's offset of the first record at or after it.

    `numbers` are the runs after the sync `below`.
    """
    found: dict[int, int] = {}
    upstream, downstream = below.upstream, below.downstream
    for gap, records in zip(numbers[::2], numbers[1::2], strict=True):
        upstream += gap
        while len(found) < len(offsets) and offsets[len(found)] < upstream + records:
            offset = offsets[len(found)]
            found[offset] = downstream + max(offset - upstream, 0)
        upstream += records
        downstream += records
    return found | dict.fromkeys(offsets[len(found) :], downstream)
