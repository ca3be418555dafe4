"""What became of ranges of offsets, and how an older and a newer account of them combine.

A state batch says that the offsets `first_offset..last_offset` (both inclusive) are in a delivery state (0 available,
2 acknowledged, 4 archived) after so many deliveries. Where accounts differ, the higher delivery count wins, then the
higher state; how recent an account is plays no part (Apache Kafka 4.3.1, combining persisted state batches). An offset
therefore ends with the greatest (count, state) that any batch gives it, in whatever order the batches are taken, and
the result is written with as few batches as possible. 4.3.1 leaves two equal neighbours apart when the second of them
had to win its range first, and joins them at its next combination; we join them at once, since otherwise a log would
replay to other batches after its compaction than before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import NamedTuple, Protocol


class StateBatch(NamedTuple):
    """A range of offsets, both ends inclusive, with its delivery state and delivery count."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


class StateBatchLike(Protocol):
    """Anything with a state batch's fields: the messages of requests and records, the leader's own values."""

    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def delivery_state(self) -> int: ...
    @property
    def delivery_count(self) -> int: ...


def state_batches(batches: Iterable[StateBatchLike]) -> list[StateBatch]:
    """The same batches as tuples, in the same order."""
    return [StateBatch(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count) for b in batches]


def combine(batches: Sequence[StateBatch], start_offset: int = -1) -> list[StateBatch]:
    """The batches as one ascending, disjoint account, with nothing below `start_offset` (-1: nothing is cut off).

    Every batch has first_offset <= last_offset.
    """
    if start_offset != -1:
        batches = _from(batches, start_offset)
    if _is_combined(batches):
        return list(batches)
    return _sweep(sorted(batches))


def merge_into(stored: list[StateBatch], update: Sequence[StateBatch], start_offset: int) -> None:
    """Combine `update` into `stored` in place: afterwards stored == combine(stored + update, start_offset).

    Both are combined already. The cost follows the update and the part of `stored` that it touches; the rest is only
    moved in memory.
    """
    if start_offset != -1:
        _prune(stored, start_offset)
        if update and update[0].first_offset < start_offset:
            update = _from(update, start_offset)
    if not update:
        return
    low, high = _touched(stored, update[0].first_offset, update[-1].last_offset)
    if high - low <= 4 * len(update):
        _splice(stored, low, high, update)
        return
    # A few batches strewn over many: each touches little.
    for batch in update:
        low, high = _touched(stored, batch.first_offset, batch.last_offset)
        _splice(stored, low, high, (batch,))


def terminal_records(batches: Iterable[StateBatch]) -> int:
    """How many offsets are acknowledged or archived."""
    return sum(last - first + 1 for first, last, state, _ in batches if state in (2, 4))


def _from(batches: Sequence[StateBatch], start_offset: int) -> list[StateBatch]:
    kept = [batch for batch in batches if batch.last_offset >= start_offset]
    return [b if b.first_offset >= start_offset else b._replace(first_offset=start_offset) for b in kept]


def _prune(stored: list[StateBatch], start_offset: int) -> None:
    if not stored or stored[0].first_offset >= start_offset:
        return
    position = bisect_left(stored, start_offset, key=itemgetter(1))
    del stored[:position]
    if stored and stored[0].first_offset < start_offset:
        stored[0] = stored[0]._replace(first_offset=start_offset)


def _touched(stored: list[StateBatch], first_offset: int, last_offset: int) -> tuple[int, int]:
    """The positions [low, high) of the batches that overlap the range or lie next to it."""
    # A shorter tuple sorts before every longer one that it begins: (x,) lies before the batch that starts at x.
    low = bisect_left(stored, (first_offset,))
    if low and stored[low - 1][1] >= first_offset - 1:
        low -= 1
    return low, bisect_left(stored, (last_offset + 2,), low)


def _splice(stored: list[StateBatch], low: int, high: int, update: Sequence[StateBatch]) -> None:
    if low == high:
        stored[low:low] = update
    else:
        stored[low:high] = _sweep(sorted([*stored[low:high], *update]))


def _is_combined(batches: Sequence[StateBatch]) -> bool:
    """Ascending, disjoint, and no two neighbours that could be one."""
    end, last_state, last_count = -2, -1, -1
    for first, last, state, count in batches:
        if first <= end or (first == end + 1 and state == last_state and count == last_count):
            return False
        end, last_state, last_count = last, state, count
    return True


def _sweep(batches: list[StateBatch]) -> list[StateBatch]:
    """Walk the offsets upwards; at each, the account with the greatest (count, state) among those open counts."""
    combined: list[StateBatch] = []
    opened: list[tuple[int, int, int]] = []  # (-count, -state, last): the smallest is the account that counts
    run_first, run_last, run_state, run_count = 0, -2, -1, -1
    position, offset, total = 0, 0, len(batches)
    while position < total or opened:
        if not opened:
            offset = batches[position][0]
        while position < total and batches[position][0] <= offset:
            _, last, state, count = batches[position]
            heappush(opened, (-count, -state, last))
            position += 1
        while opened and opened[0][2] < offset:
            heappop(opened)
        if not opened:
            continue
        count, state, last = opened[0]
        count, state = -count, -state
        if position < total and batches[position][0] <= last:
            last = batches[position][0] - 1
        if run_last + 1 == offset and run_state == state and run_count == count:
            run_last = last
        else:
            if run_last != -2:
                combined.append(StateBatch(run_first, run_last, run_state, run_count))
            run_first, run_last, run_state, run_count = offset, last, state, count
        offset = last + 1
    if run_last != -2:
        combined.append(StateBatch(run_first, run_last, run_state, run_count))
    return combined
