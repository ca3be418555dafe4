"""Bytes of record batches to Arrow, with the columns of Spark's Kafka source.

A Fetch answer is processed in blocks (`record_blocks`). All records of a block are found (`record_scan`) and read
(`record_fields`) together, in numpy; keys, values and headers are copied by Arrow. No work is done per record, and per
batch only header, CRC and decompression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from shareq.spark.decode.record_blocks import Range, blocks
from shareq.spark.decode.record_fields import Contents, Field
from shareq.spark.decode.record_rows import Rows
from shareq.spark.decode.record_scan import Array

__all__ = ["Range", "arrow_schema", "decode"]

_TYPES: Final = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "headers": pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    "deliveryCount": pa.int32(),
}

_ROWS: Final = 32_768  # of one RecordBatch: what numpy makes on the way stays in the processor's cache
_MAX_MILLIS: Final = (2**63 - 1) // 1000


def arrow_schema(names: Sequence[str]) -> pa.Schema:
    """Return the columns of these names, as PySpark's `to_arrow_schema` translates the source's schema.

    Raises ValueError for unknown or repeated names, and for none.
    """
    if not names or len(set(names)) != len(names) or not _TYPES.keys() >= set(names):
        raise ValueError(f"columns {', '.join(names) or '(none)'}: each at most once, of {', '.join(_TYPES)}")
    return pa.schema([(name, _TYPES[name]) for name in names])


def decode(
    data: bytes | bytearray | memoryview, ranges: Sequence[Range], names: Sequence[str], *, topic: str, partition: int
) -> Iterator[pa.RecordBatch]:
    """Yield the data records of `data` that lie in the ranges, in order, as columns with these names.

    `data` is complete batches from a Fetch response; `ranges` are ascending and disjoint. Batches outside of all ranges
    are not checked, control batches are left out. No RecordBatch is empty, none has more than 32,768 rows.
    `timestampType` is 0 for the producer's time, 1 for the log's; a time that Spark's microseconds cannot hold is null.
    Raises `MalformedMessage`, naming partition and offset, for unsound batches: another magic, a CRC that does not
    match, unreadable records, offsets that do not ascend, more than 64 MB out of one compressed batch.
    """
    schema = arrow_schema(names)
    last_offset = -1
    for block in blocks(memoryview(data), ranges, f"{topic}-{partition}"):
        extents = block.find_records()
        batch_of = np.repeat(np.arange(block.counts.size), block.counts)
        for start in range(0, batch_of.size, _ROWS):
            part = slice(start, start + _ROWS)
            rows = Rows.read(block, extents.starts[part], extents.ends[part], batch_of[part], last_offset)
            last_offset = int(rows.offset[-1])
            chosen = rows.within(ranges)
            if chosen.offset.size:
                selected = _Selected(chosen, chosen.contents(), pa.py_buffer(block.data), topic, partition)
                yield pa.RecordBatch.from_arrays([_COLUMNS[name](selected) for name in names], schema=schema)


@dataclass(frozen=True, slots=True)
class _Selected:
    """Some rows of a block, and the fields for their columns; `data` is the block's bytes."""

    rows: Rows
    contents: Contents
    data: pa.Buffer
    topic: str
    partition: int

    @property
    def size(self) -> int:
        return int(self.rows.offset.size)


def _key(selected: _Selected) -> pa.Array:
    return _bytes(selected.contents.keys, selected.data)


def _value(selected: _Selected) -> pa.Array:
    return _bytes(selected.contents.values, selected.data)


def _topic(selected: _Selected) -> pa.Array:
    return pa.repeat(pa.scalar(selected.topic, pa.string()), selected.size)


def _partition(selected: _Selected) -> pa.Array:
    return pa.array(np.full(selected.size, selected.partition, np.int32))


def _offset(selected: _Selected) -> pa.Array:
    return pa.array(selected.rows.offset)


def _timestamp(selected: _Selected) -> pa.Array:
    millis = selected.rows.timestamp()
    fits = (millis <= _MAX_MILLIS) & (millis >= -_MAX_MILLIS)
    buffers = [None if fits.all() else _bitmap(fits), pa.py_buffer(millis * 1000)]
    return pa.Array.from_buffers(_TYPES["timestamp"], selected.size, buffers)


def _timestamp_type(selected: _Selected) -> pa.Array:
    """Return Kafka's numbers for the timestamp type: 0 for the producer's time, 1 for the time of the append."""
    return pa.array(selected.rows.block.has_append_time.take(selected.rows.batch).astype(np.int32))


def _delivery_count(selected: _Selected) -> pa.Array:
    return pa.array(selected.rows.delivery_count.astype(np.int32))


def _headers(selected: _Selected) -> pa.Array:
    """Return the headers; null, not empty, for a record without any, as in Spark's Kafka source."""
    if not selected.contents.header_counts.any():
        return pa.nulls(selected.size, _TYPES["headers"])
    headers = selected.rows.headers(selected.contents)
    keys = _bytes(headers.keys, selected.data)
    try:
        keys = keys.cast(pa.string())  # which looks whether they are UTF-8
    except pa.ArrowInvalid:  # brokers take any bytes; Spark's Kafka source, in Java, has U+FFFD for these
        keys = pa.array([key.as_py().decode("utf-8", "replace") for key in keys], pa.string())
    pairs = pa.StructArray.from_arrays([keys, _bytes(headers.values, selected.data)], type=_TYPES["headers"].value_type)
    ends = np.concatenate([[0], np.cumsum(headers.counts)]).astype(np.int32)
    buffers = [_bitmap(headers.counts > 0), pa.py_buffer(ends)]
    return pa.Array.from_buffers(_TYPES["headers"], selected.size, buffers, children=[pairs])


_COLUMNS: Final[dict[str, Callable[[_Selected], pa.Array]]] = {
    "key": _key,
    "value": _value,
    "topic": _topic,
    "partition": _partition,
    "offset": _offset,
    "timestamp": _timestamp,
    "timestampType": _timestamp_type,
    "headers": _headers,
    "deliveryCount": _delivery_count,
}


def _bytes(field: Field, data: pa.Buffer) -> pa.Array:
    """Return copies of the fields. They cut the data into spans, of which Arrow takes every second one."""
    count = field.at.size
    absent = field.length < 0
    if absent.all():
        return pa.nulls(count, pa.binary())
    bounds = np.empty(2 * count, np.int32)
    bounds[0::2] = field.at
    bounds[1::2] = field.at + field.size
    spans = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(bounds), data])
    taken = spans.take(pa.array(np.arange(0, 2 * count, 2, np.int32)))
    if not absent.any():
        return taken
    return pa.Array.from_buffers(pa.binary(), count, [_bitmap(~absent), *taken.buffers()[1:]])


def _bitmap(present: Array) -> pa.Buffer:
    return pa.py_buffer(np.packbits(present, bitorder="little"))
