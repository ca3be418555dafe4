"""The next fetch offset of a share partition: where the next read of the log begins."""

from __future__ import annotations

from shareq.broker.share.core.window.window import InFlightWindow


def next_fetch_offset(window: InFlightWindow) -> int:
    """Return the offset where the next read begins: that of the first hole left by a reload, of the first available
    record, or the end.

    With order by key it may also be that of the first record whose key is not known.
    """
    batches = window.batches
    if not batches.count or window.start_offset > batches.last_offset:
        return window.end_offset
    if window.order is not None:
        unknown, available = window.order.frontier(window), window.first_available()
        if unknown is None or (available is not None and available < unknown):
            unknown = available
        return window.end_offset + 1 if unknown is None else unknown
    gap, available = window.active_gap, window.first_available()
    hole = None if gap is None else gap.first_hole(batches)
    if hole is not None and (available is None or hole < available):
        return hole
    return window.end_offset + 1 if available is None else available
