"""Acquisition of a read's records: records that are available again, holes that a reload left, and new records.

Acquires the same records as Apache Kafka 4.3.1; batches with records that keep failing are handed out in ever smaller
parts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from shareq.broker.share.core.in_flight_limit import room_for
from shareq.broker.share.core.locks import AcquisitionLocks
from shareq.broker.share.core.values import AcquiredRange, BatchSpan, end_of_batch
from shareq.broker.share.core.window.batch import InFlightBatch
from shareq.broker.share.core.window.delivery_limit import largest_company, throttled_from, travels_alone
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.start_offset import move_gap_start
from shareq.broker.share.core.window.window import InFlightWindow, Run
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.share import AcquireMode, RecordState

if TYPE_CHECKING:
    from shareq.broker.share.core.window.batches import Batch

_base_offset = attrgetter("base_offset")
_NEVER_DELIVERED = settled(RecordState.AVAILABLE, 0)

FETCH_IN_RANGES: Final = 40
"""The cost of a fetch from a share partition, as a number of ranges that cost as much to acquire, acknowledge and
persist.
"""
_FAR_FROM_BEST: Final = 1.2
MAX_OFFSET: Final = (1 << 63) - 1


def read_until(
    window: InFlightWindow,
    position: int,
    limit: int,
    mode: AcquireMode,
    max_records: int,
    delivery_count_limit: int,
    furthest: int = MAX_OFFSET,
) -> int:
    """Return the last offset (inclusive) that a read at `position`, the next fetch offset, needs to reach.

    Records behind it would neither be acquired nor change the state. Only records that can be acquired count against
    `max_records`. Where `max_records` is rounded up to a whole in-flight batch, the read reaches the batch's last
    available record; likewise in a batch that may be throttled. New offsets all count as records, although the log may
    have holes there. In-flight batches that begin behind the offset `furthest` are left out.
    """
    allowed = room_for(window, limit, max_records)
    left = allowed if allowed > 0 else max_records
    exact, throttled = mode is AcquireMode.RECORD_LIMIT, throttled_from(delivery_count_limit)
    missing = window.active_gap is not None
    for batch in window.batches.from_offset(position) if position <= window.end_offset else ():
        if missing and position < batch.first_offset:
            if batch.first_offset - position >= left:
                return position + left - 1
            left -= batch.first_offset - position
        begin, end = max(position, batch.first_offset), batch.last_offset
        if begin > furthest:
            return begin - 1
        count, until = batch.count_available(begin, end)
        if exact and count >= left and batch.peak_count < throttled:
            return _offset_of(batch, begin, left)
        left -= count
        if left <= 0:
            return max(until, position - 1)
        position = batch.last_offset + 1
    return position + left - 1


def _offset_of(batch: Batch, begin: int, number: int) -> int:
    """Return the `number`th available offset of the batch from `begin` on. Raise AssertionError if it has fewer."""
    for first, last, _ in batch.available(begin, batch.last_offset):
        if last - first + 1 >= number:
            return first + number - 1
        number -= last - first + 1
    raise AssertionError("so many are available")


class RecordAcquisition:
    """One member's acquisition from one read. `acquired` collects the ranges in ascending order.

    `left` is the rest of the budget of records; it may become negative where a rule rounds up.
    """

    __slots__ = (
        "_budget",
        "_deadline_ms",
        "_enough",
        "_first",
        "_from_front",
        "_last",
        "_limited",
        "_locks",
        "_max_deliveries",
        "_memo",
        "_now_ms",
        "_passed",
        "_spans",
        "_throttle_from",
        "_window",
        "acquired",
        "batch_size",
        "left",
        "member_id",
    )

    def __init__(
        self,
        window: InFlightWindow,
        locks: AcquisitionLocks,
        settings: ShareGroupSettings,
        member_id: str,
        mode: AcquireMode,
        batch_size: int,
        spans: Sequence[BatchSpan],
        now_ms: int,
    ) -> None:
        self._window = window
        self._locks = locks
        self._now_ms = now_ms
        self._deadline_ms = now_ms + settings.record_lock_duration_ms
        self._max_deliveries = settings.delivery_count_limit
        self._throttle_from = throttled_from(settings.delivery_count_limit)
        self._limited = mode is AcquireMode.RECORD_LIMIT
        self._spans = spans
        self._first = spans[0].base_offset
        self._last = spans[-1].last_offset
        self._memo: dict[DeliveryStatus, DeliveryStatus] = {}
        self._budget = 0
        self._enough = self._from_front = False
        self._passed = 0  # runs of waiting records in front of the last acquired one
        self.member_id = member_id
        self.batch_size = max(batch_size, 1)  # zero or less: cut at every record batch
        self.left = 0
        self.acquired: list[AcquiredRange] = []

    def run(self, budget: int, last: int) -> None:
        """Acquire up to `budget` records from the read, up to the offset `last` (inclusive)."""
        window = self._window
        self.left, self._last = budget, last
        position = max(self._first, window.start_offset)  # the front of a record batch may be finished with
        floor = window.batches.floor(position)
        if floor is not None and floor.last_offset >= position:
            position = floor.first_offset
        batches = window.batches.starting_in(position, last) if window.batches else []
        if self._walk(batches, position):
            position = max(position, batches[-1].last_offset + 1) if batches else position
            if self.left > 0 and position <= last:
                self._acquire_new(position, last)
        if self.acquired and window.gap is not None:
            move_gap_start(window, self.acquired[-1].last_offset + 1)

    def run_in_window(self, budget: int, last: int) -> None:
        """Acquire up to `budget` of the records that are available in the window up to the offset `last`
        (inclusive).
        """
        self.left, self._last, self._budget = budget, last, budget
        self._from_front = not self._limited
        for batch in self._window.batches.overlapping(self._first, last):
            if self.left <= 0 or self._enough or not self._acquire_again(batch):
                return

    def _walk(self, batches: list[Batch], position: int) -> bool:
        """Acquire what is available in `batches`, and the holes between them if their records are missing. Return False
        if the acquisition ends here.
        """
        for batch in batches:
            if position < batch.first_offset and self.left > 0 and self._window.active_gap is not None:
                self._acquire_new(position, batch.first_offset - 1)
            position = batch.last_offset + 1
            if self.left <= 0:
                break
            if not self._acquire_again(batch):
                return False
        return True

    def before(self) -> dict[DeliveryStatus, DeliveryStatus]:
        """Return the statuses that this acquisition has given, each with the one it was made from."""
        return {acquired: status for status, acquired in self._memo.items()}

    # -- delivering again

    def _acquire_again(self, batch: Batch) -> bool:
        """Acquire what is available of a batch. Return False if the acquisition ends here, because deliveries are
        throttled.
        """
        throttled = batch.peak_count >= self._throttle_from and self._is_throttled(batch)
        if throttled and self.acquired:
            return False
        whole = self._first <= batch.first_offset and batch.last_offset <= self._last
        if not whole or batch.offset_form or throttled or (self._limited and batch.size > self.left):
            return not (self._acquire_part(batch) and throttled)
        status = batch.statuses[0]
        if status.available:
            batch.statuses[0] = self._acquired_of(batch, status)
            self._acquired_range(batch.first_offset, batch.last_offset, status.delivery_count + 1)
        return True

    def _is_throttled(self, batch: Batch) -> bool:
        """Return True if a record that failed half of the allowed deliveries is about to be delivered again."""
        first, last = max(self._first, batch.first_offset), min(self._last, batch.last_offset)
        return any(
            status.available and status.delivery_count >= self._throttle_from
            for _, _, status in batch.runs(first, last)
        )

    def _acquire_part(self, batch: Batch) -> int:
        """Acquire a batch's available records, with the same effect as offset by offset. Return how many were
        acquired.
        """
        if not batch.offset_form:
            if not batch.statuses[0].available:
                return 0
            batch.offset_form = True
        by_front = self._from_front and batch.peak_count < self._throttle_from
        parts = self._choose_from_front(batch) if by_front else self._choose(batch)
        if not parts:
            return 0
        taken = batch.hand_out(parts, self._acquired_of, self.acquired, AcquiredRange)
        self.left -= taken
        self._locks.add(self._window, self._deadline_ms, parts[0][0], parts[-1][1])
        return taken

    def _choose(self, batch: Batch) -> list[Run]:
        """Return the available runs to take from a batch, each with the status it has now.

        The module `delivery_limit` decides which records are delivered alone, or with few others. As in Apache Kafka,
        such a record ends the choice only if exactly its quota has been taken by then; if more records have been taken
        already, the choice continues.
        """
        available_from = self._window.available_from
        if available_from is None:
            return []
        first = max(self._first, available_from)
        last = min(self._last, batch.last_offset)
        parts: list[Run] = []
        taken, quota = 0, 0
        for run_first, run_last, status in batch.available(first, last) if first <= last else ():
            count = status.delivery_count
            room = run_last - run_first + 1
            throttled = count >= self._throttle_from
            alone = throttled and travels_alone(count, self._max_deliveries)
            if alone:
                if taken:
                    break
                room = 1
            if throttled and not quota:
                quota = largest_company(count, self._max_deliveries, batch.size)
            if self._limited:
                room = min(room, self.left - taken)
            if taken < quota:
                room = min(room, quota - taken)
            parts.append((run_first, run_first + room - 1, status))
            taken += room
            if alone or taken == quota or (self._limited and taken == self.left):
                break
        return parts

    def _choose_from_front(self, batch: Batch) -> list[Run]:
        """Choose like `_choose`, but with order by key: as many records from the front as make the cost per record
        lowest.

        Records that wait for their keys divide the available ones into ranges, which become shorter further back. The
        cost to be divided among the records is that of the fetch (`FETCH_IN_RANGES`), and one range for each run that
        waits. `_enough` becomes True if the choice ends before the batch does.
        """
        available_from, first, last = self._window.available_from, batch.first_offset, batch.last_offset
        if available_from is None:
            return []
        first, last = max(self._first, available_from, first), self._last if self._last < last else last
        if first > last:
            return []
        taken = self._budget - self.left
        parts, count, self._passed = batch.from_front(
            first, last, RecordState.AVAILABLE, taken, self._passed, FETCH_IN_RANGES, _FAR_FROM_BEST
        )
        self._enough = count < len(parts)
        return parts[:count]

    # -- new records

    def _acquire_new(self, first: int, last: int) -> None:
        """Acquire `first..last` (inclusive), where nothing is in flight, rounding the budget up to the end of a record
        batch.
        """
        window = self._window
        if last - first + 1 > self.left:
            last = min(last, end_of_batch(self._spans, first + self.left - 1))
        lowest = not window.batches or first < window.batches.first.first_offset
        if self._limited:
            self._add_limited(first, last)
        else:
            for range_first, range_last in self.cut(first, last):
                self._add(range_first, range_last)
        if lowest and first > window.start_offset:
            window.move_start(first)  # over what the log no longer has
        window.end_offset = max(window.end_offset, last)
        move_gap_start(window, self.acquired[-1].last_offset + 1)

    def cut(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield `first..last` in parts of at least `batch_size` offsets; each part begins where a record batch
        begins.
        """
        index = 0
        while last - first + 1 > self.batch_size:
            index = bisect_left(self._spans, first + self.batch_size, index, key=_base_offset)
            if index == len(self._spans) or self._spans[index].base_offset > last:
                break
            yield first, self._spans[index].base_offset - 1
            first = self._spans[index].base_offset
        yield first, last

    def _add(self, first: int, last: int) -> None:
        self._window.batches.add(InFlightBatch(first, last, self._acquired(_NEVER_DELIVERED), self._now_ms))
        self._acquired_range(first, last, 1)

    def _add_limited(self, first: int, last: int) -> None:
        """Add one in-flight batch for all of `first..last`; its records beyond the budget are available for the next
        fetch.
        """
        acquired_last = min(last, first + self.left - 1)
        if acquired_last == last:
            self._add(first, last)
            return
        batch = InFlightBatch(first, last, _NEVER_DELIVERED, self._now_ms)
        batch.overwrite(first, acquired_last, [first], [self._acquired(_NEVER_DELIVERED)])
        batch.peak_count = 1
        self._window.batches.add(batch)
        self._window.note_available(acquired_last + 1)
        self._acquired_range(first, acquired_last, 1)

    # -- both

    def _acquired(self, status: DeliveryStatus) -> DeliveryStatus:
        acquired = self._memo.get(status)
        if acquired is None:
            acquired = self._memo[status] = status.acquired(self.member_id, self._deadline_ms, self._now_ms)
        return acquired

    def _acquired_of(self, batch: Batch, status: DeliveryStatus) -> DeliveryStatus:
        acquired = self._acquired(status)
        if batch.peak_count < acquired.delivery_count:
            batch.peak_count = acquired.delivery_count
        return acquired

    def _acquired_range(self, first: int, last: int, delivery_count: int) -> None:
        self.acquired.append(AcquiredRange(first, last, delivery_count))
        self.left -= last - first + 1
        self._locks.add(self._window, self._deadline_ms, first, last)
