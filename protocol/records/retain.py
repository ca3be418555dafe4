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
from shareq.protocol.primitives import read_zigzag, zigzag_varint
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
from shareq.protocol.records.record_codec import record_extents

__all__ = ["KeyedRecord", "Opened", "emptied", "open_batch", "retained"]

_new: Final = tuple.__new__  # what KeyedRecord(...) does, at half its price


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


class Opened(NamedTuple):
    """A batch, its records uncompressed, and where they are."""

    header: BatchHeader
    data: bytes
    records: list[KeyedRecord]


def open_batch(batch: bytes | bytearray | memoryview) -> Opened:
    """Read a batch up to the keys of its records. Raises `MalformedMessage` for what cannot be read."""
    header, data, pos = records_block(batch)
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    try:
        records = _read_keys(data, pos, header.records_count, header.base_offset, header.base_timestamp, append_time)
    except IndexError as error:
        raise MalformedMessage("record cut short") from error
    return Opened(header, data, records)


def _read_keys(
    data: bytes, pos: int, count: int, base_offset: int, base_time: int, append_time: int | None
) -> list[KeyedRecord]:
    """As `record_codec.read_records`, but only what the cleaner asks for: every record goes through here twice."""
    records: list[KeyedRecord] = []
    start = pos
    for body, end in record_extents(data, pos, count):
        byte = data[body + 1]  # after the attributes; most numbers take one byte
        delta, rest_at = ((byte >> 1) ^ -(byte & 1), body + 2) if byte < 0x80 else read_zigzag(data, body + 1, 10)
        byte = data[rest_at]
        offset_delta, at = ((byte >> 1) ^ -(byte & 1), rest_at + 1) if byte < 0x80 else read_zigzag(data, rest_at)
        byte = data[at]
        length, at = ((byte >> 1) ^ -(byte & 1), at + 1) if byte < 0x80 else read_zigzag(data, at)
        key = None
        if length >= 0:
            key = data[at : at + length]
            at += length
        if at >= end:
            raise MalformedMessage(f"key of {length} bytes in a record that ends at byte {end}")
        timestamp = base_time + delta if append_time is None else append_time
        has_value = not data[at] & 1  # of a negative length the lowest bit is set
        fields = (base_offset + offset_delta, timestamp, key, has_value, start, rest_at, end)
        records.append(_new(KeyedRecord, fields))
        start = end
    return records


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
    """The batch without records: it still tells of its offsets and of its producer's sequences."""
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
