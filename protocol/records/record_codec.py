"""The encoding and decoding of the records inside a batch.

    varint  length          bytes after this varint
    int8    attributes      0
    varlong timestampDelta  + the batch's BaseTimestamp
    varint  offsetDelta     + the batch's BaseOffset
    varint  keyLength       -1 = null, then key bytes
    varint  valueLength     -1 = null, then value bytes
    varint  headerCount     >= 0, for each:
        varint n >= 0, n bytes of UTF-8 key;  varint m (-1 = null), m bytes of value

All varints are zig-zag. A record ends exactly at its length. Nothing here is on the produce or fetch path:
`passes.records` checks incoming records, and the broker handles batches as bytes.

Brokers, Apache Kafka included, accept header keys of any bytes. In ordinary reads, bytes that are not UTF-8 become
U+FFFD, as in Java. In reads of records that are written again (`exact`), they become lone surrogates (PEP 383), which
`header_key` turns back into the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.passes.records import columns
from shareq.protocol.primitives import SMALL, read_zigzag, zigzag_varint

Headers = tuple[tuple[str, bytes | None], ...]

MIN_RECORD_BYTES: Final = 7  # length, attributes, two deltas, null key, null value, no headers
_NULL: Final = b"\1"  # a length of -1
_INT32_MIN: Final = -(2**31)
_INT32_MAX: Final = 2**31 - 1
_SHORT_VARINTS: Final = 64  # magnitudes below this take one byte
_TWO_BYTE_VARINTS: Final = 8192  # below this two


class Record(NamedTuple):
    """One record that was read. `timestamp` is in ms since the epoch, -1 for none."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Columns(NamedTuple):
    """Records that were read, as one list for each field: element i of each list belongs to record i."""

    offsets: list[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[Headers]


class RecordData(NamedTuple):
    """One record to be written; without `timestamp_ms` it gets the batch's timestamp."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int | None = None


def encode_record(
    out: bytearray, offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> None:
    """Append one record to `out`."""
    body = bytearray(b"\0")
    body += SMALL[timestamp_delta << 1] if 0 <= timestamp_delta < _SHORT_VARINTS else _varint(timestamp_delta)
    body += SMALL[offset_delta << 1] if 0 <= offset_delta < _SHORT_VARINTS else _varint(offset_delta)
    if key is None:
        body += _NULL
    else:
        body += _varint(len(key))
        body += key
    if value is None:
        body += _NULL
    else:
        body += _varint(len(value))
        body += value
    if headers:
        _put_headers(body, headers)
    else:
        body += b"\0"
    out += _varint(len(body))
    out += body


def _put_headers(out: bytearray, headers: Headers) -> None:
    out += _varint(len(headers))
    for name, content in headers:
        encoded = header_key(name)
        out += _varint(len(encoded))
        out += encoded
        if content is None:
            out += _NULL
        else:
            out += _varint(len(content))
            out += content


def header_key(name: str) -> bytes:
    """Return a header's key as bytes: UTF-8, and the original bytes in place of the lone surrogates of an exact
    read.
    """
    return name.encode("utf-8", "surrogateescape")


def read_columns(
    data: bytes,
    pos: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    append_time: int | None,
    exact: bool = False,
    low: int = _INT32_MIN,
    high: int = _INT32_MAX,
) -> Columns:
    """Return `count` records that fill `data` from `pos` exactly; with `append_time`, all have that timestamp.

    `exact` keeps the bytes of header keys that are not UTF-8. Records with an offset delta outside of `low..high`
    (inclusive) are read only up to it, and the records behind the first one above `high` are not read. Raises
    `MalformedMessage` for any other bytes.
    """
    errors = "surrogateescape" if exact else "replace"
    low, high = min(max(low, _INT32_MIN), _INT32_MAX + 1), max(min(high, _INT32_MAX), _INT32_MIN - 1)
    found = columns(data, pos, count, base_offset, base_timestamp, append_time, low, high, errors)
    if found is None:
        raise MalformedMessage("records that cannot be read")
    return Columns(*found)


def record_extents(data: bytes, pos: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield start (after the length) and end of each of `count` records that fill `data` from `pos` exactly.

    Raises `MalformedMessage` for any other bytes, IndexError if a length is incomplete.
    """
    total = len(data)
    for _ in range(count):
        byte = data[pos]
        if byte < 0x80:
            length, pos = (byte >> 1) ^ -(byte & 1), pos + 1
        else:
            length, pos = read_zigzag(data, pos)
        end = pos + length
        if length < MIN_RECORD_BYTES - 1 or end > total:
            raise MalformedMessage(f"record of {length} bytes where {total - pos} are left")
        yield pos, end
        pos = end
    if pos != total:
        raise MalformedMessage(f"{total - pos} bytes after the last of {count} records")


def _varint(value: int) -> bytes:
    if 0 <= value < _SHORT_VARINTS:
        return SMALL[value << 1]
    if 0 < value < _TWO_BYTE_VARINTS:
        return bytes(((value << 1 & 0x7F) | 0x80, value >> 6))
    return zigzag_varint(value)
