"""The map of the source's offsets to those of the target (MirrorMaker's offset syncs). Pure.

A target's partition begins at offset 0 and has no gaps, the source's begins where retention has left it, and has gaps
where compaction took records or transactions have their markers. What is kept is sparse: where the copy was, every so
many bytes. Between two of them the copy is made the same way each time, so an exact offset is found by reading that
part of the source once more, and where both advance alike, without.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

SPACING_BYTES: Final = 64 << 20
MOST_SYNCS: Final = 1_000
"""The syncs of one partition that are about as far apart as SPACING_BYTES; then they become sparser."""


class OffsetSync(NamedTuple):
    """The position of a copy: the source's next offset, the target's, how many bytes there are, and their checksum.

    Everything below `upstream` that moves is below `downstream`.
    """

    upstream: int
    downstream: int = 0
    size: int = 0
    checksum: int = 0


class Place(NamedTuple):
    """The place of an offset, between two syncs. `exact` is that of the target, where it is known without a look."""

    below: OffsetSync
    above: OffsetSync
    exact: int | None


def is_due(last: OffsetSync, position: OffsetSync) -> bool:
    """Return whether the position is far enough from the last sync to be kept as one."""
    return position.size - last.size >= max(SPACING_BYTES, position.size // MOST_SYNCS)


def find(syncs: Sequence[OffsetSync], offset: int) -> Place:
    """Return where an offset of the source lies among syncs, which ascend; the last is where the copy is.

    An offset below the first is gone at the source: the first record there is the next. One behind all that was copied
    is the end of the copy.
    """
    at = bisect_left(syncs, offset, key=lambda one: one.upstream)
    above = syncs[min(at, len(syncs) - 1)]
    if at in (0, len(syncs)) or above.upstream == offset:
        return Place(above, above, above.downstream)
    below = syncs[at - 1]
    is_alike = above.upstream - below.upstream == above.downstream - below.downstream
    return Place(below, above, below.downstream + offset - below.upstream if is_alike else None)
