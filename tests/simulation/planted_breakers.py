"""Faults to plant in breakers of share groups: the simulation must notice them all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.foundation.pending import completed
from shareq.broker.services import Services
from shareq.broker.share.dlq.breakers import Breakers
from shareq.broker.share.dlq.recent_letters import RecentLetters
from shareq.protocol.errors import NO_ERROR
from tests.support.planting import Fault, Function, in_place_of, replaced

NOT_PAUSED: Final = "is not paused: "
TOO_FEW: Final = "was paused by its breaker"


def letters_are_not_counted() -> AbstractContextManager[object]:
    return replaced((Breakers, "count", lambda *_: None))


def a_breakers_pause_is_not_stored() -> AbstractContextManager[object]:
    return replaced((Services, "_pause_group", lambda _self, _group: completed(NO_ERROR)))


@in_place_of(RecentLetters, "add")
def letters_of_one_write_count_as_one(original: Function, self: RecentLetters, _letters: int, *arguments: Any) -> Any:
    return original(self, 1, *arguments)


@in_place_of(RecentLetters, "add")
def each_letter_counts_as_ten(original: Function, self: RecentLetters, letters: int, *arguments: Any) -> Any:
    return original(self, 10 * letters, *arguments)


FAULTS: Final[dict[Fault, Sequence[str]]] = {
    letters_are_not_counted: (NOT_PAUSED,),
    a_breakers_pause_is_not_stored: (NOT_PAUSED,),
    letters_of_one_write_count_as_one: (NOT_PAUSED,),
    each_letter_counts_as_ten: (TOO_FEW,),
}
