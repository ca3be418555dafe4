"""Batches in flight with a status for each offset: the counterpart of `batch.InFlightBatch` for batches of many short
runs.

With order by key and random keys, nearly every record is a run of its own. A change of a few offsets here reads and
writes only those, while a list of runs would have to be built again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final

from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.protocol.passes.offsets import (
    accept,
    available_run,
    count_available,
    free,
    from_front,
    hand_out,
    put,
    runs_in,
    settle,
    unfinished,
)

MOST_OFFSETS: Final = 1 << 16
"""A batch of more offsets is kept as runs, because in a compacted log most of its offsets may have no record."""
_RUNS_AT_ONCE: Final = 256
_NEW: Final = tuple.__new__


class OffsetBatch:
    """Offsets from `first_offset` on, one for each element of `statuses`; the batch keeps and changes that list. It is
    in offset form.

    See `InFlightBatch` for fields and methods, which have the same results.
    """

    __slots__ = (
        "_finished",
        "_forgotten",
        "first_offset",
        "last_offset",
        "offset_form",
        "peak_count",
        "since_ms",
        "statuses",
    )
    by_offset: ClassVar[bool] = True

    def __init__(self, first_offset: int, statuses: list[DeliveryStatus], peak_count: int, since_ms: int = 0) -> None:
        self.first_offset = first_offset
        self.last_offset = first_offset + len(statuses) - 1
        self.offset_form = True
        self.peak_count = peak_count
        self.since_ms = since_ms
        self.statuses = statuses
        self._finished = 0  # offsets at the front; so many of them were also forgotten
        self._forgotten = 0

    @property
    def size(self) -> int:
        return self.last_offset - self.first_offset + 1

    def status_at(self, offset: int) -> DeliveryStatus:
        return self.statuses[offset - self.first_offset]

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int, DeliveryStatus]]:
        first, last = max(first, self.first_offset), min(last, self.last_offset)
        while first <= last:
            some = runs_in(self.statuses, self.first_offset, first, last, _RUNS_AT_ONCE)
            yield from some
            first = some[-1][1] + 1

    def available(self, first: int, last: int) -> Iterator[tuple[int, int, DeliveryStatus]]:
        base, statuses = self.first_offset, self.statuses
        first, last = max(first, base), min(last, self.last_offset)
        while first <= last:
            first, run_last = available_run(statuses, base, first, last)
            if first <= last:
                yield first, run_last, statuses[first - base]
            first = run_last + 1

    def first_available(self, first: int) -> int | None:
        found, _ = available_run(self.statuses, self.first_offset, max(first, self.first_offset), self.last_offset)
        return found if found <= self.last_offset else None

    def count_available(self, first: int, last: int) -> tuple[int, int]:
        return count_available(self.statuses, self.first_offset, first, last)

    def from_front(
        self, first: int, last: int, waits: object, taken: int, passed: int, fetch_cost: int, far: float
    ) -> tuple[list[tuple[int, int, DeliveryStatus]], int, int]:
        return from_front(self.statuses, self.first_offset, first, last, waits, taken, passed, fetch_cost, far)

    def hand_out(
        self,
        parts: list[tuple[int, int, DeliveryStatus]],
        acquired: Callable[[Any, DeliveryStatus], DeliveryStatus],
        ranges: list[Any],
        range_type: Any,
    ) -> int:
        return hand_out(self.statuses, self.first_offset, parts, acquired, self, ranges, _NEW, range_type)

    def accept(
        self, acks: list[int], at: int, owned: DeliveryStatus, target: DeliveryStatus, rows: list[Any], row_type: Any
    ) -> tuple[int, int, int]:
        return accept(self.statuses, self.first_offset, acks, at, owned, target, rows, _NEW, row_type)

    def overwrite(self, first: int, last: int, starts: list[int], statuses: list[DeliveryStatus]) -> None:
        self._finished = min(self._finished, first - self.first_offset)
        self._forgotten = min(self._forgotten, self._finished)
        put(self.statuses, self.first_offset, starts, statuses, last)

    def overwrite_many(self, parts: Sequence[tuple[int, int, DeliveryStatus]]) -> None:
        for first, last, status in parts:
            self.overwrite(first, last, [first], [status])

    def replace(self, offsets: list[int], old: DeliveryStatus, new: DeliveryStatus) -> list[int]:
        return free(offsets, [self.first_offset], [self.statuses], old, new)[0]

    def commit(
        self, first: int, last: int, write_id: int
    ) -> tuple[Sequence[tuple[int, int, DeliveryStatus]], int | None]:
        changed, available = settle(self.statuses, self.first_offset, first, last, write_id)
        return changed, available if available >= 0 else None

    def unfinished_from(self) -> int | None:
        self._finished = at = unfinished(self.statuses, self._finished)
        return self.first_offset + at if at < len(self.statuses) else None

    def forget_below(self, offset: int, status: DeliveryStatus) -> None:
        put(self.statuses, self.first_offset, [self.first_offset + self._forgotten], [status], offset - 1)
        self._forgotten = offset - self.first_offset
