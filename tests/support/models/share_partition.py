"""Short helpers for share-partition tests: make one, fetch, acknowledge, end writes, and read states as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shareq.broker.share.core.effects import Effect, StateBatch, WriteState
from shareq.broker.share.core.partition import AckBatch, AckOutcome, SharePartition
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcquireMode

KEY = SharePartitionKey("G1", bytes(range(16)), 0)
LOG_END = 1 << 40
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
BATCHES, RECORDS = AcquireMode.BATCH_OPTIMIZED, AcquireMode.RECORD_LIMIT
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


@dataclass(frozen=True)
class Span:
    """A record batch: both offsets inclusive."""

    base_offset: int
    last_offset: int


def spans(*ranges: tuple[int, int]) -> list[Span]:
    return [Span(first, last) for first, last in ranges]


def batches(first: int, last: int, size: int = 1) -> list[Span]:
    return [Span(base, min(base + size - 1, last)) for base in range(first, last + 1, size)]


def settings(
    *, max_deliveries: int = 5, limit: int = 2_000, lock_ms: int = 30_000, renew: bool = True
) -> ShareGroupSettings:
    return ShareGroupSettings(
        delivery_count_limit=max_deliveries,
        partition_max_record_locks=limit,
        record_lock_duration_ms=lock_ms,
        renew_acknowledge_enable=renew,
    )


def share_partition(
    *,
    start: int = 0,
    persisted: Sequence[tuple[int, int, int, int]] = (),
    log_end: int = LOG_END,
    max_deliveries: int = 5,
    limit: int = 2_000,
    lock_ms: int = 30_000,
    renew: bool = True,
) -> SharePartition:
    """Return a loaded share partition. `persisted` are state batches (first, last, state, count)."""
    group = settings(max_deliveries=max_deliveries, limit=limit, lock_ms=lock_ms, renew=renew)
    partition = SharePartition(KEY, leader_epoch=3, settings=group)
    rows = [StateBatch(*row) for row in persisted]
    assert partition.load(7, start, rows, log_start_offset=0, log_end_offset=log_end) is ErrorCode.NONE
    return partition


def fetch(
    partition: SharePartition,
    read: Sequence[Span],
    member: str = "m1",
    *,
    at: int | None = None,
    max_records: int = 500,
    batch_size: int = 500,
    mode: AcquireMode = BATCHES,
    aborted: Sequence[tuple[int, int]] = (),
    now_ms: int = 0,
) -> list[tuple[int, int, int]]:
    """Acquire from a read at `at` (default: the next fetch offset): (first, last, delivery count)."""
    offset = partition.next_fetch_offset() if at is None else at
    acquired = partition.acquire(member, mode, batch_size, max_records, offset, read, now_ms, aborted=aborted)
    return [(first, last, count) for first, last, count in acquired]


def ack(
    partition: SharePartition, first: int, last: int, *types: int, member: str = "m1", now_ms: int = 0
) -> AckOutcome:
    return partition.acknowledge(member, [AckBatch(first, last, list(types))], now_ms)


def write_of(effects: Sequence[Effect]) -> WriteState:
    (write,) = [effect for effect in effects if isinstance(effect, WriteState)]
    return write


def written(
    partition: SharePartition, effects: Sequence[Effect], error: ErrorCode = ErrorCode.NONE, now_ms: int = 0
) -> tuple[Effect, ...]:
    return partition.on_state_written(write_of(effects).write_id, error, now_ms)


def settle(
    partition: SharePartition, first: int, last: int, *types: int, member: str = "m1", now_ms: int = 0
) -> WriteState:
    outcome = ack(partition, first, last, *types, member=member, now_ms=now_ms)
    assert outcome.error is ErrorCode.NONE, outcome
    written(partition, outcome.effects, now_ms=now_ms)
    return write_of(outcome.effects)


def states(partition: SharePartition, first: int | None = None) -> str:
    """Format the states in flight from the start offset (or `first`) on: `0-4 Acquired(1) m1, 5 Available(2)`."""
    rows = []
    for run in partition.snapshot(first=first):
        offsets = (
            f"{run.first_offset}-{run.last_offset}" if run.last_offset > run.first_offset else f"{run.first_offset}"
        )
        owner = f" {run.owner}" if run.owner else ""
        pending = " pending" if run.pending else ""
        rows.append(f"{offsets} {run.state.name.capitalize()}({run.delivery_count}){owner}{pending}")
    return ", ".join(rows)


def rows_of(write: WriteState) -> list[tuple[int, int, int, int]]:
    """Return the state batches of a write as plain tuples: (first, last, state, count)."""
    return [(first, last, state, count) for first, last, state, count in write.batches]
