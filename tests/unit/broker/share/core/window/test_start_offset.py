"""Start, end and next fetch offset, and a log start offset that overtakes them (KIP-932)."""

from __future__ import annotations

from shareq.broker.share.core.partition import SharePartition
from tests.support.models.share_partition import (
    ACCEPT,
    REJECT,
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

# -- the start offset


def test_the_start_offset_moves_over_a_finished_part_of_a_batch(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 4, ACCEPT)
    assert (partition.start_offset, partition.end_offset) == (5, 9)
    assert states(partition) == "5-9 Acquired(1) m1"


def test_out_of_order_acknowledgements_count_until_the_start_offset_passes_them(partition: SharePartition) -> None:
    fetch(partition, batches(0, 29, 10), batch_size=10)
    settle(partition, 20, 29, ACCEPT)
    settle(partition, 12, 15, REJECT)
    assert (partition.start_offset, partition.delivery_complete_count) == (0, 14)
    settle(partition, 0, 11, ACCEPT)
    assert (partition.start_offset, partition.delivery_complete_count) == (16, 10)
    settle(partition, 16, 19, ACCEPT)
    assert (partition.start_offset, partition.end_offset, partition.delivery_complete_count) == (30, 30, 0)


def test_released_records_hold_the_start_offset(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, *[ACCEPT] * 3, RELEASE, *[ACCEPT] * 6)
    assert (partition.start_offset, partition.delivery_complete_count) == (3, 6)


def test_the_start_offset_jumps_over_a_natural_hole(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    fetch(partition, spans((20, 29)), at=10)
    settle(partition, 0, 9, ACCEPT)
    assert partition.start_offset == 20


def test_alternating_outcomes_leave_the_released_ones_in_flight(partition: SharePartition) -> None:
    fetch(partition, spans((0, 8)))
    settle(partition, 0, 8, *[ACCEPT, RELEASE, REJECT] * 3)
    assert partition.start_offset == 1
    assert fetch(partition, spans((0, 8)), "m2") == [(1, 1, 2), (4, 4, 2), (7, 7, 2)]
    for offset in (7, 1, 4):
        settle(partition, offset, offset, ACCEPT, member="m2")
    assert (partition.start_offset, states(partition)) == (9, "")


def test_fetching_goes_on_at_the_end_offset_when_everything_is_finished(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, ACCEPT)
    assert partition.next_fetch_offset() == 10
    assert partition.next_deadline_ms() is None
    assert fetch(partition, spans((10, 10))) == [(10, 10, 1)]


def test_the_lowest_available_record_is_fetched_first(partition: SharePartition) -> None:
    fetch(partition, batches(0, 29, 10), batch_size=10)
    settle(partition, 20, 29, RELEASE)
    assert partition.next_fetch_offset() == 20
    settle(partition, 4, 6, RELEASE)
    assert partition.next_fetch_offset() == 4
    fetch(partition, spans((0, 9)))
    assert partition.next_fetch_offset() == 20
    fetch(partition, spans((20, 29)))
    assert partition.next_fetch_offset() == 30


# -- the log's start overtaking


def test_with_nothing_in_flight_everything_follows_the_log_start(partition: SharePartition) -> None:
    partition.on_log_start_moved(25, 0)
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset()) == (25, 25, 25)


def test_a_log_start_at_or_below_the_start_offset_changes_nothing() -> None:
    """A read beyond the log end that is out of range changes nothing, either."""
    partition = share_partition(start=10)
    fetch(partition, spans((10, 19)))
    partition.on_log_start_moved(10, 0)
    partition.on_log_start_moved(3, 0)
    assert (partition.start_offset, states(partition)) == (10, "10-19 Acquired(1) m1")


def test_available_records_below_the_log_start_are_archived_and_held_ones_stay(partition: SharePartition) -> None:
    fetch(partition, batches(0, 29, 10), batch_size=10)
    settle(partition, 0, 9, RELEASE)
    settle(partition, 25, 29, RELEASE)
    partition.on_log_start_moved(27, 0)
    assert states(partition, first=0) == (
        "0-9 Archived(1), 10-19 Acquired(1) m1, 20-24 Acquired(1) m1, 25-26 Archived(1), 27-29 Available(1)"
    )
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset()) == (27, 29, 27)
    assert partition.delivery_complete_count == 0


def test_terminal_records_below_the_log_start_leave_the_delivery_complete_count(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 1))
    settle(partition, 3, 8, ACCEPT)
    partition.on_log_start_moved(6, 0)
    assert partition.delivery_complete_count == 3


def test_the_new_start_offset_goes_out_with_the_next_write(partition: SharePartition) -> None:
    fetch(partition, batches(0, 19, 10), batch_size=10)
    partition.on_log_start_moved(12, 0)
    write = settle(partition, 15, 19, ACCEPT)
    assert (write.start_offset, write.delivery_complete_count) == (12, 5)


def test_beyond_everything_in_flight_fetching_begins_at_the_log_start(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    partition.on_log_start_moved(15, 0)
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset()) == (15, 15, 15)
    assert partition.can_acquire()
    assert fetch(partition, spans((12, 19)), "m2") == [(15, 19, 1)]


def test_records_held_below_the_log_start_are_archived_when_their_lock_runs_out() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    partition.on_log_start_moved(5, 0)
    effects = partition.on_deadline(100)
    assert rows_of(write_of(effects)) == [(0, 4, 4, 1), (5, 9, 0, 1)]
    assert states(partition, first=0) == "0-4 Archived(1), 5-9 Available(1)"
    assert partition.delivery_complete_count == 0


def test_the_start_offset_waits_for_records_held_below_it_and_never_moves_back() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, batches(0, 29, 10), batch_size=10)
    settle(partition, 0, 9, RELEASE)
    partition.on_log_start_moved(20, 0)
    settle(partition, 20, 24, ACCEPT)
    assert partition.start_offset == 20
    written(partition, partition.on_deadline(100), now_ms=100)
    assert (partition.start_offset, states(partition)) == (25, "25-29 Available(1)")


def test_when_all_that_was_in_flight_ends_below_the_log_start_the_start_offset_stays() -> None:
    partition = share_partition(lock_ms=100)
    fetch(partition, spans((0, 9)))
    partition.on_log_start_moved(50, 0)
    written(partition, partition.on_deadline(100), now_ms=100)
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset()) == (50, 50, 50)


def test_an_acknowledgement_under_way_while_the_log_start_passes_it(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    outcome = ack(partition, 0, 9, ACCEPT)
    partition.on_log_start_moved(5, 0)
    assert partition.delivery_complete_count == 5
    written(partition, outcome.effects)
    assert (partition.start_offset, partition.delivery_complete_count) == (10, 0)
