"""The chains of records that have the same key. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

_FAR: Final = 0x3FFF_FFFF_FFFF_FFFF

_FINISHED: Final = 0  # also an offset without a key
_HEAD: Final = 1  # among the lowest of its key: waits for no other offset
_WAITS: Final = 2
_PASSED: Final = 3  # finished while it waited; _FINISHED once a head before it is finished
_SPARE: Final = 1024


class KeyChains:
    """A chain of the unfinished offsets of each key, whose `most` lowest are its heads: usually the lowest alone.

    The lists `_marks` and `_following` have an entry for each offset from `_base` on, so that a step from one record of
    a key to the next needs no dict. Finished offsets stay in these lists, and the keys of ended chains in `_tails`,
    until there are about as many as unfinished ones: so the cost of removing them is constant for each. Offsets and
    keys are passed as objects, so that none are created here.

    A hole of more than `_SPARE` offsets in the log has no entries. `_resumed` has the first offset after each such
    hole, `_places` the indexes of their entries, and `_hole` is the first offset of the first hole.

    With several heads, the next waiting offset of a key becomes a head whenever one of its heads is finished. For that,
    `_keys` has the key of each entry, `_heads` the number of heads of each key, and `_next` the first offset of each
    key that is not a head. With `most` 1, these three are empty.
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
        self._following: list[Any] = []  # the next offset of the same key; None if there is none yet
        self._tails: dict[Any, Any] = {}  # the last offset, by key
        self._hole: i64 = _FAR
        self._resumed: list[int] = []
        self._places: list[int] = []
        self._unfinished: i64 = 0
        self._trim_at: i64 = _SPARE
        self._highest: i64 = -1  # in one `finish`: the last finished head, and the first new one
        self._lowest: i64 = _FAR

    def __len__(self) -> int:
        """Return the number of unfinished offsets."""
        return self._unfinished

    def waiting(self) -> int:
        """Return the number of unfinished offsets that are not heads."""
        return self._waiting

    def entries(self) -> int:
        """Return the number of entries, one for each offset that is not forgotten or in a hole."""
        return len(self._marks)

    def link(
        self, offsets: list[Any], keys: list[Any], statuses: list[Any], first: i64, waits: Any
    ) -> tuple[list[Any], int]:
        """Add unfinished offsets to the chains of their `keys`; return the new heads, and the number of parts.

        The offsets are ascending, and above all earlier ones. A part consists of successive offsets that are all heads,
        or whose predecessors in their chains are neighbours. Each offset that is not a head gets the status `waits` in
        `statuses`, unless that list is empty; its first entry is for the offset `first`.
        """
        fresh: list[Any] = []
        parts: i64 = 0
        count: i64 = len(offsets)
        if count > 0 and (len(self._marks) >= self._trim_at or self._unfinished == 0):
            lowest: i64 = offsets[0]
            self._trim(lowest)
        following, marks, tails = self._following, self._marks, self._tails
        size: i64 = len(marks)
        place: i64 = 0  # from this index on, index = offset - shift
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
        """Add the last offset of a key, which may have several heads; return True if it becomes one of them."""
        self._keys.append(key)
        heads: i64 = self._heads.get(key, 0)
        if heads < self._most:
            self._heads[key] = heads + 1
            return True
        self._next.setdefault(key, offset)
        return False

    def _fill(self, size: i64, upto: i64) -> i64:
        """Append entries for offsets without a key, up to the index `upto` (exclusive); return `upto`."""
        while size < upto:
            self._marks.append(_FINISHED)
            self._following.append(None)
            if self._most > 1:
                self._keys.append(None)
            size += 1
        return upto

    def _skip(self, offset: i64) -> None:
        """Note a hole in the log: the next entry is for `offset`, far above the last one."""
        size: i64 = len(self._marks)
        if self._hole == _FAR:
            self._hole = self._base + size
        self._resumed.append(offset)
        self._places.append(size)

    def _trim(self, first: i64) -> None:
        """Remove the finished entries at the start, and the keys of ended chains if they are many.

        The next entry will be for the offset `first`.
        """
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
        """Move `_base` and the holes for the removal of the first `gone` entries, which are not all."""
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

        A run is (first, last (inclusive), status). Offsets that are in no chain are ignored.
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
        """Finish the entries from `index` to `stop` (exclusive), and append the new heads to `found`."""
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
        """Note that one of several heads is finished, and if another offset of its key became a head (`to_another`).

        `after` is the offset that follows the new head in its chain; None if there is none.
        """
        if not to_another:
            heads: i64 = self._heads[key]
            if heads > 1:
                self._heads[key] = heads - 1
            else:
                del self._heads[key]
        elif after is not None:
            self._next[key] = after

    def waits(self, offset: int) -> bool:
        """Return True if the offset is unfinished and not a head of its key."""
        return self._mark(offset) == _WAITS

    def _place(self, offset: i64) -> i64:
        """Return the index of the lowest entry at or above an offset.

        The index is negative for a forgotten offset, and above the last index for an offset that was not added yet.
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
        """Return the offsets of the chains among `first..last` (inclusive), ascending.

        Offsets that were finished while they waited for others of their key are included, until these are finished,
        too.
        """
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
    """Return how many of the ascending `numbers` are below `bound`."""
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
