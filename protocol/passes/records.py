"""The walk over the records of a batch, number by number: what produce checks, and what finds a time. Pure.

Layout of a record: see `record_codec`. Numbers of 32 bits take up to 5 bytes, those of 64 bits up to 10; one with more
bits is unreadable. After an unreadable number the position becomes `_FAR`, which lies behind every end, and stays
there: so one check at the end of a record finds all faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

UNREADABLE: Final = 1
OUT_OF_ORDER: Final = 2
KEYLESS: Final = 4
OUT_OF_TIME: Final = 8
"""The faults that a batch may be found to have: records that cannot be read, or do not fill it exactly; offset deltas
that do not count up from 0; a record without a key; a record whose time is not allowed.
"""

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
    """Return how many of at most `count` records from `pos` on are complete in `data`, and where the last one ends.

    Only their lengths are read; an impossible length ends the search.
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
    """Return the fields of a `retain.KeyedRecord` of each of `count` records from `pos` on; more may follow in `data`.

    None if one of them cannot be read up to its value.
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


def columns(
    data: bytes,
    pos: i64,
    count: i64,
    base_offset: int,
    base_time: int,
    append_time: int | None,
    low: i64,
    high: i64,
    errors: str,
) -> (
    tuple[
        list[int],
        list[int],
        list[bytes | None],
        list[bytes | None],
        list[tuple[tuple[str, bytes | None], ...]],
    ]
    | None
):
    """Return offsets, times, keys, values and headers of `count` records that fill `data` from `pos` exactly.

    Of records with an offset delta outside of `low..high`, both inclusive, no more is read than that, and nothing
    behind the first one above. `errors` is for header keys that are no UTF-8. None when one cannot be read.
    """
    end: i64 = len(data)
    offsets: list[int] = []
    times: list[int] = []
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    all_headers: list[tuple[tuple[str, bytes | None], ...]] = []
    none: tuple[tuple[str, bytes | None], ...] = ()
    index: i64 = 0
    while index < count:
        size, pos = _varint(data, pos, end)
        stop: i64 = pos + size
        if size < MIN_BODY_BYTES or stop > end:
            return None
        delta, pos = _varlong(data, pos + 1, stop)  # after the attributes
        offset_delta, pos = _varint(data, pos, stop)
        if pos > stop:
            return None
        if offset_delta > high:
            return offsets, times, keys, values, all_headers
        index += 1
        if offset_delta < low:
            pos = stop
            continue
        key, pos = _nullable(data, pos, stop)
        value, pos = _nullable(data, pos, stop)
        if pos >= stop:
            return None
        if data[pos] == 0:
            pos += 1
            all_headers.append(none)
        else:
            some, pos = _some_headers(data, pos, stop, errors)
            all_headers.append(tuple(some))
        if pos != stop:
            return None
        offsets.append(base_offset + offset_delta)
        if append_time is None:
            times.append(base_time + delta)
        else:
            times.append(append_time)
        keys.append(key)
        values.append(value)
    if pos != end:
        return None
    return offsets, times, keys, values, all_headers


def key_hashes(
    data: bytes, pos: i64, end: i64, count: i64, base_offset: i64, offsets: list[int], hashes: list[int]
) -> bool:
    """Append the hash of each key of `count` records from `pos` on to `hashes`, and its offset to `offsets`.

    Null keys are left out, and so are records whose offset is not above the last one in `offsets`. The hash is Python's
    for bytes in this process. False if a record cannot be read up to the end of its key, which has to be below `end`;
    earlier ones are added.
    """
    last: i64 = base_offset - 1
    if len(offsets) > 0 and offsets[-1] > last:
        last = offsets[-1]
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
        offset_delta += base_offset
        if key_size >= 0 and offset_delta > last:
            last = offset_delta
            offsets.append(offset_delta)
            hashes.append(hash(data[pos : pos + key_size]))
        pos = stop
        index += 1
    return True


def header_values(
    data: bytes, pos: i64, end: i64, count: i64, base_offset: i64, name: bytes, offsets: list[int], values: list[bytes]
) -> bool:
    """Append the first header of this name of each of `count` records to `values`, the record's offset to `offsets`.

    The records begin at `pos`; a null counts as no bytes. Records without the header are left out, and those whose
    offset is not above the last one in `offsets`. Of records that do not contain the name's bytes only the length is
    read. False if one cannot be read up to that header, which has to be below `end`; earlier ones are added.
    """
    last: i64 = base_offset - 1
    if len(offsets) > 0 and offsets[-1] > last:
        last = offsets[-1]
    at: i64 = data.find(name, pos, end)
    index: i64 = 0
    while index < count and at >= 0:
        size, pos = _varint(data, pos, end)
        stop: i64 = pos + size
        if size < MIN_BODY_BYTES or stop > end:
            return False
        if at < stop:
            _, pos = _varlong(data, pos + 1, stop)  # after the attributes
            offset_delta, pos = _varint(data, pos, stop)
            value = _header(data, _after(data, _after(data, pos, stop), stop), stop, name)
            offset_delta += base_offset
            if value is not None and offset_delta > last:
                last = offset_delta
                offsets.append(offset_delta)
                values.append(value)
            at = data.find(name, stop, end)
        pos = stop
        index += 1
    return at < 0 or index == count


def _header(data: bytes, pos: i64, stop: i64, name: bytes) -> bytes | None:
    """Return the value of the first header of this name, a null as no bytes; None if there is none to read."""
    count, pos = _varint(data, pos, stop)
    while count > 0 and pos < stop:
        size, pos = _varint(data, pos, stop)
        if size < 0 or size > stop - pos:
            return None
        found: bool = size == len(name) and data[pos : pos + size] == name
        size, pos = _varint(data, pos + size, stop)
        if size < -1 or size > stop - pos:
            return None
        if size < 0:
            size = 0
        if found:
            return data[pos : pos + size]
        pos += size
        count -= 1
    return None


def pick(
    data: bytes, pos: i64, end: i64, count: i64, wanted: list[int], index: i64 = 0
) -> tuple[int, list[bytes]] | None:
    """Return how many of `count` records from `pos` on have a wanted offset delta, and their unchanged bytes.

    `wanted` has the first and the last (inclusive) offset delta of ranges, in turn; disjoint and ascending, as the
    records are. Return None if a record up to the last wanted one cannot be read up to its offset delta, or ends behind
    `end`, or is out of order. Of records before the first wanted one, none of which may be missing, only the sizes are
    read. The record at `pos` has the offset delta `index`.
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
    """Return the index and position of the record with a wanted offset delta, of `count`, if sizes alone lead there.

    The record `index` at `pos` has that offset delta: if the sizes from there on lead to the wanted one, none is
    missing before it. Otherwise return `index` and `pos`.
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
    """Return a zig-zag number of 32 bits, and where it ends."""
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
    """Return a zig-zag number of 64 bits, and where it ends."""
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
    """Return where a nullable field at `pos` ends."""
    size, pos = _varint(data, pos, stop)
    if size >= 0:
        return pos + size
    if size != -1:
        return _FAR
    return pos


def _nullable(data: bytes, pos: i64, stop: i64) -> tuple[bytes | None, i64]:
    """Return a nullable field, and where it ends."""
    size, pos = _varint(data, pos, stop)
    if size < 0:
        if size != -1:
            return None, _FAR
        return None, pos
    if size > stop - pos:
        return None, _FAR
    return data[pos : pos + size], pos + size


def _some_headers(data: bytes, pos: i64, stop: i64, errors: str) -> tuple[list[tuple[str, bytes | None]], i64]:
    """Return the headers, and where they end."""
    found: list[tuple[str, bytes | None]] = []
    count, pos = _varint(data, pos, stop)
    if count < 0 or pos > stop:
        return found, _FAR
    while count > 0 and pos < stop:
        name, pos = _nullable(data, pos, stop)
        if name is None:
            return found, _FAR
        value, pos = _nullable(data, pos, stop)
        found.append((name.decode("utf-8", errors), value))
        count -= 1
    if count != 0:
        return found, _FAR
    return found, pos


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
