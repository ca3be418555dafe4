"""The limit of a share partition's records in flight (`group.share.partition.max.record.locks`): no new record enters a
full window.

Records inside a full window may still be delivered again; a start offset that moves makes room
(`window/start_offset.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.share.core.values import BatchSpan, end_of_batch
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.coordinator.ports import ShareGroupSettings

MOST_OFFSETS: Final = 1_000_000
"""The most offsets of a window from start to end, finished and waiting ones included.

A share partition's state has room for the widest configurable window, and so for this many.
"""

_PARTS_TO_ENTER: Final = 4
"""The smallest part in which new records enter a window is the limit divided by this number.

Smaller parts would become many in-flight batches, which cost more.
"""


def limit_now(window: InFlightWindow, settings: ShareGroupSettings) -> int:
    """Return how many offsets may be in flight now, from start to end offset.

    A waiting record keeps the start offset from moving, but must not stop the records behind it. So with delays,
    finished records do not count, nor do delayed ones, up to half of the limit. With order by key, neither finished
    records nor those that wait for their key count, up to `shareq.order.look.ahead`.
    """
    limit, delays = settings.partition_max_record_locks, settings.delay.enabled
    ahead = settings.order_look_ahead
    if not delays and not ahead:
        return limit
    free = window.delivery_complete_count
    if window.order is not None:
        free += min(window.order.waiting(), ahead)
    elif not delays:
        return limit
    free = free + min(window.delayed, limit // 2) if delays else min(free, ahead)
    return max(limit, min(limit + free, MOST_OFFSETS))


def room_for(window: InFlightWindow, limit: int, max_records: int) -> int:
    """Return the largest number of records to acquire when new ones are among them; zero or less at the in-flight
    limit.
    """
    return min(max_records, limit - window.in_flight())


def least_to_enter(limit: int, max_records: int) -> int:
    """Return the least number of new records for which a read ahead is worthwhile, with order by key."""
    return max(1, min(max_records, limit // _PARTS_TO_ENTER))


def capacity(
    window: InFlightWindow, limit: int, max_records: int, fetch_offset: int, last_fetched: int
) -> tuple[int, int]:
    """Return the largest number of records to acquire, and the last offset (inclusive) up to which they may lie."""
    allowed = room_for(window, limit, max_records)
    if allowed > 0:
        return allowed, last_fetched
    return min(max_records, window.end_offset - fetch_offset + 1), min(last_fetched, window.end_offset)


def enter_until(window: InFlightWindow, limit: int, spans: Sequence[BatchSpan]) -> int:
    """Return the last offset (inclusive) up to which a read may enter the window, with order by key."""
    room, last = limit - window.in_flight(), spans[-1].last_offset
    first_new, base = window.end_offset, spans[0].base_offset
    if window.start_offset <= window.batches.last_offset:
        first_new += 1
    if first_new < base:
        first_new = base
    until = first_new + max(room, 0) - 1
    if room <= 0 or until >= last:
        return min(last, until)
    return min(last, end_of_batch(spans, until))
