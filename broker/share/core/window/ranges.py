"""Listings of the offsets in flight, as ranges of offsets that are alike. The window is not changed.

A listing is made in parts of limited work, so that a window of any size can be listed between requests. Each part shows
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
"""The values of `RecordRange.state`: Kafka's names, and two for available records that cannot be acquired now. A record
whose transaction is open is shown as acquired, by no member.
"""

_NAMES: Final = {state: state.name.lower() for state in RecordState} | {RecordState.TX_PENDING: "acquired"}
_last_offset = itemgetter(1)


Row = tuple[int, int, int, int]
"""First offset, last offset (inclusive), state, delivery count."""


class RecordRange(NamedTuple):
    """Offsets `first_offset..last_offset` (inclusive) that agree in all other fields. Times are monotonic milliseconds.

    `state` is one of `STATES`; with `pending` it is final once its state write is durable. `owner` is the member that
    holds the records ("" for none), since `since_ms`. `until_ms` is when the lock expires, or when a delayed record may
    be delivered. `behind` is the offset of the unfinished record of the same key that a waiting record waits for.
    `in_flight_ms` is when the records were put in flight.
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
    """Ranges, ascending, and the offset where the next part begins; None after the last part."""

    ranges: list[RecordRange]
    following: int | None


Behind = Callable[[int], int | None]
"""A function that returns the head of a waiting offset's key."""


def list_ranges(window: InFlightWindow, first: int, most: int, behind: Behind | None = None) -> Part:
    """Return the ranges of the window from the offset `first` on, with at most `most` steps of work; each is a range,
    or an offset that waits.

    Offsets below the start offset, and offsets without records in the log, are left out. After a reload, offsets that
    had been acquired or never fetched are in no batch; they are listed as available, with a delivery count of 0.
    Without `behind`, waiting records are not distinguished by the record that they wait for.
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

    It never waits for another record of its key, but maybe for its key to be read.
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
    """Return the ranges of a persisted state that no leader has in memory.

    `batches` and `delays` are ascending and disjoint. Delays that are over at `now_ms`, by the same clock, are left
    out.
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
    """Yield the parts of `first..last` (inclusive), each as its last offset and the time it waits for, None if it does
    not wait.
    """
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
    """Return True if the record is available but waits for its key, and neither for a time nor for a state write."""
    return not status.available and not status.not_before_ms and not status.write_id


def _by_head(first: int, last: int, behind: Behind) -> Iterator[tuple[int, int, int | None]]:
    """Yield ranges of waiting offsets (inclusive) with the offset of the record they wait for; neighbours that wait for
    the same one are joined.
    """
    head = behind(first)
    for offset in range(first + 1, last + 1):
        other = behind(offset)
        if other != head:
            yield first, offset - 1, head
            first, head = offset, other
    yield first, last, head


def _range(first: int, last: int, status: DeliveryStatus, in_flight_ms: int, behind: int | None = None) -> RecordRange:
    holds = status.before or status  # during a pending transition, the earlier status has the owner and the lock
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
    """Add a range, or extend the last one if both are adjacent and alike."""
    if found and found[-1].last_offset + 1 == each.first_offset and found[-1][2:] == each[2:]:
        each = each._replace(first_offset=found.pop().first_offset)
    found.append(each)
