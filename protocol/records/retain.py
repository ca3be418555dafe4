"""A record batch of which compaction has removed records.

What stays keeps its offset, its time and its bytes; the batch keeps base offset, LastOffsetDelta and the producer's
fields, so that the offsets and sequences it stands for are the same with fewer records in it, or none. MaxTimestamp
is that of the records that are left; a batch without any keeps the old one. A batch with a delete horizon has that time
(ms) in the place of BaseTimestamp, and its records' time deltas start from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.primitives import zigzag_varint
from shareq.protocol.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    BatchHeader,
    Compression,
    encode_batch,
    records_block,
)
from shareq.protocol.records.compression import compress
from shareq.protocol.records.walk import read_keys

__all__ = ["KeyedRecord", "Opened", "emptied", "open_batch", "retained"]


class KeyedRecord(NamedTuple):
    """One record, read up to its key. The numbers with `_at` are places in its batch's uncompressed records.

    From `start` to `end` it is whole, with its length; from `rest_at` on nothing depends on the batch's base time.
    """

    offset: int
    timestamp: int
    key: bytes | None
    has_value: bool
    start: int
    rest_at: int
    end: int


_keyed: Final = KeyedRecord._make


class Opened(NamedTuple):
    """A batch, its records uncompressed, and where they are."""

    header: BatchHeader
    data: bytes
    records: list[KeyedRecord]


def open_batch(batch: bytes | bytearray | memoryview) -> Opened:
    """Read a batch up to the keys of its records. Raises `MalformedMessage` for what cannot be read."""
    header, data, pos = records_block(batch)
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    rows = read_keys(data, pos, header.records_count, header.base_offset, header.base_timestamp, append_time)
    if rows is None:
        raise MalformedMessage("a record that cannot be read as far as its value")
    return Opened(header, data, list(map(_keyed, rows)))


def retained(opened: Opened, kept: Sequence[KeyedRecord], delete_horizon_ms: int | None = None) -> bytearray:
    """The batch with these of its records, at least one, and with this delete horizon if one is given."""
    header = opened.header
    data = opened.data
    if delete_horizon_ms is None:
        payload = b"".join([data[record.start : record.end] for record in kept])
    else:
        payload = _timed_from(delete_horizon_ms, data, kept)
        header = header._replace(base_timestamp=delete_horizon_ms, attributes=header.attributes | DELETE_HORIZON)
    if not header.attributes & LOG_APPEND_TIME:
        header = header._replace(max_timestamp=max(record.timestamp for record in kept))
    codec = Compression(header.attributes & CODEC_MASK)
    if codec is not Compression.NONE:
        payload = compress(codec, payload)
    return encode_batch(header._replace(records_count=len(kept)), payload)


def emptied(header: BatchHeader) -> bytearray:
    """The batch without records: it still has its offsets and its producer's sequences."""
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON)
    return encode_batch(header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, records_count=0), b"")


def _timed_from(base_time: int, data: bytes, records: Sequence[KeyedRecord]) -> bytes:
    out = bytearray()
    for record in records:
        rest = data[record.rest_at : record.end]
        delta = zigzag_varint(record.timestamp - base_time)
        out += zigzag_varint(1 + len(delta) + len(rest))
        out += b"\0"  # attributes
        out += delta
        out += rest
    return bytes(out)
