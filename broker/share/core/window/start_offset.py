"""Movement of a share partition's start offset, of its end offset with it, and of the gap that a reload left."""

from __future__ import annotations

from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.protocol.share import RecordState

_FORGOTTEN: DeliveryStatus = settled(RecordState.ARCHIVED, 0)  # below the start offset: only the end matters


def move_gap_start(window: InFlightWindow, offset: int) -> None:
    """Move the gap's start to `offset`, because the records below it have just been acquired or removed."""
    gap = window.gap
    if gap is None:
        return
    if window.active_gap is None or offset > gap.end_offset:
        window.gap = None
    else:
        gap.move(offset)


def compacted_away(window: InFlightWindow, fetch_offset: int, base_offset: int) -> None:
    """Archive available offsets from `fetch_offset` to `base_offset` (exclusive), because a read has found no records
    there.

    They are archived in memory only, and count as a natural gap.
    """
    window.archive(fetch_offset, base_offset - 1, RecordState.AVAILABLE)
    gap = window.active_gap
    hole = None if gap is None else gap.first_hole(window.batches)
    if hole is not None and fetch_offset <= hole < base_offset:
        move_gap_start(window, base_offset)


def advance_start(window: InFlightWindow) -> bool:
    """Move the start offset over terminal, settled records. Return True if it moved.

    Finished batches leave; the finished part of a partly finished one is forgotten. The start offset never moves back,
    even if the log's start has moved it over records that are still locked.
    """
    finished = 0  # whole batches
    done_up_to = -1  # inclusive
    gap = window.active_gap
    for batch in window.batches:
        if gap is not None and batch.last_offset >= gap.start_offset:
            break
        unfinished = batch.unfinished_from()
        if unfinished is not None:
            if unfinished > batch.first_offset:
                done_up_to = unfinished - 1
            break
        finished += 1
        done_up_to = batch.last_offset
    if done_up_to < 0:
        return False
    before = window.start_offset
    if done_up_to == window.batches.last_offset:
        window.clear(max(before, done_up_to + 1))
    else:
        _advance_to(window, done_up_to, finished)
    return window.start_offset > before


def make_room(window: InFlightWindow) -> bool:
    """Move the start offset of a window in which nothing is missing or available. Return True if it moved.

    All holes that a reload left have been handed out by then, so the start offset may move over finished records above
    them. Otherwise a window full of finished records would stay full.
    """
    window.gap = None
    return advance_start(window)


def _advance_to(window: InFlightWindow, done_up_to: int, finished: int) -> None:
    """Move the start offset behind `done_up_to`: remove `finished` whole batches, and perhaps the front of the next
    one.
    """
    partly = window.batches.floor(done_up_to)
    start = done_up_to + 1
    if partly is not None and partly.last_offset == done_up_to:  # at the end of a batch: over the natural hole, too
        partly = None
        following = window.batches.next_first(done_up_to)
        assert following is not None, "a batch lies above what is done"
        gap = window.active_gap
        start = following if gap is None else min(following, gap.start_offset)
    if start > window.start_offset:
        window.finish(start)
    window.batches.drop(finished)
    if partly is not None:
        partly.forget_below(start, _FORGOTTEN)


def on_log_start_moved(window: InFlightWindow, log_start_offset: int) -> None:
    """Move the start offset to `log_start_offset`, if that is beyond it: the log has no records below.

    Available records below it are archived. Acquired ones stay with their owner until they are acknowledged or their
    lock expires. Nothing is persisted: the next state write carries the start offset.
    """
    if log_start_offset <= window.start_offset:
        return
    if not window.batches:
        window.clear(log_start_offset)
        return
    window.archive(window.start_offset, log_start_offset - 1, RecordState.AVAILABLE)
    window.move_start(log_start_offset)
    window.end_offset = max(window.end_offset, log_start_offset)
    if window.gap is not None and window.gap.start_offset < log_start_offset:
        move_gap_start(window, log_start_offset)
