"""Acquisition locks: when they expire, what follows, and why stale entries do no harm (KIP-932)."""

from __future__ import annotations

from shareq.broker.share.core.effects import WakeFetches
from shareq.protocol.errors import ErrorCode
from tests.support.models.share_partition import (
    ACCEPT,
    FAILED,
    RECORDS,
    RELEASE,
    RENEW,
    ack,
    batches,
    fetch,
    rows_of,
    settle,
    share_partition,
    spans,
    states,
    write_of,
    written,
)


def test_a_lock_that_runs_out_gives_the_records_back_at_once() -> None:
    """The records are available before the write ends: the next fetch may acquire them."""
    partition = share_partition(lock_ms=100)
    assert partition.next_deadline_ms() is None
    fetch(partition, spans((0, 9)), now_ms=5)
    assert partition.next_deadline_ms() == 105
    assert partition.on_deadline(104) == ()
    effects = partition.on_deadline(105)
    assert WakeFetches() in effects
    assert rows_of(write_of(effects)) == [(0, 9, 0, 1)]
    assert states(partition) == "0-9 Available(1)"
    assert partition.next_deadline_ms() is None
    assert fetch(partition, spans((0, 9)), "m2", now_ms=105) == [(0, 9, 2)]


def test_a_failed_write_of_an_expiry_changes_nothing() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    effects = partition.on_deadline(100)
    fetch(partition, spans((0, 9)), "m2", now_ms=100)
    assert written(partition, effects, FAILED, now_ms=150) == ()
    assert states(partition) == "0-9 Acquired(2) m2"


def test_lock_expiry_at_last_delivery_archives_and_the_start_offset_moves_after_the_write() -> None:
    """A record at the delivery count limit is archived (KIP-932), even if the write fails."""
    partition = share_partition(max_deliveries=2, lock_ms=100)
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, RELEASE)
    fetch(partition, spans((0, 9)))
    effects = partition.on_deadline(100)
    assert states(partition) == "0-9 Archived(2)"
    assert (partition.start_offset, partition.delivery_complete_count) == (0, 10)
    assert write_of(effects).delivery_complete_count == 10
    assert written(partition, effects, FAILED, now_ms=101) == ()
    assert partition.start_offset == 10


def test_all_locks_that_are_due_make_one_write() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, batches(0, 29, 10), batch_size=10)
    settle(partition, 5, 22, ACCEPT)
    fetch(partition, spans((30, 39)), "m2", now_ms=1)
    effects = partition.on_deadline(101)
    assert rows_of(write_of(effects)) == [(0, 4, 0, 1), (23, 39, 0, 1)]


def test_the_lock_of_a_single_record_has_a_deadline() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 0)))
    assert partition.next_deadline_ms() == 100


def test_locks_that_run_out_in_another_order_than_the_records_lie_are_written_in_ascending_order() -> None:
    """A hole left by a reload is delivered after the records behind it, so locks expire in another order."""
    partition = share_partition(persisted=[(5, 9, 0, 1)], lock_ms=100)
    assert fetch(partition, spans((5, 9)), at=5) == [(5, 9, 2)]
    assert fetch(partition, spans((0, 4)), at=0, now_ms=50) == [(0, 4, 1)]
    assert rows_of(write_of(partition.on_deadline(150))) == [(0, 4, 0, 1), (5, 9, 0, 2)]


def test_locks_of_one_batch_run_out_one_by_one() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, RELEASE)
    fetch(partition, spans((0, 9)), now_ms=10)
    settle(partition, 2, 3, RELEASE, now_ms=20)
    fetch(partition, spans((0, 9)), "m2", now_ms=30)
    assert partition.next_deadline_ms() == 100  # left over from the first delivery
    assert partition.on_deadline(100) == ()
    partition.on_deadline(110)
    assert states(partition) == "0-1 Available(2), 2-3 Acquired(3) m2, 4-9 Available(2)"
    assert partition.next_deadline_ms() == 130


def test_a_changed_duration_holds_for_new_locks_only() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    partition.settings = partition.settings._replace(record_lock_duration_ms=20)
    fetch(partition, spans((10, 19)), at=10)
    assert partition.next_deadline_ms() == 20
    partition.on_deadline(20)
    assert states(partition) == "0-9 Acquired(1) m1, 10-19 Available(1)"


def test_an_acknowledged_range_expires_no_more() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    fetch(partition, spans((10, 19)), now_ms=50)
    settle(partition, 0, 9, ACCEPT, now_ms=50)
    assert partition.next_deadline_ms() == 150


def test_the_lock_of_a_batch_whose_front_is_finished_still_counts() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, batches(0, 19, 10), batch_size=10)
    settle(partition, 0, 12, ACCEPT, now_ms=5)
    fetch(partition, spans((20, 29)), now_ms=50)
    assert partition.next_deadline_ms() == 100
    partition.on_deadline(100)
    assert states(partition) == "13-19 Available(1), 20-29 Acquired(1) m1"


def test_many_renewals_leave_few_entries_behind() -> None:
    """A member that renews for ever must not fill the memory."""
    partition = share_partition(lock_ms=1_000)
    fetch(partition, batches(0, 19, 10), batch_size=10)
    settle(partition, 3, 4, ACCEPT)
    pending = ack(partition, 12, 13, RELEASE)
    for now in range(10_000):
        assert ack(partition, 5, 9, RENEW, now_ms=now).effects == ()
    assert len(partition._locks) < 1_000
    assert partition.next_deadline_ms() == 1_000
    partition.on_deadline(1_000)
    assert states(partition) == (
        "0-2 Available(1), 3-4 Acknowledged(1), 5-9 Acquired(1) m1, "
        "10-11 Available(1), 12-13 Available(1) pending, 14-19 Available(1)"
    )
    written(partition, pending.effects, FAILED, now_ms=1_000)
    partition.on_deadline(10_998)
    assert "5-9 Acquired(1) m1" in states(partition)
    partition.on_deadline(10_999)
    assert states(partition) == "0-2 Available(1), 3-4 Acknowledged(1), 5-9 Available(1), 10-19 Available(1)"


def test_a_pending_write_that_fails_after_the_entries_were_rebuilt_still_has_its_lock() -> None:
    partition = share_partition(lock_ms=1_000)
    fetch(partition, batches(0, 19, 10), batch_size=10)
    pending = ack(partition, 0, 9, RELEASE)
    for now in range(600):
        ack(partition, 10, 19, RENEW, now_ms=now)
    written(partition, pending.effects, FAILED, now_ms=600)
    partition.on_deadline(1_000)
    assert states(partition) == "0-9 Available(1), 10-19 Acquired(1) m1"


def test_many_renewals_of_one_request_keep_all_their_locks() -> None:
    """The heap is rebuilt midway, while the records still have their earlier locks."""
    partition = share_partition(lock_ms=1_000)
    for _ in range(600):  # a delivery and so a lock for each record, in one batch in flight
        fetch(partition, spans((0, 599)), mode=RECORDS, max_records=1)
    assert ack(partition, 0, 599, RENEW, now_ms=500).error is ErrorCode.NONE
    assert partition.on_deadline(1_499) == ()
    assert partition.next_deadline_ms() == 1_500
    assert rows_of(write_of(partition.on_deadline(1_500))) == [(0, 599, 0, 1)]
