"""The budget of one turn of the loop for work that can be split.

Work whose cost per element is unknown measures itself: it counts its elements, looks at the clock after every `LOOK`
of them, and pauses once the turn has taken `TURN_NS`. If time stands still while code runs (tests, the simulation),
only elements are counted, so that a seed pauses at the same places every time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from types import coroutine
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

TURN_NS: Final = 2_000_000
"""The nanoseconds of one turn."""

TURN_ELEMENTS: Final = 200
"""The elements of one turn if time stands still."""

LOOK: Final = 50
"""Elements between two looks at the clock. A request with fewer never pauses."""

PIECE: Final = 100
"""The elements of one array that are handled between two breaths."""


def in_pieces(items: Sequence[T], most: int = PIECE) -> Sequence[Sequence[T]]:
    """Return the items in pieces of at most `most`; one empty piece if there are none, since that counts as work,
    too.
    """
    return (items,) if len(items) <= most else pieces(items, most)


def pieces(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """Return the items in pieces of at most `most`; no piece if there are none."""
    return [items[at : at + most] for at in range(0, len(items), most)]


class LoopTime(Protocol):
    """The part of a `Clock` (`environment.py`) that a budget needs."""

    @property
    def stands_still(self) -> bool: ...

    def now_ns(self) -> int: ...

    def call_soon(self, callback: Callable[[], None]) -> None: ...


class Pause:
    """An awaitable that suspends its coroutine until a later turn of the loop, even in a task of asyncio."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield  # nothing: as `asyncio.sleep(0)` does


@coroutine
def _nothing() -> Generator[None, None, None]:
    return
    yield  # a generator: once ended, it may be awaited again and again, at almost no cost


NO_PAUSE: Final = _nothing()
for _ in NO_PAUSE:  # it ends
    pass

PAUSE: Final = Pause()

Breath = Awaitable[None]
"""The result of `breathe`, to be awaited."""


class Breathe(Protocol):
    """The type of `TurnBudget.breathe`."""

    def __call__(self, elements: int = 1, /) -> Breath: ...


def unpaused(_elements: int = 1) -> Breath:
    """Breathe without ever pausing, for a caller that needs the result in this turn."""
    return NO_PAUSE


class TurnBudget:
    """The budget of the turns of one loop, shared by all work on it.

    Elements are counted from the last `begin`, or the last look. The first look of a turn notes the time, so a turn
    may last `TURN_NS` plus the time of the elements before its first look and after its last one.
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
        """Count from 0, because a request, or a step of one, begins."""
        self._counted += self._elements
        self._elements = 0

    def renew(self) -> None:
        """Begin a turn at this time, so that work done before the first look counts, too."""
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
        """Note when this turn began, which is valid until the loop's next turn."""
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
