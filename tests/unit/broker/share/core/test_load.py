"""Loading persisted state, and redelivering the records that a previous leader had delivered (KIP-932)."""

from __future__ import annotations

import pytest

from shareq.broker.share.core.effects import StateBatch, WakeFetches
from shareq.broker.share.core.partition import SharePartition
from shareq.protocol.errors import ErrorCode
from tests.support.models.share_partition import (
    ACCEPT,
    KEY,
    LOG_END,
    RECORDS,
    RELEASE,
    ack,
    batches,
    fetch,
    settings,
    settle,
    share_partition,
    spans,
    states,
    written,
)

# -- loading


def test_without_batches_fetching_begins_at_the_start_offset() -> None:
    partition = share_partition(start=42)
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset()) == (42, 42, 42)
    assert (partition.state_epoch, partition.delivery_complete_count) == (7, 0)
    assert partition.can_acquire()


def test_persisted_batches_come_back_without_owner() -> None:
    partition = share_partition(start=10, persisted=[(10, 14, 0, 2), (15, 19, 2, 1), (20, 20, 4, 5)])
    assert states(partition) == "10-14 Available(2), 15-19 Acknowledged(1), 20 Archived(5)"
    assert (partition.start_offset, partition.end_offset) == (10, 20)
    assert (partition.delivery_complete_count, partition.next_fetch_offset()) == (6, 10)


def test_a_terminal_front_moves_the_start_offset_at_once_in_memory() -> None:
    partition = share_partition(start=10, persisted=[(10, 14, 2, 1), (15, 19, 0, 1)])
    assert (partition.start_offset, partition.delivery_complete_count) == (15, 0)


def test_everything_terminal_leaves_nothing_in_flight() -> None:
    partition = share_partition(start=10, persisted=[(10, 14, 2, 1), (15, 19, 4, 1)])
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset()) == (20, 20, 20)
    assert states(partition) == ""


@pytest.mark.parametrize(
    "rows",
    [
        [(5, 12, 0, 1)],  # begins below the start offset
        [(14, 12, 0, 1)],  # ends before it begins
        [(10, 14, 0, 1), (12, 16, 0, 1)],  # overlaps
        [(10, 14, 1, 1)],  # acquired is never persisted
        [(10, 14, 5, 1)],
    ],
)
def test_state_that_contradicts_itself_is_refused(rows: list[tuple[int, int, int, int]]) -> None:
    partition = SharePartition(KEY, 3, settings())
    batches = [StateBatch(*row) for row in rows]
    error = partition.load(7, 10, batches, log_start_offset=0, log_end_offset=LOG_END)
    assert error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert not partition.can_acquire()


def test_a_start_offset_beyond_the_log_end_is_clamped() -> None:
    """A power loss cut the log's end: new records, which no member has seen, will get these offsets."""
    partition = share_partition(start=50, persisted=[(50, 59, 0, 1)], log_end=40)
    assert (partition.start_offset, partition.end_offset, states(partition)) == (40, 40, "")
    assert partition.lost_tail
    assert fetch(partition, spans((40, 49))) == [(40, 49, 1)]


def test_state_of_lost_records_is_dropped_when_the_start_offset_is_still_in_the_log() -> None:
    partition = share_partition(start=10, persisted=[(10, 14, 0, 1), (15, 25, 2, 1), (30, 39, 2, 1)], log_end=20)
    assert states(partition) == "10-14 Available(1), 15-19 Acknowledged(1)"
    assert partition.lost_tail
    assert not share_partition(start=10, persisted=[(10, 19, 2, 1)], log_end=20).lost_tail


def test_a_start_offset_at_the_log_end_has_lost_nothing() -> None:
    partition = share_partition(start=40, log_end=40)
    assert (partition.start_offset, partition.lost_tail) == (40, False)


def test_only_what_lies_beyond_the_log_end_is_dropped() -> None:
    """The log end is the first offset that the log does not have; everything below it is kept."""
    partition = share_partition(start=10, persisted=[(10, 20, 0, 1)], log_end=20)
    assert (states(partition), partition.end_offset, partition.lost_tail) == ("10-19 Available(1)", 19, True)
    partition = share_partition(start=10, persisted=[(10, 18, 0, 1), (19, 25, 0, 1)], log_end=20)
    assert (states(partition), partition.lost_tail) == ("10-18 Available(1), 19 Available(1)", True)


def test_lost_records_right_at_the_start_leave_no_gap_window() -> None:
    partition = share_partition(start=10, persisted=[(30, 39, 2, 1)], log_end=20)
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset()) == (10, 10, 10)


# -- the gap window


def test_holes_in_the_persisted_state_are_delivered_again_from_count_one() -> None:
    """Records in holes were acquired, which is never persisted, or never fetched."""
    partition = share_partition(start=10, persisted=[(15, 19, 2, 1), (25, 29, 0, 3)])
    assert partition.next_fetch_offset() == 10
    assert fetch(partition, spans((10, 29))) == [(10, 14, 1), (20, 24, 1)]
    # 25-29 has used half of its deliveries, so a fetch that already has records ends before it
    assert partition.next_fetch_offset() == 25


def test_the_lowest_of_several_holes_is_delivered_first() -> None:
    partition = share_partition(persisted=[(10, 14, 2, 1), (20, 24, 2, 1)])
    assert partition.next_fetch_offset() == 0
    assert fetch(partition, spans((0, 24))) == [(0, 9, 1), (15, 19, 1)]


def test_holes_are_found_between_available_records_in_order() -> None:
    partition = share_partition(start=0, persisted=[(0, 4, 0, 1), (10, 14, 0, 1)])
    assert partition.next_fetch_offset() == 0
    assert fetch(partition, spans((0, 4))) == [(0, 4, 2)]
    assert partition.next_fetch_offset() == 5
    assert fetch(partition, spans((5, 7))) == [(5, 7, 1)]
    assert partition.next_fetch_offset() == 8
    assert fetch(partition, spans((8, 9), (10, 14)), "m2") == [(8, 9, 1), (10, 14, 2)]
    assert partition.next_fetch_offset() == 15


def test_the_start_offset_waits_at_a_hole() -> None:
    partition = share_partition(start=0, persisted=[(0, 4, 2, 1), (10, 14, 2, 1)])
    assert partition.start_offset == 5
    fetch(partition, spans((0, 14)))
    assert states(partition) == "5-9 Acquired(1) m1, 10-14 Acknowledged(1)"
    settle(partition, 5, 9, ACCEPT)
    assert partition.start_offset == 10  # the window ends with the next record
    fetch(partition, spans((15, 19)))
    settle(partition, 15, 15, ACCEPT)
    assert partition.start_offset == 16


def test_a_small_budget_takes_a_hole_piece_by_piece() -> None:
    partition = share_partition(start=0, persisted=[(10, 14, 2, 1)])
    read = [*batches(0, 9, 2), *spans((10, 14))]
    assert fetch(partition, read, max_records=3) == [(0, 3, 1)]
    assert fetch(partition, read[2:], max_records=1, mode=RECORDS) == [(4, 4, 1)]
    assert fetch(partition, read[2:]) == [(5, 5, 1), (6, 9, 1)]


def test_a_hole_is_cut_at_the_batch_behind_it() -> None:
    """The log's record batch goes on beyond the next persisted batch."""
    partition = share_partition(start=0, persisted=[(5, 9, 2, 1)])
    assert fetch(partition, spans((0, 9)), max_records=1) == [(0, 4, 1)]


def test_after_the_window_holes_are_natural() -> None:
    partition = share_partition(start=0, persisted=[(0, 4, 0, 1), (10, 14, 0, 1)])
    fetch(partition, spans((0, 4), (10, 14), (15, 19)))
    settle(partition, 0, 4, RELEASE)
    settle(partition, 10, 14, RELEASE)
    assert states(partition) == "0-4 Available(2), 5-9 Acquired(1) m1, 10-14 Available(2), 15-19 Acquired(1) m1"
    fetch(partition, spans((25, 29)), at=20)
    settle(partition, 25, 29, RELEASE)
    assert partition.next_fetch_offset() == 0


def test_a_hole_that_compaction_left_is_not_waited_for() -> None:
    """A read there returns the next persisted batch, which cannot be acquired."""
    partition = share_partition(start=0, persisted=[(10, 14, 2, 1), (20, 24, 0, 1), (30, 34, 2, 1)])
    assert fetch(partition, spans((10, 14)), at=0) == []
    assert partition.next_fetch_offset() == 15
    assert fetch(partition, spans((30, 34)), at=15) == []
    assert partition.next_fetch_offset() == 35
    assert states(partition) == "10-14 Acknowledged(1), 20-24 Archived(1), 30-34 Acknowledged(1)"
    fetch(partition, spans((35, 39)))
    settle(partition, 35, 39, ACCEPT)
    assert (partition.start_offset, states(partition)) == (40, "")


def test_delivering_a_lower_record_again_reopens_no_hole() -> None:
    partition = share_partition(start=0, persisted=[(0, 4, 0, 1), (10, 14, 0, 1), (20, 24, 0, 1)])
    assert fetch(partition, spans((0, 14))) == [(0, 4, 2), (5, 9, 1), (10, 14, 2)]
    settle(partition, 0, 4, RELEASE)
    fetch(partition, spans((0, 4)), "m2", max_records=1)
    assert partition.next_fetch_offset() == 15
    assert fetch(partition, spans((15, 24))) == [(15, 19, 1), (20, 24, 2)]


def test_after_a_lower_record_was_delivered_again_holes_above_it_are_looked_for_again() -> None:
    """The leader looks again, as in Apache Kafka, even where compaction left a hole and the read finds nothing."""
    partition = share_partition(start=0, persisted=[(0, 4, 0, 1), (10, 14, 2, 1), (20, 24, 0, 1), (30, 34, 2, 1)])
    fetch(partition, spans((0, 4)))
    assert fetch(partition, spans((10, 14))) == []  # 5-9 are not in the log
    assert fetch(partition, spans((15, 24))) == [(15, 19, 1), (20, 24, 2)]
    assert partition.next_fetch_offset() == 25
    settle(partition, 0, 4, RELEASE)
    fetch(partition, spans((0, 4)))
    assert partition.next_fetch_offset() == 5
    assert fetch(partition, spans((10, 14))) == []
    assert partition.next_fetch_offset() == 25


def test_a_hole_below_a_moved_log_start_is_not_looked_for() -> None:
    partition = share_partition(start=0, persisted=[(10, 14, 0, 1)])
    partition.on_log_start_moved(6, 0)
    assert (partition.start_offset, partition.next_fetch_offset()) == (6, 6)
    partition.on_log_start_moved(12, 0)
    assert partition.next_fetch_offset() == 12
    partition.on_log_start_moved(15, 0)
    assert partition.next_fetch_offset() == 15


def test_a_full_window_whose_holes_are_filled_is_no_dead_end() -> None:
    """The only unfinished record of a full window was in a hole.

    The limit was rounded up to the end of a batch, and its first record was held when the leader reloaded the state.
    Once that record is finished, so is the whole window; but the start offset does not pass the loaded part while the
    leader looks for holes in it, and the full window admits no record that would end the search.
    """
    partition = share_partition(persisted=[(1, 11, 2, 1)], limit=10)
    assert fetch(partition, spans((0, 11))) == [(0, 0, 1)]
    settle(partition, 0, 0, ACCEPT)
    assert partition.can_acquire()
    assert (partition.start_offset, partition.in_flight_records) == (12, 0)
    assert fetch(partition, spans((12, 16))) == [(12, 16, 1)]


def test_fetches_that_wait_are_woken_when_the_holes_of_a_full_window_are_filled() -> None:
    partition = share_partition(persisted=[(1, 11, 2, 1)], limit=10)
    fetch(partition, spans((0, 11)))
    assert not partition.can_acquire()
    outcome = ack(partition, 0, 0, ACCEPT)
    assert written(partition, outcome.effects) == (WakeFetches(),)


def test_a_full_window_with_a_hole_that_another_member_has_waits_for_it() -> None:
    partition = share_partition(persisted=[(1, 4, 2, 1), (6, 12, 2, 1)], limit=7)
    assert fetch(partition, spans((0, 4), (5, 5), (6, 12))) == [(0, 0, 1), (5, 5, 1)]
    settle(partition, 0, 0, ACCEPT)
    assert not partition.can_acquire()
    assert partition.start_offset == 5
    settle(partition, 5, 5, RELEASE)
    assert partition.can_acquire()
    assert fetch(partition, spans((5, 5)), "m2") == [(5, 5, 2)]
    settle(partition, 5, 5, ACCEPT, member="m2")
    assert partition.can_acquire()
    assert partition.start_offset == 13
