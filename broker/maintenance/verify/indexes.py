"""Checks of index files and producer snapshots against the log they belong to. Pure: bytes in, faults out."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable

from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.log.segments.index import OffsetIndex, TimeIndex
from shareq.broker.log.segments.txn_index import AbortedTransaction, entries_from_bytes


class BatchTable:
    """The sound batches of one segment: positions, last offsets (inclusive), and the newest timestamp up to each."""

    __slots__ = ("base_offset", "last_offsets", "newest", "positions", "size")

    def __init__(self, base_offset: int, size: int) -> None:
        self.base_offset = base_offset
        self.size = size
        self.positions = array("q")
        self.last_offsets = array("q")
        self.newest = array("q")  # of each batch alone

    def add(self, position: int, last_offset: int, timestamp: int) -> None:
        self.positions.append(position)
        self.last_offsets.append(last_offset)
        self.newest.append(timestamp)

    def last_offset_at(self, position: int) -> int | None:
        """Return the last offset of the batch that starts at `position`; None if none does."""
        at = bisect_left(self.positions, position)
        return self.last_offsets[at] if at < len(self.positions) and self.positions[at] == position else None

    def timestamp_of(self, last_offset: int) -> int | None:
        """Return the newest timestamp of the batch that ends with `last_offset`; None if none does."""
        at = bisect_left(self.last_offsets, last_offset)
        return self.newest[at] if at < len(self.last_offsets) and self.last_offsets[at] == last_offset else None


def offset_index_problem(data: bytes, table: BatchTable) -> str:
    """Return the fault of the first wrong entry of a `.index` file; "" if every entry points to its batch."""
    index = OffsetIndex.from_bytes(data, table.base_offset, table.size)
    if index is None:
        return "it cannot belong to this log"
    for relative, position in zip(index.last_offsets, index.positions, strict=True):
        last_offset = table.base_offset + relative
        if table.last_offset_at(position) != last_offset:
            return f"no batch that ends with offset {last_offset} is at byte {position}"
    return ""


def time_index_problem(data: bytes, table: BatchTable) -> str:
    """Return the fault of the first wrong entry of a `.timeindex` file; "" if every entry has its batch's timestamp."""
    index = TimeIndex.from_bytes(data, table.base_offset)
    if index is None:
        return "it cannot belong to this log"
    for timestamp, relative in zip(index.timestamps, index.offsets, strict=True):
        offset = table.base_offset + relative
        if table.timestamp_of(offset) != timestamp:
            return f"the batch that ends with offset {offset} has not the timestamp {timestamp}"
    return ""


def txn_index_problem(
    data: bytes,
    base_offset: int,
    end_offset: int,
    first_offset: int,
    found: Iterable[AbortedTransaction],
    *,
    gaps: bool,
) -> str:
    """Return the fault of a `.txnindex` file; "" if it has the segment's aborted transactions `found` in the log.

    The index may have more than the log: transactions that began before the log's start (`first_offset`), and ones
    whose records a cleaner has removed (`gaps`).
    """
    entries = entries_from_bytes(data, base_offset, end_offset)
    if entries is None:
        return "it cannot belong to this log"
    listed = {entry[:3] for entry in entries if entry.first_offset >= first_offset}
    expected = {entry[:3] for entry in found}
    for producer_id, first, last in sorted(expected - listed):
        return f"the transaction of producer {producer_id} from offset {first}, aborted at {last}, is not in it"
    for producer_id, first, last in sorted(listed - expected) if not gaps else ():
        return f"it has a transaction of producer {producer_id} from offset {first} to {last} that was not aborted"
    return ""


def snapshot_problem(data: bytes) -> str:
    """Return the fault of a `.snapshot` file; "" if it is as it was written."""
    return "" if ProducerStates.from_snapshot(data) is not None else "its checksum or length is wrong"
