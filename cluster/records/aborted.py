"""The ends of aborted transactions. A broker's answer has the producer id and first offset of each; readers of a node
need the last offset.

A producer's transactions in a partition follow each other. So an aborted transaction ends with the producer's next
marker. If that marker lies behind the answer, the transaction reaches to the answer's end: the next answer names it
again. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from shareq.broker.log.segments.reader import BatchSpan
from shareq.broker.log.segments.txn_index import AbortedTransaction

UNKNOWN_OFFSET: Final = -1
"""The value for the last stable offset at an abort, which answers do not have and no reader here needs."""


class AbortedRow(Protocol):
    """An aborted transaction as a broker's answer has it."""

    @property
    def producer_id(self) -> int: ...
    @property
    def first_offset(self) -> int: ...


def with_ends(rows: Iterable[AbortedRow], batches: Sequence[BatchSpan]) -> list[AbortedTransaction]:
    """Return the aborted transactions with their last offsets, or the end of these batches if that is lower."""
    markers: dict[int, list[int]] = {}
    for batch in batches:
        if batch.is_control and batch.is_transactional:
            markers.setdefault(batch.producer_id, []).append(batch.last_offset)
    return (
        [_with_end(row, markers.get(row.producer_id, ()), batches[-1].last_offset) for row in rows] if batches else []
    )


def has_transactions(batches: Iterable[BatchSpan]) -> bool:
    """Return True if some of the batches are transactional and have records, not markers."""
    return any(batch.is_transactional and not batch.is_control for batch in batches)


def united(parts: Iterable[Sequence[AbortedTransaction]], first_offset: int, upper: int) -> list[AbortedTransaction]:
    """Return the aborted transactions that overlap `first_offset` to `upper` (exclusive), each once, with the highest
    last offset that any part has for it.
    """
    found: dict[tuple[int, int], AbortedTransaction] = {}
    for part in parts:
        for one in part:
            if one.first_offset < upper and one.last_offset >= first_offset:
                key = (one.producer_id, one.first_offset)
                known = found.get(key)
                if known is None or known.last_offset < one.last_offset:
                    found[key] = one
    return sorted(found.values(), key=lambda one: (one.last_offset, one.producer_id))


def _with_end(row: AbortedRow, markers: Sequence[int], end: int) -> AbortedTransaction:
    index = bisect_left(markers, row.first_offset)
    last = markers[index] if index < len(markers) else end
    return AbortedTransaction(row.producer_id, row.first_offset, last, UNKNOWN_OFFSET)
