from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.redrive import job
from shareq.broker.redrive.job import Redrive
from shareq.broker.redrive.progress import PartitionProgress, State
from shareq.broker.redrive.service import RedriveService
from shareq.broker.redrive.spec import RedriveSpec
from shareq.broker.redrive.world import BrokerRedriveWorld
from shareq.protocol.errors import ErrorCode
from tests.support.planting import Fault, Function, in_place_of, replaced


@in_place_of(job, "sent_back")
async def a_start_finds_nothing_of_what_was_sent_back(_original: Function, *_: object) -> set[int]:
    return set()


def letters_go_back_before_that_is_announced() -> AbstractContextManager[object]:
    """Plant the fault that letters are sent back before the announcement of the round is durable."""
    commit = BrokerRedriveWorld.commit
    begun: set[str] = set()

    def at_once(self: BrokerRedriveWorld, spec: RedriveSpec, state: State, *rest: Any) -> Pending[ErrorCode]:
        if state is State.RUNNING and spec.name in begun:
            return completed(ErrorCode.NONE)
        begun.add(spec.name)
        return commit(self, spec, state, *rest)

    return replaced((BrokerRedriveWorld, "commit", at_once))


@in_place_of(BrokerRedriveWorld, "commit")
def a_round_is_done_when_it_is_announced(
    commit: Function,
    self: BrokerRedriveWorld,
    spec: RedriveSpec,
    state: State,
    progress: Sequence[PartitionProgress],
    why: str = "",
) -> Any:
    moved = [
        each
        if each.under_way is None
        else PartitionProgress(each.partition, each.under_way.upto, each.end_offset, each.counts)
        for each in progress
    ]
    return commit(self, spec, state, moved, why)


@in_place_of(Redrive, "start")
def a_start_looks_in_the_first_partition_only(start: Function, self: Redrive) -> None:
    """Plant the fault that letters being sent back from later partitions of the queue count as new."""
    self._searched = self.progress[-1]
    start(self)


def the_second_crash_forgets_the_first() -> AbstractContextManager[object]:
    """Plant the fault that a start searches only the logs that were announced last."""
    return replaced((job, "_together", lambda _earlier, now: now))


OF_CRASHES: Final = (
    a_start_finds_nothing_of_what_was_sent_back,
    letters_go_back_before_that_is_announced,
    a_round_is_done_when_it_is_announced,
    a_start_looks_in_the_first_partition_only,
    the_second_crash_forgets_the_first,
)


@in_place_of(Redrive, "_appended")
async def an_append_that_failed_counts_as_done(
    _original: Function, self: Redrive, progress: PartitionProgress, made: Any, _errors: object, started_ms: int
) -> None:
    await self._finish(progress, made, started_ms)


def a_start_leaves_redrives_alone() -> AbstractContextManager[object]:
    return replaced((RedriveService, "recover", lambda _self: None))


@in_place_of(Redrive, "cancel")
def a_cancel_is_answered_before_it_is_durable(cancel: Function, self: Redrive) -> Pending[ErrorCode]:
    cancel(self)
    return completed(ErrorCode.NONE)


@in_place_of(RedriveService, "_begun")
async def a_redrive_that_begins_cannot_be_cancelled(_original: Function, _self: RedriveService, _name: str) -> None:
    """Plant a fault that seed 2000500 once found: the cancellation was confirmed, and the redrive continued."""


def a_name_serves_twice() -> AbstractContextManager[object]:
    """Plant the fault that the second redrive of a name begins at the first offset of the first one."""
    return replaced((RedriveService, "_begin", _begin_again))


_begin = RedriveService._begin


def _begin_again(self: RedriveService, spec: RedriveSpec, found: Any) -> Any:
    return _begin(self, spec, found if isinstance(found, ErrorCode) else [])


TWICE: Final = "back twice"
PASSED: Final = "which did not go back"
GONE_ON: Final = "and has gone on"

FAULTS: Final[dict[Fault, tuple[str, ...]]] = {
    a_start_finds_nothing_of_what_was_sent_back: (TWICE,),
    letters_go_back_before_that_is_announced: (TWICE,),
    a_round_is_done_when_it_is_announced: (PASSED, TWICE),
    a_start_looks_in_the_first_partition_only: (TWICE,),
    the_second_crash_forgets_the_first: (TWICE,),
    an_append_that_failed_counts_as_done: (PASSED,),
    a_start_leaves_redrives_alone: ("never ends",),
    a_cancel_is_answered_before_it_is_durable: (GONE_ON,),
    a_redrive_that_begins_cannot_be_cancelled: (GONE_ON,),
    a_name_serves_twice: ("was begun twice", "is over: INVALID_RECORD"),
}
