"""The walk over the records of a batch, number by number: what produce checks, and what finds a time; and the chains
of records that have the same key. Pure.

This one file runs in two forms: as it stands, and compiled by mypyc as `_record_walk` where a C compiler was found when
shareq was installed (`hatch_build.py`); `walk.py` picks one. So: machine integers (`i64`), which wrap around in C and
must therefore stay small here; no imports at run time but `typing`; and no tuple made of conditional expressions, of
which mypyc makes objects.

Layout of a record: see `record_codec`. Numbers of 32 bits take up to 5 bytes, those of 64 bits up to 10; one with more
bits is unreadable. Where something cannot be read, the position becomes `_FAR`, which lies behind every end, and stays
there: one look at the end of a record finds all of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

UNREADABLE: Final = 1
OUT_OF_ORDER: Final = 2
KEYLESS: Final = 4
OUT_OF_TIME: Final = 8
"""What a batch may be found to have: records that cannot be read, or do not fill it exactly; offset deltas that do not
count up from 0; a record without a key; a record whose time is not allowed."""

MIN_BODY_BYTES: Final = 6  # attributes, two deltas, null key, null value, no headers
NOT_FOUND: Final = -1
CANNOT_TELL: Final = -2
LOWEST_DELTA: Final = -0x7FFF_FFFF_FFFF_FFFF
"""Below every time delta but one; what `walk` returns as the largest of none."""

_FAR: Final = 0x3FFF_FFFF_FFFF_FFFF


def walk(data: bytes, pos: i64, count: i64, low: i64, high: i64, no_time: i64, first: i64 = 0) -> tuple[int, int]:
    """Read `count` records that fill `data` from `pos` exactly: what was found, or 0; and the largest time delta.

    A time delta is allowed from `low` to `high`, both inclusive, and when it is `no_time`. Offset deltas count up from
    `first`. With UNREADABLE nothing else is returned.
    """
    end: i64 = len(data)
    found: i64 = 0
    newest: i64 = LOWEST_DELTA
    index: i64 = first
    last: i64 = first + count
    while index < last:
        size, pos = _varint(data, pos, end)
        stop: i64 = pos + size
        if size < MIN_BODY_BYTES or stop > end:
            return UNREADABLE, newest
        delta, pos = _varlong(data, pos + 1, stop)  # after the attributes
        if delta > newest:
            newest = delta
        if (delta < low or delta > high) and delta != no_time:
            found |= OUT_OF_TIME
        offset, pos = _varint(data, pos, stop)
        if offset != index:
            found |= OUT_OF_ORDER
        size, pos = _varint(data, pos, stop)  # the key
        if size >= 0:
            pos += size
        elif size == -1:
            found |= KEYLESS
        else:
            return UNREADABLE, newest
        pos = _after(data, pos, stop)  # the value
        if pos >= stop or _after_headers(data, pos, stop) != stop:
            return UNREADABLE, newest
        pos = stop
        index += 1
    if pos != end:
        return UNREADABLE, newest
    return found, newest


def whole_records(data: bytes, pos: i64, count: i64) -> tuple[int, int]:
    """How many of at most `count` records from `pos` on are in `data` whole, and where the last of them ends. Only
    their lengths are looked at; one that no record has ends them.
    """
    end: i64 = len(data)
    found: i64 = 0
    while found < count:
        size, after = _varint(data, pos, end)
        if size < MIN_BODY_BYTES or after + size > end:
            break
        pos = after + size
        found += 1
    return found, pos


def faults(
    data: bytes, pos: i64, count: i64, low: i64, high: i64, no_time: i64, keyed: bool, most: i64
) -> list[tuple[int, int, int]]:
    """Index, fault (KEYLESS or OUT_OF_TIME) and time delta of the first `most` records that have one.

    For records that `walk` could read. A record has at most one fault; without a key it is KEYLESS only if `keyed`.
    """
    end: i64 = len(data)
    found: list[tuple[int, int, int]] = []
    index: i64 = 0
    while index < count and len(found) < most:
        size, pos = _varint(data, pos, end)
        stop: i64 = pos + size
        delta, pos = _varlong(data, pos + 1, stop)
        _, pos = _varint(data, pos, stop)
        size, _ = _varint(data, pos, stop)  # the key
        if keyed and size < 0:
            found.append((index, KEYLESS, delta))
        elif (delta < low or delta > high) and delta != no_time:
            found.append((index, OUT_OF_TIME, delta))
        pos = stop
        index += 1
    return found


def largest(data: bytes, pos: i64, count: i64) -> int:
    """Bytes of the largest of `count` records from `pos` on, without their lengths: for records `walk` could read."""
    end: i64 = len(data)
    most: i64 = 0
    index: i64 = 0
    while index < count:
        size, pos = _varint(data, pos, end)
        if size > most:
            most = size
        pos += size
        index += 1
    return most


def find_time(data: bytes, pos: i64, count: i64, least: i64, first: i64, last: i64) -> tuple[int, int]:
    """Offset delta and time delta of the first record whose time delta is `least` or more, its offset delta from
    `first` to `last`, both inclusive. NOT_FOUND for none, CANNOT_TELL where a record before it cannot be read.
    """
    end: i64 = len(data)
    index: i64 = 0
    while index < count:
        size, pos = _varint(data, pos, end)
        stop: i64 = pos + size
        if size < MIN_BODY_BYTES or stop > end:
            return CANNOT_TELL, 0
        delta, pos = _varlong(data, pos + 1, stop)
        offset, pos = _varint(data, pos, stop)
        if pos > stop:
            return CANNOT_TELL, 0
        if delta >= least and first <= offset <= last:
            return offset, delta
        pos = stop
        index += 1
    return NOT_FOUND, 0


def read_keys(
    data: bytes, pos: i64, count: i64, base_offset: int, base_time: int, append_time: int | None
) -> list[tuple[int, int, bytes | None, bool, int, int, int]] | None:
    """Of each of `count` records from `pos` on, the fields of a `retain.KeyedRecord`; more may follow them in `data`.

    None when one of them cannot be read as far as its value.
    """
    end: i64 = len(data)
    found: list[tuple[int, int, bytes | None, bool, int, int, int]] = []
    index: i64 = 0
    while index < count:
        start: i64 = pos
        size, pos = _varint(data, pos, end)
        stop: i64 = pos + size
        if size < MIN_BODY_BYTES or stop > end:
            return None
        delta, rest_at = _varlong(data, pos + 1, stop)
        offset_delta, pos = _varint(data, rest_at, stop)
        key_size, pos = _varint(data, pos, stop)
        key: bytes | None = None
        if key_size >= 0 and pos + key_size < stop:
            key = data[pos : pos + key_size]
            pos += key_size
        elif key_size >= 0 or pos >= stop:
            return None
        timestamp: int = base_time + delta
        if append_time is not None:
            timestamp = append_time
        has_value: bool = data[pos] & 1 == 0  # of a negative length the lowest bit is set
        found.append((base_offset + offset_delta, timestamp, key, has_value, start, rest_at, stop))
        pos = stop
        index += 1
    return found


def key_hashes(data: bytes, pos: i64, end: i64, count: i64, base_offset: int, found: dict[int, int]) -> bool:
    """Put the hash of each key of `count` records from `pos` on into `found`, by offset; null keys are left out.

    The hash is this process's own of bytes. False when a record cannot be read up to the end of its key, which has to
    be below `end`; those before it are in `found`.
    """
    index: i64 = 0
    while index < count:
        size, pos = _varint(data, pos, end)
        stop: i64 = pos + size
        if size < MIN_BODY_BYTES or stop > end:
            return False
        _, pos = _varlong(data, pos + 1, stop)  # after the attributes
        offset_delta, pos = _varint(data, pos, stop)
        key_size, pos = _varint(data, pos, stop)
        if pos > stop or key_size > stop - pos:
            return False
        if key_size >= 0:
            found[base_offset + offset_delta] = hash(data[pos : pos + key_size])
        pos = stop
        index += 1
    return True


def pick(
    data: bytes, pos: i64, end: i64, count: i64, wanted: list[int], index: i64 = 0
) -> tuple[int, list[bytes]] | None:
    """How many of `count` records from `pos` on have an offset delta that is wanted, and their bytes, as they are.

    `wanted` has the first and the last (inclusive) offset delta of ranges, in turn; disjoint and ascending, as the
    records are. None when a record up to the last wanted one cannot be read as far as its offset delta, or is not below
    `end`, or comes before its turn; of those before the first wanted one, none of which is missing, only sizes are
    looked at. At `pos` is the record `index`, with that offset delta.
    """
    found: list[bytes] = []
    taken: i64 = 0
    begun: i64 = -1  # where the neighbours that are taken together begin
    ranges: i64 = len(wanted)
    at: i64 = 0
    before: i64 = -1
    if ranges > 0:
        index, pos = ahead(data, pos, end, count, wanted[0], index)
        before = index - 1
    while at < ranges:
        first: i64 = wanted[at]
        last: i64 = wanted[at + 1]
        at += 2
        while index < count:
            size, body = _varint(data, pos, end)
            stop: i64 = body + size
            if size < MIN_BODY_BYTES or stop > end:
                return None
            offset_at: i64 = body + 2  # behind a time delta of one byte
            if data[body + 1] >= 0x80:
                _, offset_at = _varlong(data, body + 1, stop)
            delta, offset_at = _varint(data, offset_at, stop)
            if offset_at > stop or delta <= before:
                return None
            if delta > last:
                break
            if delta >= first:
                taken += 1
                if begun < 0:
                    begun = pos
            elif begun >= 0:
                found.append(data[begun:pos])
                begun = -1
            before = delta
            pos = stop
            index += 1
    if begun >= 0:
        found.append(data[begun:pos])
    return taken, found


def ahead(data: bytes, pos: i64, end: i64, count: i64, wanted: i64, index: i64) -> tuple[i64, i64]:
    """How many of `count` records come before the one with a wanted offset delta, and where it begins, if that is found
    by the sizes of those from `pos` on, where the record `index` has that offset delta: then none is missing before it.
    Else `index` and `pos`.
    """
    if wanted >= count:
        return index, pos
    at: i64 = pos
    left: i64 = wanted - index
    while left > 0:
        size, at = _varint(data, at, end)
        at += size
        if size < MIN_BODY_BYTES or at >= end:
            return index, pos
        left -= 1
    _, body = _varint(data, at, end)
    if body >= end:
        return index, pos
    _, body = _varlong(data, body + 1, end)
    delta, body = _varint(data, body, end)
    if body > end or delta != wanted:
        return index, pos
    return wanted, at


def _varint(data: bytes, pos: i64, end: i64) -> tuple[i64, i64]:
    """A zig-zag number of 32 bits, and where it ends."""
    if pos >= end:
        return 0, _FAR
    byte: i64 = data[pos]
    pos += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos
    sign: i64 = -(byte & 1)
    value: i64 = (byte & 0x7F) >> 1
    shift: i64 = 6
    while byte >= 0x80:
        if pos >= end or shift > 27:
            return 0, _FAR
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    if value > 0x7FFF_FFFF:
        return 0, _FAR
    return value ^ sign, pos


def _varlong(data: bytes, pos: i64, end: i64) -> tuple[i64, i64]:
    """A zig-zag number of 64 bits, and where it ends."""
    if pos >= end:
        return 0, _FAR
    byte: i64 = data[pos]
    pos += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos
    sign: i64 = -(byte & 1)
    value: i64 = (byte & 0x7F) >> 1
    shift: i64 = 6
    while byte >= 0x80:
        if pos >= end or shift > 62:
            return 0, _FAR
        byte = data[pos]
        if shift == 62 and byte > 1:  # the tenth byte has room for one bit
            return 0, _FAR
        pos += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return value ^ sign, pos


def _after(data: bytes, pos: i64, stop: i64) -> i64:
    """Where a nullable field at `pos` ends."""
    size, pos = _varint(data, pos, stop)
    if size >= 0:
        return pos + size
    if size != -1:
        return _FAR
    return pos


def _after_headers(data: bytes, pos: i64, stop: i64) -> i64:
    if data[pos] == 0:
        return pos + 1
    count, pos = _varint(data, pos, stop)
    if count < 0:
        return _FAR
    while count > 0 and pos < stop:
        size, pos = _varint(data, pos, stop)
        if size < 0:
            return _FAR
        pos = _after(data, pos + size, stop)
        count -= 1
    if count != 0:
        return _FAR
    return pos


_FINISHED: Final = 0  # or never in a chain
_HEAD: Final = 1
_WAITS: Final = 2
_PASSED: Final = 3  # finished, although it was no head: until its turn
_SPARE: Final = 1024


class KeyChains:
    """Offsets with a key, of each key in a chain: the lowest unfinished one is its head.

    Two lists have an entry for each offset from `_base` on, so that a step from one record of a key to the next looks
    nothing up in a dict. What is finished stays in them, and the keys of ended chains in `_tails`, until there is as
    much of it as of the rest: so that it is passed over once for each. Offsets and keys are handled as objects, which
    are there already.
    """

    __slots__ = ("_base", "_following", "_marks", "_tails", "_trim_at", "_unfinished")

    def __init__(self) -> None:
        self._base: i64 = 0
        self._marks: list[int] = []
        self._following: list[Any] = []  # the next offset of its key; None: there is none yet
        self._tails: dict[Any, Any] = {}  # key to the last offset
        self._unfinished: i64 = 0
        self._trim_at: i64 = _SPARE

    def __len__(self) -> int:
        """How many offsets are unfinished."""
        return self._unfinished

    def link(self, keys: dict[Any, Any]) -> list[Any]:
        """Put unfinished offsets, ascending and behind all others, into the chains of their keys: the new heads."""
        fresh: list[Any] = []
        if len(keys) == 0:
            return fresh
        if len(self._marks) >= self._trim_at or self._unfinished == 0:
            first: i64 = next(iter(keys))
            self._trim(first)
        base: i64 = self._base
        following, marks, tails = self._following, self._marks, self._tails
        size: i64 = len(marks)
        for offset, key in keys.items():
            at: i64 = offset
            at -= base
            while size < at:  # these have no key
                marks.append(_FINISHED)
                following.append(None)
                size += 1
            before: i64 = -1
            tail = tails.get(key)
            if tail is not None:
                before = tail
                before -= base
            if before < 0 or marks[before] == _FINISHED:
                marks.append(_HEAD)
                fresh.append(offset)
            else:
                marks.append(_WAITS)
                following[before] = offset
            following.append(None)
            size += 1
            tails[key] = offset
        self._unfinished += len(keys)
        return fresh

    def _trim(self, first: i64) -> None:
        """Forget what is finished below the lowest unfinished offset, and ended chains; `first` comes next."""
        marks = self._marks
        size: i64 = len(marks)
        gone: i64 = 0
        while gone < size and marks[gone] == _FINISHED:
            gone += 1
        del marks[:gone]
        del self._following[:gone]
        self._base += gone
        if gone == size:
            self._base = first
            self._tails = {}
        elif len(self._tails) > 2 * self._unfinished + _SPARE:
            base: i64 = self._base
            kept: dict[Any, Any] = {}
            for key, tail in self._tails.items():
                at: i64 = tail
                if at >= base and marks[at - base] != _FINISHED:
                    kept[key] = tail
            self._tails = kept
        self._trim_at = 2 * (size - gone) + _SPARE

    def finish(self, offsets: list[Any]) -> list[Any]:
        """These are finished: those that are heads of their keys instead. Offsets in no chain change nothing."""
        base: i64 = self._base
        following, marks = self._following, self._marks
        size: i64 = len(marks)
        found: list[Any] = []
        highest: i64 = -1
        lowest_found: i64 = _FAR
        finished: i64 = 0
        for offset in offsets:
            number: i64 = offset
            at: i64 = number - base
            if at < 0 or at >= size:
                continue
            mark: i64 = marks[at]
            if mark == _WAITS:
                marks[at] = _PASSED
                finished += 1
            if mark != _HEAD:
                continue
            finished += 1
            if number > highest:
                highest = number
            marks[at] = _FINISHED
            after = following[at]
            while after is not None:
                at = after
                at -= base
                if marks[at] != _PASSED:
                    break
                marks[at] = _FINISHED
                after = following[at]
            if after is None:
                continue
            marks[at] = _HEAD
            found.append(after)
            if base + at < lowest_found:
                lowest_found = base + at
        self._unfinished -= finished
        if lowest_found > highest:
            return found
        return [offset for offset in found if self._mark(offset) == _HEAD]  # the others were finished after that

    def waits(self, offset: int) -> bool:
        """Whether an earlier offset of its key is unfinished, as it is itself."""
        return self._mark(offset) == _WAITS

    def _mark(self, offset: int) -> int:
        at: i64 = offset
        at -= self._base
        if at < 0 or at >= len(self._marks):
            return _FINISHED
        return self._marks[at]

    def between(self, first: int, last: int) -> list[int]:
        """The offsets among `first..last` (inclusive), ascending; finished ones may be among them."""
        found: list[int] = []
        low: i64 = first
        high: i64 = last
        low -= self._base
        high -= self._base
        if low < 0:
            low = 0
        if high >= len(self._marks):
            high = len(self._marks) - 1
        while low <= high:
            if self._marks[low] != _FINISHED:
                found.append(self._base + low)
            low += 1
        return found

    def heads(self) -> dict[int, int]:
        """The head of each unfinished offset's key, by offset."""
        found: dict[Any, Any] = {}
        size: i64 = len(self._marks)
        at: i64 = 0
        while at < size:
            if self._marks[at] == _HEAD:
                head: Any = self._base + at
                offset: Any = head
                while offset is not None:
                    if self._mark(offset) != _PASSED:
                        found[offset] = head
                    number: i64 = offset
                    offset = self._following[number - self._base]
            at += 1
        return found
