"""Faults to plant in the broker, each as small as a mistake in a change would be. The simulation must notice them all.

A fault is a context manager that replaces one piece of the product while it is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log import flush
from shareq.broker.log.flush import Flusher
from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.log.recovery.recover import _Opening
from shareq.broker.log.segments.files import Segment
from shareq.broker.log.segments.segment import BatchWalk
from shareq.broker.share.core import acknowledge, locks, partition, writes
from shareq.broker.share.core.effects import Effect
from shareq.broker.share.core.locks import AcquisitionLocks
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.broker.share.core.writes import StateChange
from shareq.broker.share.partitions import SharePartitionManager
from shareq.coordinator.group.share.groups import ShareGroups
from shareq.coordinator.share import shard
from shareq.coordinator.share.shard import ShareCoordinatorShard
from shareq.coordinator.share.state_batches import StateBatch, combine
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import RecordState
from tests.support.planting import Fault, Function, in_place_of, replaced

# -- acknowledgements and their state writes


@in_place_of(SharePartitionManager, "acknowledge")
def ack_answered_before_its_write(original: Function, *arguments: Any) -> Pending[ErrorCode]:
    pending = original(*arguments)
    return pending if pending.done else completed(ErrorCode.NONE)


@in_place_of(StateChange, "roll_back")
def failed_write_not_rolled_back(
    _original: Function, self: StateChange, window: InFlightWindow, _now_ms: int, _limit: int
) -> bool:
    return self.commit(window)


@in_place_of(SharePartition, "acknowledge")
def owner_not_checked(
    original: Function, self: SharePartition, member_id: str, batches: Sequence[Any], *more: Any
) -> Any:
    held = self.snapshot(batches[0].first_offset, batches[0].first_offset)
    return original(self, held[0].owner or member_id if held else member_id, batches, *more)


def refused_request_half_applied() -> AbstractContextManager[object]:
    return replaced((StateChange, "undo", lambda _self, _window: None))


# -- delivery


@in_place_of(SharePartition, "release_acquired_records")
def session_end_releases_everybody(
    original: Function, self: SharePartition, _member_id: str, now_ms: int
) -> tuple[Effect, ...]:
    owners = sorted({view.owner for view in self.snapshot() if view.owner})
    return tuple(effect for owner in owners for effect in original(self, owner, now_ms))


def delivery_limit_ignored() -> AbstractContextManager[object]:
    def after_release(_status: DeliveryStatus, _limit: int) -> RecordState:
        return RecordState.AVAILABLE

    modules = (acknowledge, locks, writes)
    return replaced(*((module, "after_release", after_release) for module in modules))


@in_place_of(DeliveryStatus, "acquired")
def delivery_not_counted(original: Function, self: DeliveryStatus, owner: str, deadline_ms: int, now_ms: int) -> Any:
    new = original(self, owner, deadline_ms, now_ms)
    new.delivery_count = max(1, self.delivery_count)
    return new


def released_record_never_available() -> AbstractContextManager[object]:
    return replaced((InFlightWindow, "note_available", lambda _self, _offset: None))


@in_place_of(partition, "expire")
def lock_never_expires(
    _original: Function, _window: InFlightWindow, held: AcquisitionLocks, now_ms: int, *_others: object
) -> list[object]:
    held.due(now_ms)
    return []


@in_place_of(DeliveryStatus, "__init__")
def start_offset_passes_acquired_records(
    original: Function, self: DeliveryStatus, *arguments: Any, **named: Any
) -> None:
    original(self, *arguments, **named)
    self.done = self.done or self.state is RecordState.ACQUIRED


# -- reloading


@in_place_of(partition, "load_window")
def gap_window_missing(original: Function, *arguments: Any) -> Any:
    loaded = original(*arguments)
    if not isinstance(loaded, ErrorCode):
        loaded[0].gap = None
    return loaded


@in_place_of(SharePartition, "load")
def initial_start_offset_not_persisted(original: Function, self: SharePartition, *arguments: Any, **named: Any) -> Any:
    return original(self, *arguments, **{**named, "persisted": True})


# -- the coordinators


@in_place_of(CoordinatorPartition, "_reloaded")
def failed_append_not_replayed_away(original: Function, self: CoordinatorPartition[Any], shard: Any) -> None:
    original(self, self.shard if self._generation else shard)


@in_place_of(CoordinatorPartition, "schedule")
def coordinator_answers_before_its_append(
    original: Function, self: CoordinatorPartition[Any], operation: Function, failed: Function
) -> Pending[Any]:
    results: list[Any] = []

    def decide() -> Any:
        results.append(operation())
        return results[0]

    pending = original(self, decide, failed)
    return pending if pending.done else completed(results[0].response)


def update_loses_batches() -> AbstractContextManager[object]:
    return replaced((shard, "merge_into", lambda stored, update, start: combine(stored, start)))


@in_place_of(shard, "merge_into")
def older_batch_wins(
    _original: Function, stored: list[StateBatch], update: Sequence[StateBatch], start_offset: int
) -> None:
    known = {offset for first, last, _, _ in stored for offset in range(first, last + 1)}
    new = [
        StateBatch(offset, offset, state, count)
        for first, last, state, count in update
        for offset in range(first, last + 1)
        if offset not in known
    ]
    stored[:] = combine([*stored, *new], start_offset)


def snapshot_without_batches() -> AbstractContextManager[object]:
    return replaced((shard, "snapshot_batches", lambda _batches: []))


@in_place_of(ShareCoordinatorShard, "write")
def state_changed_beside_the_log(
    original: Function, self: ShareCoordinatorShard, key: Any, *arguments: Any, **named: Any
) -> Any:
    state = self.state_of(key)
    if state is not None:
        state.snapshot_epoch += 1
    return original(self, key, *arguments, **named)


@in_place_of(ShareGroups, "begin_heartbeat")
def group_changed_beside_the_log(original: Function, self: ShareGroups, request: Any, *arguments: Any) -> Any:
    group = self.group(request.group_id)
    if group is not None and group.group_epoch % 2:
        group.group_epoch += 2
    return original(self, request, *arguments)


# -- the log


@in_place_of(_Opening, "_scan")
def last_batch_lost_in_recovery(original: Function, self: _Opening, segment: Segment) -> Any:
    tail = original(self, segment)
    walk = BatchWalk(segment.read_at, segment.size, next_offset=segment.base_offset)
    batches = [(position, header.base_offset) for position, header in walk]
    if tail is None and len(batches) > 1:
        self.end = batches[-1][1]
        segment.cut_at(batches[-1][0])
    return tail


def torn_batch_kept_in_recovery() -> AbstractContextManager[object]:
    return replaced((Segment, "cut_at", lambda _self, _size: None))


def answers_before_the_sync() -> AbstractContextManager[object]:
    return replaced((Flusher, "_must_sync", lambda *_: False))


def failed_write_answered_as_done() -> AbstractContextManager[object]:
    original = flush._Calls.answer
    return replaced((flush._Calls, "answer", lambda self, callbacks, _error: original(self, callbacks, ErrorCode.NONE)))


def repeated_batch_appended_again() -> AbstractContextManager[object]:
    return replaced((ProducerStates, "check", lambda _self, _header: ErrorCode.NONE))


DELIVERED_AFTER_ANSWER: Final = "after an answered ACCEPT or REJECT"
LOST: Final = "is lost: not finished"
BACK: Final = "became"  # an epoch that goes back
EPOCH_LOST: Final = "was answered epoch"
GROUP_LOST: Final = "is gone, it was at epoch"
MEMBER_LOST: Final = "it did not leave, and had time until"
CORRUPT: Final = "gave CORRUPT_MESSAGE"
NOT_PERSISTED: Final = "is acknowledged in memory"

# Each with what the simulation says of it: one of these, because seeds meet the same fault in different ways.
FAULTS: Final[dict[Fault, tuple[str, ...]]] = {
    ack_answered_before_its_write: (DELIVERED_AFTER_ANSWER, "is finished and passed"),
    failed_write_not_rolled_back: (DELIVERED_AFTER_ANSWER, NOT_PERSISTED),
    owner_not_checked: ("held by", "which another member holds"),
    refused_request_half_applied: ("the outcome of a state write was never reported",),
    session_end_releases_everybody: ("held by",),
    delivery_limit_ignored: ("has delivery count",),
    delivery_not_counted: ("has delivery count",),
    released_record_never_available: (LOST,),
    lock_never_expires: ("there is still",),
    start_offset_passes_acquired_records: (DELIVERED_AFTER_ANSWER, "is finished and passed", LOST),
    gap_window_missing: (LOST,),
    initial_start_offset_not_persisted: (LOST,),
    failed_append_not_replayed_away: ("replayed", BACK, GROUP_LOST),
    coordinator_answers_before_its_append: (DELIVERED_AFTER_ANSWER, LOST, BACK, GROUP_LOST),
    update_loses_batches: (DELIVERED_AFTER_ANSWER, "is finished and passed", NOT_PERSISTED),
    older_batch_wins: (DELIVERED_AFTER_ANSWER, "is finished and passed", NOT_PERSISTED),
    snapshot_without_batches: (DELIVERED_AFTER_ANSWER, "is finished and passed"),
    state_changed_beside_the_log: ("replayed",),
    group_changed_beside_the_log: ("replayed", BACK),
    last_batch_lost_in_recovery: ("answered or delivered was", "has offsets", EPOCH_LOST, BACK, GROUP_LOST),
    torn_batch_kept_in_recovery: ("cannot be read", CORRUPT, BACK),
    answers_before_the_sync: ("answered or delivered was", EPOCH_LOST, BACK, GROUP_LOST, MEMBER_LOST),
    failed_write_answered_as_done: ("answered or delivered was", "it was", EPOCH_LOST, BACK, GROUP_LOST, MEMBER_LOST),
    repeated_batch_appended_again: ("more than once",),
}
