"""The records of a block with their offsets, and the choice of those in given ranges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from shareq.protocol.errors import MalformedMessage
from shareq.spark.decode.record_blocks import Block, Range
from shareq.spark.decode.record_fields import BadRecord, Contents, HeaderLists, read_contents, read_headers, read_stamps
from shareq.spark.decode.record_scan import Array

__all__ = ["Rows"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Records of a block, read up to their keys; keys start at `at`, and records end at `ends`."""

    block: Block
    batch: Array
    offset: Array
    timestamp_delta: Array
    at: Array
    ends: Array
    delivery_count: Array

    @classmethod
    def read(cls, block: Block, starts: Array, ends: Array, batch: Array, after: int) -> Rows:
        """Return the records at these places, whose offsets must be above `after`. Raises `MalformedMessage`."""
        stamps = read_stamps(block.data, starts)
        offset = block.base_offsets.take(batch) + stamps.offset_delta
        wrong = (stamps.offset_delta < 0) | (stamps.offset_delta > block.last_deltas.take(batch))
        wrong |= np.diff(offset, prepend=after) <= 0
        if wrong.any():
            row = int(wrong.argmax())
            raise block.malformed(int(batch[row]), f"offset delta {stamps.offset_delta[row]} is out of order")
        return cls(block, batch, offset, stamps.timestamp_delta, at=stamps.at, ends=ends, delivery_count=offset[:0])

    def within(self, ranges: Sequence[Range]) -> Rows:
        """Return the rows in the ranges, with the ranges' delivery counts."""
        low = bisect_left(ranges, int(self.offset[0]), key=itemgetter(1))
        high = bisect_right(ranges, int(self.offset[-1]), key=itemgetter(0))
        first, last, counts = np.array(ranges[low:high], np.int64).reshape(-1, 3).T
        begin = np.searchsorted(self.offset, first)
        rows = np.searchsorted(self.offset, last, side="right") - begin
        delivery_count = np.repeat(counts, rows)
        if delivery_count.size == self.offset.size:
            return replace(self, delivery_count=delivery_count)
        chosen = np.arange(delivery_count.size) + np.repeat(begin - (np.cumsum(rows) - rows), rows)
        return Rows(
            block=self.block,
            batch=self.batch.take(chosen),
            offset=self.offset.take(chosen),
            timestamp_delta=self.timestamp_delta.take(chosen),
            at=self.at.take(chosen),
            ends=self.ends.take(chosen),
            delivery_count=delivery_count,
        )

    def timestamp(self) -> Array:
        """Return the times in milliseconds: the append's where the batch has it, else the record's own."""
        block = self.block
        own = block.base_timestamps.take(self.batch) + self.timestamp_delta
        if not block.has_append_time.any():
            return own
        return np.where(block.has_append_time.take(self.batch), block.max_timestamps.take(self.batch), own)

    def contents(self) -> Contents:
        """Return the records' contents. Raises `MalformedMessage`."""
        try:
            return read_contents(self.block.data, self.at, self.ends)
        except BadRecord as error:
            raise self.malformed(error.row, error.reason) from None

    def headers(self, contents: Contents) -> HeaderLists:
        """Return the records' headers. Raises `MalformedMessage`."""
        try:
            return read_headers(self.block.data, contents.header_counts, contents.headers_at, self.ends)
        except BadRecord as error:
            raise self.malformed(error.row, error.reason) from None

    def malformed(self, row: int, reason: str) -> MalformedMessage:
        return MalformedMessage(f"{self.block.place}: record at offset {self.offset[row]}: {reason}")
