"""The chains of records that have the same key. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

_FAR: Final = 0x3FFF_FFFF_FFFF_FFFF

_FINISHED: Final = 0  # or never in a chain
_HEAD: Final = 1  # among the lowest of its key, which wait for nothing
_WAITS: Final = 2
_PASSED: Final = 3  # finished, although it was no head: until its turn
_SPARE: Final = 1024


class KeyChains:
    """The unfinished offsets of each key as a chain, whose heads are the `most` lowest: usually the lowest alone.

    Two lists have an entry for each offset from `_base` on, so that a step from one record of a key to the next needs
    no dict. Finished offsets stay in the lists, and the keys of ended chains in `_tails`, until they are as many as the
    others: so the cost of removing them is constant for each. Offsets and keys are passed as objects, which exist
    already.

    A hole of more than `_SPARE` offsets in the log has no entries: `_resumed` are the offsets behind such holes,
    `_places` the indexes of their entries, `_hole` is the start of the first hole.

    With several heads, finishing any of them makes the next one that waits a head. For that `_keys` has the key of each
    entry, `_heads` the number of a key's heads, `_next` its first offset that is none; without, all three are empty.
    """

    __slots__ = (
        "_base",
        "_following",
        "_heads",
        "_highest",
        "_hole",
        "_keys",
        "_lowest",
        "_marks",
        "_most",
        "_next",
        "_places",
        "_resumed",
        "_tails",
        "_trim_at",
        "_unfinished",
        "_waiting",
    )

    def __init__(self, most: i64 = 1) -> None:
        self._most: i64 = most
        self._keys: list[Any] = []
        self._heads: dict[Any, Any] = {}
        self._next: dict[Any, Any] = {}
        self._waiting: i64 = 0
        self._base: i64 = 0
        self._marks: list[int] = []
        self._following: list[Any] = []  # the next offset of its key; None: there is none yet
        self._tails: dict[Any, Any] = {}  # key to the last offset
        self._hole: i64 = _FAR
        self._resumed: list[int] = []
        self._places: list[int] = []
        self._unfinished: i64 = 0
        self._trim_at: i64 = _SPARE
        self._highest: i64 = -1  # the last head that was finished, and the first one that there is instead
        self._lowest: i64 = _FAR

    def __len__(self) -> int:
        """Return the number of unfinished offsets."""
        return self._unfinished

    def waiting(self) -> int:
        """Return the number of unfinished offsets that are no heads."""
        return self._waiting

    def entries(self) -> int:
        """Return the number of offsets that have entries."""
        return len(self._marks)

    def link(
        self, offsets: list[Any], keys: list[Any], statuses: list[Any], first: i64, waits: Any
    ) -> tuple[list[Any], int]:
        """Put unfinished offsets, ascending and behind all others, into the chains of their `keys`: the new heads; and
        into how many parts they fall: new heads that are neighbours, and neighbours that come after neighbours.

        What is no head gets the status `waits` in the list, unless it is empty; `first` is the offset of its first one.
        """
        fresh: list[Any] = []
        parts: i64 = 0
        count: i64 = len(offsets)
        if count > 0 and (len(self._marks) >= self._trim_at or self._unfinished == 0):
            lowest: i64 = offsets[0]
            self._trim(lowest)
        following, marks, tails = self._following, self._marks, self._tails
        size: i64 = len(marks)
        place: i64 = 0  # from this index on, an offset is as far from its index as the one that comes next
        shift: i64 = self._base
        if len(self._places) > 0:
            place = self._places[-1]
            shift = self._resumed[-1]
            shift -= place
        filled: bool = len(statuses) > 0
        several: bool = self._most > 1
        expected: i64 = _FAR
        at: i64 = 0
        while at < count:
            offset: Any = offsets[at]
            key: Any = keys[at]
            at += 1
            number: i64 = offset
            if number - shift > size + _SPARE:
                self._skip(number)
                place = size
                shift = number - size
            if size < number - shift:
                size = self._fill(size, number - shift)
            before: i64 = -1
            tail = tails.get(key)
            if tail is not None:
                before = tail
                if before - shift >= place:
                    before -= shift
                else:
                    before = self._place(before)
            first_of_key: bool = before < 0 or marks[before] == _FINISHED
            if self._becomes_head(key, offset) if several else first_of_key:
                marks.append(_HEAD)
                fresh.append(offset)
                if expected != -1:
                    parts += 1
                expected = -1
            else:
                marks.append(_WAITS)
                following[before] = offset
                if filled:
                    statuses[number - first] = waits
                if before != expected:
                    parts += 1
                expected = before + 1
            following.append(None)
            size += 1
            tails[key] = offset
        self._unfinished += count
        self._waiting += count - len(fresh)
        return fresh, parts

    def _becomes_head(self, key: Any, offset: Any) -> bool:
        """Note an offset that comes behind all others of its key; return whether it is one of several heads."""
        self._keys.append(key)
        heads: i64 = self._heads.get(key, 0)
        if heads < self._most:
            self._heads[key] = heads + 1
            return True
        self._next.setdefault(key, offset)
        return False

    def _fill(self, size: i64, upto: i64) -> i64:
        """Offsets without a key, up to an index (exclusive); that again."""
        while size < upto:
            self._marks.append(_FINISHED)
            self._following.append(None)
            if self._most > 1:
                self._keys.append(None)
            size += 1
        return upto

    def _skip(self, offset: i64) -> None:
        """Skip to the next entry, which is of `offset`, far behind the last one."""
        size: i64 = len(self._marks)
        if self._hole == _FAR:
            self._hole = self._base + size
        self._resumed.append(offset)
        self._places.append(size)

    def _trim(self, first: i64) -> None:
        """Forget what is finished below the lowest unfinished offset, and ended chains; `first` comes next."""
        marks = self._marks
        size: i64 = len(marks)
        gone: i64 = 0
        while gone < size and marks[gone] == _FINISHED:
            gone += 1
        if gone == size:
            self._base = first
            self._tails = {}
            self._hole = _FAR
            self._resumed = []
            self._places = []
        else:
            self._drop(gone)
        del marks[:gone]
        del self._following[:gone]
        del self._keys[:gone]
        if len(self._tails) > 2 * self._unfinished + _SPARE:
            self._tails = {key: tail for key, tail in self._tails.items() if self._mark(tail) != _FINISHED}
        self._trim_at = 2 * (size - gone) + _SPARE

    def _drop(self, gone: i64) -> None:
        """Drop the lowest entries, not all of them."""
        self._base = self._offset(gone)
        if self._hole == _FAR:
            return
        resumed: list[int] = []
        places: list[int] = []
        at: i64 = 0
        while at < len(self._places):
            place: i64 = self._places[at]
            if place > gone:
                resumed.append(self._resumed[at])
                places.append(place - gone)
            at += 1
        self._resumed = resumed
        self._places = places
        self._hole = _FAR
        if len(places) > 0:
            self._hole = self._base + places[0]

    def finish(self, runs: list[Any], is_finished: Any) -> tuple[list[Any], list[Any]]:
        """Finish the runs whose status is finished. Return the new heads of their keys, and the available runs.

        Offsets in no chain change nothing.
        """
        size: i64 = len(self._marks)
        found: list[Any] = []
        available: list[Any] = []
        self._highest = -1
        self._lowest = _FAR
        seen: Any = None
        done: bool = False
        for run in runs:
            status: Any = run[2]
            if status is not seen:
                seen = status
                done = is_finished(status)
            if done:
                index: i64 = self._place(run[0])
                stop: i64 = self._place(run[1] + 1)
                if index < 0:
                    index = 0
                if stop > size:
                    stop = size
                self._finish(index, stop, found)
            elif status.available:
                available.append(run)
        if self._lowest <= self._highest:  # some were finished after they had become heads
            found = [offset for offset in found if self._mark(offset) == _HEAD]
        return found, available

    def _finish(self, index: i64, stop: i64, found: list[Any]) -> None:
        """Finish the entries from `index` to `stop` (exclusive); heads instead go to the end of `found`."""
        base: i64 = self._base
        hole: i64 = self._hole
        following, marks = self._following, self._marks
        several: bool = self._most > 1
        while index < stop:
            at: i64 = index
            index += 1
            mark: i64 = marks[at]
            if mark == _WAITS:
                marks[at] = _PASSED
                self._unfinished -= 1
                self._waiting -= 1
            if mark != _HEAD:
                continue
            self._unfinished -= 1
            if at > self._highest:
                self._highest = at
            marks[at] = _FINISHED
            after: Any = following[at]
            key: Any = None
            if several:
                key = self._keys[at]
                after = self._next.pop(key, None)
            while after is not None:
                at = after
                at = at - base if at < hole else self._place(at)
                if marks[at] != _PASSED:
                    marks[at] = _HEAD
                    self._waiting -= 1
                    found.append(after)
                    if at < self._lowest:
                        self._lowest = at
                    break
                marks[at] = _FINISHED
                after = following[at]
            if several:
                self._passes_on(key, after is not None, following[at])

    def _passes_on(self, key: Any, to_another: bool, after: Any) -> None:
        """Note that one of several heads is finished; `after` comes behind the head that there is instead, if any."""
        if not to_another:
            heads: i64 = self._heads[key]
            if heads > 1:
                self._heads[key] = heads - 1
            else:
                del self._heads[key]
        elif after is not None:
            self._next[key] = after

    def waits(self, offset: int) -> bool:
        """Return whether the offset is unfinished, and no head of its key."""
        return self._mark(offset) == _WAITS

    def _place(self, offset: i64) -> i64:
        """Return the index of the lowest entry at or above an offset.

        It is below 0 for a forgotten offset, and beyond the last index for one that is not added yet.
        """
        if offset < self._hole:
            return offset - self._base
        behind: i64 = _below(self._resumed, offset + 1)
        if behind == 0:
            return self._places[0]
        place: i64 = self._places[behind - 1]
        place += offset - self._resumed[behind - 1]
        if behind < len(self._places) and place > self._places[behind]:
            return self._places[behind]
        return place

    def _offset(self, at: i64) -> i64:
        """Return the offset of the entry at an index."""
        behind: i64 = _below(self._places, at + 1)
        if behind == 0:
            return self._base + at
        offset: i64 = self._resumed[behind - 1]
        return offset + at - self._places[behind - 1]

    def _mark(self, offset: int) -> int:
        number: i64 = offset
        at: i64 = self._place(number)
        if at < 0 or at >= len(self._marks) or self._offset(at) != number:
            return _FINISHED
        return self._marks[at]

    def between(self, first: int, last: int) -> list[int]:
        """Return the offsets among `first..last` (inclusive), ascending; finished ones may be among them."""
        found: list[int] = []
        low: i64 = self._place(first)
        stop: i64 = self._place(last + 1)
        if low < 0:
            low = 0
        if stop > len(self._marks):
            stop = len(self._marks)
        while low < stop:
            if self._marks[low] != _FINISHED:
                found.append(self._offset(low))
            low += 1
        return found

    def heads(self) -> dict[int, int]:
        """Return the lowest head of each unfinished offset's key, by offset."""
        found: dict[Any, Any] = {}
        size: i64 = len(self._marks)
        at: i64 = 0
        if self._most > 1:
            lowest: dict[Any, Any] = {}
            while at < size:
                if self._marks[at] == _HEAD or self._marks[at] == _WAITS:
                    one: Any = self._offset(at)
                    found[one] = lowest.setdefault(self._keys[at], one)
                at += 1
            return found
        while at < size:
            if self._marks[at] == _HEAD:
                head: Any = self._offset(at)
                offset: Any = head
                while offset is not None:
                    if self._mark(offset) != _PASSED:
                        found[offset] = head
                    number: i64 = offset
                    offset = self._following[self._place(number)]
            at += 1
        return found


def _below(numbers: list[int], bound: i64) -> i64:
    """Return how many of the ascending numbers are below `bound`."""
    low: i64 = 0
    high: i64 = len(numbers)
    while low < high:
        middle: i64 = (low + high) // 2
        number: i64 = numbers[middle]
        if number < bound:
            low = middle + 1
        else:
            high = middle
    return low
