"""Transactional batches and markers as a transaction coordinator has them appended, and their expected effect."""

from __future__ import annotations

from collections.abc import Iterable

from shareq.broker.log.partition_log import AppendInfo, OnDurable, Origin, PartitionLog
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import BatchHeader, Compression, RecordData, batch_headers, build_batch
from shareq.protocol.records.control import ControlType, build_end_transaction_marker, read_control_record

TIMESTAMP_MS = 1_700_000_000_000


def numbered(
    *values: bytes,
    producer_id: int,
    epoch: int = 0,
    sequence: int = 0,
    transactional: bool = False,
    timestamp_ms: int = TIMESTAMP_MS,
) -> bytes:
    return bytes(
        build_batch(
            [RecordData(None, value) for value in values],
            timestamp_ms=timestamp_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
    )


def append(
    log: PartitionLog,
    *values: bytes,
    producer: int = -1,
    compression: Compression = Compression.NONE,
    now_ms: int = TIMESTAMP_MS,
    on_durable: OnDurable | None = None,
) -> AppendInfo | ErrorCode:
    """Append one batch without flushing: transactional with a producer, plain without one."""
    transactional = producer >= 0
    batch = build_batch(
        [RecordData(None, value) for value in values],
        timestamp_ms=now_ms,
        producer_id=producer,
        producer_epoch=0 if transactional else -1,
        base_sequence=0 if transactional else -1,
        compression=compression,
        transactional=transactional,
    )
    return log.append(batch, origin=Origin.COORDINATOR, now_wall_ms=now_ms, on_durable=on_durable)


def end(
    log: PartitionLog,
    producer: int,
    *,
    commit: bool,
    now_ms: int = TIMESTAMP_MS,
    on_durable: OnDurable | None = None,
) -> AppendInfo | ErrorCode:
    marker = build_end_transaction_marker(
        commit=commit, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp_ms=now_ms
    )
    return log.append(marker, origin=Origin.COORDINATOR, now_wall_ms=now_ms, on_durable=on_durable)


def batches_of(log: PartitionLog) -> list[tuple[BatchHeader, ControlType | None]]:
    found = []
    for segment in log.segments:
        data = segment.read_at(0, segment.size)
        for position, header in batch_headers(data):
            batch = data[position : position + header.size]
            found.append((header, read_control_record(batch).type if header.is_control else None))
    return found


def brute_force(
    batches: Iterable[tuple[BatchHeader, ControlType | None]], upto: int
) -> tuple[int, list[AbortedTransaction]]:
    """Return the last stable offset and aborted transactions of a log of these batches, readable up to `upto`."""
    began: dict[int, int] = {}
    aborted = []
    for header, marker in batches:
        if header.last_offset >= upto:
            break
        if marker is not None:
            first = began.pop(header.producer_id, None)
            if first is not None and marker is ControlType.ABORT:
                stable = min([header.last_offset + 1, *began.values()])
                aborted.append(AbortedTransaction(header.producer_id, first, header.last_offset, stable))
        elif header.is_transactional:
            began.setdefault(header.producer_id, header.base_offset)
    return min([upto, *began.values()]), aborted
