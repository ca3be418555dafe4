"""Faults that the broker once had, planted to prove that they would be noticed again. See `planted`.

Their seeds change with every change of the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.log.cleaner.cleaning import _Output
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.coordinator.share.shard import ShareCoordinatorShard
from tests.simulation.planted import DELIVERED_AFTER_ANSWER
from tests.support.planting import Fault, Function, in_place_of, replaced


def what_is_archived_in_memory_alone_is_passed() -> AbstractContextManager[object]:
    return replaced((InFlightWindow, "note_undurable", lambda _self, _last_offset: None))


@in_place_of(CoordinatorPartition, "load_now")
def members_that_never_come_back_stay(original: Function, self: CoordinatorPartition[Any]) -> None:
    original(self)
    self.close()


def emptied_segment_stays_in_the_log() -> AbstractContextManager[object]:
    empty: Any = property(lambda self: not self.size)
    return replaced((_Output, "is_empty", empty))


def start_does_not_finish_deletions() -> AbstractContextManager[object]:
    return replaced(
        (ShareCoordinatorService, "_finish_deletions", lambda _self: None),
        (GroupCoordinatorService, "_finish_deletions", lambda _self: None),
    )


@in_place_of(ShareCoordinatorShard, "initialize_once")
def unrecorded_state_is_wiped_at_a_later_epoch(
    original: Function, self: ShareCoordinatorShard, *arguments: Any, again: bool
) -> Any:
    return original(self, *arguments, again=False)


LEFT: Final = "was deleted"

FAULTS: Final[dict[Fault, Sequence[str]]] = {
    what_is_archived_in_memory_alone_is_passed: (DELIVERED_AFTER_ANSWER, "is finished and passed"),
    members_that_never_come_back_stay: ("was silent, and is a member still",),
    emptied_segment_stays_in_the_log: ("replayed", "cannot be read"),
    unrecorded_state_is_wiped_at_a_later_epoch: (
        DELIVERED_AFTER_ANSWER,
        "persisted start of slot",
        "the offset was altered",
    ),
    start_does_not_finish_deletions: (LEFT, "deleted topics"),
}
