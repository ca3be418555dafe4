"""Work of a handler that is done in turns of the loop, so many elements of the request in each; each turn counts
against its client's quota."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from shareq.broker.foundation.pending import Pending

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext

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


def emptied(held: dict[S, T]) -> Iterator[None]:
    """Give back what many were noted in: a hundred thousand things at once hold the loop for 10 ms."""
    while held:
        for _ in range(min(len(held), _EMPTIED)):
            held.popitem()
        yield


def weighed_pieces(items: Iterable[T], weights: Iterable[int], most: int) -> list[list[T]]:
    """Return the items in pieces, each the first that weighs `most` together, but for the last."""
    made: list[list[T]] = [[]]
    weighed = 0
    for item, weight in zip(items, weights, strict=True):
        if weighed >= most:
            made.append([])
            weighed = 0
        made[-1].append(item)
        weighed += weight
    return [piece for piece in made if piece]


def pieces(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """The items, so many at a time: none for none."""
    for at in range(0, len(items), most):
        yield items[at : at + most]
