"""Batches in flight: ranges of offsets that were acquired together, cut into runs of equal status.

    offsets   110     111 ... 118     119
    starts   [110,    111,            119]
    statuses [AVAIL,  ACQUIRED m1,    ACKNOWLEDGED]

A batch is one run until its offsets get different statuses, so acquiring or accepting all of it costs one object,
however many records it has.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from operator import is_not
from typing import Any, ClassVar, Final

from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.protocol.passes.runs import accept, available_in, from_front, hand_out, replaced, settle

_NEW: Final = tuple.__new__


class InFlightBatch:
    """Offsets `first_offset..last_offset` (both inclusive). Owned by the share partition's `InFlightWindow`.

    `offset_form` is True once the batch's offsets have been acquired or acknowledged one by one. Apache Kafka then
    keeps a state per offset and never returns to one per batch; a few rules answer differently from then on (such as
    for an acknowledgement that starts in a hole behind the batch), so the flag stays True although equal runs merge
    again here. A batch that is not in offset form is a single run. `peak_count` is at least the highest delivery count
    of its records. `since_ms` is when its records were put in flight: by their first delivery or, after a load, by the
    load.
    """

    __slots__ = ("first_offset", "last_offset", "offset_form", "peak_count", "since_ms", "starts", "statuses")
    by_offset: ClassVar[bool] = False

    def __init__(self, first_offset: int, last_offset: int, status: DeliveryStatus, since_ms: int = 0) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.offset_form = False
        self.peak_count = status.delivery_count
        self.since_ms = since_ms
        self.starts = [first_offset]
        self.statuses = [status]

    @property
    def size(self) -> int:
        """The number of its offsets, finished ones included. Delivery throttling depends on it."""
        return self.last_offset - self.first_offset + 1

    def index_of(self, offset: int) -> int:
        """Return the index of the run that contains `offset`, which lies inside the batch."""
        return bisect_right(self.starts, offset) - 1

    def status_at(self, offset: int) -> DeliveryStatus:
        """Return the status of `offset`, which lies inside the batch."""
        return self.statuses[bisect_right(self.starts, offset) - 1]

    def end_of(self, index: int) -> int:
        """Return the last offset (inclusive) of the run at `index`."""
        return self.starts[index + 1] - 1 if index + 1 < len(self.starts) else self.last_offset

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int, DeliveryStatus]]:
        """Yield the runs that overlap `first..last`, cut to it, ascending. The batch must not change during the
        iteration.
        """
        starts, statuses = self.starts, self.statuses
        if len(starts) == 1:
            yield max(first, self.first_offset), min(last, self.last_offset), statuses[0]
            return
        low, high = max(self.index_of(first), 0), bisect_right(starts, last)
        for index in range(low, high - 1):
            yield max(starts[index], first), starts[index + 1] - 1, statuses[index]
        if low < high:
            yield max(starts[high - 1], first), min(self.end_of(high - 1), last), statuses[high - 1]

    def available(self, first: int, last: int) -> Iterator[tuple[int, int, DeliveryStatus]]:
        """Yield the results of `runs` that may be acquired. This is quicker than `runs` where only few may be
        acquired.
        """
        starts, statuses = self.starts, self.statuses
        low, high = max(bisect_right(starts, first) - 1, 0), bisect_right(starts, last)
        for index in range(low, high - 1):
            status = statuses[index]
            if status.available:
                start = starts[index]
                yield start if start > first else first, starts[index + 1] - 1, status
        if low < high and statuses[high - 1].available:
            yield max(starts[high - 1], first), min(self.end_of(high - 1), last), statuses[high - 1]

    def first_available(self, first: int) -> int | None:
        """Return the lowest offset from `first` on that may be acquired; None if there is none. `first` must not be
        behind the batch.
        """
        starts, statuses = self.starts, self.statuses
        for index in range(max(bisect_right(starts, first) - 1, 0), len(starts)):
            if statuses[index].available:
                return max(starts[index], first)
        return None

    def count_available(self, first: int, last: int) -> tuple[int, int]:
        """Return how many offsets of `first..last` (inclusive), a part of the batch, may be acquired, and the highest
        of them, or -1.
        """
        return available_in(self.starts, self.statuses, self.last_offset + 1, first, last)

    def from_front(
        self, first: int, last: int, waits: object, taken: int, passed: int, fetch_cost: int, far: float
    ) -> tuple[list[tuple[int, int, DeliveryStatus]], int, int]:
        """Return the parts of `first..last` (inclusive), a part of the batch, that are to be handed out: see
        `runs.from_front`.
        """
        end = self.last_offset + 1
        return from_front(self.starts, self.statuses, end, first, last, waits, taken, passed, fetch_cost, far)

    def hand_out(
        self,
        parts: list[tuple[int, int, DeliveryStatus]],
        acquired: Callable[[Any, DeliveryStatus], DeliveryStatus],
        ranges: list[Any],
        range_type: Any,
    ) -> int:
        """Give each of `parts` (at least one, ascending, with its current status) the status `acquired(batch, status)`.

        Add a `range_type` for each to `ranges`, with its offsets and delivery count. Return the number of offsets.
        """
        self.offset_form = True
        at, end = 0, self.last_offset + 1
        while at < len(parts):
            first, last, status = parts[at]
            new, before = acquired(self, status), at
            at = hand_out(self.starts, self.statuses, end, parts, at, status, new, ranges, _NEW, range_type)
            if at == before:  # a part of a run
                self.overwrite(first, last, [first], [new])
                ranges.append(range_type(first, last, new.delivery_count))
                at += 1
        return sum(last - first + 1 for first, last, _ in parts)

    def accept(
        self, acks: list[int], at: int, owned: DeliveryStatus, target: DeliveryStatus, rows: list[Any], row_type: Any
    ) -> tuple[int, int, int]:
        """Accept records by the acknowledgements in `acks` from `at` on, as many as possible in one pass: see
        `runs.accept`.
        """
        end = self.last_offset + 1
        return accept(self.starts, self.statuses, end, acks, at, owned, target, rows, _NEW, row_type)

    def overwrite(self, first: int, last: int, starts: list[int], statuses: list[DeliveryStatus]) -> None:
        """Replace `first..last`, which lies inside the batch, by runs. No two adjacent ones may be equal.

        `starts[0]` is `first`. The lists become the batch's own.
        """
        if first == self.first_offset and last == self.last_offset:
            self.offset_form = self.offset_form or len(starts) > 1
            self.starts, self.statuses = starts, statuses
            return
        self.offset_form = True
        low, high = self.index_of(first), bisect_left(self.starts, last + 1)
        cut = self.statuses[high - 1]
        if self.end_of(high - 1) > last and cut is not statuses[-1]:
            starts = [*starts, last + 1]
            statuses = [*statuses, cut]
        if self.starts[low] < first:
            low += 1
        self._put(low, high, starts, statuses)

    def overwrite_many(self, parts: Sequence[tuple[int, int, DeliveryStatus]]) -> None:
        """Call `overwrite` for several single runs, ascending and disjoint, anywhere in the batch.

        Many runs are written in one pass over all of the batch's runs.
        """
        if len(parts) * 8 < len(self.starts) or len(parts) < 3:
            for first, last, status in parts:
                self.overwrite(first, last, [first], [status])
            return
        self.offset_form = True
        old_starts, old_statuses = self.starts, self.statuses
        starts: list[int] = []
        statuses: list[DeliveryStatus] = []
        copied = 0  # runs below this index have been copied as far as they stay
        for first, last, status in parts:
            low = bisect_right(old_starts, first, max(copied - 1, 0)) - 1
            if low >= copied:
                starts += old_starts[copied : low + 1]
                statuses += old_statuses[copied : low + 1]
            if starts[-1] == first:
                statuses[-1] = status
            else:
                starts.append(first)
                statuses.append(status)
            high = low if first == last else bisect_right(old_starts, last, low) - 1
            if last < (old_starts[high + 1] - 1 if high + 1 < len(old_starts) else self.last_offset):
                starts.append(last + 1)
                statuses.append(old_statuses[high])
            copied = high + 1
        starts += old_starts[copied:]
        statuses += old_statuses[copied:]
        self.starts, self.statuses = merged(starts, statuses)

    def replace(self, offsets: list[int], old: DeliveryStatus, new: DeliveryStatus) -> list[int]:
        """Change the status of those of `offsets` that have the status `old` to `new`; return the other ones.

        `offsets` ascend, are at least one, and lie in the batch. One compiled pass looks at the runs between them.
        """
        starts, statuses = self.starts, self.statuses
        low, high = self.index_of(offsets[0]), bisect_right(starts, offsets[-1])
        end = starts[high] if high < len(starts) else self.last_offset + 1
        parts = replaced(starts[low:high], statuses[low:high], end, offsets, old, new)
        if len(parts[2]) < len(offsets):
            self.offset_form = True
            self._put(low, high, parts[0], parts[1])
        return parts[2]

    def _put(self, low: int, high: int, starts: Sequence[int], statuses: Sequence[DeliveryStatus]) -> None:
        """Replace the runs with indexes from `low` to `high` (exclusive), and merge neighbours of the same status."""
        if high < len(self.statuses) and self.statuses[high] is statuses[-1]:
            high += 1
        if low and self.statuses[low - 1] is statuses[0]:
            low -= 1
            starts = [self.starts[low], *starts[1:]]
        self.starts[low:high] = starts
        self.statuses[low:high] = statuses

    def commit(
        self, first: int, last: int, write_id: int
    ) -> tuple[Sequence[tuple[int, int, DeliveryStatus]], int | None]:
        """Settle the pending transitions of the write `write_id`, all of which lie within `first..last`.

        Return the settled runs with their current status, and the first offset that became available, None if there is
        none.
        """
        if len(self.statuses) == 1:
            status = self.statuses[0]
            if status.write_id != write_id:
                return (), first if status.available else None
            self.statuses[0] = status = status.after or status
            return ((self.first_offset, self.last_offset, status),), first if status.available else None
        low, high = self.index_of(first), bisect_right(self.starts, last)
        starts, statuses, changed, available = settle(
            self.starts[low:high], self.statuses[low:high], self.end_of(high - 1) + 1, write_id
        )
        self._put(low, high, starts, statuses)
        return changed, available if available >= 0 else None

    def unfinished_from(self) -> int | None:
        """Return where the first unfinished run begins; None if all are finished."""
        if len(self.statuses) == 1:
            return None if self.statuses[0].done else self.first_offset
        return next((self.starts[index] for index, status in enumerate(self.statuses) if not status.done), None)

    def append(self, following: InFlightBatch) -> None:
        """Add the offsets of a batch that begins where this one ends."""
        self.last_offset = following.last_offset
        self.offset_form = True
        self.peak_count = max(self.peak_count, following.peak_count)
        begin = 1 if self.statuses[-1] is following.statuses[0] else 0
        self.starts += following.starts[begin:]
        self.statuses += following.statuses[begin:]

    def forget_below(self, offset: int, status: DeliveryStatus) -> None:
        """Replace all runs below `offset` (at least one; a run begins at `offset`) by one run with this status."""
        index = self.index_of(offset)
        self.starts[:index] = [self.first_offset]
        self.statuses[:index] = [status]


def merged(starts: list[int], statuses: list[DeliveryStatus]) -> tuple[list[int], list[DeliveryStatus]]:
    """Return the runs with equal neighbours merged."""
    different = [True, *map(is_not, statuses[1:], statuses)]
    if all(different):
        return starts, statuses
    return list(compress(starts, different)), list(compress(statuses, different))
