"""The offsets at the target of offsets at the source, exactly. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from shareq.ops.migrate.batches import steps
from shareq.ops.migrate.offset_syncs import OffsetSync, find
from shareq.ops.migrate.ports import CHUNK_BYTES, Partition, Source

FEW_OFFSETS: Final = 10_000
"""The offsets that small answers to Fetch are asked for: more than these are read as records are that are copied."""
FEW_BYTES: Final = 256 << 10
NOTHING: Final[Mapping[int, int]] = {}


def downstream(
    source: Source,
    partition: Partition,
    syncs: Sequence[OffsetSync],
    offsets: Iterable[int],
    known: Mapping[int, int] = NOTHING,
) -> dict[int, int]:
    """Return the target's offset of the first record at or behind each offset of the source, as far as was copied.

    `syncs` ascend, and the last is where the copy is; `known` are offsets that were looked for before. What lies
    between two of all these is read, from the nearer of them: on from the lower one, or up to the upper one, from the
    lowest of the offsets on, where that is shorter or what is below has been removed since.
    """
    places = _together(syncs, known)
    found: dict[int, int] = {}
    reading_on: dict[OffsetSync, list[int]] = {}
    reading_up: dict[OffsetSync, list[int]] = {}
    for offset in sorted(set(offsets)):
        place = find(places, offset)
        if place.exact is not None:
            found[offset] = place.exact
        elif offset - place.below.upstream < place.above.upstream - offset:
            reading_on.setdefault(place.below, []).append(offset)
        else:
            reading_up.setdefault(place.above, []).append(offset)
    for below, wanted in reading_on.items():
        counted, _ = _counted(source, partition, below.upstream, wanted[-1], wanted)
        if source.ranges([partition])[partition].start <= below.upstream:
            found |= {offset: below.downstream + each for offset, each in counted.items()}
        else:
            above = find(places, wanted[0]).above
            reading_up[above] = [*wanted, *reading_up.get(above, ())]
    for above, wanted in reading_up.items():
        counted, records = _counted(source, partition, wanted[0], above.upstream, wanted)
        found |= {offset: above.downstream - records + each for offset, each in counted.items()}
    return found


def _together(syncs: Sequence[OffsetSync], known: Mapping[int, int]) -> Sequence[OffsetSync]:
    if not known:
        return syncs
    found = {offset: OffsetSync(offset, there) for offset, there in known.items() if offset >= syncs[0].upstream}
    return [place for _, place in sorted({**found, **{each.upstream: each for each in syncs}}.items())]


def _counted(
    source: Source, partition: Partition, first: int, end: int, wanted: Sequence[int]
) -> tuple[dict[int, int], int]:
    """Return how many records stand before each of the offsets, which ascend, from `first` on, and before the end."""
    before: list[int] = []
    records = 0
    chunk_bytes = FEW_BYTES if end - first <= FEW_OFFSETS else CHUNK_BYTES
    for fetched in source.fetch(partition, first, end, chunk_bytes):
        for step in steps(fetched, first):
            if step.first >= end:
                break
            while len(before) < len(wanted) and wanted[len(before)] < step.following:
                before.append(records + step.records_before(wanted[len(before)]))
            records += step.records_before(end)
    before += [records] * (len(wanted) - len(before))
    return dict(zip(wanted, before, strict=True)), records
