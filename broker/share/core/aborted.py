"""Transactional records of a read, for a read_committed group: which of them belong to aborted transactions.

The log knows which transactions were aborted. Each record batch is from one producer, whose id is in its header.
Control batches stay: their offsets are acquired, and the consumer acknowledges them as gaps.

Aborted records are archived in memory alone, and found again after a reload by `.txnindex`, which is synced even where
appends are not. When they fill the window, the start offset moves over them, whereas in Apache Kafka the share
partition delivers nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shareq.broker.share.core.values import AcquiredRange


class TransactionalSpan(Protocol):
    """A record batch of a read. Its offsets are inclusive."""

    @property
    def base_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def is_transactional(self) -> bool: ...
    @property
    def is_control(self) -> bool: ...


class Aborted(Protocol):
    """A transaction that was aborted, from its first record to its marker (inclusive)."""

    @property
    def producer_id(self) -> int: ...
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...


def aborted_ranges(spans: Sequence[TransactionalSpan], transactions: Sequence[Aborted]) -> list[tuple[int, int]]:
    """Return the offsets (inclusive) of each record batch that belongs to one of the transactions, ascending.

    `spans` ascend. No two transactions of one producer overlap.
    """
    begin = sorted(transactions, key=lambda transaction: transaction.first_offset)
    ends: dict[int, int] = {}  # producer id -> the end of its last transaction that has begun at this offset
    ranges: list[tuple[int, int]] = []
    begun = 0
    for span in spans:
        last_offset = span.last_offset
        while begun < len(begin) and begin[begun].first_offset <= last_offset:
            ends[begin[begun].producer_id] = begin[begun].last_offset
            begun += 1
        if span.is_transactional and not span.is_control and ends.get(span.producer_id, -1) >= span.base_offset:
            ranges.append((span.base_offset, last_offset))
    return ranges


def cut_out(acquired: Sequence[AcquiredRange], aborted: Sequence[tuple[int, int]]) -> list[AcquiredRange]:
    """Return the acquired ranges without the aborted ones (inclusive, ascending, disjoint)."""
    kept: list[AcquiredRange] = []
    passed = 0  # the number of aborted ranges that end below all remaining offsets
    for first, last, count in acquired:
        while passed < len(aborted) and aborted[passed][1] < first:
            passed += 1
        index = passed
        while index < len(aborted) and aborted[index][0] <= last:
            if first < aborted[index][0]:
                kept.append(AcquiredRange(first, aborted[index][0] - 1, count))
            first = aborted[index][1] + 1
            index += 1
        if first <= last:
            kept.append(AcquiredRange(first, last, count))
    return kept


def held_before(aborted: Sequence[tuple[int, int]], acquired: Sequence[AcquiredRange]) -> list[tuple[int, int]]:
    """Return the parts of the aborted ranges that have not just been acquired, ascending.

    A member that holds records there got them when the group read uncommitted records.
    """
    earlier = [AcquiredRange(first, last, 0) for first, last in aborted]
    return [(first, last) for first, last, _ in cut_out(earlier, [(first, last) for first, last, _ in acquired])]
