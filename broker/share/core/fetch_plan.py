"""The arithmetic around a share fetch: order of partitions, byte budgets, bytes to send."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol, TypeVar

from shareq.broker.share.core.values import AcquiredRange

T = TypeVar("T")


class Chance(Protocol):
    """The methods of `random.Random` that this module needs."""

    def randrange(self, stop: int, /) -> int: ...

    def sample(self, population: Sequence[int], k: int) -> list[int]: ...


class PlacedSpan(Protocol):
    """A record batch within the bytes of one read. Offsets are inclusive, position and size are in bytes."""

    @property
    def base_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def size(self) -> int: ...


def fetch_order(partitions: Sequence[T], session_epoch: int, most: int) -> list[T]:
    """Return the partitions that a request of the session looks at, in the order to fetch them.

    Each request begins one partition further than the previous one, so that none is always first; the requests that
    open a session (epoch 0) and end it (-1) keep the session's order. If there are more than `most`, a request looks at
    the `most` partitions behind those of the previous request.
    """
    count = len(partitions)
    if count <= 1:
        return list(partitions)
    begin = max(session_epoch, 0) * (most if count > most else 1) % count
    some = list(partitions[begin : begin + most])
    return some + list(partitions[: min(count, most) - len(some)])


def split_bytes(max_bytes: int, partitions: int, chance: Chance) -> list[int]:
    """Return the byte budgets of `partitions` partitions, in order: equal shares, and the remainder for one chosen at
    random.

    If there are fewer bytes than partitions, as many partitions get one byte each.
    """
    if partitions <= 1:
        return [max(max_bytes, 0)] * partitions
    share, rest = divmod(max(max_bytes, 0), partitions)
    budgets = [share] * partitions
    if share:
        budgets[chance.randrange(partitions)] += rest
    else:
        for index in chance.sample(range(partitions), rest):
            budgets[index] = 1
    return budgets


def slice_bounds(spans: Sequence[PlacedSpan], acquired: Sequence[AcquiredRange]) -> tuple[int, int]:
    """Return the start and end (exclusive) of a read's bytes to send: from the batch of the first acquired offset to
    that of the last.

    Batches are sent whole, with records in between that were not acquired: the consumer looks at the acquired ranges. A
    read of one batch is sent whole. If nothing is acquired, the result is (0, 0).
    """
    if not spans or not acquired:
        return (0, 0)
    if len(spans) == 1:
        return (spans[0].position, spans[0].position + spans[0].size)
    first, last = acquired[0].first_offset, acquired[-1].last_offset
    low = bisect_left(spans, first, key=attrgetter("last_offset"))
    high = bisect_right(spans, last, low, key=attrgetter("base_offset")) - 1
    if low > high:  # only offsets that the log does not have
        return (0, 0)
    return (spans[low].position, spans[high].position + spans[high].size)
