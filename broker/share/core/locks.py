"""Acquisition locks as data: one heap entry per acquired range, looked at when it is due."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from shareq.broker.share.core.window.delivery_limit import after_release
from shareq.broker.share.core.window.delivery_status import NO_DEADLINE, DeliveryStatus
from shareq.broker.share.core.window.record_state import RecordState
from shareq.broker.share.core.window.window import Change, InFlightWindow, Run
from shareq.coordinator.ports import ShareGroupSettings

_SMALLEST_REBUILD = 256


class AcquisitionLocks:
    """Deadlines of ranges. An entry outlives its lock: whether a record is still locked, only its status says.

    Owned by one `SharePartition`.
    """

    __slots__ = ("_heap", "_rebuild_at")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int]] = []  # deadline_ms, first offset, last offset (inclusive)
        self._rebuild_at = _SMALLEST_REBUILD

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, window: InFlightWindow, deadline_ms: int, first: int, last: int) -> None:
        """Look at `first..last` (inclusive) when `deadline_ms` has come."""
        if len(self._heap) >= self._rebuild_at:  # every renewal leaves an entry behind
            self._heap = list(_live(window))
            heapq.heapify(self._heap)
            self._rebuild_at = max(_SMALLEST_REBUILD, 2 * len(self._heap))
        heapq.heappush(self._heap, (deadline_ms, first, last))

    def next_deadline_ms(self, window: InFlightWindow) -> int | None:
        """When to look again. Nothing need have expired then: the range may have been acknowledged meanwhile."""
        if not window.batches:
            self._heap.clear()
            return None
        lowest = window.batches.first.first_offset
        while self._heap and self._heap[0][2] < lowest:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> list[tuple[int, int]]:
        """Take out the ranges whose deadline is at or before `now_ms`."""
        ranges: list[tuple[int, int]] = []
        while self._heap and self._heap[0][0] <= now_ms:
            _, first, last = heapq.heappop(self._heap)
            ranges.append((first, last))
        return ranges


def _live(window: InFlightWindow) -> Iterator[tuple[int, int, int]]:
    for batch in window.batches:
        deadline, first, last = NO_DEADLINE, 0, 0
        for run_first, run_last, status in batch.runs(batch.first_offset, batch.last_offset):
            if status.lock_deadline_ms != deadline:
                if deadline != NO_DEADLINE:
                    yield deadline, first, last
                deadline, first = status.lock_deadline_ms, run_first
            last = run_last
        if deadline != NO_DEADLINE:
            yield deadline, first, last


def expire(window: InFlightWindow, locks: AcquisitionLocks, now_ms: int, settings: ShareGroupSettings) -> list[Run]:
    """Give back what is locked beyond its deadline; the changed runs, ascending.

    Effective at once. A record goes back to available, is given up at the delivery count limit, or archived below the
    start offset. One whose acknowledgement is being written is left alone: a failed write finds the lock expired.
    """
    below = _expiry(now_ms, None)
    above = _expiry(now_ms, settings)
    changed: list[Run] = []
    for first, last in locks.due(now_ms):
        for batch in window.batches.overlapping(first, last):
            changed += window.remap_at_start(batch, first, last, below, above)
    changed.sort(key=lambda run: run[0])
    return changed


def _expiry(now_ms: int, settings: ShareGroupSettings | None) -> Change:
    """What expiry makes of a status. Without settings, everything is archived."""

    def expired(status: DeliveryStatus) -> DeliveryStatus:
        if status.deadline_ms > now_ms:
            return status
        if settings is None:
            return status.moved(RecordState.ARCHIVED)
        return status.moved(after_release(status, settings))

    return expired
