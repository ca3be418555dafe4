"""Order by key (`shareq.order=key`, our own): which records of the window wait for an earlier one of their key.

A record is finished when it is acknowledged, archived or archiving, and no write can undo that. The heads of a key are
its lowest unfinished records: as many as `shareq.order.records.per.key` says, usually one. Every other available record
waits. It has the status that `waiting` returns, which does not count as available and is not persisted; reads skip it.
Keys are hashes; a record without a key never waits. Keys are unknown after a load, so the records in flight are read
before any is handed out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from shareq.broker.share.core.window.batch import InFlightBatch
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.offset_batch import MOST_OFFSETS, OffsetBatch
from shareq.broker.share.core.window.window import InFlightWindow, Run
from shareq.protocol.passes.chains import KeyChains
from shareq.protocol.passes.offsets import free, runs_in
from shareq.protocol.records.keys import KeyHashes
from shareq.protocol.share import RecordState

if TYPE_CHECKING:
    from shareq.broker.share.core.window.batches import Batch

_NEVER_DELIVERED = settled(RecordState.AVAILABLE, 0)
LONG_PART: Final = 8
"""In offsets: if ranges that become available together have at least this length on average, a batch is kept as
runs.
"""

Cut = Callable[[int, int], Iterable[tuple[int, int]]]
"""A function that divides the offsets from the first to the last (inclusive) into parts that are handed out
together.
"""


@cache
def waiting(delivery_count: int) -> DeliveryStatus:
    """Return the one status that all records of this delivery count share while they wait for an earlier record of
    their key.
    """
    status = DeliveryStatus(RecordState.AVAILABLE, delivery_count)
    status.available = False
    return status


def is_waiting(status: DeliveryStatus) -> bool:
    """Return True if a record with this status waits for an earlier one of its key."""
    return status is waiting(status.delivery_count)


def is_finished(status: DeliveryStatus) -> bool:
    """Return True if a record with this status is not delivered again, and no write under way can change that."""
    return status.done or (status.state is RecordState.ARCHIVING and not status.write_id)


class KeyOrder:
    """The keys of the unfinished records of one window, from its start offset to `known_until` (exclusive).

    A record from `known_until` on may be acquired only after `enter` was called for it. Status changes are noted
    (`note`) while an event is processed and take effect together at its end (`settle`), unless they are held back
    (`hold`). `per_key` is the number of heads that a key may have.
    """

    __slots__ = ("_chains", "_changed", "_held", "known_until", "per_key")

    def __init__(self, known_until: int, per_key: int = 1) -> None:
        self.known_until = known_until
        self.per_key = per_key
        self._chains = KeyChains(per_key)
        self._changed: list[Run] = []
        self._held: dict[int, list[Run]] = {}  # by the state write that makes them durable

    def __len__(self) -> int:
        """Return the number of unfinished records with a known key."""
        return len(self._chains)

    def waiting(self) -> int:
        return self._chains.waiting()

    @staticmethod
    def makes_wait(status: DeliveryStatus) -> bool:
        """Return True if a record of this status waits for an earlier one of its key."""
        return is_waiting(status)

    def heads(self) -> Callable[[int], int | None]:
        """Return a function that returns, for an offset, the lowest unfinished offset of its key, which may be the
        same.

        It returns None if the key is not known, or the record is finished. It shows the state at the time of this call.
        """
        return self._chains.heads().get

    # -- what is not known yet

    def frontier(self, window: InFlightWindow) -> int | None:
        """Return the lowest offset of the window, from `known_until` on, that is unfinished or missing; None if every
        key is known.
        """
        position = self.known_until
        if position < window.start_offset:
            position = window.start_offset
        if position > window.end_offset:
            self.known_until = position
            return None
        missing = window.active_gap is not None
        for batch in window.batches.from_offset(position):
            if missing and position < batch.first_offset:
                break
            unfinished = _first_unfinished(batch, position)
            if unfinished is not None:
                self.known_until = unfinished
                return unfinished
            position = batch.last_offset + 1
        self.known_until = position
        return position if position <= window.end_offset and missing else None

    def enter(self, window: InFlightWindow, first: int, last: int, keys: KeyHashes, now_ms: int, cut: Cut) -> None:
        """Take the `keys` of the offsets `first..last` (inclusive) from a read. From `known_until` on, records in
        flight get their keys, and missing or new records enter the window as available or waiting, in in-flight batches
        as divided by `cut`.

        All of the window below `first` is known, or finished.
        """
        position = max(first, self.known_until, window.start_offset)
        if position > last:
            return
        missing = window.active_gap is not None
        for batch in window.batches.overlapping(position, last):
            if missing and position < batch.first_offset:
                self._add(window, position, batch.first_offset - 1, keys, now_ms, cut)
            self._get_to_know(batch, max(position, batch.first_offset), min(last, batch.last_offset), keys)
            position = batch.last_offset + 1
        if position <= last:
            self._add(window, position, last, keys, now_ms, cut)
        self.known_until = last + 1

    def _get_to_know(self, batch: Batch, first: int, last: int, keys: KeyHashes) -> None:
        behind: list[Run] = []
        for run_first, run_last, status in batch.runs(first, last):
            if is_finished(status):
                continue
            waits = self._register(run_first, run_last, keys)
            if status.available:
                behind += [(*span, waiting(status.delivery_count)) for span in waits]
        for span_first, span_last, status in behind:
            batch.overwrite(span_first, span_last, [span_first], [status])

    def _add(self, window: InFlightWindow, first: int, last: int, keys: KeyHashes, now_ms: int, cut: Cut) -> None:
        """Add `first..last`, where nothing is in flight, to the window."""
        if first > window.start_offset and (not window.batches or first < window.batches.first.first_offset):
            window.move_start(first)  # over what the log no longer has
        window.end_offset = max(window.end_offset, last)
        if last - first >= MOST_OFFSETS:
            for part_first, part_last in cut(first, last):
                self._add_batch(window, self._batch_of_runs(part_first, part_last, keys, now_ms))
            return
        statuses = [_NEVER_DELIVERED] * (last - first + 1)
        known = _among(keys, first, last)
        _, parts = self._chains.link(known.offsets, known.hashes, statuses, first, waiting(0))
        by_offset = parts * LONG_PART > len(statuses)
        for part_first, part_last in cut(first, last):
            part = statuses
            if part_last - part_first < last - first:
                part = statuses[part_first - first : part_last - first + 1]
            self._add_batch(window, _batch_of(part_first, part, now_ms, by_offset=by_offset))

    @staticmethod
    def _add_batch(window: InFlightWindow, batch: Batch) -> None:
        window.batches.add(batch)
        free = batch.first_available(batch.first_offset)
        if free is not None:
            window.note_available(free)

    def _batch_of_runs(self, first: int, last: int, keys: KeyHashes, now_ms: int) -> Batch:
        starts: list[int] = []
        statuses: list[DeliveryStatus] = []
        position = first
        for wait_first, wait_last in self._register(first, last, keys):
            if position < wait_first:
                starts.append(position)
                statuses.append(_NEVER_DELIVERED)
            starts.append(wait_first)
            statuses.append(waiting(0))
            position = wait_last + 1
        if position <= last:
            starts.append(position)
            statuses.append(_NEVER_DELIVERED)
        batch = InFlightBatch(first, last, _NEVER_DELIVERED, now_ms)
        batch.overwrite(first, last, starts, statuses)
        return batch

    def _register(self, first: int, last: int, keys: KeyHashes) -> list[tuple[int, int]]:
        """Note the keys of `first..last`; return the ranges (inclusive) of records whose key has an earlier unfinished
        record.
        """
        known = _among(keys, first, last)
        fresh, _ = self._chains.link(known.offsets, known.hashes, [], first, None)
        if len(known.offsets) <= last - first:
            return _neighbours(sorted(set(known.offsets) - set(fresh)))
        waits, position = [], first
        for each in fresh:
            if each != position:
                waits.append((position, each - 1))
            position = each + 1
        return waits if position > last else [*waits, (position, last)]

    # -- what becomes of records

    def note(self, runs: Iterable[Run]) -> None:
        self._changed += runs

    def hold(self, write_id: int) -> None:
        """Hold back records that have just been finished, until the state write has an outcome."""
        self._held[write_id] = [run for run in self._changed if is_finished(run[2])]
        self._changed = [run for run in self._changed if not is_finished(run[2])]

    def release(self, write_id: int) -> None:
        """Release the records that `hold` has held back for this state write."""
        self._changed += self._held.pop(write_id, ())

    def settle(self, window: InFlightWindow) -> bool:
        """Free the next record of each key for each head that is finished; let records wait that became available
        without being heads.

        Return True if records became available.
        """
        if not self._changed:
            return False
        changed, self._changed = self._changed, []
        heads, available = self._chains.finish(changed, is_finished)
        found = self._free(window, heads) if heads else False
        for first, last, status in available if len(self._chains) else ():
            self._hold_back(window, first, last, status)
        return found

    @staticmethod
    def _free(window: InFlightWindow, heads: list[int]) -> bool:
        """Make those of `heads` (unfinished offsets, at least one) available that wait; return False if none did."""
        heads.sort()
        batches, lowest = window.batches.overlapping(heads[0], heads[-1]), -1
        by_offset = [each for each in batches if each.by_offset]
        if by_offset:
            firsts, lists = [each.first_offset for each in by_offset], [each.statuses for each in by_offset]
            heads, lowest = free(heads, firsts, lists, waiting(0), _NEVER_DELIVERED)
        if lowest >= 0:
            window.note_available(lowest)
        found, low = lowest >= 0, 0
        for batch in batches if heads else ():
            low = bisect_left(heads, batch.first_offset, low)
            high = bisect_right(heads, batch.last_offset, low)
            among = heads[low:high]
            others = batch.replace(among, waiting(0), _NEVER_DELIVERED) if among else []
            freed = _freed(batch, others) if others else []
            if freed:
                batch.overwrite_many(freed)
            if freed or len(others) < len(among):
                window.note_available(among[0])
                found = True
        return found

    def _hold_back(self, window: InFlightWindow, first: int, last: int, status: DeliveryStatus) -> None:
        """Let records wait that are not heads: they became available again, after a delivery before their keys were
        known.
        """
        for offset in self._known(first, last):
            if not self._chains.waits(offset):
                continue
            batch = window.batches.floor(offset)
            if batch is not None and batch.status_at(offset) is status:
                batch.overwrite(offset, offset, [offset], [waiting(status.delivery_count)])

    def _known(self, first: int, last: int) -> Sequence[int]:
        """Return offsets among `first..last`, ascending; all with a known key are among them."""
        last = min(last, self.known_until - 1)
        few = last - first < len(self._chains)
        return range(first, last + 1) if few else self._chains.between(first, last)


def all_free(window: InFlightWindow) -> None:
    """Let no record wait for its key any more: order by key was switched off."""
    for batch in window.batches:
        for first, last, status in list(batch.runs(batch.first_offset, batch.last_offset)):
            if is_waiting(status):
                batch.overwrite(first, last, [first], [settled(RecordState.AVAILABLE, status.delivery_count)])
                window.note_available(first)


def _freed(batch: Batch, offsets: Sequence[int]) -> list[Run]:
    """Return the records at `offsets` (ascending, in the batch) that wait, as runs that do not wait."""
    return [
        (low, high, settled(RecordState.AVAILABLE, status.delivery_count))
        for first, last in _neighbours(offsets)
        for low, high, status in batch.runs(first, last)
        if is_waiting(status)
    ]


def _batch_of(first: int, statuses: list[DeliveryStatus], now_ms: int, *, by_offset: bool) -> Batch:
    """Return a batch of records with these statuses, never delivered before. If all are available, it may be handed out
    whole.
    """
    last = first + len(statuses) - 1
    runs = runs_in(statuses, first, first, last, 1 if by_offset else len(statuses))
    if by_offset and (runs[0][1] < last or not statuses[0].available):
        return OffsetBatch(first, statuses, 0, now_ms)
    batch = InFlightBatch(first, last, statuses[0], now_ms)
    batch.overwrite(first, last, [run[0] for run in runs], [run[2] for run in runs])
    return batch


def _among(keys: KeyHashes, first: int, last: int) -> KeyHashes:
    """Return the keys whose offset is in `first..last` (inclusive)."""
    offsets = keys.offsets
    if not offsets or (offsets[0] >= first and offsets[-1] <= last):
        return keys
    low = bisect_left(offsets, first)
    high = bisect_right(offsets, last, low)
    return KeyHashes(offsets[low:high], keys.hashes[low:high])


def _neighbours(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Return ascending offsets as ranges (inclusive) without holes."""
    if offsets and offsets[-1] - offsets[0] == len(offsets) - 1:
        return [(offsets[0], offsets[-1])]
    ranges: list[tuple[int, int]] = []
    first = last = offsets[0] if offsets else 0
    for offset in offsets[1:]:
        if offset != last + 1:
            ranges.append((first, last))
            first = offset
        last = offset
    return [*ranges, (first, last)] if offsets else ranges


def _first_unfinished(batch: Batch, position: int) -> int | None:
    """Return the lowest unfinished offset of a batch from `position` on, None if there is none. `position` must not be
    behind the batch.
    """
    runs: Iterator[Run] = batch.runs(max(position, batch.first_offset), batch.last_offset)
    return next((first for first, _, status in runs if not is_finished(status)), None)
