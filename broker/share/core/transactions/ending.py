"""The end of a transaction for what is staged in it: a commit turns a record into what was staged.

An abort gives the record back like a released one, so that its delivery counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from shareq.broker.share.core.effects import Cause, DeadLetter, GivenUpRange
from shareq.broker.share.core.transactions.staging import StagedStatus
from shareq.broker.share.core.window.delivery_limit import after_release
from shareq.broker.share.core.window.delivery_status import NO_DELAY, DeliveryStatus
from shareq.broker.share.core.window.record_state import GIVEN_UP, STATE_AFTER, STATE_AFTER_WITH_QUEUE
from shareq.broker.share.core.window.redelivery import not_before
from shareq.broker.share.core.window.window import Change, InFlightWindow, Run
from shareq.broker.share.core.writes import StateChange, make_pending
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.share import AcknowledgeType, RecordState


def resolve(
    window: InFlightWindow,
    producer: tuple[int, int],
    change: StateChange,
    settings: ShareGroupSettings,
    now_ms: int,
    *,
    commit: bool,
) -> bool:
    """Begin to end all acknowledgements of the producer (its id and epoch) that are staged; they are pending in
    `change`.

    Return False, with nothing changed, if one of them is still being written, or being ended.
    """
    runs = [run for batch in window.batches for run in batch.runs(batch.first_offset, batch.last_offset)]
    if any(_is_under_way(status, producer) for _, _, status in runs):
        return False

    def resolution(above: ShareGroupSettings | None, first: int) -> Change:
        return _resolution(producer, change.write_id, above, first, now_ms, commit=commit)

    for changed in make_pending(window, change, settings, _is_staged, resolution):
        _note(change, changed, window.start_offset, commit=commit)
    return True


def _is_staged(status: DeliveryStatus) -> bool:
    return isinstance(status, StagedStatus)


def _is_under_way(status: DeliveryStatus, producer: tuple[int, int]) -> bool:
    if not status.write_id:
        return False
    return any(isinstance(each, StagedStatus) and _is_of(each, producer) for each in (status, status.before))


def _is_of(status: StagedStatus, producer: tuple[int, int]) -> bool:
    return status.producer_id == producer[0] and status.producer_epoch <= producer[1]


def _resolution(
    producer: tuple[int, int],
    write_id: int,
    settings: ShareGroupSettings | None,
    first: int,
    now_ms: int,
    *,
    commit: bool,
) -> Change:
    """Return the function that ends staged acknowledgements. Without settings, it archives the records, because they
    have left the log.
    """
    memo: dict[DeliveryStatus, DeliveryStatus] = {}

    def resolved(status: DeliveryStatus) -> DeliveryStatus:
        if not isinstance(status, StagedStatus) or not _is_of(status, producer):
            return status
        pending = memo.get(status)
        if pending is None:
            state, time = RecordState.ARCHIVED, NO_DELAY
            if settings is not None:
                states = STATE_AFTER_WITH_QUEUE if settings.dead_letters else STATE_AFTER
                state = states[status.kind] if commit else RecordState.AVAILABLE
                if state is RecordState.AVAILABLE:
                    state = after_release(status, settings)
                    time = not_before(settings.redelivery, now_ms, first, status.delivery_count)
            pending = memo[status] = status.pending(state, write_id, time)
        return pending

    return resolved


def _note(change: StateChange, changed: Sequence[Run], start_offset: int, *, commit: bool) -> None:
    """Note the acknowledged and given-up records of the changed runs, and their dead letters."""
    for first, last, status in changed:
        staged = status.before
        assert isinstance(staged, StagedStatus)
        if commit:
            change.acknowledged[staged.kind] = change.acknowledged.get(staged.kind, 0) + last - first + 1
        if status.state not in GIVEN_UP or first < start_offset:
            continue
        rejected = commit and staged.kind == AcknowledgeType.REJECT
        if not rejected:
            change.given_up.append(GivenUpRange(first, last, status.delivery_count))
        if status.state is RecordState.ARCHIVING:
            cause = Cause.CLIENT_REJECT if rejected else Cause.DELIVERY_COUNT_EXCEEDED
            change.dead.append(DeadLetter(first, last, status.delivery_count, cause, staged.member_id))
