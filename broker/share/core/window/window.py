"""The in-flight window of a share partition: its batches between start and end offset, and counts of their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from shareq.broker.share.core.window.batches import BatchMap
from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.protocol.share import RecordState

if TYPE_CHECKING:
    from shareq.broker.share.core.window.batches import Batch

Run = tuple[int, int, DeliveryStatus]  # first offset, last offset (inclusive), status
Change = Callable[[DeliveryStatus], DeliveryStatus]  # the same object back: leave it as it is


class Order(Protocol):
    """The rules that make records wait for others: `key_order.KeyOrder`."""

    def note(self, runs: Iterable[Run]) -> None:
        """Note runs whose status was set or confirmed."""

    def frontier(self, window: InFlightWindow) -> int | None:
        """Return the lowest offset of the window that has to be read before it or a later one is acquired; None if
        there is none.
        """

    def waiting(self) -> int:
        """Return the number of records that wait for an earlier one of their key."""


class GapWindow:
    """The range of a loaded window with offsets that were acquired, or never fetched, when the state was persisted.

    They are the holes between the loaded batches, from `start_offset` to `end_offset` (the end offset at load), and
    have to be delivered again. `start_offset` follows the acquired records, also backwards when a lower record is
    delivered again; the gap ends when it, or the share partition's end offset, has passed `end_offset`. Holes that
    remain then are natural: the log has no records there.
    """

    __slots__ = ("_no_hole_below", "end_offset", "start_offset")

    def __init__(self, start_offset: int, end_offset: int) -> None:
        self.start_offset = start_offset
        self.end_offset = end_offset
        self._no_hole_below = start_offset  # no hole from start_offset up to here; saves searching from there each time

    def move(self, start_offset: int) -> None:
        """Move the start: nothing is missing below `start_offset`."""
        back = start_offset < self.start_offset
        self._no_hole_below = start_offset if back else max(self._no_hole_below, start_offset)
        self.start_offset = start_offset

    def first_hole(self, batches: BatchMap) -> int | None:
        """Return the lowest offset, from `start_offset` on, that is in no batch and lies before one; None if there is
        none.
        """
        for batch in batches.from_offset(self._no_hole_below):
            if batch.first_offset > self._no_hole_below:
                return self._no_hole_below
            self._no_hole_below = batch.last_offset + 1
        return None


class InFlightWindow:
    """Batches in flight, and the numbers kept about them. Owned by one `SharePartition`; its parts change it.

    `start_offset` is the lowest unfinished offset. `end_offset` is the highest one in flight (inclusive); with nothing
    in flight it is the next offset to fetch, and equal to `start_offset`. `delivery_complete_count` is the number of
    terminal offsets from `start_offset` on, pending ones included. `undurable_end` (exclusive): records below it may be
    archived in memory alone, because a state write failed. `delayed` is the number of offsets that wait for a time.
    `order` is notified of changes; it is None without order by key.
    """

    __slots__ = (
        "_available_from",
        "batches",
        "delayed",
        "delivery_complete_count",
        "end_offset",
        "gap",
        "order",
        "start_offset",
        "undurable_end",
    )

    def __init__(self) -> None:
        self.batches = BatchMap()
        self.start_offset = 0
        self.end_offset = 0
        self.undurable_end = 0
        self.delivery_complete_count = 0
        self.delayed = 0
        self.gap: GapWindow | None = None
        self.order: Order | None = None
        # A lower bound that saves looking through the whole window for each fetch.
        self._available_from: int | None = None

    # -- questions

    @property
    def active_gap(self) -> GapWindow | None:
        """The gap window; None once it has ended."""
        gap = self.gap
        return gap if gap is not None and gap.end_offset == self.end_offset else None

    def in_flight(self) -> int:
        """Return the used part of the in-flight limit: from start to end offset, with terminal offsets and holes."""
        return self.end_offset - self.start_offset + 1 if self.batches.count else 0

    @property
    def available_from(self) -> int | None:
        """The offset below which none is available; None if no offset is available."""
        return self._available_from

    def first_available(self) -> int | None:
        """Return the lowest offset that may be acquired again; None if there is none."""
        offset = self._available_from
        if offset is None:
            return None
        batch = self.batches.floor(offset)
        if batch is None or offset > batch.last_offset or not batch.status_at(offset).available:
            self._available_from = self._find_available(offset)
        return self._available_from

    def _find_available(self, offset: int) -> int | None:
        for batch in self.batches.from_offset(offset):
            found = batch.first_available(max(offset, batch.first_offset))
            if found is not None:
                return found
        return None

    def runs(self, first: int, last: int) -> Iterator[Run]:
        """Yield the runs that overlap `first..last` (inclusive), cut to it, ascending."""
        for batch in self.batches.overlapping(first, last):
            yield from batch.runs(max(first, batch.first_offset), min(last, batch.last_offset))

    # -- changes

    def note_undurable(self, last_offset: int) -> None:
        """Note that records up to `last_offset` have been archived, but that the state write of this failed."""
        self.undurable_end = max(self.undurable_end, last_offset + 1)

    def note_durable_start(self, start_offset: int) -> None:
        """Note that a state write with this start offset is durable: everything below it is finished for good."""
        if start_offset >= self.undurable_end:
            self.undurable_end = 0

    def note_available(self, offset: int) -> None:
        """Note that records from `offset` on have become available."""
        if self._available_from is None or offset < self._available_from:
            self._available_from = offset

    def remap(self, batch: Batch, first: int, last: int, change: Change) -> list[Run]:
        """Change the status of the records of `first..last`, which overlaps the batch, to the result of `change`.

        Return the changed runs. `change` is called once per run; it should return the same object for equal runs.
        """
        first, last = max(first, batch.first_offset), min(last, batch.last_offset)
        starts: list[int] = []
        statuses: list[DeliveryStatus] = []
        changed: list[Run] = []
        for run_first, run_last, status in batch.runs(first, last):
            new = change(status)
            if not statuses or statuses[-1] is not new:
                starts.append(run_first)
                statuses.append(new)
            if new is not status:
                changed.append((run_first, run_last, new))
                if new.terminal != status.terminal:
                    self.count_terminal(run_first, run_last, 1 if new.terminal else -1)
                if (not new.not_before_ms) is not (not status.not_before_ms):
                    self.delayed += (run_last - run_first + 1) * (1 if new.not_before_ms else -1)
                if new.available:
                    self.note_available(run_first)
        if changed:
            batch.overwrite(first, last, starts, statuses)
            if self.order is not None:
                self.order.note(changed)
        return changed

    def remap_at_start(self, batch: Batch, first: int, last: int, below: Change, above: Change) -> list[Run]:
        """Call `remap` with the change `below` for offsets under the start offset and `above` for the others."""
        start = self.start_offset
        changed = self.remap(batch, first, min(last, start - 1), below) if first < start else []
        if last >= start:
            changed += self.remap(batch, max(first, start), last, above)
        return changed

    def archive(self, first: int, last: int, state: RecordState) -> None:
        """Archive the records in `state` among `first..last` (inclusive): they have left the log."""
        memo: dict[DeliveryStatus, DeliveryStatus] = {}

        def archived(status: DeliveryStatus) -> DeliveryStatus:
            if status.state is not state:
                return status
            return memo.setdefault(status, status.archived())

        for batch in self.batches.overlapping(first, last):
            self.remap(batch, first, last, archived)

    def count_terminal(self, first: int, last: int, sign: int) -> None:
        """Count `first..last` (inclusive) as having become terminal (`sign` 1), or as no longer terminal (-1)."""
        first = max(first, self.start_offset)
        if first <= last:
            self.delivery_complete_count += sign * (last - first + 1)

    def move_start(self, start_offset: int) -> None:
        """Move the start offset forward; terminal records below it no longer count. Batches stay."""
        if self.delivery_complete_count:
            for first, last, status in self.runs(self.start_offset, start_offset - 1):
                if status.terminal:
                    self.delivery_complete_count -= last - first + 1
        self.start_offset = start_offset

    def finish(self, start_offset: int) -> None:
        """Move the start offset forward over terminal records and over offsets in no batch."""
        before = self.start_offset
        for batch in self.batches.overlapping(before, start_offset - 1):
            first, last = batch.first_offset, batch.last_offset
            self.delivery_complete_count -= min(last + 1, start_offset) - max(first, before)
        self.start_offset = start_offset

    def clear(self, offset: int) -> None:
        """Empty the window; `offset` is the next one to fetch."""
        self.batches.clear()
        self.start_offset = self.end_offset = offset
        self.delivery_complete_count = self.delayed = 0
        self.gap = None
        self._available_from = None
