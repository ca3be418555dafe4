"""The states of ranges of offsets, and the combination of an older and a newer list.

A state batch says that the offsets `first_offset..last_offset` (both inclusive) are in a delivery state (0 available, 2
acknowledged, 3 archiving, 4 archived) after so many deliveries. Where batches differ, the higher delivery count wins,
then the higher state, regardless of which is newer (Apache Kafka 4.4.0, combining persisted state batches). An offset
therefore ends with the greatest (count, state) that any batch gives it, in whatever order the batches are taken, and
the result is written with as few batches as possible. Apache Kafka 4.3.1 did not join two equal neighbours at once if
the second one had replaced another batch; it joined them at the next combination.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Final, NamedTuple, Protocol

from shareq.protocol.passes.runs import is_account, is_combined, overlay
from shareq.protocol.primitives import Tags

PERSISTED_STATES: Final = frozenset((0, 2, 3, 4))  # available, acknowledged, archiving, archived; never acquired
_STATE_BITS: Final = sum(1 << state for state in PERSISTED_STATES)
_LAST_OFFSET: Final = itemgetter(1)


class StateBatch(NamedTuple):
    """A range of offsets, both ends inclusive, with its delivery state and delivery count."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    @property
    def unknown_tags(self) -> Tags:
        """The unknown tags, always none, so that the batch can be written as an element of a record."""
        return ()


class StateBatchLike(Protocol):
    """An object with a state batch's fields: a part of a request or a record, or a value of the leader."""

    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def delivery_state(self) -> int: ...
    @property
    def delivery_count(self) -> int: ...


class Account(list[StateBatch]):
    """Combined batches that a share partition's leader can have written; only `account_of`, which checks them, makes
    it.
    """

    __slots__ = ()


def account_of(batches: Iterable[StateBatchLike], start_offset: int = -1) -> Account | None:
    """Return the batches as an account, without offsets below `start_offset` (-1: all are kept).

    None if a share partition's leader cannot have written one of them.
    """
    given = list(batches)
    if is_account(given, StateBatch, _STATE_BITS):
        account = Account(given)  # type: ignore[arg-type]
    else:
        rows = state_batches(given)
        if not are_sound(rows):
            return None
        account = Account(combine(rows))
    if start_offset != -1:
        _prune(account, start_offset)
    return account


def are_sound(batches: Iterable[StateBatch]) -> bool:
    """Return True if a share partition's leader can have written all of these."""
    for first, last, state, count in batches:
        if not 0 <= first <= last or state not in PERSISTED_STATES or count < 0:
            return False
    return True


def state_batches(batches: Iterable[StateBatchLike]) -> list[StateBatch]:
    """Return the same batches as tuples, in the same order."""
    new = tuple.__new__  # a NamedTuple's own constructor takes twice as long
    return [new(StateBatch, (b.first_offset, b.last_offset, b.delivery_state, b.delivery_count)) for b in batches]


def combine(batches: Iterable[StateBatch], start_offset: int = -1) -> list[StateBatch]:
    """Return the batches as an ascending list without overlaps, without offsets below `start_offset` (-1: all are
    kept).

    Every batch must have first_offset <= last_offset.
    """
    rows = list(batches)
    if not is_combined(rows):
        rows = _sweep(sorted(rows))
    if start_offset != -1:
        _prune(rows, start_offset)
    return rows


def merge_into(stored: list[StateBatch], update: Sequence[StateBatch], start_offset: int) -> None:
    """Combine `update` into `stored` in place: afterwards stored == combine(stored + update, start_offset).

    Both have to be combined already. The cost depends on the update and the part of `stored` that it overlaps; the rest
    is only moved in memory.
    """
    if start_offset != -1:
        _prune(stored, start_offset)
        if update and update[0][0] < start_offset:
            update = list(update)
            _prune(update, start_offset)
    if len(update) == 1:
        _merge_one(stored, update[0])
    elif update:
        _merge_many(stored, update)


def _prune(stored: list[StateBatch], start_offset: int) -> None:
    if not stored or stored[0][0] >= start_offset:
        return
    position = bisect_left(stored, start_offset, key=_LAST_OFFSET)
    del stored[:position]
    if stored and stored[0][0] < start_offset:
        stored[0] = stored[0]._replace(first_offset=start_offset)


def _merge_one(stored: list[StateBatch], batch: StateBatch) -> None:
    """Merge one batch as `merge_into` does. A neighbour that only touches it matters if the two become one batch."""
    first, last, state, count = batch
    # A shorter tuple sorts before every longer one that it begins: (x,) lies before the batch that starts at x.
    low = bisect_left(stored, (first,))
    if low:
        _, before_last, before_state, before_count = stored[low - 1]
        if before_last >= first or (before_last == first - 1 and before_state == state and before_count == count):
            low -= 1
    high = bisect_left(stored, (last + 1,), low)
    if high < len(stored):
        after_first, _, after_state, after_count = stored[high]
        if after_first == last + 1 and after_state == state and after_count == count:
            high += 1
    if low == high:
        stored.insert(low, batch)
    else:
        stored[low:high] = _overlay(stored[low:high], [batch])


def _merge_many(stored: list[StateBatch], update: Sequence[StateBatch]) -> None:
    low = bisect_left(stored, (update[0].first_offset,))
    if low and stored[low - 1][1] >= update[0].first_offset - 1:
        low -= 1
    high = bisect_left(stored, (update[-1].last_offset + 2,), low)
    if low == high:
        stored[low:low] = update
    elif high - low <= 8 * len(update):
        stored[low:high] = _overlay(stored[low:high], list(update))
    else:  # a few, strewn over many: each touches little
        for batch in update:
            _merge_one(stored, batch)


def _sweep(batches: list[StateBatch]) -> list[StateBatch]:
    """Go through the offsets in ascending order; among the batches that have an offset, the one with the greatest
    (count, state) wins.
    """
    combined: list[StateBatch] = []
    opened: list[tuple[int, int, int]] = []  # (-count, -state, last): the smallest is the account that counts
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
        if position < total and batches[position][0] <= last:
            last = batches[position][0] - 1
        _append(combined, StateBatch(offset, last, -state, -count))
        offset = last + 1
    return combined


def _overlay(one: list[StateBatch], other: list[StateBatch]) -> list[StateBatch]:
    """Combine two combined lists, neither empty: the result is that of `_sweep` over all their batches, in linear
    time.
    """
    return overlay(one, other, tuple.__new__, StateBatch)


def _append(combined: list[StateBatch], batch: StateBatch) -> None:
    """Append a batch, or lengthen the last batch if the two can be one."""
    if combined:
        first, last, state, count = combined[-1]
        if last + 1 == batch[0] and state == batch[2] and count == batch[3]:
            combined[-1] = StateBatch(first, batch[1], state, count)
            return
    combined.append(batch)
