"""Record batches with any numbers in their fields, as no well-behaved producer writes them, but a correct CRC."""

from __future__ import annotations

from devtools.clients.requests import TIMESTAMP_MS
from shareq.protocol.primitives import zigzag_varint
from shareq.protocol.records.batch import BatchHeader, Compression, encode_batch
from shareq.protocol.records.compression import compress

__all__ = ["raw_batch", "raw_headers", "raw_record"]


def raw_record(
    offset_delta: int = 0,
    *,
    attributes: int = 0,
    time_delta: int | bytes = 0,
    key: bytes | int | None = None,
    value: bytes | int | None = b"value",
    headers: bytes = b"\0",
    longer: int = 0,
) -> bytes:
    """Return one record. A number as key or value stands for that length without its bytes.

    `headers` begins with their count; `time_delta` may be the bytes of a number; `longer` is added to the record's
    length without the matching bytes.
    """
    body = bytes([attributes]) + (time_delta if isinstance(time_delta, bytes) else zigzag_varint(time_delta))
    body += zigzag_varint(offset_delta) + _nullable(key) + _nullable(value) + headers
    return zigzag_varint(len(body) + longer) + body


def raw_headers(count: int, *fields: bytes | int | None) -> bytes:
    """Return record headers: keys and values in turn, as in `raw_record`."""
    return zigzag_varint(count) + b"".join(map(_nullable, fields))


def raw_batch(
    *records: bytes,
    count: int | None = None,
    last_offset_delta: int | None = None,
    base_offset: int = 0,
    codec: Compression = Compression.NONE,
    payload: bytes | None = None,
    attributes: int = 0,
    timestamp_ms: int = TIMESTAMP_MS,
    max_timestamp_ms: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """Return a batch of these records, or with `payload`, already compressed, in their place.

    `producer` is its id, its epoch and the base sequence.
    """
    count = len(records) if count is None else count
    header = BatchHeader(
        base_offset,
        0,
        -1,
        2,
        0,
        attributes | codec,
        count - 1 if last_offset_delta is None else last_offset_delta,
        timestamp_ms,
        timestamp_ms if max_timestamp_ms is None else max_timestamp_ms,
        *producer,
        count,
    )
    return bytes(encode_batch(header, compress(codec, b"".join(records)) if payload is None else payload))


def _nullable(content: bytes | int | None) -> bytes:
    if content is None:
        return zigzag_varint(-1)
    if isinstance(content, int):
        return zigzag_varint(content)
    return zigzag_varint(len(content)) + content
