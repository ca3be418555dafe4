"""Records read and sent for a group with order by key, where a member may get only a few of a batch's records.

Without order, whole batches are sent as the log has them. With order by key, the records of a large batch are handed
out by many fetches, so the answer is cut to the acquired records. This module is imported only for groups with order by
key.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final

from shareq.broker.log.segments.reader import BatchSpan, ReadResult
from shareq.broker.share.core.values import AcquiredRange
from shareq.protocol.passes.runs import edges
from shareq.protocol.records.cut import cut
from shareq.protocol.records.keys import KeyHashes, add_key_hashes

LEAST_CUT: Final = 2 * 1024
LEAST_RECORDS: Final = 16
"""The number of records from which a batch with few bytes is cut: in a smaller one, leaving records out costs as much
as sending them.
"""
MOST_OPENED: Final = 4 * 1024 * 1024
"""Bytes of compressed records opened for one answer; batches beyond that are sent whole."""

Marks = dict[int, tuple[int, int]]
"""The places of records that the last call of `cut` found."""

_last_offset = attrgetter("last_offset")


def key_hashes(read: ReadResult, wanted: tuple[int, int] | None) -> KeyHashes:
    """Return the hashes of the keys in the record batches that have offsets within `wanted` (inclusive)."""
    found = KeyHashes([], [])
    if wanted is not None:
        first, last = wanted
        for span in read.batches:
            if span.last_offset >= first and span.base_offset <= last:
                add_key_hashes(read.records, span.position, found)
    return found


def size_of_last(read: ReadResult, acquired: Sequence[AcquiredRange]) -> int:
    """Return the number of offsets in the record batch of the last acquired record."""
    spans, last = read.batches, acquired[-1].last_offset
    span = spans[min(bisect_left(spans, last, key=_last_offset), len(spans) - 1)]
    return span.last_offset - span.base_offset + 1


def cut_to(read: ReadResult, acquired: Sequence[AcquiredRange], marks: Marks | None = None) -> bytes | memoryview:
    """Return the record batches of the acquired ranges (ascending, disjoint); large batches have only the acquired
    records.

    `marks` are the places found in these records, if they are kept for the next fetch.

    A batch stays unchanged if it is acquired whole, if it is a control batch, or if `cut` cannot make it smaller.
    """
    answer = _Answer(read.records)
    left = MOST_OPENED
    for span, wanted in _wanted(read.batches, acquired):
        offsets = span.last_offset - span.base_offset + 1
        whole = wanted[0] == 0 and wanted[1] == offsets - 1
        small = span.size < LEAST_CUT and offsets < LEAST_RECORDS
        if whole or small or left <= 0 or span.is_control:
            answer.add_whole(span)
            continue
        batch, opened = cut(read.records, span.position, wanted, left, marks)
        left -= opened
        if batch is None:
            answer.add_whole(span)
        elif batch:
            answer.add(batch)
    return answer.taken()


def _wanted(spans: Sequence[BatchSpan], acquired: Sequence[AcquiredRange]) -> Iterator[tuple[BatchSpan, list[int]]]:
    """Yield each batch that has acquired records, with the first and last offset deltas of the acquired ranges in it,
    alternating.
    """
    at, ranges = 0, list(acquired)
    for index in range(bisect_left(spans, ranges[0].first_offset, key=_last_offset), len(spans)):
        span = spans[index]
        wanted, at = edges(ranges, at, span.base_offset, span.last_offset)
        if wanted:
            yield span, wanted
        if at == len(ranges):
            return


class _Answer:
    """The bytes to send, in order. Batches that stay as they were read are copied only if they must be."""

    __slots__ = ("_end", "_parts", "_records", "_start")

    def __init__(self, records: bytes) -> None:
        self._records = records
        self._parts: list[bytes | memoryview] = []
        self._start = self._end = 0  # bytes of the read, not added to the parts yet

    def add_whole(self, span: BatchSpan) -> None:
        if span.position != self._end:
            self._flush()
            self._start = span.position
        self._end = span.position + span.size

    def add(self, batch: bytes) -> None:
        self._flush()
        self._parts.append(batch)

    def _flush(self) -> None:
        if self._start < self._end:
            self._parts.append(memoryview(self._records)[self._start : self._end])
            self._start = self._end = 0

    def taken(self) -> bytes | memoryview:
        """Return all bytes. A part of a read is returned as a view only if it is at least half of the read, since a
        view keeps all of it in memory.
        """
        self._flush()
        if len(self._parts) == 1:
            only = self._parts[0]
            return only if isinstance(only, bytes) or len(only) * 2 >= len(self._records) else bytes(only)
        return b"".join(self._parts)
