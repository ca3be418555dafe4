"""The choice of ranges that `shareq share records` shows, their order, and a remark about omitted ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import nlargest
from itertools import islice
from typing import Final, NamedTuple, Protocol, TypeVar

from shareq.ops.state_colours import STATES

FINISHED: Final = ("acknowledged", "archived")
_UNFINISHED: Final = tuple(state for state in STATES if state not in FINISHED)
_MEANS: Final = {"unfinished": ("available", "delayed", "waiting", "acquired")}


class Range(Protocol):
    """The fields of a range that decide if it is shown."""

    @property
    def state(self) -> str: ...
    @property
    def held_ms(self) -> int | None: ...
    @property
    def age_ms(self) -> int | None: ...


Row = TypeVar("Row")
R = TypeVar("R", bound=Range)


class Choice(NamedTuple):
    """The choice of ranges.

    `states`: those to show, empty for all unfinished ones; `finished`: show finished ones, too.

    `held_for_ms` is the least time that a member has held the range, `older_ms` the least time that it has been in
    flight, however often it was released.
    """

    states: tuple[str, ...]
    finished: bool
    member: str | None
    first: int
    held_for_ms: int | None
    older_ms: int | None
    by_age: bool

    @property
    def filters(self) -> bool:
        """True if unfinished ranges may be left out."""
        return bool(self.states or self.member or self.first) or (self.held_for_ms, self.older_ms) != (None, None)

    @property
    def hides_finished(self) -> bool:
        """True if finished offsets are left out by default."""
        return not self.states and not self.finished

    def asked(self, *, of_api: bool) -> Collection[str]:
        """Return the states to request; empty for all.

        The records API has more precise states than `unfinished`.
        """
        wanted = self.states or (() if self.finished else _UNFINISHED)
        if not of_api:
            return wanted
        return tuple(dict.fromkeys(name for each in wanted for name in _MEANS.get(each, (each,))))

    def takes(self, row: Range) -> bool:
        """Return True if the range's age fits. A range of unknown age may be old."""
        if self.held_for_ms is not None and (row.held_ms is None or row.held_ms < self.held_for_ms):
            return False
        return self.older_ms is None or (
            row.state not in FINISHED and (row.age_ms is None or row.age_ms >= self.older_ms)
        )

    def ordered(self, rows: Iterable[R], most: int) -> Iterable[R]:
        """Return the rows to show: all, or the `most` oldest ones."""
        taken = filter(self.takes, rows)
        if not self.by_age:
            return taken
        held = self.held_for_ms is not None

        def age(row: R) -> int:
            found = row.held_ms if held else row.age_ms
            return -1 if found is None else found

        return nlargest(most, taken, key=age)


def limited(rows: Iterable[Row], limit: int, more: Callable[[], None]) -> Iterator[Row]:
    """Yield the first rows. `more` is called if there are others."""
    left = iter(rows)
    yield from islice(left, limit)
    for _ in left:
        more()
        return
