"""Faults that the broker once had, planted again: their seeds change with every change of the simulation, they must not
come back. See `planted`.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final

from shareq.broker.coordinators import CoordinatorPartition
from shareq.broker.group_coordinator import GroupCoordinatorService
from shareq.broker.log.cleaner.cleaning import _Output
from shareq.broker.share.window import InFlightWindow
from shareq.broker.share_coordinator import ShareCoordinatorService
from shareq.broker.share_partitions import LeaderState, SharePartitionManager
from shareq.coordinator.group import administration, heartbeat
from shareq.coordinator.group.records import state_partitions_record
from shareq.coordinator.group.share_group import intersection, without
from tests.simulation.planted import DELIVERED_AFTER_ANSWER, Fault, replaced


def renewal_sets_the_lock_timer_past_others() -> AbstractContextManager[object]:
    def on_timer(self: SharePartitionManager) -> None:
        self._timer = None
        now = self._env.clock.now_ms()
        while self._deadlines and self._deadlines[0][0] <= now:
            armed_at, _, leader = heapq.heappop(self._deadlines)
            if leader.armed_at == armed_at:
                leader.armed_at = None
            if leader.state is not LeaderState.ACTIVE:
                continue
            deadline = leader.core.next_deadline_ms()
            if deadline is not None and deadline <= now:
                self.perform(leader, leader.core.on_deadline(now))
            else:
                self.arm(leader)
        if self._deadlines and self._timer is None:
            self._set_timer(self._deadlines[0][0])

    return replaced((SharePartitionManager, "_on_timer", on_timer))


def what_is_archived_in_memory_alone_is_passed() -> AbstractContextManager[object]:
    return replaced((InFlightWindow, "note_undurable", lambda _self, _last_offset: None))


def members_that_never_come_back_stay() -> AbstractContextManager[object]:
    original = CoordinatorPartition.__init__

    def init(self: CoordinatorPartition[Any], *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        self.close()
        self._timer_at = None

    return replaced((CoordinatorPartition, "__init__", init))


def half_failed_initialization_is_forgotten() -> AbstractContextManager[object]:
    original = heartbeat._initialization_ended

    def ended(group: Any, activity: Any, topics: Any, initialized: bool) -> Any:
        known = group.state_partitions
        waiting = intersection(group.initializing, topics)
        if initialized or known is None or not waiting:
            return original(group, activity, topics, initialized)
        left = replace(known, initializing=without(known.initializing, waiting))
        return {}, [state_partitions_record(group.group_id, left)]

    return replaced((heartbeat, "_initialization_ended", ended))


def alteration_forgets_an_unfinished_deletion() -> AbstractContextManager[object]:
    return replaced((administration, "_covers", lambda *_arguments: True))


def emptied_segment_stays_in_the_log() -> AbstractContextManager[object]:
    empty: Any = property(lambda self: not self.size)
    return replaced((_Output, "is_empty", empty))


def start_does_not_finish_deletions() -> AbstractContextManager[object]:
    return replaced(
        (ShareCoordinatorService, "finish_deletions", lambda _self: None),
        (GroupCoordinatorService, "finish_deletions", lambda _self: None),
    )


LEFT: Final = "was deleted"

FAULTS: Final[dict[Fault, Sequence[str]]] = {
    renewal_sets_the_lock_timer_past_others: ("there is still",),
    what_is_archived_in_memory_alone_is_passed: (DELIVERED_AFTER_ANSWER, "is finished and passed"),
    members_that_never_come_back_stay: ("was silent, and is a member still",),
    half_failed_initialization_is_forgotten: (LEFT, "never becomes idle"),
    alteration_forgets_an_unfinished_deletion: (LEFT,),
    emptied_segment_stays_in_the_log: ("replayed", "cannot be read"),
    start_does_not_finish_deletions: (LEFT, "deleted topics"),
}
