"""Listings of the offsets in flight, as ranges of like ones: a look at the window that changes nothing.

A look is taken in parts of counted work, so that a window of any size can be listed between requests. Each part shows
one moment; the next one continues at an offset, even if the window has changed meanwhile.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from shareq.broker.share.core.window.delivery_status import NO_DEADLINE, DeliveryStatus
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.protocol.share import RecordState

DELAYED: Final = "delayed"
WAITING: Final = "waiting"
STATES: Final = ("available", "delayed", "waiting", "acquired", "acknowledged", "archiving", "archived")
"""The values of `RecordRange.state`: Kafka's names, and two kinds of available records that nobody gets now."""

_NAMES: Final = {state: state.name.lower() for state in RecordState}
_last_offset = itemgetter(1)


Row = tuple[int, int, int, int]
"""First offset, last offset (inclusive), state, delivery count."""


class RecordRange(NamedTuple):
    """Offsets `first_offset..last_offset` (inclusive) of which all else is the same. Times are monotonic milliseconds.

    `state` is one of `STATES`; with `pending` it counts when its state write is durable. `owner` has them ("": nobody),
    since `since_ms`. `until_ms` is when its lock runs out, or when a delayed record may be delivered. `behind` is the
    unfinished record of the same key that a waiting one waits for. `in_flight_ms` is when they were put in flight.
    """

    first_offset: int
    last_offset: int
    state: str
    delivery_count: int
    pending: bool = False
    owner: str = ""
    since_ms: int | None = None
    until_ms: int | None = None
    behind: int | None = None
    in_flight_ms: int | None = None

    @property
    def size(self) -> int:
        """The number of offsets in the range."""
        return self.last_offset - self.first_offset + 1


class Part(NamedTuple):
    """Ranges, ascending; and where the next part begins, None behind the last one."""

    ranges: list[RecordRange]
    following: int | None


Behind = Callable[[int], int | None]
"""Return the head of the key of a waiting offset."""


def list_ranges(window: InFlightWindow, first: int, most: int, behind: Behind | None = None) -> Part:
    """Return the window from the offset `first` on: at most `most` steps of work, each a range or an offset that waits.

    Offsets below the start offset, and offsets without records in the log, are left out. After a reload, what was
    acquired or never fetched before is in no batch: it is available, with no delivery known of. Without `behind`
    waiting records are not distinguished.
    """
    position = max(first, window.start_offset)
    found: list[RecordRange] = []
    missing = window.active_gap
    left = most
    for batch in window.batches.from_offset(position):
        if position < batch.first_offset:
            if missing is not None and position >= missing.start_offset:
                _put(found, RecordRange(position, batch.first_offset - 1, "available", 0))
                left -= 1
            position = batch.first_offset
        for run_first, run_last, status in batch.runs(position, batch.last_offset):
            if left <= 0:
                return Part(found, run_first)
            if behind is not None and status.state is RecordState.AVAILABLE and _waits(status):
                for first_waiting, last_waiting, head in _by_head(run_first, min(run_last, run_first + left), behind):
                    _put(found, _range(first_waiting, last_waiting, status, batch.since_ms, head))
                    left -= last_waiting - first_waiting + 1
                if left <= 0 and found[-1].last_offset < run_last:
                    return Part(found, found[-1].last_offset + 1)
            else:
                _put(found, _range(run_first, run_last, status, batch.since_ms))
                left -= 1
        position = batch.last_offset + 1
    return Part(found, None)


def first_record(window: InFlightWindow) -> RecordRange | None:
    """Return the record at the start offset, which the window cannot pass; None with nothing in flight.

    It waits for no record of its key, but perhaps for its key to be read.
    """
    at = window.start_offset
    for batch in window.batches.from_offset(at):
        if at < batch.first_offset:  # not delivered again since a reload
            return RecordRange(at, at, "available", 0)
        _, _, status = next(iter(batch.runs(at, at)))
        return _range(at, at, status, batch.since_ms)
    return None


def list_persisted(
    start_offset: int, batches: Sequence[Row], delays: Sequence[Row], now_ms: int, first: int, most: int
) -> Part:
    """Return the same of a state that no leader has in memory: ascending, disjoint rows of batches, and of delays with
    their time in the place of the state. Delays that are over at `now_ms` hold no longer; both are of one clock.
    """
    position = max(first, start_offset)
    found: list[RecordRange] = []
    at = bisect_right(batches, position - 1, key=_last_offset)
    for batch_first, last, state, count in batches[at : at + most]:
        if position < batch_first:
            _put(found, RecordRange(position, batch_first - 1, "available", 0))
            position = batch_first
        cut = _delayed(position, last, count, delays, now_ms) if state == RecordState.AVAILABLE else [(last, None)]
        for part_last, until_ms in cut:
            name = DELAYED if until_ms is not None else _NAMES[RecordState(state)]
            _put(found, RecordRange(position, part_last, name, count, until_ms=until_ms))
            position = part_last + 1
    return Part(found, position if at + most < len(batches) else None)


def _delayed(first: int, last: int, count: int, delays: Sequence[Row], now_ms: int) -> Iterator[tuple[int, int | None]]:
    """Yield the parts of `first..last` (inclusive), each with its last offset and the time that it waits for."""
    for index in range(bisect_right(delays, first - 1, key=_last_offset), len(delays)):
        delay_first, delay_last, time, delay_count = delays[index]
        if delay_first > last:
            break
        if delay_count != count or time <= now_ms:
            continue
        if first < delay_first:
            yield delay_first - 1, None
        first = min(last, delay_last) + 1
        yield first - 1, time
    if first <= last:
        yield last, None


def _waits(status: DeliveryStatus) -> bool:
    """Return True if an available record cannot be acquired, and not because of a time or a write."""
    return not status.available and not status.not_before_ms and not status.write_id


def _by_head(first: int, last: int, behind: Behind) -> Iterator[tuple[int, int, int | None]]:
    """Yield waiting offsets (inclusive), put together where they wait for the same record."""
    head = behind(first)
    for offset in range(first + 1, last + 1):
        other = behind(offset)
        if other != head:
            yield first, offset - 1, head
            first, head = offset, other
    yield first, last, head


def _range(first: int, last: int, status: DeliveryStatus, in_flight_ms: int, behind: int | None = None) -> RecordRange:
    holds = status.before or status  # what a pending transition came from has the owner and the lock
    until_ms: int | None = None
    name = _NAMES[status.state]
    if status.state is RecordState.AVAILABLE and not status.write_id:
        if status.not_before_ms:
            name, until_ms = DELAYED, status.not_before_ms
        elif not status.available:
            name = WAITING
    if holds.deadline_ms != NO_DEADLINE:
        until_ms = holds.deadline_ms
    return RecordRange(
        first,
        last,
        name,
        status.delivery_count,
        status.write_id != 0,
        holds.owner,
        holds.since_ms if holds.owner else None,
        until_ms,
        behind,
        in_flight_ms,
    )


def _put(found: list[RecordRange], each: RecordRange) -> None:
    """Add a range, or extend the last one if they are adjacent and equal."""
    if found and found[-1].last_offset + 1 == each.first_offset and found[-1][2:] == each[2:]:
        each = each._replace(first_offset=found.pop().first_offset)
    found.append(each)
