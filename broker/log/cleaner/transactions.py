"""Transactions in the cleaner's pass over a log: whose records are kept, and which markers are no longer needed.
Pure.

The rules are Apache Kafka's: records of an aborted transaction are removed, whatever their keys, and supersede
nothing. A marker stays until a pass has found none of its transaction's records, and then for as long as a
tombstone, so that a reader inside the transaction does not miss its outcome.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop

from shareq.broker.log.aborted_transactions import transaction_marker
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.protocol.records.batch import BatchHeader
from shareq.protocol.records.control import ControlType


class TransactionTrace:
    """The transactions of a part of the log, whose batches are passed to it in order. All of them have ended.

    `aborted`: the transactions that were aborted and have an offset in that part. `kept` collects the transactions
    that still have batches: the new content of the part's transaction index.
    """

    __slots__ = ("_aborted", "_committed", "_waiting", "kept")

    def __init__(self, aborted: Iterable[AbortedTransaction] = ()) -> None:
        self._waiting = [(entry.first_offset, entry) for entry in aborted]
        heapify(self._waiting)
        self._aborted: dict[int, tuple[AbortedTransaction, bool]] = {}  # by producer, and whether a batch was met
        self._committed: set[int] = set()  # producers with a batch of a transaction that was not aborted
        self.kept: list[AbortedTransaction] = []

    def copy(self) -> TransactionTrace:
        """Return a copy of the trace at this position, for a later return to it."""
        other = TransactionTrace()
        other._waiting = self._waiting.copy()
        other._aborted = self._aborted.copy()
        other._committed = self._committed.copy()
        other.kept = self.kept.copy()
        return other

    def is_aborted(self, header: BatchHeader) -> bool:
        """Return True if the next data batch belongs to an aborted transaction."""
        if not header.is_transactional:
            return False
        self._begin(header.last_offset)
        producer_id = header.producer_id
        found = self._aborted.get(producer_id)
        if found is None:
            self._committed.add(producer_id)
            return False
        self._aborted[producer_id] = (found[0], True)
        return True

    def is_outlived(self, header: BatchHeader, batch: bytes) -> bool:
        """Return True if a control batch is no longer needed, except by readers that are at its position."""
        if not header.records_count:
            return True
        marker = transaction_marker(batch)
        if marker is None:
            return False
        self._begin(header.last_offset)
        if marker.type is ControlType.COMMIT:
            met = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not met
        entry, met = self._aborted.pop(header.producer_id, (None, False))
        if entry is not None and met:
            self.kept.append(entry)
        return not met

    def _begin(self, offset: int) -> None:
        while self._waiting and self._waiting[0][0] <= offset:
            _, entry = heappop(self._waiting)
            self._aborted.setdefault(entry.producer_id, (entry, False))
