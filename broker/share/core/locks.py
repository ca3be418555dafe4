"""Acquisition locks, and times before which records are not delivered again, as data: one heap entry for each range."""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections.abc import Iterator
from typing import Final

from shareq.broker.share.core.window.delivery_limit import after_release
from shareq.broker.share.core.window.delivery_status import NO_DEADLINE, NO_DELAY, DeliveryStatus, settled
from shareq.broker.share.core.window.redelivery import not_before
from shareq.broker.share.core.window.window import Change, InFlightWindow, Run
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.share import RecordState

_SMALLEST_REBUILD = 256
MOST_LAPSED: Final = 1_000
"""The most members kept for one share partition. A group has at most 200 members, unless it is configured otherwise."""


class Lapsed:
    """The members whose locks have expired, and that have acknowledged nothing since. Owned by one `SharePartition`.

    Other waiting members get records before these: otherwise a client that hangs, or fetches without working, would use
    up the deliveries of records.
    """

    __slots__ = ("_members",)

    def __init__(self) -> None:
        self._members: dict[str, None] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def add(self, member_id: str) -> None:
        """Note that a lock of the member has expired. If there are too many members, forget the one noted first."""
        self._members.pop(member_id, None)
        self._members[member_id] = None
        if len(self._members) > MOST_LAPSED:
            del self._members[next(iter(self._members))]

    def discard(self, member_id: str) -> None:
        """Forget a member, because it acknowledges records."""
        self._members.pop(member_id, None)


class Deadlines:
    """Deadlines of ranges of offsets. An entry may be outdated: only the status of its records shows if the deadline
    still holds.

    Owned by one `SharePartition`; `heap` is empty without any.
    """

    __slots__ = ("_rebuild_at", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, int]] = []  # deadline_ms, first offset, last offset (inclusive)
        self._rebuild_at = _SMALLEST_REBUILD

    def __len__(self) -> int:
        return len(self.heap)

    def add(self, window: InFlightWindow, deadline_ms: int, first: int, last: int) -> None:
        """Note that `first..last` (inclusive) has the deadline `deadline_ms`."""
        if len(self.heap) >= self._rebuild_at:  # every renewal leaves an entry behind
            # What the same event has added may not have its status yet.
            self.heap = [entry for entry in self.heap if entry[0] == deadline_ms]
            self.heap += self._live(window)
            heapq.heapify(self.heap)
            self._rebuild_at = max(_SMALLEST_REBUILD, 2 * len(self.heap))
        heapq.heappush(self.heap, (deadline_ms, first, last))

    def next_deadline_ms(self, window: InFlightWindow) -> int | None:
        """Return the earliest deadline, None if there is none. It may be outdated: its records may have been
        acknowledged.
        """
        heap = self.heap
        if not window.batches.count:
            heap.clear()
        if not heap:
            return None
        lowest = window.batches.first.first_offset
        while heap[0][2] < lowest:
            heapq.heappop(heap)
            if not heap:
                return None
        return heap[0][0]

    def due(self, now_ms: int) -> list[tuple[int, int]]:
        """Take out the ranges whose deadline is at or before `now_ms`."""
        ranges: list[tuple[int, int]] = []
        while self.heap and self.heap[0][0] <= now_ms:
            _, first, last = heapq.heappop(self.heap)
            ranges.append((first, last))
        return ranges

    def _live(self, window: InFlightWindow) -> Iterator[tuple[int, int, int]]:
        for batch in window.batches:
            deadline, first, last = NO_DEADLINE, 0, 0
            for run_first, run_last, status in batch.runs(batch.first_offset, batch.last_offset):
                own = self._deadline_of(status)
                if own != deadline:
                    if deadline != NO_DEADLINE:
                        yield deadline, first, last
                    deadline, first = own, run_first
                last = run_last
            if deadline != NO_DEADLINE:
                yield deadline, first, last

    @abstractmethod
    def _deadline_of(self, status: DeliveryStatus) -> int:
        """Return a status's deadline; NO_DEADLINE when it has none."""


class AcquisitionLocks(Deadlines):
    """The times when acquisition locks expire."""

    __slots__ = ()

    def _deadline_of(self, status: DeliveryStatus) -> int:
        return status.lock_deadline_ms


class RedeliveryTimes(Deadlines):
    """The times when failed records may be delivered again."""

    __slots__ = ()

    def _deadline_of(self, status: DeliveryStatus) -> int:
        return status.not_before_ms or NO_DEADLINE


def wake(window: InFlightWindow, times: RedeliveryTimes, now_ms: int) -> bool:
    """Make records available whose wait has ended; return True if there were any. Nothing is written: the end of a wait
    changes no persisted state.
    """

    def woken(status: DeliveryStatus) -> DeliveryStatus:
        if status.not_before_ms == NO_DELAY or status.not_before_ms > now_ms:
            return status
        return settled(RecordState.AVAILABLE, status.delivery_count)

    found = False
    for first, last in times.due(now_ms):
        for batch in window.batches.overlapping(first, last):
            found = bool(window.remap(batch, first, last, woken)) or found
    return found


def expire(
    window: InFlightWindow, locks: AcquisitionLocks, now_ms: int, settings: ShareGroupSettings, lapsed: Lapsed
) -> list[Run]:
    """Release records whose lock has passed its deadline; return the changed runs, ascending. Note their owners in
    `lapsed`.

    The release is effective at once. A record becomes available, perhaps after a delay; at the delivery count limit, or
    below the start offset, it is archived. A record whose acknowledgement is being written is left: if the write fails,
    it is released then.
    """
    below = _expiry(now_ms, lapsed, None)
    above = _expiry(now_ms, lapsed, settings)
    changed: list[Run] = []
    for first, last in locks.due(now_ms):
        if settings.redelivery.initial_ms:
            above = _expiry(now_ms, lapsed, settings, first)
        for batch in window.batches.overlapping(first, last):
            changed += window.remap_at_start(batch, first, last, below, above)
    changed.sort(key=lambda run: run[0])
    return changed


def _expiry(now_ms: int, lapsed: Lapsed, settings: ShareGroupSettings | None, first: int = 0) -> Change:
    """Return the function that changes the statuses of a range beginning at `first` when locks expire. Without
    settings, it archives everything.
    """
    memo: dict[int, DeliveryStatus] = {}

    def expired(status: DeliveryStatus) -> DeliveryStatus:
        if status.deadline_ms > now_ms:
            return status
        lapsed.add(status.owner)
        if settings is None:
            return status.moved(RecordState.ARCHIVED)
        if not settings.redelivery.initial_ms:
            return status.moved(after_release(status, settings))
        count = status.delivery_count
        moved = memo.get(count)
        if moved is None:
            time = not_before(settings.redelivery, now_ms, first, count)
            moved = memo[count] = status.moved(after_release(status, settings), time)
        return moved

    return expired
