"""The end of a share session makes its member's records available again (KIP-932)."""

from __future__ import annotations

from shareq.broker.share.core.effects import DeliveryLimitReached, GivenUpRange, WakeFetches
from shareq.broker.share.core.partition import SharePartition
from tests.support.models.share_partition import (
    ACCEPT,
    FAILED,
    RELEASE,
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


def test_everything_the_member_holds_is_given_back_through_a_write(partition: SharePartition) -> None:
    fetch(partition, batches(0, 19, 10), batch_size=10)
    fetch(partition, spans((20, 29)), "m2")
    settle(partition, 3, 4, ACCEPT)
    effects = partition.release_acquired_records("m1", 0)
    assert rows_of(write_of(effects)) == [(0, 2, 0, 1), (5, 19, 0, 1)]
    assert states(partition) == (
        "0-2 Available(1) pending, 3-4 Acknowledged(1), 5-9 Available(1) pending, "
        "10-19 Available(1) pending, 20-29 Acquired(1) m2"
    )
    assert partition.next_fetch_offset() == 30
    assert written(partition, effects) == (WakeFetches(),)
    assert fetch(partition, batches(0, 19, 10), "m3") == [(0, 2, 2), (5, 9, 2), (10, 19, 2)]


def test_records_between_those_of_others_are_given_back_too(partition: SharePartition) -> None:
    """Other members hold records of the same in-flight batch (record_limit)."""
    for member, first, last in (("m1", 0, 2), ("m2", 3, 5), ("m1", 6, 7), ("m3", 8, 9)):
        fetch(partition, batches(first, last, 1), member, batch_size=10)
    assert rows_of(write_of(partition.release_acquired_records("m1", 0))) == [(0, 2, 0, 1), (6, 7, 0, 1)]


def test_the_delivery_count_stays() -> None:
    """Closing a session does not take a delivery back any more, as in Apache Kafka 4.3.1."""
    partition = share_partition(max_deliveries=2)
    fetch(partition, spans((0, 9)))
    written(partition, partition.release_acquired_records("m1", 0))
    assert states(partition) == "0-9 Available(1)"
    fetch(partition, spans((0, 9)))
    assert rows_of(write_of(partition.release_acquired_records("m1", 0))) == [(0, 9, 4, 2)]


def test_records_below_the_start_offset_are_archived(partition: SharePartition) -> None:
    fetch(partition, batches(0, 19, 10), batch_size=10)
    partition.on_log_start_moved(14, 0)
    effects = partition.release_acquired_records("m1", 0)
    assert rows_of(write_of(effects)) == [(0, 13, 4, 1), (14, 19, 0, 1)]
    assert write_of(effects).delivery_complete_count == 0
    written(partition, effects)
    assert (partition.start_offset, states(partition)) == (14, "14-19 Available(1)")


def test_records_below_the_start_offset_stay_with_the_member_when_that_cannot_be_written(
    partition: SharePartition,
) -> None:
    fetch(partition, batches(0, 19, 10), batch_size=10)
    partition.on_log_start_moved(14, 0)
    effects = partition.release_acquired_records("m1", 0)
    assert states(partition, 0) == "0-9 Archived(1) pending, 10-13 Archived(1) pending, 14-19 Available(1) pending"
    written(partition, effects, FAILED)
    assert states(partition, 0) == "0-9 Acquired(1) m1, 10-19 Acquired(1) m1"


def test_what_is_being_acknowledged_is_not_touched(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    accepted = ack(partition, 0, 4, ACCEPT)
    effects = partition.release_acquired_records("m1", 0)
    assert rows_of(write_of(effects)) == [(5, 9, 0, 1)]
    written(partition, effects)
    written(partition, accepted.effects)
    assert (partition.start_offset, states(partition)) == (5, "5-9 Available(1)")


def test_a_failed_write_leaves_the_records_with_the_member_until_the_lock_runs_out() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    written(partition, partition.release_acquired_records("m1", 0), FAILED)
    assert states(partition) == "0-9 Acquired(1) m1"
    partition.on_deadline(100)
    assert states(partition) == "0-9 Available(1)"


def test_a_member_without_records_needs_no_write(partition: SharePartition) -> None:
    assert partition.release_acquired_records("m1", 0) == ()
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 4, RELEASE)
    assert partition.release_acquired_records("m2", 0) == ()


def test_neighbours_of_different_delivery_counts_are_given_back_apart(partition: SharePartition) -> None:
    fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, RELEASE)
    fetch(partition, spans((0, 4), (5, 9)))
    assert rows_of(write_of(partition.release_acquired_records("m1", 0))) == [(0, 4, 0, 2), (5, 9, 0, 1)]


def test_all_that_is_given_back_at_its_last_delivery_is_given_up() -> None:
    partition = share_partition(max_deliveries=1)
    fetch(partition, batches(0, 9, 5), batch_size=5)
    assert written(partition, partition.release_acquired_records("m1", 0)) == (
        DeliveryLimitReached((GivenUpRange(0, 4, 1), GivenUpRange(5, 9, 1))),
    )
    assert (partition.counters.session_releases, partition.counters.dead_letters) == (10, 10)
