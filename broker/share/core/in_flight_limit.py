"""The limit of a share partition's records in flight (`group.share.partition.max.record.locks`): a full window takes no
new ones.

What is inside a full window may still be delivered again; the start offset makes room (`window/start_offset.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.share.core.values import BatchSpan, end_of_batch
from shareq.broker.share.core.window.window import InFlightWindow

_PARTS_TO_ENTER: Final = 4
"""The parts of the limit that enter together: smaller ones would become many in-flight batches, which cost more."""


def is_full(window: InFlightWindow, limit: int) -> bool:
    """Return whether nothing new may be acquired."""
    return window.in_flight() >= limit


def room_for(window: InFlightWindow, limit: int, max_records: int) -> int:
    """Return how many records may be acquired, new ones among them; zero or less at the in-flight limit."""
    return min(max_records, limit - window.in_flight())


def least_to_enter(limit: int, max_records: int) -> int:
    """Return how many new records have to enter at once, with order by key, to be worth a read."""
    return max(1, min(max_records, limit // _PARTS_TO_ENTER))


def capacity(
    window: InFlightWindow, limit: int, max_records: int, fetch_offset: int, last_fetched: int
) -> tuple[int, int]:
    """Return how many records may be acquired, and up to which offset (inclusive).

    At the in-flight limit no new record is acquired, but records inside the window may be delivered again.
    """
    allowed = room_for(window, limit, max_records)
    if allowed > 0:
        return allowed, last_fetched
    return min(max_records, window.end_offset - fetch_offset + 1), min(last_fetched, window.end_offset)


def enter_until(window: InFlightWindow, limit: int, spans: Sequence[BatchSpan]) -> int:
    """Return up to which offset (inclusive) a read may enter the window, with order by key.

    At the in-flight limit no record may enter; below it, the record batch that reaches the limit enters as a whole.
    """
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
