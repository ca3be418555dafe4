"""The offsets at the target of offsets at the source, exactly. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shareq.ops.migrate.batches import steps
from shareq.ops.migrate.offset_syncs import OffsetSync, find
from shareq.ops.migrate.ports import Partition, Source


def downstream(
    source: Source, partition: Partition, syncs: Sequence[OffsetSync], offsets: Iterable[int]
) -> dict[int, int]:
    """Return the target's offset of the first record at or behind each offset of the source, as far as was copied.

    `syncs` ascend, and the last is where the copy is. What lies between two of them is read once at most, from the
    lowest of the offsets on: what is below may have been removed since.
    """
    found: dict[int, int] = {}
    to_look_for: dict[OffsetSync, list[int]] = {}
    for offset in sorted(set(offsets)):
        above, exact = find(syncs, offset)
        if exact is None:
            to_look_for.setdefault(above, []).append(offset)
        else:
            found[offset] = exact
    for above, wanted in to_look_for.items():
        found |= _counted(source, partition, above, wanted)
    return found


def _counted(source: Source, partition: Partition, above: OffsetSync, wanted: Sequence[int]) -> dict[int, int]:
    """Count the records between offsets, which ascend, and the sync above them."""
    before: list[int] = []
    records = 0
    for fetched in source.fetch(partition, wanted[0], above.upstream):
        for step in steps(fetched, wanted[0]):
            if step.first >= above.upstream:
                break
            while len(before) < len(wanted) and wanted[len(before)] < step.following:
                before.append(records + step.records_before(wanted[len(before)]))
            records += step.records
    before += [records] * (len(wanted) - len(before))
    return {offset: above.downstream - records + each for offset, each in zip(wanted, before, strict=True)}
