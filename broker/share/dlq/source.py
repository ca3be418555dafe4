"""Reading dead records from their partition, up to the high watermark, including those of aborted transactions
(KIP-1191).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.broker.foundation.pending import Pending
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import BatchSpan
from shareq.broker.share.dlq.letters import letter_bytes
from shareq.broker.share.ports import NotHereYet, RecordSource
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    Compression,
    Record,
    attributes_of,
    decode_records,
    records_block,
)

_READ_BYTES: Final = 1_048_576


class Reading(NamedTuple):
    """The records found from the first offset to `upto` (exclusive). Offsets without a record get letters without
    content.

    `error` is why the read ended early: the record at `upto` cannot be read. Without an error, `upto` equals the first
    offset if the records have to be fetched first.
    """

    records: dict[int, Record]
    upto: int
    error: ErrorCode = ErrorCode.NONE
    arrived: Pending[None] | None = None  # when they are, if that is known


def read_dead(log: RecordSource, first: int, last: int, budget: int) -> Reading:
    """Return the records of `first..last` (inclusive) that one read finds, as many as fit in `budget` bytes.

    A record larger than that is left out; so is every record of a compressed batch that is larger than that when
    decompressed.
    """
    read = log.read(first, _READ_BYTES, upto=log.high_watermark)
    if isinstance(read, BeingRead):
        return Reading({}, first, arrived=read.arrived)
    if isinstance(read, NotHereYet):
        return Reading({}, first)
    if first >= log.high_watermark:  # and it is known where the log ends
        return Reading({}, last + 1)
    if isinstance(read, ErrorCode):
        return Reading({}, first, read)
    return _collect(read.records, read.batches, first, last, budget)


def readable_from(log: RecordSource, offset: int, error: ErrorCode) -> int | None:
    """Return the offset where reading may continue after this error at `offset`; None if that is unknown."""
    if error is ErrorCode.OFFSET_OUT_OF_RANGE and offset < log.log_start_offset:
        return log.log_start_offset
    if error is ErrorCode.CORRUPT_MESSAGE:
        unreadable = log.unreadable_range(offset)
        return None if unreadable is None else unreadable[1]
    return None


def _collect(data: bytes, spans: Sequence[BatchSpan], first: int, last: int, budget: int) -> Reading:
    found: dict[int, Record] = {}
    position, left = first, budget
    view = memoryview(data)
    for span in spans:
        if span.base_offset > last:
            return Reading(found, last + 1)
        for record in _opened(view[span.position : span.position + span.size], budget, position, last):
            size = letter_bytes(record)
            if size > budget:
                continue
            if size > left:
                return Reading(found, record.offset)
            found[record.offset] = record
            left -= size
        position = span.last_offset + 1
    return Reading(found, last + 1 if not spans else min(position, last + 1))


def _opened(batch: memoryview, budget: int, first: int, last: int) -> list[Record]:
    """Return the records `first..last` (inclusive) of a batch; none if the batch is too large, or cannot be read."""
    try:
        if attributes_of(batch) & CODEC_MASK != Compression.NONE:
            header, records, _ = records_block(batch)
            if len(records) + HEADER_SIZE > budget and header.magic == 2:
                return []
        return decode_records(batch, exact=True, first=first, last=last)
    except MalformedMessage:
        return []
