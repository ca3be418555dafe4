"""Walks over the records of a batch, number by number, for the checks of produce and the search for a time. Pure.

Layout of a record: see `record_codec`. Numbers of 32 bits take up to 5 bytes, those of 64 bits up to 10; one with more
bits is unreadable. After an unreadable number the position becomes `_FAR`, which is behind every end, and stays there:
so one check at the end of a record finds all faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

UNREADABLE: Final = 1
OUT_OF_ORDER: Final = 2
KEYLESS: Final = 4
OUT_OF_TIME: Final = 8
"""The faults of a batch: records that cannot be read, or do not fill it exactly; offset deltas that do not count up
from 0; a record without a key; a record whose time is not allowed.
"""

MIN_BODY_BYTES: Final = 6  # attributes, two deltas, null key, null value, no headers
NOT_FOUND: Final = -1
CANNOT_TELL: Final = -2
LOWEST_DELTA: Final = -0x7FFF_FFFF_FFFF_FFFF
"""The largest time delta that `walk` returns if it has read no record: the second-lowest number of 64 bits."""

_FAR: Final = 0x3FFF_FFFF_FFFF_FFFF


def walk(data: bytes, pos: i64, count: i64, low: i64, high: i64, no_time: i64, first: i64 = 0) -> tuple[int, int]:
    """Read `count` records that fill `data` from `pos` exactly; return their faults, or 0, and the largest time delta.

    Time deltas from `low` to `high` (both inclusive) are allowed, and `no_time`. Offset deltas count up from `first`.
    UNREADABLE is returned without other faults, and with the largest time delta read so far.
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
    """Return the number of complete records in `data` from `pos` on, at most `count`, and the position after them.

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
    """Return index, fault (KEYLESS or OUT_OF_TIME) and time delta of the first `most` records that have a fault.

    The records must be readable for `walk`. A record has at most one fault; without a key it is KEYLESS only if
    `keyed`.
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
    """Return the bytes of the largest of `count` records from `pos` on, without its length field.

    The records must be readable for `walk`.
    """
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
    """Return offset delta and time delta of the first record whose time delta is `least` or more.

    Its offset delta is also from `first` to `last` (both inclusive). Instead of an offset delta, NOT_FOUND is returned
    if there is no such record, and CANNOT_TELL if a record before it cannot be read.
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


def older(data: bytes, pos: i64, end: i64, count: i64, base_offset: i64, below: i64, offsets: list[int]) -> bool:
    """Append the offset of each of `count` records from `pos` on whose time delta is below `below` to `offsets`.

    Return False if a record cannot be read up to its offset, or ends after `end`; the records before it are added.
    """
    index: i64 = 0
    while index < count:
        size, pos = _varint(data, pos, end)
        stop: i64 = pos + size
        if size < MIN_BODY_BYTES or stop > end:
            return False
        delta, pos = _varlong(data, pos + 1, stop)  # after the attributes
        if delta < below:
            offset_delta, pos = _varint(data, pos, stop)
            if pos > stop:
                return False
            offsets.append(base_offset + offset_delta)
        pos = stop
        index += 1
    return True


def read_keys(
    data: bytes, pos: i64, count: i64, base_offset: int, base_time: int, append_time: int | None
) -> list[tuple[int, int, bytes | None, bool, int, int, int]] | None:
    """Return the fields of a `retain.KeyedRecord` for each of `count` records from `pos` on; more may follow in `data`.

    Return None if one of them cannot be read up to its value.
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
        has_value: bool = data[pos] & 1 == 0  # a negative length has its lowest bit set
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

    Records with an offset delta outside of `low..high` (both inclusive) are left out. Of one below, only that delta is
    read; the first one above ends the walk. `errors` is the error handler for header keys that are not UTF-8. Return
    None if a record cannot be read, or the records do not fill `data` exactly.
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

    Records with a null key are left out, and so are records whose offset is not above the last one in `offsets`. The
    hash is Python's for bytes in this process. Return False if a record cannot be read up to the end of its key, or
    ends after `end`; the records before it are added.
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

    The records begin at `pos`; a null value counts as no bytes. Records without a readable header of this name are left
    out, and so are those whose offset is not above the last one in `offsets`. Of records that do not contain the name's
    bytes, only the length is read. Return False if a length is impossible, or a record ends after `end`, while the
    name's bytes are still ahead; the records before it are added.
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
    """Return the value of the first header of this name, no bytes for a null; None if none can be read."""
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
    """Return the number of records with a wanted offset delta, and their unchanged bytes.

    There are `count` records, and the one at `pos` has the index and the offset delta `index`. `wanted` has the first
    and the last offset delta (both inclusive) of each range in turn; ranges are disjoint, and ascending like the
    records. Return None if a record up to the last wanted one cannot be read up to its offset delta, ends after `end`,
    or is out of order. Before the first wanted record only sizes are read, if no record is missing there.
    """
    found: list[bytes] = []
    taken: i64 = 0
    begun: i64 = -1  # start of the neighbours that are taken together
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
    """Return the index and position of the record with a wanted offset delta, if record sizes alone lead to it.

    There are `count` records, and the one at `pos` has the index and the offset delta `index`. If the record with the
    index `wanted` has that offset delta, too, none is missing before it. Otherwise return `index` and `pos`.
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
    """Return a zig-zag number of 32 bits, and the position after it; `_FAR` if it is unreadable."""
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
    """Return a zig-zag number of 64 bits, and the position after it; `_FAR` if it is unreadable."""
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
    """Return the position after a nullable field at `pos`; `_FAR` if its size is unreadable."""
    size, pos = _varint(data, pos, stop)
    if size >= 0:
        return pos + size
    if size != -1:
        return _FAR
    return pos


def _nullable(data: bytes, pos: i64, stop: i64) -> tuple[bytes | None, i64]:
    """Return a nullable field, and the position after it; `_FAR` if it is unreadable."""
    size, pos = _varint(data, pos, stop)
    if size < 0:
        if size != -1:
            return None, _FAR
        return None, pos
    if size > stop - pos:
        return None, _FAR
    return data[pos : pos + size], pos + size


def _some_headers(data: bytes, pos: i64, stop: i64, errors: str) -> tuple[list[tuple[str, bytes | None]], i64]:
    """Return the headers, and the position after them; `_FAR` if they are unreadable."""
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
