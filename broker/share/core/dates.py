"""Dated records: records whose sender set, in the header `shareq.not.before.ms`, a time before which they are not
delivered.

The dated records of a read (`Dated`) wait in the window as failed records do: available, but not before their time.
Waiting is no delivery, holds no lock, and is not persisted: the log has the header, and a leader that loads the share
partition reads it again. Dated records may fill at most half of the window; the others stay in the log, behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.broker.share.core.window.delivery_status import DeliveryStatus, delayed
from shareq.broker.share.core.window.window import InFlightWindow, Run
from shareq.coordinator.ports import RecordDelays
from shareq.protocol.ack_delays import Later
from shareq.protocol.names import DELAY_MAX_MS, LONGEST_TIME, NOT_BEFORE

_MOST_SHOWN: Final = 40  # digits


class DatedRange(NamedTuple):
    """Offsets `first_offset..last_offset` (both inclusive) that wait until `not_before_ms`, a monotonic time."""

    first_offset: int
    last_offset: int
    not_before_ms: int


class Dated(NamedTuple):
    """The dated records of a read. The time of those in `waiting` has not come yet; that of those in `refused` is too
    far ahead or invalid.

    Both are ascending and disjoint; `refused` has the header's value, too.
    """

    waiting: Sequence[DatedRange]
    refused: Sequence[tuple[int, bytes]]


NOTHING_DATED: Final = Dated((), ())


def dated(offsets: Sequence[int], values: Sequence[bytes], wall_ms: int, now_ms: int, max_ms: int) -> Dated:
    """Return the dated records among those at `offsets`, whose headers have `values`. `wall_ms` and `now_ms` are the
    same moment by both clocks.

    A header's time is of the wall clock, in milliseconds. The monotonic time is rounded up, because both clocks are cut
    to whole milliseconds.
    """
    waiting: list[DatedRange] = []
    refused: list[tuple[int, bytes]] = []
    latest, ahead = wall_ms + max_ms, wall_ms - now_ms - 1
    for offset, value in zip(offsets, values, strict=True):
        time = int(value) if value.isdigit() and len(value) <= LONGEST_TIME else -1
        if time < 0 or time > latest:
            refused.append((offset, value))
        elif time > wall_ms:
            not_before_ms = time - ahead
            if waiting and waiting[-1][1:] == (offset - 1, not_before_ms):
                waiting[-1] = DatedRange(waiting[-1].first_offset, offset, not_before_ms)
            else:
                waiting.append(DatedRange(offset, offset, not_before_ms))
    return Dated(waiting, refused)


def reason_of(value: bytes, max_ms: int) -> bytes:
    """Return the reason for refusing a record with this header value, as text for its dead letter."""
    why = b"no time in milliseconds since the epoch"
    if value.isdigit():
        why = b"%s: more than %s (%d) ahead" % (value[:_MOST_SHOWN], DELAY_MAX_MS.encode(), max_ms)
    return b"%s is %s" % (NOT_BEFORE.encode(), why)


def may_wait(later: Sequence[Later], delay: RecordDelays) -> bool:
    """Return True if a member may release records of the group with these delays."""
    return delay.enabled and all(0 < each.delay_ms <= delay.max_ms for each in later)


def first_behind(window: InFlightWindow, waiting: Sequence[DatedRange], limit: int) -> DatedRange | None:
    """Return the first waiting record that has no room in the window, as a range of that one offset; None if all have.

    No more records may wait from this one on, so it stays in the log behind the window.
    """
    first_new = window.end_offset + 1 if window.batches.count else window.end_offset
    room = limit // 2 - window.delayed
    if window.active_gap is not None:
        room -= sum(_is_missing(window, at) for each in waiting for at in range(each[0], min(each[1] + 1, first_new)))
    for first, last, time in waiting[bisect_left(waiting, first_new, key=_last_offset) :]:
        begin = max(first, first_new)
        if last - begin + 1 > room:
            return DatedRange(begin + max(room, 0), begin + max(room, 0), time)
        room -= last - begin + 1
    return None


def _is_missing(window: InFlightWindow, offset: int) -> bool:
    """Return True if an offset of the window is in no in-flight batch: before a reload it waited, or was acquired."""
    batch = window.batches.floor(offset)
    return offset >= window.start_offset and (batch is None or batch.last_offset < offset)


def _last_offset(each: DatedRange) -> int:
    return each.last_offset


def make_wait(
    window: InFlightWindow,
    waiting: Sequence[DatedRange],
    before: Mapping[DeliveryStatus, DeliveryStatus],
) -> list[DatedRange]:
    """Make the records of `waiting` that are available, or have just been acquired, wait for their time.

    They get back their earlier status, with the time. `before` maps each status of this acquisition to the one before
    it. Return the ranges that were changed, ascending.
    """
    found: list[DatedRange] = []
    for batch in window.batches.overlapping(waiting[0].first_offset, waiting[-1].last_offset):
        parts: list[Run] = []
        low = bisect_left(waiting, batch.first_offset, key=_last_offset)
        for first, last, time in _until(waiting, low, batch.last_offset):
            for run_first, run_last, status in batch.runs(max(first, batch.first_offset), min(last, batch.last_offset)):
                old = status if status.available else before.get(status)
                if old is not None:
                    parts.append((run_first, run_last, delayed(old.delivery_count, time)))
                    found.append(DatedRange(run_first, run_last, time))
        if parts:
            batch.overwrite_many(parts)
            window.delayed += sum(last - first + 1 for first, last, _ in parts)
    return found


def _until(waiting: Sequence[DatedRange], low: int, last_offset: int) -> Iterator[DatedRange]:
    for index in range(low, len(waiting)):
        if waiting[index].first_offset > last_offset:
            return
        yield waiting[index]
