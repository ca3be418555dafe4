"""Any persisted state, once loaded, has every unfinished record delivered, at any limit."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from shareq.broker.share.core.partition import AckBatch, SharePartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcquireMode, RecordState
from tests.support.models.share_partition import ACCEPT, Span, batches, share_partition, write_of

CASES: Final = 300
ENOUGH: Final = 3  # successive empty fetches: a read may be shorter than a range of finished records

Row = tuple[int, int, int, int]  # first offset, last offset (inclusive), state, delivery count


def random_state(rng: Random, start: int, limit: int) -> tuple[list[Row], set[int], int]:
    """Return persisted batches from `start` on, with holes for the records that were held; the unfinished offsets; and
    the log end (exclusive).
    """
    rows: list[Row] = []
    due: set[int] = set()
    offset = start
    for _ in range(rng.randint(0, 30)):
        size = rng.randint(1, 6)
        state = rng.choice((None, None, RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED))
        if state is not None:
            rows.append((offset, offset + size - 1, state.value, rng.randint(0, limit - 1)))
        if state in (None, RecordState.AVAILABLE):
            due.update(range(offset, offset + size))
        offset += size
    end = offset + rng.randint(0, 20)
    due.update(range(offset, end))
    return rows, due, end


def drain(rng: Random, partition: SharePartition, log: list[Span]) -> list[int]:
    """Return the offsets that one member, which accepts each, gets until no more are delivered."""
    mode, max_records = rng.choice(list(AcquireMode)), rng.choice((1, 5, 500))
    got: list[int] = []
    empty = 0
    while empty < ENOUGH:
        empty += 1
        if not partition.can_acquire():
            continue
        offset = partition.next_fetch_offset()
        upto = partition.next_read(mode, max_records)[1]
        read = [span for span in log if span.last_offset >= offset and span.base_offset <= upto]
        read = read[: rng.randint(1, 5)]  # its bytes are limited, too
        acquired = partition.acquire("m", mode, max_records, max_records, offset, read, 0)
        if acquired:
            empty = 0
            got += [each for first, last, _ in acquired for each in range(first, last + 1)]
            acks = [AckBatch(first, last, [ACCEPT]) for first, last, _ in acquired]
            outcome = partition.acknowledge("m", acks, 0)
            partition.on_state_written(write_of(outcome.effects).write_id, ErrorCode.NONE, 0)
    return got


@pytest.mark.parametrize("limit", [5, 20, 2_000])
def test_all_that_is_not_finished_is_handed_out_once(limit: int) -> None:
    for seed in range(CASES):
        rng = Random(f"{limit} {seed}")
        start, deliveries = rng.randint(0, 20), rng.choice((2, 5, 10))
        rows, due, end = random_state(rng, start, deliveries)
        partition = share_partition(start=start, persisted=rows, log_end=end, max_deliveries=deliveries, limit=limit)
        got = drain(rng, partition, batches(0, end - 1, rng.randint(1, 8)))
        assert sorted(got) == sorted(due), (seed, start, rows, end)
