"""Acquiring: the in-flight limit, redelivery, new records, throttling, delivery counts (KIP-932, KIP-1206).

Behaviour follows Apache Kafka 4.3.1.
"""

from __future__ import annotations

import pytest

from shareq.broker.share.core.partition import SharePartition
from shareq.protocol.errors import ErrorCode
from tests.support.models.share_partition import (
    ACCEPT,
    BATCHES,
    KEY,
    RECORDS,
    REJECT,
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


def released(partition: SharePartition, first: int, last: int, times: int, member: str = "m1") -> None:
    """Deliver and release a range `times` times, as one record batch."""
    for _ in range(times):
        assert fetch(partition, spans((first, last)), member, at=first) != []
        settle(partition, first, last, RELEASE, member=member)


# -- nothing to acquire


def test_nothing_is_acquired_before_loading() -> None:
    partition = SharePartition(KEY, 0, settings())
    assert not partition.can_acquire()
    assert fetch(partition, spans((0, 9)), at=0) == []


def test_nothing_is_acquired_without_budget_or_batches_or_below_the_start_offset() -> None:
    partition = share_partition(start=10)
    assert fetch(partition, spans((10, 19)), max_records=0) == []
    assert fetch(partition, spans((10, 19)), max_records=-1) == []
    assert fetch(partition, []) == []
    assert fetch(partition, spans((0, 9))) == []
    assert states(partition) == ""


# -- new records


def test_first_acquisition_counts_one_delivery_and_moves_the_end_offset() -> None:
    partition = share_partition(start=100)
    assert partition.next_fetch_offset() == 100
    assert fetch(partition, spans((100, 109))) == [(100, 109, 1)]
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset()) == (100, 109, 110)
    assert states(partition) == "100-109 Acquired(1) m1"


def test_records_are_held_since_their_fetch_and_in_flight_since_the_first_one(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)), now_ms=77)
    assert [each.since_ms for each in partition.list_ranges(0, 10).ranges] == [77]
    settle(partition, 0, 9, RELEASE, now_ms=80)
    fetch(partition, spans((0, 9)), "m2", now_ms=99)
    assert [each.since_ms for each in partition.list_ranges(0, 10).ranges] == [99]
    assert partition.oldest_since_ms() == 77


def test_max_records_is_rounded_up_to_the_end_of_a_record_batch(partition: SharePartition) -> None:
    """MaxRecords is a soft limit in batch_optimized mode (KIP-932, ShareFetch)."""
    assert fetch(partition, batches(0, 29, 10), max_records=12) == [(0, 19, 1)]
    assert partition.end_offset == 19


def test_a_budget_that_ends_between_record_batches_is_kept(partition: SharePartition) -> None:
    """The cut is at offset 6: the log has no offsets 5-9, so no record batch contains it."""
    assert fetch(partition, spans((0, 4), (10, 14)), max_records=7) == [(0, 6, 1)]


def test_batch_size_cuts_only_where_a_record_batch_begins(partition: SharePartition) -> None:
    """At least BatchSize records are acquired, and never part of a record batch (KIP-932, ShareFetch)."""
    read = spans((0, 2), (3, 5), (6, 8), (9, 20), (21, 22))
    assert fetch(partition, read, batch_size=4) == [(0, 5, 1), (6, 20, 1), (21, 22, 1)]


@pytest.mark.parametrize("batch_size", [0, -1, 1])
def test_batch_size_of_one_or_less_cuts_at_every_record_batch(batch_size: int, partition: SharePartition) -> None:
    assert fetch(partition, batches(0, 5, 2), batch_size=batch_size) == [(0, 1, 1), (2, 3, 1), (4, 5, 1)]


@pytest.mark.parametrize(("batch_size", "ranges"), [(0, 4), (1, 4), (2, 2)])
def test_single_records_are_cut_by_batch_size_as_well(batch_size: int, ranges: int) -> None:
    assert len(fetch(share_partition(), batches(0, 3, 1), batch_size=batch_size)) == ranges


def test_one_large_record_batch_is_never_cut(partition: SharePartition) -> None:
    assert fetch(partition, spans((0, 9_999)), max_records=1, batch_size=10) == [(0, 9_999, 1)]


def test_record_limit_hands_out_the_budget_and_keeps_the_rest_available(partition: SharePartition) -> None:
    """Exactly MaxRecords are delivered; the whole record batch is in flight (KIP-1206, record_limit)."""
    assert fetch(partition, spans((0, 9)), max_records=4, mode=RECORDS, batch_size=2) == [(0, 3, 1)]
    assert states(partition) == "0-3 Acquired(1) m1, 4-9 Available(0)"
    assert (partition.end_offset, partition.next_fetch_offset()) == (9, 4)
    assert fetch(partition, spans((0, 9)), "m2", max_records=4, mode=RECORDS) == [(4, 7, 1)]
    assert fetch(partition, spans((0, 9), (10, 19)), "m3", max_records=4, mode=RECORDS) == [(8, 9, 1), (10, 11, 1)]


def test_a_first_delivery_is_no_failed_one_also_where_a_batch_is_split_by_it() -> None:
    partition = share_partition(max_deliveries=3)
    fetch(partition, spans((0, 9)), max_records=4, mode=RECORDS)
    assert partition.next_read(RECORDS, 2)[1] == 5


def test_record_limit_does_not_cut_by_batch_size(partition: SharePartition) -> None:
    assert fetch(partition, batches(0, 9, 1), mode=RECORDS, batch_size=2) == [(0, 9, 1)]


def test_the_start_offset_jumps_over_a_prefix_the_log_does_not_have() -> None:
    partition = share_partition(start=5)
    assert fetch(partition, spans((20, 29)), at=5) == [(20, 29, 1)]
    assert partition.start_offset == 20


def test_the_finished_front_of_a_record_batch_is_not_acquired_again() -> None:
    partition = share_partition(start=10)
    assert fetch(partition, spans((5, 14)), at=10) == [(10, 14, 1)]
    assert partition.start_offset == 10


def test_nothing_below_the_start_offset_is_acquired_when_its_batch_begins_below() -> None:
    partition = share_partition(start=6, persisted=[(6, 7, 2, 1), (8, 20, 0, 1)])
    assert (partition.start_offset, partition.next_fetch_offset()) == (8, 8)
    fetch(partition, spans((5, 20)))
    settle(partition, 8, 9, ACCEPT)
    settle(partition, 10, 20, RELEASE)
    assert fetch(partition, spans((5, 20)), "m2") == [(10, 20, 3)]
    assert partition.start_offset == 10


def test_new_records_follow_those_delivered_again_in_one_fetch(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, spans((0, 9), (10, 19)), "m2") == [(0, 9, 2), (10, 19, 1)]


def test_offsets_missing_inside_a_read_are_acquired_with_it(partition: SharePartition) -> None:
    """Compaction removed offsets inside a fetched range; the consumer acknowledges them as gaps."""
    assert fetch(partition, spans((0, 4), (8, 9))) == [(0, 9, 1)]


# -- the in-flight limit


def test_the_in_flight_limit_is_rounded_up_to_a_record_batch() -> None:
    """group.share.partition.max.record.locks is rounded up to a record batch (KIP-932)."""
    partition = share_partition(limit=15)
    assert fetch(partition, batches(0, 39, 10)) == [(0, 19, 1)]
    assert not partition.can_acquire()
    assert fetch(partition, spans((20, 29))) == []


def test_finished_records_behind_a_held_one_still_count_against_the_limit() -> None:
    partition = share_partition(limit=10)
    fetch(partition, batches(0, 9, 1))
    settle(partition, 1, 9, ACCEPT)
    assert partition.start_offset == 0
    assert not partition.can_acquire()
    settle(partition, 0, 0, ACCEPT)
    assert partition.can_acquire()


def test_at_the_limit_records_inside_the_window_are_delivered_again_and_none_beyond() -> None:
    partition = share_partition(limit=10)
    fetch(partition, batches(0, 9, 1), batch_size=1)
    settle(partition, 4, 4, RELEASE)
    settle(partition, 7, 7, RELEASE)
    assert partition.can_acquire()
    assert partition.next_fetch_offset() == 4
    assert fetch(partition, batches(4, 14, 1), "m2") == [(4, 4, 2), (7, 7, 2)]
    assert partition.end_offset == 9


def test_in_a_full_window_the_last_record_is_delivered_again_too() -> None:
    partition = share_partition(limit=10)
    fetch(partition, batches(0, 9, 1), batch_size=1)
    settle(partition, 9, 9, RELEASE)
    assert fetch(partition, batches(9, 14, 1), "m2") == [(9, 9, 2)]


def test_a_changed_limit_counts_from_the_next_fetch() -> None:
    partition = share_partition(limit=10)
    fetch(partition, batches(0, 9, 1))
    assert not partition.can_acquire()
    partition.settings = partition.settings._replace(partition_max_record_locks=12)
    assert fetch(partition, batches(10, 19, 1)) == [(10, 11, 1)]


# -- delivering again


def test_a_released_batch_is_delivered_whole_even_beyond_the_budget(partition: SharePartition) -> None:
    """In batch_optimized mode a whole in-flight batch is delivered even beyond MaxRecords."""
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, spans((0, 9)), "m2", max_records=3) == [(0, 9, 2)]


def test_record_limit_splits_a_released_batch(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, spans((0, 9)), "m2", max_records=3, mode=RECORDS) == [(0, 2, 2)]
    assert states(partition) == "0-2 Acquired(2) m2, 3-9 Available(1)"


def test_record_limit_counts_over_all_that_is_available_of_a_batch(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 1))
    settle(partition, 2, 3, RELEASE)
    settle(partition, 6, 9, RELEASE)
    assert fetch(partition, batches(0, 9, 1), "m2", max_records=4, mode=RECORDS) == [(2, 3, 2), (6, 7, 2)]


def test_a_read_that_covers_a_part_of_a_batch_acquires_that_part(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 5))
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, spans((0, 4)), "m2") == [(0, 4, 2)]
    assert fetch(partition, spans((5, 9)), "m2") == [(5, 9, 2)]


def test_batches_that_others_hold_are_skipped(partition: SharePartition) -> None:
    fetch(partition, batches(0, 29, 10), batch_size=10)
    settle(partition, 20, 29, RELEASE)
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, batches(0, 29, 10), "m2") == [(0, 9, 2), (20, 29, 2)]
    assert states(partition) == "0-9 Acquired(2) m2, 10-19 Acquired(1) m1, 20-29 Acquired(2) m2"


def test_records_whose_release_is_being_written_are_not_acquired(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 1))
    outcome = ack(partition, 0, 9, RELEASE)
    assert partition.next_fetch_offset() == 10
    assert fetch(partition, batches(0, 9, 1), "m2", at=0) == []
    written(partition, outcome.effects)
    assert fetch(partition, batches(0, 9, 1), "m2") == [(0, 9, 2)]


def test_neighbours_with_different_delivery_counts_are_distinguished(partition: SharePartition) -> None:
    fetch(partition, batches(0, 9, 1))
    settle(partition, 0, 4, RELEASE)
    fetch(partition, batches(0, 4, 1), "m2")
    settle(partition, 0, 4, RELEASE, member="m2")
    settle(partition, 5, 9, RELEASE)
    assert fetch(partition, batches(0, 9, 1), "m3") == [(0, 4, 3), (5, 9, 2)]


def test_a_natural_hole_between_batches_is_never_acquired(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    fetch(partition, spans((20, 29)), at=10)
    settle(partition, 0, 9, RELEASE)
    settle(partition, 20, 29, RELEASE)
    assert fetch(partition, spans((0, 9), (20, 29)), "m2") == [(0, 9, 2), (20, 29, 2)]


def test_available_records_that_compaction_took_are_archived(partition: SharePartition) -> None:
    """0-9 are archived when a read at 0 returns 10 first; otherwise the start offset would wait for them for ever."""
    fetch(partition, batches(0, 19, 10), batch_size=10)
    settle(partition, 0, 9, RELEASE)
    settle(partition, 10, 19, RELEASE)
    assert fetch(partition, spans((10, 19)), "m2", at=0) == [(10, 19, 2)]
    assert states(partition) == "0-9 Archived(1), 10-19 Acquired(2) m2"
    assert partition.delivery_complete_count == 10
    settle(partition, 10, 19, ACCEPT, member="m2")
    assert partition.start_offset == 20


def test_a_release_under_way_of_records_that_compaction_took_ends_archived(partition: SharePartition) -> None:
    fetch(partition, batches(0, 19, 10), batch_size=10)
    outcome = ack(partition, 0, 9, RELEASE)
    settle(partition, 10, 19, RELEASE)
    fetch(partition, spans((10, 19)), "m2", at=0)
    assert states(partition) == "0-9 Archived(1) pending, 10-19 Acquired(2) m2"
    written(partition, outcome.effects)
    assert partition.start_offset == 10


# -- deliveries near the limit


def test_a_record_at_its_last_delivery_travels_alone() -> None:
    """Apache Kafka 4.3.1 does so for limits above 2, so that no other record loses a delivery because of this one."""
    partition = share_partition(max_deliveries=3)
    released(partition, 0, 2, times=2)
    assert fetch(partition, spans((0, 2), (3, 5))) == [(0, 0, 3)]
    assert fetch(partition, spans((0, 2), (3, 5)), "m2") == [(1, 1, 3)]
    assert fetch(partition, spans((0, 2), (3, 5)), "m3") == [(2, 2, 3)]
    assert fetch(partition, spans((0, 2), (3, 5))) == [(3, 5, 1)]


def test_so_it_does_where_half_of_the_batch_would_go_with_it() -> None:
    partition = share_partition(max_deliveries=3)
    released(partition, 0, 9, times=2)
    assert fetch(partition, spans((0, 9))) == [(0, 0, 3)]


def test_others_before_it_go_without_it() -> None:
    partition = share_partition(max_deliveries=4)
    fetch(partition, batches(0, 2, 1))
    for _ in range(2):
        settle(partition, 2, 2, RELEASE)
        fetch(partition, spans((2, 2)))
    settle(partition, 2, 2, RELEASE)
    settle(partition, 0, 1, RELEASE)
    assert states(partition) == "0-1 Available(1), 2 Available(3)"
    assert fetch(partition, batches(0, 2, 1)) == [(0, 1, 2)]
    assert fetch(partition, batches(0, 2, 1)) == [(2, 2, 4)]


def test_a_record_at_its_last_delivery_waits_when_others_were_taken_from_its_batch() -> None:
    partition = share_partition(max_deliveries=4)
    released(partition, 0, 2, times=1)
    for _ in range(2):
        fetch(partition, spans((0, 2)))
        settle(partition, 0, 0, RELEASE)  # offset 0 keeps failing, the others are held
    assert states(partition) == "0 Available(3), 1-2 Acquired(2) m1"
    settle(partition, 1, 2, RELEASE)
    assert fetch(partition, spans((0, 2))) == [(0, 0, 4)]
    assert fetch(partition, spans((0, 2))) == [(1, 1, 3)]


def test_throttling_halves_a_failing_batch_with_every_delivery() -> None:
    """A batch of 20 is halved from delivery count 4 on (limit 7): parts of 10, then of 5, then single records."""
    partition = share_partition(max_deliveries=7)
    released(partition, 0, 19, times=4)
    assert fetch(partition, spans((0, 19))) == [(0, 9, 5)]
    assert fetch(partition, spans((0, 19)), "m2") == [(10, 19, 5)]
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, spans((0, 19))) == [(0, 4, 6)]
    settle(partition, 0, 4, RELEASE)
    assert fetch(partition, spans((0, 19))) == [(0, 0, 7)]
    assert fetch(partition, spans((0, 19))) == [(1, 1, 7)]


def test_the_throttle_goes_by_the_original_size_of_a_split_batch() -> None:
    """The quota stays at half of 20, although only ten of the 20 records are left."""
    partition = share_partition(max_deliveries=7)
    released(partition, 0, 19, times=3)
    fetch(partition, spans((0, 19)))
    settle(partition, 0, 9, ACCEPT)
    settle(partition, 10, 19, RELEASE)
    assert partition.start_offset == 10
    assert fetch(partition, spans((0, 19))) == [(10, 19, 5)]


def test_a_throttled_batch_ends_the_fetch() -> None:
    partition = share_partition(max_deliveries=5)
    released(partition, 0, 9, times=3)
    assert fetch(partition, spans((0, 9), (10, 19))) == [(0, 4, 4)]
    assert partition.end_offset == 9


def test_a_fetch_that_has_something_stops_before_a_throttled_batch_and_takes_no_new_records() -> None:
    partition = share_partition(max_deliveries=5)
    fetch(partition, spans((0, 9)))
    released(partition, 10, 19, times=3)
    settle(partition, 0, 9, RELEASE)
    read = spans((0, 9), (10, 19), (20, 29))
    assert fetch(partition, read, "m2") == [(0, 9, 2)]
    assert fetch(partition, read[1:], "m2") == [(10, 14, 4)]


def test_a_throttled_batch_that_yields_nothing_in_the_read_does_not_stop_the_fetch() -> None:
    """Only the records of this read count: the ones that used up their deliveries are not in it."""
    partition = share_partition(max_deliveries=5)
    fetch(partition, batches(0, 9, 5), batch_size=10)
    for _ in range(3):
        settle(partition, 0, 4, RELEASE)
        fetch(partition, spans((0, 4)))
    settle(partition, 0, 4, RELEASE)
    settle(partition, 5, 9, RELEASE)
    assert fetch(partition, spans((5, 9), (10, 14)), at=5) == [(5, 9, 2), (10, 14, 1)]


def test_a_batch_is_not_cut_short_once_more_than_the_quota_was_taken() -> None:
    """The whole batch follows six fresh records: Apache Kafka stops only at exactly its quota, which is five."""
    partition = share_partition(max_deliveries=6)
    fetch(partition, batches(0, 9, 1), batch_size=10)
    for _ in range(2):
        settle(partition, 6, 9, RELEASE)
        fetch(partition, batches(6, 9, 1))
    settle(partition, 6, 9, RELEASE)
    settle(partition, 0, 5, RELEASE)
    assert fetch(partition, batches(0, 9, 1)) == [(0, 5, 2), (6, 9, 4)]


def test_what_is_taken_before_a_failing_record_counts_against_its_quota() -> None:
    """Three of the eight failing records are delivered: two fresh ones already count against the quota of five."""
    partition = share_partition(max_deliveries=6)
    fetch(partition, batches(0, 9, 1), batch_size=10)
    for _ in range(2):
        settle(partition, 2, 9, RELEASE)
        fetch(partition, spans((2, 9)))
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, batches(0, 9, 1)) == [(0, 1, 2), (2, 4, 4)]


def test_with_a_limit_of_two_nothing_is_throttled_or_isolated() -> None:
    partition = share_partition(max_deliveries=2)
    released(partition, 0, 9, times=1)
    assert fetch(partition, spans((0, 9))) == [(0, 9, 2)]


# -- delivery counts


def test_the_count_rises_when_a_record_is_acquired_and_at_no_other_time() -> None:
    """The delivery count stays through release, expiry and rejection (KIP-932)."""
    partition = share_partition(lock_ms=100)
    fetch(partition, batches(0, 2, 1))
    settle(partition, 0, 0, RELEASE)
    settle(partition, 1, 1, REJECT)
    partition.on_deadline(100)
    assert states(partition) == "0 Available(1), 1 Archived(1), 2 Available(1)"


def test_release_at_the_limit_archives() -> None:
    partition = share_partition(max_deliveries=2)
    released(partition, 0, 0, times=1)
    fetch(partition, spans((0, 0)))
    assert settle(partition, 0, 0, RELEASE).batches[0] == (0, 0, 4, 2)
    assert (partition.start_offset, states(partition)) == (1, "")


def test_a_lowered_limit_archives_at_the_next_release() -> None:
    partition = share_partition(max_deliveries=5)
    released(partition, 0, 0, times=2)
    fetch(partition, spans((0, 0)))
    partition.settings = partition.settings._replace(delivery_count_limit=2)
    assert settle(partition, 0, 0, RELEASE).batches[0] == (0, 0, 4, 3)


# -- how far a read has to go


def test_a_read_for_new_records_ends_with_the_budget(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    assert partition.next_read(BATCHES, 5)[1] == 14


def test_a_read_ends_where_the_locks_end() -> None:
    """The record lock limit bounds the read, however many records the client asks for."""
    partition = share_partition(limit=20)
    assert partition.next_read(BATCHES, 1_000_000)[1] == 19
    fetch(partition, spans((0, 11)))
    assert partition.next_read(RECORDS, 1_000_000)[1] == 19
    settle(partition, 4, 4, RELEASE)
    assert partition.next_read(RECORDS, 1_000_000)[1] == 18  # one of the eight is delivered again
    fetch(partition, spans((0, 30)), mode=RECORDS)
    settle(partition, 4, 4, RELEASE)
    assert partition.next_read(RECORDS, 1)[1] == 4  # no room for new ones


def test_a_read_with_room_for_one_record_ends_with_it() -> None:
    partition = share_partition(limit=10)
    fetch(partition, spans((0, 8)))
    assert partition.next_read(BATCHES, 5)[1] == 9


def test_a_read_counts_each_run_of_a_batch_where_records_are_counted(partition: SharePartition) -> None:
    fetch(partition, batches(0, 99, 10))
    for first, last in ((5, 7), (20, 24), (50, 59)):
        settle(partition, first, last, RELEASE)
    assert [partition.next_read(RECORDS, most)[1] for most in (1, 3, 4, 8, 9, 10)] == [5, 7, 20, 24, 50, 51]


def test_a_read_passes_over_a_natural_hole_which_counts_for_nothing(partition: SharePartition) -> None:
    fetch(partition, spans((0, 9)))
    fetch(partition, spans((20, 29)), at=10)
    settle(partition, 9, 9, RELEASE)
    settle(partition, 20, 29, RELEASE)
    assert partition.next_read(RECORDS, 2)[1] == 20


def test_a_read_goes_on_over_records_that_are_not_available(partition: SharePartition) -> None:
    """Unavailable records do not count against MaxRecords, as in Apache Kafka 4.3.1."""
    fetch(partition, batches(0, 9, 1), batch_size=1)
    settle(partition, 2, 2, RELEASE)
    settle(partition, 7, 7, RELEASE)
    assert partition.next_read(RECORDS, 2)[1] == 7
    assert partition.next_read(RECORDS, 3)[1] == 10
    assert fetch(partition, batches(2, 10), max_records=3, mode=RECORDS) == [(2, 2, 2), (7, 7, 2), (10, 10, 1)]


def test_a_read_reaches_the_end_of_a_batch_that_is_handed_out_whole(partition: SharePartition) -> None:
    """In batch mode the budget is rounded up to the records acquired together, which may be several record batches."""
    fetch(partition, batches(0, 99, 10))
    settle(partition, 0, 99, RELEASE)
    assert partition.next_read(BATCHES, 1)[1] == 99
    assert partition.next_read(RECORDS, 1)[1] == 0


def test_a_read_reaches_the_last_available_record_of_a_split_batch(partition: SharePartition) -> None:
    fetch(partition, batches(0, 99, 10))
    settle(partition, 5, 5, RELEASE)
    settle(partition, 55, 55, RELEASE)
    assert partition.next_read(BATCHES, 1)[1] == 55
    assert partition.next_read(RECORDS, 1)[1] == 5
    settle(partition, 4, 4, RELEASE)
    fetch(partition, spans((5, 99)), "m2", at=5)
    assert partition.next_read(BATCHES, 1)[1] == 4


def test_a_read_sees_that_a_batch_is_throttled(partition: SharePartition) -> None:
    """Less of an in-flight batch is delivered when one of its records keeps failing, wherever that record is."""
    fetch(partition, batches(0, 9))
    settle(partition, 0, 9, RELEASE, *[ACCEPT] * 8, RELEASE)
    assert partition.next_read(RECORDS, 1)[1] == 0
    for _ in range(2):
        assert fetch(partition, spans((9, 9)), at=9) != []
        settle(partition, 9, 9, RELEASE)
    assert states(partition) == "0 Available(1), 1-8 Acknowledged(1), 9 Available(3)"
    assert partition.next_read(RECORDS, 1)[1] == 9


def test_a_read_after_a_reload_stops_in_a_hole() -> None:
    partition = share_partition(persisted=[(50, 59, 0, 1)])
    assert partition.next_read(BATCHES, 10)[1] == 9
    assert partition.next_read(BATCHES, 50)[1] == 49
    assert partition.next_read(BATCHES, 51)[1] == 59
    partition = share_partition(start=10, persisted=[(50, 59, 0, 1)])
    assert [partition.next_read(BATCHES, most)[1] for most in (40, 41)] == [49, 59]


def test_records_that_fill_the_limit_exactly_stay_one_batch(partition: SharePartition) -> None:
    """An acknowledgement is refused that begins in the hole behind a whole batch of another member."""
    fetch(partition, spans((0, 9)))
    settle(partition, 0, 9, RELEASE)
    assert fetch(partition, spans((0, 9)), mode=RECORDS, max_records=10) == [(0, 9, 2)]
    assert fetch(partition, spans((20, 29)), "m2") == [(20, 29, 1)]
    assert ack(partition, 15, 25, ACCEPT, member="m2").error is ErrorCode.INVALID_RECORD_STATE


def test_a_batch_that_is_delivered_again_whole_counts_whole(partition: SharePartition) -> None:
    fetch(partition, batches(0, 29, 10), batch_size=10)
    settle(partition, 0, 29, RELEASE)
    assert fetch(partition, batches(0, 29, 10), max_records=10) == [(0, 9, 2)]
    assert fetch(partition, batches(10, 29, 10), max_records=11) == [(10, 19, 2), (20, 29, 2)]


def test_what_cannot_be_read_is_passed_over_where_there_is_room() -> None:
    partition = share_partition(limit=10)
    fetch(partition, spans((0, 4)))
    assert partition.skip_unreadable(5, 9, 0)
    assert states(partition) == "0-4 Acquired(1) m1, 5-9 Archived(1)"
    assert partition.next_fetch_offset() == 10
    assert not partition.skip_unreadable(10, 14, 0)
    settle(partition, 0, 4, ACCEPT)
    assert (partition.start_offset, partition.next_fetch_offset()) == (10, 10)
    assert partition.skip_unreadable(10, 14, 0)
