"""Faults to plant in records with times of their own: the simulation must notice them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final
from weakref import WeakKeyDictionary

from shareq.broker.share import dated_records
from shareq.broker.share.core import dates, partition
from shareq.broker.share.core.acknowledge import Acknowledgement
from shareq.broker.share.core.dates import NOTHING_DATED, Dated, DatedRange
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, delayed
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.share.partitions import SharePartitionManager
from shareq.protocol.share import AcknowledgeType
from tests.simulation.planted_waits import (
    EARLY,
    NOT_PERSISTED,
    STILL_WAITS,
    a_start_forgets_waits,
    any_timer_ends_all_waits,
)
from tests.support.planting import Fault, Function, in_place_of, replaced

BEFORE_SENT: Final = "before the time of its sender"
NOT_REFUSED: Final = "was to be refused"
COUNTED: Final = "had never been handed out"
MORE_THAN_HALF: Final = "records wait that never came"


def dates_are_not_heeded() -> AbstractContextManager[object]:
    return replaced((partition, "make_wait", lambda *_: []))


def dates_are_read_by_the_first_leader_alone() -> AbstractContextManager[object]:
    """Plant the fault that a leader trusts the loaded state: its records are available, whatever their headers say."""
    original = SharePartitionManager.dated
    known: WeakKeyDictionary[SharePartition, int] = WeakKeyDictionary()

    def dated(self: SharePartitionManager, leader: SharePartitionLeader, read: Any) -> Dated:
        before = known.setdefault(leader.core, leader.core.known_until)
        found = original(self, leader, read)
        return found._replace(waiting=[each for each in found.waiting if each.first_offset > before])

    return replaced((SharePartitionManager, "dated", dated))


def dates_are_of_another_clock() -> AbstractContextManager[object]:
    """Plant the fault that delivery times are compared with a clock that is half a second ahead."""
    original = dates.dated

    def dated(offsets: Any, values: Any, wall_ms: int, now_ms: int, max_ms: int) -> Dated:
        return original(offsets, values, wall_ms + 500, now_ms, max_ms)

    return replaced((dated_records, "dated", dated))


@in_place_of(partition, "make_wait")
def a_wait_counts_as_delivery(
    original: Function,
    window: InFlightWindow,
    waiting: Sequence[DatedRange],
    before: Mapping[DeliveryStatus, DeliveryStatus],
) -> Any:
    def counted(delivery_count: int, not_before_ms: int) -> DeliveryStatus:
        return delayed(delivery_count + 1, not_before_ms)

    with replaced((dates, "delayed", counted)):
        return original(window, waiting, before)


def all_of_the_window_waits() -> AbstractContextManager[object]:
    return replaced((partition, "first_behind", lambda *_: None))


@in_place_of(SharePartition, "_without_waiting")
def dates_set_no_timer(original: Function, self: SharePartition, *arguments: Any) -> Any:
    with replaced((type(self._times), "add", lambda *_: None)):
        return original(self, *arguments)


@in_place_of(SharePartitionManager, "refuse")
def what_is_refused_is_handed_out(
    _original: Function, _self: Any, _leader: Any, _member: str, acquired: Any, _refused: Any
) -> Any:
    return acquired


@in_place_of(dated_records, "refused_of")
def what_is_refused_is_accepted(original: Function, *arguments: Any) -> Any:
    return [each._replace(acknowledge_types=(AcknowledgeType.ACCEPT,)) for each in original(*arguments)]


def times_of_members_are_ignored() -> AbstractContextManager[object]:
    return replaced((Acknowledgement, "delay", lambda _self, _later: None))


def headers_are_not_read() -> AbstractContextManager[object]:
    return replaced((SharePartitionManager, "dated", lambda *_: NOTHING_DATED))


def a_start_forgets_the_times_of_members() -> AbstractContextManager[object]:
    return a_start_forgets_waits()


def the_first_time_ends_all_waits() -> AbstractContextManager[object]:
    return any_timer_ends_all_waits()


FAULTS: Final[dict[Fault, Sequence[str]]] = {
    dates_are_not_heeded: (BEFORE_SENT,),
    dates_are_read_by_the_first_leader_alone: (BEFORE_SENT,),
    dates_are_of_another_clock: (BEFORE_SENT,),
    a_wait_counts_as_delivery: (COUNTED,),
    all_of_the_window_waits: (MORE_THAN_HALF,),
    dates_set_no_timer: (STILL_WAITS,),
    what_is_refused_is_handed_out: (NOT_REFUSED,),
    what_is_refused_is_accepted: ("has died without a dead letter",),
    times_of_members_are_ignored: (EARLY,),
    headers_are_not_read: (BEFORE_SENT, NOT_REFUSED),
    a_start_forgets_the_times_of_members: (EARLY, NOT_PERSISTED),
    the_first_time_ends_all_waits: (EARLY, BEFORE_SENT),
}
