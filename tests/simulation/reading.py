"""Reading a log from its start to its end."""

from __future__ import annotations

from collections.abc import Callable

from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import ReadResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Record, decode_records
from tests.simulation.ledger import CONTROL, InvariantBroken


def contents(log: PartitionLog, skip: Callable[[int, ErrorCode], int] | None = None) -> dict[int, bytes | None]:
    """Return all that readers see: the value at each offset. `skip` returns the offset at which to continue after a
    refused read.
    """
    found: dict[int, bytes | None] = {}
    offset = log.log_start_offset
    while offset < log.high_watermark:
        read = _read(log, offset)
        if isinstance(read, ErrorCode) and skip is not None:
            offset = skip(offset, read)
            continue
        if isinstance(read, ErrorCode) or not read.batches:
            raise InvariantBroken(f"{log.topic}-{log.partition} cannot be read at {offset}: {read}")
        for span in read.batches:
            if span.is_control:
                found[span.base_offset] = CONTROL
            else:
                data = bytes(read.records[span.position : span.position + span.size])
                found.update({record.offset: record.value for record in decode_records(data)})
            offset = span.last_offset + 1
    return {offset: value for offset, value in found.items() if offset >= log.log_start_offset}


def _read(log: PartitionLog, offset: int) -> ReadResult | ErrorCode:
    """Read as the broker does, but wait for the disk while the loop is stopped."""
    read = log.read(offset, 1 << 20, upto=log.high_watermark)
    if not isinstance(read, BeingRead):
        return read
    waited = log.segment_list.read(offset, 1 << 20, log.high_watermark, min_one_batch=True, max_offsets=None)
    if waited is ErrorCode.CORRUPT_MESSAGE:
        log.segment_list.miss(offset, log.high_watermark)
    return waited


def records_of(log: PartitionLog) -> list[Record]:
    found: list[Record] = []
    offset = log.log_start_offset
    while offset < log.high_watermark:
        read = _read(log, offset)
        if not isinstance(read, ReadResult):
            raise InvariantBroken(f"{log.topic} cannot be read at {offset}: {read}")
        for span in read.batches:
            found += decode_records(read.records[span.position : span.position + span.size])
        offset = read.batches[-1].last_offset + 1
    return found
