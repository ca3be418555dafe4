"""Records of aborted transactions are archived instead of handed out (KIP-932, reading transactional records)."""

from __future__ import annotations

from shareq.broker.share.acquire import cut_out
from shareq.broker.share.values import AcquiredRange
from shareq.protocol.errors import ErrorCode
from tests.support.share_partition import ACCEPT, RELEASE, ack, batches, fetch, settle, share_partition, spans, states


def test_aborted_records_are_cut_out_and_archived() -> None:
    partition = share_partition(lock_ms=100)
    assert fetch(partition, batches(0, 9, 2), aborted=[(2, 3), (6, 7)]) == [(0, 1, 1), (4, 5, 1), (8, 9, 1)]
    assert states(partition) == (
        "0-1 Acquired(1) m1, 2-3 Archived(1), 4-5 Acquired(1) m1, 6-7 Archived(1), 8-9 Acquired(1) m1"
    )
    assert partition.delivery_complete_count == 4
    assert (partition.start_offset, partition.end_offset) == (0, 9)
    partition.on_deadline(100)
    assert "2-3 Archived(1)" in states(partition)


def test_an_aborted_record_cannot_be_acknowledged() -> None:
    partition = share_partition()
    fetch(partition, batches(0, 9, 2), aborted=[(2, 3)])
    assert ack(partition, 0, 9, ACCEPT).error is ErrorCode.INVALID_RECORD_STATE
    settle(partition, 0, 1, ACCEPT)
    assert partition.start_offset == 4


def test_when_everything_was_aborted_the_start_offset_waits_for_the_next_write() -> None:
    """Archived in memory only; nothing is written for it."""
    partition = share_partition()
    assert fetch(partition, spans((0, 9)), aborted=[(0, 9)]) == []
    assert (partition.start_offset, partition.next_fetch_offset(), partition.delivery_complete_count) == (0, 10, 10)
    fetch(partition, spans((10, 10)))
    assert settle(partition, 10, 10, ACCEPT).delivery_complete_count == 11
    assert (partition.start_offset, partition.delivery_complete_count) == (11, 0)


def test_without_aborted_transactions_nothing_is_filtered() -> None:
    partition = share_partition()
    assert fetch(partition, spans((0, 9)), aborted=()) == [(0, 9, 1)]


def test_records_delivered_again_are_filtered_too() -> None:
    partition = share_partition()
    fetch(partition, batches(0, 9, 5))
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, batches(0, 9, 5), aborted=[(5, 9)]) == [(0, 4, 2)]


def test_cutting_ranges_out_of_ranges() -> None:
    acquired = [AcquiredRange(0, 9, 1), AcquiredRange(10, 19, 2), AcquiredRange(30, 39, 1)]
    assert cut_out(acquired, []) == acquired
    assert cut_out(acquired, [(0, 39)]) == []
    assert cut_out(acquired, [(20, 29), (100, 110)]) == acquired
    assert cut_out(acquired, [(0, 1), (5, 31)]) == [(2, 4, 1), (32, 39, 1)]
    assert cut_out(acquired, [(3, 4), (6, 6), (8, 11), (35, 50)]) == [
        (0, 2, 1),
        (5, 5, 1),
        (7, 7, 1),
        (12, 19, 2),
        (30, 34, 1),
    ]
