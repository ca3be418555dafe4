"""The aborted transactions of one log, and the meaning of its control batches. Pure.

Open transactions are kept with their producers (`producer_state`); committed ones are not kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.control import ControlRecord, ControlType, read_control_record

_ENDS = (ControlType.ABORT, ControlType.COMMIT)


def transaction_marker(batch: bytes | bytearray | memoryview) -> ControlRecord | None:
    """Return the control record of a batch that ends its producer's transaction.

    Return None for any other kind of control batch, and for one whose record compaction has removed, which happens
    only after the transaction's records were removed.
    """
    try:
        record = read_control_record(batch)
    except MalformedMessage:
        return None
    return record if record.type in _ENDS else None


class AbortedTransactions:
    """A log's aborted transactions, by ascending last offset.

    Owned by the log. Those of all segments are in memory, 32 bytes each.
    """

    __slots__ = ("_first_offsets", "_last_offsets", "_producer_ids", "_stable_offsets")

    def __init__(self, entries: Iterable[AbortedTransaction] = ()) -> None:
        self._producer_ids = array("q")
        self._first_offsets = array("q")
        self._last_offsets = array("q")
        self._stable_offsets = array("q")
        for entry in entries:
            self.add(entry)

    def __len__(self) -> int:
        return len(self._last_offsets)

    def __iter__(self) -> Iterator[AbortedTransaction]:
        columns = (self._producer_ids, self._first_offsets, self._last_offsets, self._stable_offsets)
        return map(AbortedTransaction, *columns)

    def add(self, entry: AbortedTransaction) -> None:
        """Add a transaction whose marker was appended. Raise ValueError unless it is behind all earlier markers."""
        if self._last_offsets and entry.last_offset <= self._last_offsets[-1]:
            raise ValueError(f"aborted transaction that ends at {entry.last_offset}, after {self._last_offsets[-1]}")
        self._producer_ids.append(entry.producer_id)
        self._first_offsets.append(entry.first_offset)
        self._last_offsets.append(entry.last_offset)
        self._stable_offsets.append(entry.last_stable_offset)

    def overlapping(self, first_offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """Return the transactions with an offset from `first_offset` to `upper_bound` (exclusive), by ascending last
        offset.

        A transaction ends at its marker; those that end below `first_offset` are left out.
        """
        found: list[AbortedTransaction] = []
        firsts, stables = self._first_offsets, self._stable_offsets
        for at in range(bisect_left(self._last_offsets, first_offset), len(firsts)):
            if firsts[at] < upper_bound:
                found.append(self._at(at))
            if stables[at] >= upper_bound:
                break
        return found

    def ending_in(self, first_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Return the transactions whose markers are from `first_offset` to `end_offset` (exclusive), as a segment's
        `.txnindex` has them.
        """
        low, high = bisect_left(self._last_offsets, first_offset), bisect_left(self._last_offsets, end_offset)
        return [self._at(at) for at in range(low, high)]

    def replace(self, first_offset: int, end_offset: int, entries: Iterable[AbortedTransaction]) -> None:
        """Replace the entries that end from `first_offset` to `end_offset` (exclusive) by `entries`, in the same
        order.
        """
        low, high = bisect_left(self._last_offsets, first_offset), bisect_left(self._last_offsets, end_offset)
        rows = list(entries)
        self._producer_ids[low:high] = array("q", [row.producer_id for row in rows])
        self._first_offsets[low:high] = array("q", [row.first_offset for row in rows])
        self._last_offsets[low:high] = array("q", [row.last_offset for row in rows])
        self._stable_offsets[low:high] = array("q", [row.last_stable_offset for row in rows])

    def truncate(self, end_offset: int) -> None:
        """Forget transactions that end at `end_offset` or later, because their markers were removed."""
        self._delete(slice(bisect_left(self._last_offsets, end_offset), None))

    def remove_before(self, offset: int) -> None:
        """Forget transactions that end below `offset`, because the segments with their markers were removed."""
        self._delete(slice(0, bisect_left(self._last_offsets, offset)))

    def _delete(self, part: slice) -> None:
        del self._producer_ids[part]
        del self._first_offsets[part]
        del self._last_offsets[part]
        del self._stable_offsets[part]

    def _at(self, at: int) -> AbortedTransaction:
        return AbortedTransaction(
            self._producer_ids[at], self._first_offsets[at], self._last_offsets[at], self._stable_offsets[at]
        )
