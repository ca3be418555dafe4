"""Batches in flight, in the order of their offsets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from shareq.broker.share.core.window.batch import InFlightBatch

if TYPE_CHECKING:
    from shareq.broker.share.core.window.offset_batch import OffsetBatch

    Batch: TypeAlias = InFlightBatch | OffsetBatch


class BatchMap:
    """Disjoint batches sorted by first offset. Most are added at the end and removed from the front.

    Removed entries stay in front of `_head` until they make up half of the lists, so that a removal costs nothing per
    remaining batch.
    """

    __slots__ = ("_batches", "_firsts", "_head", "count")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._batches: list[Batch] = []
        self._head = 0
        self.count = 0  # how many there are, without a call

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Batch]:
        batches = self._batches
        return (batches[index] for index in range(self._head, len(batches)))

    @property
    def first(self) -> Batch:
        """The lowest batch. Raise IndexError when there is none."""
        return self._batches[self._head]

    @property
    def last(self) -> Batch:
        """The highest batch. Raise IndexError when there is none."""
        if not self.count:
            raise IndexError("no batch is in flight")
        return self._batches[-1]

    @property
    def last_offset(self) -> int:
        """The last offset of the highest batch; -1 when there is none."""
        return self._batches[-1].last_offset if self.count else -1

    def floor(self, offset: int) -> Batch | None:
        """Return the highest batch that starts at or below `offset`, which it need not contain; None if there
        is none.
        """
        index = bisect_right(self._firsts, offset, self._head) - 1
        return self._batches[index] if index >= self._head else None

    def starting_in(self, first: int, last: int) -> list[Batch]:
        """Return the batches whose first offset is in `first..last` (inclusive), ascending."""
        low = bisect_left(self._firsts, first, self._head)
        return self._batches[low : bisect_right(self._firsts, last, low)]

    def overlapping(self, first: int, last: int) -> list[Batch]:
        """Return the batches with an offset in `first..last` (inclusive), ascending."""
        firsts, head, batches = self._firsts, self._head, self._batches
        low = bisect_right(firsts, first, head) - 1
        if low < head:
            low = head
        high = bisect_right(firsts, last, low)
        if low < high and batches[low].last_offset < first:
            low += 1
        return batches[low:high]

    def from_offset(self, offset: int) -> Iterator[Batch]:
        """Yield the batches that end at or above `offset`, ascending. The map must not change during the iteration."""
        low = max(bisect_right(self._firsts, offset, self._head) - 1, self._head)
        for index in range(low, len(self._batches)):
            if self._batches[index].last_offset >= offset:
                yield self._batches[index]

    def next_first(self, offset: int) -> int | None:
        """Return the lowest first offset of a batch above `offset`; None if there is none."""
        index = bisect_right(self._firsts, offset, self._head)
        return self._firsts[index] if index < len(self._firsts) else None

    def add(self, batch: Batch) -> None:
        """Add a batch that overlaps none of the others."""
        self.count += 1
        if not self._firsts or batch.first_offset > self._firsts[-1]:
            self._firsts.append(batch.first_offset)
            self._batches.append(batch)
            return
        index = bisect_left(self._firsts, batch.first_offset, self._head)
        self._firsts.insert(index, batch.first_offset)
        self._batches.insert(index, batch)

    def drop(self, count: int) -> None:
        """Remove the `count` lowest batches."""
        self.count -= count
        self._head += count
        if self._head * 2 >= len(self._firsts):
            del self._firsts[: self._head]
            del self._batches[: self._head]
            self._head = 0

    def join_finished(self) -> None:
        """Join adjacent finished batches, where no offset lies between them.

        They stay until the start offset moves over them, which a waiting record may delay for long.
        """
        joined: list[Batch] = []
        for batch in self:
            before = joined[-1] if joined else None
            if (
                isinstance(before, InFlightBatch)
                and isinstance(batch, InFlightBatch)
                and before.last_offset + 1 == batch.first_offset
                and before.unfinished_from() is None
                and batch.unfinished_from() is None
            ):
                before.append(batch)
            else:
                joined.append(batch)
        self._batches, self._head, self.count = joined, 0, len(joined)
        self._firsts = [each.first_offset for each in joined]

    def clear(self) -> None:
        """Remove every batch."""
        self.drop(len(self))
