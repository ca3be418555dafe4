"""The budget of one turn of the loop for work that can be split.

Work of unknown cost per element measures itself: it counts its elements, looks at the clock every `LOOK` of them, and
pauses once `TURN_NS` were spent in this turn. Where time stands still while code runs (tests, the simulation), elements
are counted instead, so a seed pauses at the same places every time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from types import coroutine
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

TURN_NS: Final = 2_000_000
"""Nanoseconds of one turn."""

TURN_ELEMENTS: Final = 200
"""Elements of one turn where time stands still."""

LOOK: Final = 50
"""Elements between two looks at the clock. A request with fewer never pauses."""

PIECE: Final = 100
"""Elements of one array to handle before the next breath."""


def in_pieces(items: Sequence[T], most: int = PIECE) -> Sequence[Sequence[T]]:
    """Return the items, up to so many at a time, and one empty piece for none: what has no elements counts."""
    return (items,) if len(items) <= most else pieces(items, most)


def pieces(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """Return the items, up to so many at a time, and no piece for none."""
    return [items[at : at + most] for at in range(0, len(items), most)]


class LoopTime(Protocol):
    """The part of a `Clock` (`environment.py`) that a budget needs."""

    @property
    def stands_still(self) -> bool: ...

    def now_ns(self) -> int: ...

    def call_soon(self, callback: Callable[[], None]) -> None: ...


class Pause:
    """An awaitable that suspends its coroutine until a later turn of the loop, also in a task of asyncio."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield  # nothing: as `asyncio.sleep(0)` does


@coroutine
def _nothing() -> Generator[None, None, None]:
    return
    yield  # a generator: one that has ended may be awaited again and again, at no more cost than a look at it


NO_PAUSE: Final = _nothing()
for _ in NO_PAUSE:  # it ends
    pass

PAUSE: Final = Pause()

Breath = Awaitable[None]
"""The result of `breathe`, to be awaited."""


class Breathe(Protocol):
    """`TurnBudget.breathe`."""

    def __call__(self, elements: int = 1, /) -> Breath: ...


def unpaused(_elements: int = 1) -> Breath:
    """Breathe without a pause, for a caller that needs the result in this turn."""
    return NO_PAUSE


class TurnBudget:
    """The budget of the turns of one loop, shared by all work on it.

    Elements are counted from the last `begin`, or the last look. The first look of a turn notes the time, so a turn may
    last `TURN_NS`, and as long as the elements before its first look and behind its last one take.
    """

    __slots__ = ("_call_soon", "_counted", "_elements", "_most", "_now", "_renews", "_since", "_stands_still")

    def __init__(self, clock: LoopTime) -> None:
        self._call_soon = clock.call_soon
        self._stands_still: Final = clock.stands_still
        self._now: Callable[[], int] = self._count if clock.stands_still else clock.now_ns
        self._most: Final = TURN_ELEMENTS if clock.stands_still else TURN_NS
        self._elements = 0
        self._counted = 0  # before `_elements`
        self._since: int | None = None  # when this turn was looked at first
        self._renews = False

    def begin(self) -> None:
        """Count from 0: a request, or a step of one, begins."""
        self._counted += self._elements
        self._elements = 0

    def renew(self) -> None:
        """Begin a turn at this time: work done before the first check counts, too."""
        self.begin()
        self._since = None
        if not self._stands_still:
            self._note(self._now())

    def breathe(self, elements: int = 1) -> Breath:
        """Count elements that were handled; await the result, which pauses if this turn is spent."""
        self._elements += elements
        return NO_PAUSE if self._elements < LOOK or not self._is_spent() else PAUSE

    def _is_spent(self) -> bool:
        now = self._now()
        since = self._since
        if since is None:
            since = self._note(self._counted if self._stands_still else now)
        self.begin()
        return now - since >= self._most

    def _note(self, since: int) -> int:
        """Note when this turn began, until the loop's next one."""
        self._since = since
        if not self._renews:
            self._renews = True
            self._call_soon(self._next_turn)
        return since

    def _count(self) -> int:
        return self._counted + self._elements

    def _next_turn(self) -> None:
        self._renews = False
        self._since = None
