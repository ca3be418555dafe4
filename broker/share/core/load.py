"""Restoration of the in-flight window from persisted state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.window.batch import InFlightBatch
from shareq.broker.share.core.window.delivery_status import NO_DELAY, delayed, settled
from shareq.broker.share.core.window.window import GapWindow, InFlightWindow
from shareq.coordinator.share.delays import Delay
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import RecordState

_NEVER_PERSISTED = (RecordState.ACQUIRED, RecordState.TX_PENDING)
_PERSISTED = {state.value: state for state in RecordState if state not in _NEVER_PERSISTED}


def persisted_state(state: RecordState) -> RecordState:
    """Return the state as which a loaded record is persisted: AVAILABLE for one that is TX_PENDING."""
    return RecordState.AVAILABLE if state is RecordState.TX_PENDING else state


def load_window(
    start_offset: int,
    batches: Sequence[StateBatch],
    log_end_offset: int,
    now_ms: int = 0,
    delays: Sequence[Delay] = (),
) -> tuple[InFlightWindow, bool] | ErrorCode:
    """Return the window, and True if state beyond `log_end_offset` (exclusive) was dropped from it, or an error.

    `delays` (ascending, disjoint) hold for available batches with the same delivery count, which are cut where a delay
    begins or ends. UNKNOWN_SERVER_ERROR for a batch that ends before it begins, begins below the start offset, overlaps
    another or has a state that is never persisted.
    """
    ordered = sorted(batches)
    if not _is_sound(start_offset, ordered):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    window = InFlightWindow()
    window.start_offset = window.end_offset = min(start_offset, log_end_offset)
    lost_tail = start_offset > log_end_offset
    hole = -1
    for first, last, state, count, not_before_ms in _cut(ordered, delays):
        if last >= log_end_offset:
            lost_tail, last = True, log_end_offset - 1
            if first > last:
                break
        expected = window.end_offset + 1 if window.batches else window.start_offset
        if hole < 0 and first > expected:
            hole = expected
        window.end_offset = last
        status = delayed(count, not_before_ms) if not_before_ms else settled(_PERSISTED[state], count)
        _add(window, InFlightBatch(first, last, status, now_ms))
    if hole >= 0:
        window.gap = GapWindow(hole, window.end_offset)
    return window, lost_tail


def _add(window: InFlightWindow, batch: InFlightBatch) -> None:
    window.batches.add(batch)
    if batch.statuses[0].terminal:
        window.count_terminal(batch.first_offset, batch.last_offset, 1)
    elif batch.statuses[0].available:
        window.note_available(batch.first_offset)
    elif batch.statuses[0].not_before_ms:
        window.delayed += batch.size


def _cut(batches: Iterable[StateBatch], delays: Sequence[Delay]) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the batches' parts (first and last offset, state, delivery count), each with the time before which it is
    not delivered.
    """
    at = 0  # delays below this index end below the batch
    for first, last, state, count in batches:
        while at < len(delays) and delays[at].last_offset < first:
            at += 1
        index, position = at, first
        while index < len(delays) and delays[index].first_offset <= last:
            low, high = max(delays[index].first_offset, position), min(delays[index].last_offset, last)
            if state == RecordState.AVAILABLE and count == delays[index].delivery_count and low <= high:
                if position < low:
                    yield position, low - 1, state, count, NO_DELAY
                yield low, high, state, count, delays[index].not_before_ms
                position = high + 1
            index += 1
        if position <= last:
            yield position, last, state, count, NO_DELAY


def _is_sound(start_offset: int, ordered: Sequence[StateBatch]) -> bool:
    lowest = start_offset
    for first, last, state, _ in ordered:
        if first < lowest or last < first or state not in _PERSISTED:
            return False
        lowest = last + 1
    return True
