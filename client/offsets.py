"""Sets of offsets as ranges: sorted, disjoint, merged, both ends included. Nothing is kept per offset.

Adding or removing one range costs a binary search and a move inside two flat lists; whole sets are combined in one pass
over their ranges, so that hundreds of thousands of ranges stay a matter of milliseconds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Self

OffsetRange = tuple[int, int]
"""First and last offset, both included."""


class OffsetRanges:
    """A mutable set of offsets. Equal when the offsets are; `len` is the number of ranges, `count` that of offsets.

    Ranges given to it may come in any order and overlap. One whose last offset is below its first raises ValueError.
    """

    __slots__ = ("_firsts", "_lasts")

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __init__(self, ranges: Iterable[OffsetRange] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._take(sorted(ranges))

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what `to_json` returned and JSON carried. Raise ValueError for anything else."""
        if not isinstance(value, list):
            raise ValueError(f"a list of [first, last] is expected, not {value!r}")
        return cls(_range_of(pair) for pair in value)

    def to_json(self) -> list[list[int]]:
        """Return `[[first, last], ...]`, ascending."""
        return [[first, last] for first, last in self]

    def copy(self) -> Self:
        """Return another set of the same offsets."""
        return self._of(self._firsts[:], self._lasts[:])

    # -- looking

    @property
    def count(self) -> int:
        """The number of offsets in the set."""
        return sum(self._lasts) - sum(self._firsts) + len(self._firsts)

    @property
    def bounds(self) -> OffsetRange | None:
        """The lowest and the highest offset; None of the empty set."""
        return (self._firsts[0], self._lasts[-1]) if self._firsts else None

    def __len__(self) -> int:
        return len(self._firsts)

    def __iter__(self) -> Iterator[OffsetRange]:
        return zip(self._firsts, self._lasts, strict=True)

    def __contains__(self, offset: int) -> bool:
        return self.covers(offset, offset)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetRanges):
            return NotImplemented
        return self._firsts == other._firsts and self._lasts == other._lasts

    def __repr__(self) -> str:
        return f"OffsetRanges([{', '.join(f'{first}-{last}' for first, last in self)}])"

    def covers(self, first: int, last: int) -> bool:
        """Return True if every offset of the range is in the set."""
        at = bisect_right(self._firsts, first) - 1
        return at >= 0 and last <= self._lasts[at]

    def within(self, first: int, last: int) -> Self:
        """Return the part of the set that lies in the range."""
        low = bisect_left(self._lasts, first)
        high = bisect_right(self._firsts, last)
        if low >= high:
            return self._of([], [])
        firsts, lasts = self._firsts[low:high], self._lasts[low:high]
        firsts[0] = max(firsts[0], first)
        lasts[-1] = min(lasts[-1], last)
        return self._of(firsts, lasts)

    # -- changing

    def add(self, first: int, last: int) -> None:
        """Add a range, and merge it with those that it touches."""
        if last < first:
            raise ValueError(f"range {first}-{last} ends before it begins")
        low = bisect_left(self._lasts, first - 1)
        high = bisect_right(self._firsts, last + 1)
        if low < high:
            first = min(first, self._firsts[low])
            last = max(last, self._lasts[high - 1])
        self._firsts[low:high] = [first]
        self._lasts[low:high] = [last]

    def remove(self, first: int, last: int) -> None:
        """Remove a range; missing parts of it do not matter."""
        low = bisect_left(self._lasts, first)
        high = bisect_right(self._firsts, last)
        if low >= high or last < first:
            return
        firsts: list[int] = []
        lasts: list[int] = []
        if self._firsts[low] < first:
            firsts.append(self._firsts[low])
            lasts.append(first - 1)
        if self._lasts[high - 1] > last:
            firsts.append(last + 1)
            lasts.append(self._lasts[high - 1])
        self._firsts[low:high] = firsts
        self._lasts[low:high] = lasts

    # -- combining

    def __or__(self, other: OffsetRanges) -> Self:
        result = self._of([], [])
        result._take(sorted([*self, *other]))  # two sorted runs: sorting them is one merge
        return result

    def __and__(self, other: OffsetRanges) -> Self:
        firsts: list[int] = []
        lasts: list[int] = []
        theirs = other._from(self._firsts[0]) if self._firsts else iter(())
        first, last = next(theirs, _END)
        for low, high in self:
            while first <= high:
                if last >= low:
                    firsts.append(first if first > low else low)
                    lasts.append(last if last < high else high)
                if last > high:
                    break  # reaches into the next of ours
                first, last = next(theirs, _END)
        return self._of(firsts, lasts)

    def __sub__(self, other: OffsetRanges) -> Self:
        firsts: list[int] = []
        lasts: list[int] = []
        theirs = other._from(self._firsts[0]) if self._firsts else iter(())
        first, last = next(theirs, _END)
        for low, high in self:
            while last < low:
                first, last = next(theirs, _END)
            while first <= high:
                if first > low:
                    firsts.append(low)
                    lasts.append(first - 1)
                low = last + 1
                if last > high:
                    break
                first, last = next(theirs, _END)
            if low <= high:
                firsts.append(low)
                lasts.append(high)
        return self._of(firsts, lasts)

    def _from(self, offset: int) -> Iterator[OffsetRange]:
        """Return the ranges that end at `offset` or later."""
        low = bisect_left(self._lasts, offset)
        return zip(self._firsts[low:], self._lasts[low:], strict=True)

    def _take(self, ranges: list[OffsetRange]) -> None:
        """Append sorted ranges behind the earlier ones, and merge ranges that touch."""
        firsts, lasts = self._firsts, self._lasts
        end = lasts[-1] if lasts else None
        for first, last in ranges:
            if last < first:
                raise ValueError(f"range {first}-{last} ends before it begins")
            if end is None or first > end + 1:
                firsts.append(first)
                lasts.append(last)
                end = last
            elif last > end:
                lasts[-1] = end = last

    @classmethod
    def _of(cls, firsts: list[int], lasts: list[int]) -> Self:
        made = cls()
        made._firsts, made._lasts = firsts, lasts
        return made


_END = (1 << 63, 1 << 63)  # above every offset


def _range_of(pair: object) -> OffsetRange:
    if isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int and type(pair[1]) is int:
        return pair[0], pair[1]
    raise ValueError(f"[first, last] is expected, not {pair!r}")
