"""Faults to plant in the settings that nodes share: each must be noticed by a known seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import Failure
from shareq.cluster.state import config_log, config_records
from shareq.cluster.state.config_log import ConfigLog
from shareq.cluster.state.config_records import OwnSecret
from shareq.cluster.state.slot import Produced, Refused, Slot
from shareq.protocol.errors import ErrorCode
from tests.support.planting import Fault, Function, in_place_of, replaced


def what_is_read_again_is_no_news() -> AbstractContextManager[object]:
    def none(*_states: object) -> Iterator[object]:
        return iter(())

    return replaced((config_log, "differences", none))


@in_place_of(config_log, "differences")
def rows_that_are_gone_stay(original: Function, before: Any, after: Any) -> Iterator[object]:
    return (change for change in original(before, after) if config_records.record_of(change).value is not None)


@in_place_of(config_log._Image, "apply")
def the_last_secret_counts(original: Function, self: Any, rows: Sequence[Any]) -> bool:
    for _, _, change in rows:
        if isinstance(change, OwnSecret):
            self.secret = None
    return bool(original(self, rows))


@in_place_of(ConfigLog, "_end")
def doubtful_writes_are_confirmed(original: Function, self: Any, mark: bytes, error: ErrorCode, why: str = "") -> None:
    original(self, mark, ErrorCode.NONE if error is ErrorCode.REQUEST_TIMED_OUT else error, why)


@in_place_of(ConfigLog, "_settle")
def writes_are_confirmed_before_they_are_read_back(original: Function, self: Any) -> None:
    original(self)
    for mark in [mark for mark, written in self._written.items() if written.is_sent]:
        self._end(mark, ErrorCode.NONE)


@in_place_of(ConfigLog, "_read_all")
async def a_read_goes_on_where_it_failed(original: Function, self: Any) -> object:
    if not self._is_open:
        return await original(self)
    found = await self._slot.find_leader()
    return found if isinstance(found, Refused) else self._image


@in_place_of(Slot, "produce")
def what_may_be_appended_is_sent_again(original: Function, self: Slot, *how: Any) -> Pending[Produced | Refused]:
    def forgotten(answer: Produced | Refused) -> Produced | Refused:
        is_lost = isinstance(answer, Refused) and answer.failure is Failure.LOST
        return Refused("", failure=Failure.NOT_SENT) if is_lost else answer

    answer: Pending[Produced | Refused] = original(self, *how)
    return answer.then(forgotten)


@in_place_of(ConfigLog, "_find_end")
async def a_deposed_leader_is_read(original: Function, self: Any) -> object:
    self._epoch = -1
    end = await original(self)
    self._epoch = -1
    return end


@in_place_of(ConfigLog, "_write")
def offers_of_secrets_are_sent_again(
    original: Function, self: Any, changes: Sequence[Any], *, once: bool = False
) -> object:
    return original(self, changes)


FAULTS: Final[tuple[Fault, ...]] = (
    what_is_read_again_is_no_news,
    rows_that_are_gone_stay,
    the_last_secret_counts,
    doubtful_writes_are_confirmed,
    writes_are_confirmed_before_they_are_read_back,
    a_read_goes_on_where_it_failed,
    what_may_be_appended_is_sent_again,
    a_deposed_leader_is_read,
    offers_of_secrets_are_sent_again,
)
