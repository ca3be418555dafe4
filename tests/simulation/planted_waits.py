"""Faults to plant in delayed redelivery: the simulation must notice them all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.foundation.environment import Clock
from shareq.broker.share import loading, partitions
from shareq.broker.share.core import acknowledge, locks, partition, writes
from shareq.broker.share.core.effects import Effect, WakeFetches
from shareq.broker.share.core.locks import RedeliveryTimes
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.window.delivery_limit import after_release as limited
from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.broker.share.core.window.redelivery import not_before
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.share.partitions import SharePartitionManager
from shareq.coordinator.ports import RedeliveryBackoff, ShareGroupSettings
from shareq.coordinator.share import shard
from shareq.coordinator.share.delays import Delay
from shareq.protocol.share import RecordState
from tests.support.planting import Fault, Function, in_place_of, replaced

_USERS: Final = (acknowledge, locks, writes)

EARLY: Final = "before its time"
STILL_WAITS: Final = "it still waits"
TOO_LONG: Final = "it waits longer than it may"
UNSEEN: Final = "fetches wait although there"
NOT_PERSISTED: Final = "persisted is"


def waits_do_not_grow() -> AbstractContextManager[object]:
    def flat(backoff: RedeliveryBackoff, now_ms: int, offset: int, _count: int) -> int:
        return not_before(backoff, now_ms, offset, 1)

    return replaced(*((module, "not_before", flat) for module in _USERS))


@in_place_of(partition, "wake")
def any_timer_ends_all_waits(original: Function, window: InFlightWindow, times: RedeliveryTimes, now_ms: int) -> Any:
    return original(window, times, now_ms + 1_000_000)


def a_start_forgets_waits() -> AbstractContextManager[object]:
    return replaced((shard, "delays_in", lambda _tags: ()))


@in_place_of(shard.ShareCoordinatorShard, "_replay_snapshot")
def snapshots_are_without_waits(original: Function, self: Any, key: Any, value: Any, offset: int) -> None:
    value.unknown_tags = ()
    original(self, key, value, offset)


@in_place_of(SharePartitionManager, "_activate")
def a_load_sets_no_timer(original: Function, self: SharePartitionManager, leader: SharePartitionLeader) -> None:
    with replaced((SharePartitionManager, "arm", lambda _self, _leader: None)):
        original(self, leader)


@in_place_of(SharePartition, "on_deadline")
def the_end_of_a_wait_wakes_nobody(original: Function, self: SharePartition, now_ms: int) -> tuple[Effect, ...]:
    effects = original(self, now_ms)
    return () if effects == (WakeFetches(),) else effects


@in_place_of(SharePartition, "can_acquire")
def what_waits_holds_up_those_behind(original: Function, self: SharePartition) -> bool:
    return original(self) and all(view.not_before_ms is None for view in self.snapshot())


def what_waits_has_no_limit() -> AbstractContextManager[object]:
    def after_release(status: DeliveryStatus, settings: ShareGroupSettings) -> RecordState:
        return RecordState.AVAILABLE if settings.redelivery.initial_ms else limited(status, settings)

    return replaced(*((module, "after_release", after_release) for module in _USERS))


@in_place_of(loading, "_monotonic")
def a_clock_that_was_set_back_hides_records(
    original: Function, clock: Clock, delays: Sequence[Delay], _longest_ms: int
) -> Any:
    return original(clock, delays, 1 << 60)


def times_are_persisted_as_they_are_in_memory() -> AbstractContextManager[object]:
    """Plant the fault that monotonic times are persisted, which begin again with each start."""
    return replaced(
        *((module, "in_wall_time", lambda _clock, delays: tuple(delays)) for module in (loading, partitions))
    )


FAULTS: Final[dict[Fault, Sequence[str]]] = {
    waits_do_not_grow: (EARLY,),
    any_timer_ends_all_waits: (EARLY,),
    a_start_forgets_waits: (EARLY, NOT_PERSISTED),
    snapshots_are_without_waits: (EARLY, NOT_PERSISTED),
    a_load_sets_no_timer: (STILL_WAITS,),
    the_end_of_a_wait_wakes_nobody: (UNSEEN,),
    what_waits_holds_up_those_behind: (UNSEEN,),
    what_waits_has_no_limit: ("has delivery count",),
    a_clock_that_was_set_back_hides_records: (TOO_LONG,),
    times_are_persisted_as_they_are_in_memory: (EARLY, NOT_PERSISTED),
}
