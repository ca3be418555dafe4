"""Record batches as stored in a cluster's log."""

from __future__ import annotations

from shareq.protocol.records.batch import RecordData, build_batch, stamp
from shareq.protocol.records.control import build_end_transaction_marker


def batch(base: int, count: int = 1, *, epoch: int = 0, producer_id: int = -1, size: int = 10) -> bytes:
    """Return a batch of `count` records at offset `base`; transactional if it has a producer id."""
    built = build_batch(
        [RecordData(None, b"%d:" % (base + each) + b"v" * size) for each in range(count)],
        timestamp_ms=1_000,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=producer_id >= 0,
    )
    stamp(built, base_offset=base, leader_epoch=epoch)
    return bytes(built)


def marker(base: int, producer_id: int, *, commit: bool, epoch: int = 0) -> bytes:
    built = build_end_transaction_marker(
        commit=commit, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp_ms=1_000
    )
    stamp(built, base_offset=base, leader_epoch=epoch)
    return bytes(built)
