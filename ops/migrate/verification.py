"""Reads the copied records back from the target, and compares them with the source's. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from shareq.ops.migrate.batches import checksum, steps
from shareq.ops.migrate.offset_syncs import OffsetSync
from shareq.ops.migrate.ports import LogRange, Partition, Target
from shareq.protocol.errors import MalformedMessage


class Compared(NamedTuple):
    """A comparison of the target with the source; `difference` describes the first difference, or is None."""

    upto: OffsetSync
    difference: str | None


def compare(
    target: Target,
    partition: Partition,
    found: LogRange,
    syncs: list[OffsetSync],
    begin: OffsetSync,
    progress: Callable[[int], None] = lambda _: None,
) -> Compared:
    """Compare records and checksums from `begin`, up to which all was compared before, to the last sync.

    The target has the records in `found`.
    """
    left = [sync for sync in syncs if sync.downstream > begin.downstream]
    if not left:
        return Compared(begin, None)
    offset, chain, last = begin.downstream, begin.checksum, begin
    if found.end < left[-1].downstream:
        return Compared(begin, f"ends at offset {found.end} at the target, the copy at {left[-1].downstream}")
    if found.start > offset:
        return Compared(begin, f"begins at offset {found.start} at the target: records were removed there")
    try:
        for fetched in target.fetch(partition, offset, left[-1].downstream):
            for step in steps(fetched, offset):
                if step.batch is None or step.first != offset:
                    return Compared(last, f"has other records at the target from offset {offset} on")
                chain = checksum(step.batch, chain)
                offset = step.following
                progress(len(step.batch))
                while left and offset == left[0].downstream:
                    if chain != left[0].checksum:
                        return Compared(last, _other(last, offset, chain, left[0].checksum))
                    last = left.pop(0)
                if not left:
                    return Compared(last, None)
    except MalformedMessage as error:
        return Compared(last, f"cannot be read at the target: {error}")
    return Compared(last, f"has no record at the target that ends at offset {left[0].downstream}")


def _other(last: OffsetSync, offset: int, found: int, expected: int) -> str:
    where = f"offsets {last.downstream} to {offset - 1} at the target"
    return f"differs in {where}: checksum {found:08x}, at the source {expected:08x}"
