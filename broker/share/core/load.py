"""The in-flight window that persisted state stands for."""

from __future__ import annotations

from collections.abc import Sequence

from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.window.batch import InFlightBatch
from shareq.broker.share.core.window.delivery_status import settled
from shareq.broker.share.core.window.record_state import RecordState
from shareq.broker.share.core.window.window import GapWindow, InFlightWindow
from shareq.protocol.errors import ErrorCode

_PERSISTED = {state.value: state for state in RecordState if state is not RecordState.ACQUIRED}


def load_window(
    start_offset: int, batches: Sequence[StateBatch], log_end_offset: int, now_ms: int = 0
) -> tuple[InFlightWindow, bool] | ErrorCode:
    """The window, and whether state beyond `log_end_offset` (exclusive) was dropped from it.

    UNKNOWN_SERVER_ERROR for a batch that ends before it begins, begins below the start offset, overlaps another or has
    a state that is never persisted.
    """
    ordered = sorted(batches)
    if not _is_sound(start_offset, ordered):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    window = InFlightWindow()
    window.start_offset = window.end_offset = min(start_offset, log_end_offset)
    lost_tail = start_offset > log_end_offset
    hole = -1
    for first, last, state, count in ordered:
        if last >= log_end_offset:
            lost_tail, last = True, log_end_offset - 1
            if first > last:
                break
        expected = window.end_offset + 1 if window.batches else window.start_offset
        if hole < 0 and first > expected:
            hole = expected
        window.end_offset = last
        _add(window, InFlightBatch(first, last, settled(_PERSISTED[state], count), now_ms))
    if hole >= 0:
        window.gap = GapWindow(hole, window.end_offset)
    return window, lost_tail


def _add(window: InFlightWindow, batch: InFlightBatch) -> None:
    window.batches.add(batch)
    if batch.statuses[0].terminal:
        window.count_terminal(batch.first_offset, batch.last_offset, 1)
    elif batch.statuses[0].available:
        window.note_available(batch.first_offset)


def _is_sound(start_offset: int, ordered: Sequence[StateBatch]) -> bool:
    lowest = start_offset
    for first, last, state, _ in ordered:
        if first < lowest or last < first or state not in _PERSISTED:
            return False
        lowest = last + 1
    return True
