"""Work of a handler that is done in turns of the loop, so many elements of the request in each; each turn counts
against its client's quota."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

from shareq.broker.foundation.pending import Pending, gather

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext
    from shareq.broker.security.rights import Right

TURN_NAMES: Final = 1_000
"""So many names are asked for in one turn, 2 µs each."""

_EMPTIED: Final = 4_000

S = TypeVar("S")
T = TypeVar("T")
Steps = Generator[None, None, T]
"""Pauses where others may have their turn, and returns what comes of the work."""


class TurnCount:
    """Counts what one turn does. `most`: so much is enough for one."""

    __slots__ = ("_done", "_most")

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._done = 0

    def full(self, more: int = 1) -> bool:
        """Count `more`. True: the turn should end here; the next one counts from 0."""
        self._done += more
        if self._done < self._most:
            return False
        self._done = 0
        return True


def run_in_turns(ctx: RequestContext, work: Iterator[None]) -> None:
    """Do the work in turns (`foundation/loop/turns.py`); where there are quotas, the time of each is its client's."""
    services = ctx.services
    if services.quotas.active:
        from shareq.broker.dispatch.metering import Metering

        work = Metering(services).begin(ctx).turns(work)
    services.turns.run(work, ctx.failed)


def in_turns(ctx: RequestContext, steps: Steps[T]) -> T | Pending[T]:
    """What comes of the steps: at once if they do not pause, as those of nearly all requests, else in turns of the
    loop. They go on when the client has gone. The connection is closed when one of those turns fails.
    """
    try:
        next(steps)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    result: Pending[T] = Pending()

    def rest() -> Iterator[None]:
        result.complete((yield from steps))

    run_in_turns(ctx, rest())
    return result


def pending_in_turns(ctx: RequestContext, steps: Steps[Pending[T]]) -> Pending[T]:
    """As `in_turns`, of steps that return what is still to come."""
    result: Pending[T] = Pending()

    def begun() -> Steps[Pending[T]]:
        (yield from steps).on_complete(result.complete)
        return result

    in_turns(ctx, begun())
    return result


def each_in_turns(
    ctx: RequestContext,
    items: Iterable[S],
    ask: Callable[[S], Pending[T]],
    most: int,
    weigh: Callable[[S], int] = lambda _item: 1,
) -> Pending[list[T]]:
    """Ask for every item, in order and about `most` in one turn, by what each weighs; the answers, in this order, when
    all have come.
    """
    turn = TurnCount(most)

    def steps() -> Steps[Pending[list[list[T]]]]:
        answers: list[Pending[list[T]]] = []
        some: list[Pending[T]] = []
        for item in items:
            some.append(ask(item))
            if turn.full(weigh(item)):
                answers.append(gather(some))
                some = []
                yield
        answers.append(gather(some))
        return gather(answers)

    return pending_in_turns(ctx, steps()).then(lambda answers: list(chain.from_iterable(answers)))


def made_in_turns(items: Iterable[S], make: Callable[[S], T], most: int) -> Steps[list[T]]:
    """What is made of every item, `most` in one turn."""
    made: list[T] = []
    turn = TurnCount(most)
    for item in items:
        made.append(make(item))
        if turn.full():
            yield
    return made


def sorted_in_turns(items: Iterable[str], most: int) -> Steps[list[str]]:
    """The items, each once, in order; `most` looked at, put in order or merged in one turn."""
    known: dict[str, None] = {}
    turn = TurnCount(most)
    for item in items:
        known[item] = None
        if turn.full():
            yield
    parts: list[list[str]] = []
    for some in pieces(list(known), most):
        parts.append(sorted(some))
        if turn.full(len(some)):
            yield
    if len(parts) == 1:
        return parts[0]
    return (yield from made_in_turns(merge(*parts), lambda item: item, most))


def lacking_in_turns(ctx: RequestContext, right: Right, names: Iterable[str]) -> Steps[set[str]]:
    """As `ctx.lacking`, `TURN_NAMES` in one turn."""
    lacking: set[str] = set()
    if ctx.services.authorizer is None:
        return lacking
    turn = TurnCount(TURN_NAMES)
    for name in names:
        if not ctx.may(right, name):
            lacking.add(name)
        if turn.full():
            yield
    return lacking


def emptied(held: dict[S, T]) -> Iterator[None]:
    """Give back what many were noted in: a hundred thousand things at once hold the loop for 10 ms."""
    while held:
        for _ in range(min(len(held), _EMPTIED)):
            held.popitem()
        yield


def weighed_pieces(items: Iterable[T], weigh: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Yield the items some at a time, until they weigh `most`."""
    turn = TurnCount(most)
    some: list[T] = []
    for item in items:
        some.append(item)
        if turn.full(weigh(item)):
            yield some
            some = []
    if some:
        yield some


def pieces(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """The items, so many at a time: none for none."""
    for at in range(0, len(items), most):
        yield items[at : at + most]
