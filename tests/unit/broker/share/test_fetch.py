"""One share fetch on fakes: its immediate answer, its reads of the log, and its counters."""

from __future__ import annotations

import pytest

from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.broker.network.answer_budget import LEAST_BYTES, ROOM_WAIT_MS, AnswerBudget
from shareq.broker.share.fetch import FetchedPartition, ShareFetch, ShareFetchParams, WantedPartition
from shareq.broker.share.leader import LeaderState
from shareq.coordinator.ports import IsolationLevel, ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType, AcquireMode
from tests.support.fakes.share_fetches import filled, offsets, transactional
from tests.support.fakes.share_rig import ShareRig, ranges
from tests.support.fakes.share_states import KeptState

NONE = ErrorCode.NONE


# -- at once


def test_what_is_there_is_answered_at_once_with_its_bytes() -> None:
    rig = filled(2, 1)
    one, two = rig.fetch(0, 1, wait_ms=100).start().value
    assert (one.topic_id, one.partition, one.error, ranges([one])) == (rig.topic_id, 0, NONE, [(0, 1, 1)])
    assert (offsets(one), offsets(two)) == ([(0, 0), (1, 1)], [(0, 0)])
    assert (two.partition, two.says_something) == (1, True)
    assert (rig.source(0).traffic.bytes_out, rig.source(1).traffic.bytes_out) == (len(one.records), len(two.records))
    assert (len(rig.manager.purgatory), rig.manager.counters.expired_fetches) == (0, 0)


def test_without_time_to_wait_the_answer_has_each_partition_that_was_looked_at() -> None:
    rig = filled(0, 1)
    one, two = rig.fetch(0, 1).start().value
    assert one == FetchedPartition(rig.topic_id, 0, NONE)
    assert not one.says_something
    assert ranges([two]) == [(0, 0, 1)]


def test_what_cannot_be_fetched_at_all_is_reported_in_front() -> None:
    rig = filled(1)
    params = ShareFetchParams("g", "m", AcquireMode.BATCH_OPTIMIZED, 0, 1, 100_000, 500, 500)
    gone = WantedPartition(b"x" * 16, 4, None, ErrorCode.UNKNOWN_TOPIC_ID)
    there = WantedPartition(rig.topic_id, 0, "t")
    fetched = ShareFetch(rig.host, IsolationLevel.READ_UNCOMMITTED, params, [there, gone]).start().value
    assert fetched[0] == FetchedPartition(b"x" * 16, 4, ErrorCode.UNKNOWN_TOPIC_ID)
    assert ranges(fetched[1:]) == [(0, 0, 1)]
    assert rig.manager.counters.of_topic(rig.topic_id).fetches == 1


def test_with_nothing_to_fetch_it_does_not_wait(rig: ShareRig) -> None:
    params = ShareFetchParams("g", "m", AcquireMode.BATCH_OPTIMIZED, 60_000, 1, 100_000, 500, 500)
    gone = WantedPartition(b"x" * 16, 4, None, ErrorCode.UNKNOWN_TOPIC_ID)
    assert len(ShareFetch(rig.host, IsolationLevel.READ_UNCOMMITTED, params, [gone]).start().value) == 1
    assert ShareFetch(rig.host, IsolationLevel.READ_UNCOMMITTED, params, []).start().value == []


@pytest.mark.parametrize(("max_records", "max_bytes"), [(0, 1_000), (5, 0), (0, 0)])
def test_a_fetch_of_nothing_loads_nothing(max_records: int, max_bytes: int) -> None:
    rig = filled(1)
    assert rig.fetch(max_records=max_records, max_bytes=max_bytes, wait_ms=50).start().value == []
    assert rig.states.calls == []


def test_a_negative_limit_of_records_loads_and_looks_but_takes_nothing() -> None:
    rig = filled(1)
    fetched = rig.fetch(max_records=-1, wait_ms=50).start().value
    assert fetched == [FetchedPartition(rig.topic_id, 0, NONE)]
    assert (rig.manager.get(rig.key()) is not None, rig.source().asked) == (True, [])


@pytest.mark.parametrize("max_records", [500, -1])
def test_a_negative_limit_of_bytes_is_an_error_of_what_was_looked_at(max_records: int) -> None:
    """The fetch fails at once without a read, as in Apache Kafka; the records stay for the next fetch."""
    rig = filled(1)
    fetched = rig.fetch(0, 1, max_bytes=-1, max_records=max_records, wait_ms=50).start().value
    failed = ErrorCode.UNKNOWN_SERVER_ERROR
    assert fetched == [FetchedPartition(rig.topic_id, each, failed) for each in (0, 1)]
    assert (rig.source(0).asked, len(rig.manager.purgatory)) == ([], 0)
    assert rig.acquire() == [(0, 0, 1)]


def test_a_negative_limit_of_bytes_waits_for_a_partition_that_is_being_loaded() -> None:
    rig = filled(1)
    rig.states.holds = True
    pending = rig.fetch(max_bytes=-1, wait_ms=50).start()
    assert not pending.done
    rig.states.answer()
    rig.clock.run_until_idle()
    assert pending.value == [FetchedPartition(rig.topic_id, 0, ErrorCode.UNKNOWN_SERVER_ERROR)]


def test_the_limit_of_records_holds_for_all_partitions_together() -> None:
    rig = filled(3, 3)
    one, two = rig.fetch(0, 1, max_records=4).start().value
    counts = [sum(last - first + 1 for first, last, _ in each.acquired) for each in (one, two)]
    assert counts == [3, 1]
    rig = filled(3, 3)
    one, two = rig.fetch(0, 1, max_records=3).start().value
    assert [len(offsets(one)), len(offsets(two))] == [3, 0]
    assert rig.source(1).asked == []


def test_bytes_are_split_between_the_partitions_that_are_open() -> None:
    rig = filled(3, 3)
    size = rig.source().available_bytes(0, 1)
    rig.fetch(0, 1, max_bytes=2 * size).start()
    assert [rig.source(each).asked[0][1] for each in (0, 1)] == [size, size]
    rig = filled(3)
    assert rig.acquire(1) == []
    rig.fetch(0, max_bytes=2 * size).start()
    assert rig.source(0).asked[0][1] == 2 * size


def test_an_answer_is_no_larger_than_the_brokers_budget() -> None:
    rig = filled(1)
    rig.host = rig.host._replace(answer_budget=AnswerBudget(rig.clock, 4 * LEAST_BYTES))
    rig.fetch(max_bytes=10 * LEAST_BYTES).start()
    assert rig.source().asked[0][1] == 2 * LEAST_BYTES
    large = rig.host.answer_budget
    rig.source().fill(bytes(LEAST_BYTES))
    rig.fetch().start()
    assert large.held > LEAST_BYTES


def test_without_room_in_memory_it_acquires_nothing_until_there_is() -> None:
    rig = filled(1)
    rig.host = rig.host._replace(answer_budget=AnswerBudget(rig.clock, 4 * LEAST_BYTES))
    rig.host.answer_budget.note_read(3 * LEAST_BYTES)
    pending, late = rig.start(wait_ms=60_000), rig.start(wait_ms=0)
    assert not pending.done
    assert late.value == []
    assert not rig.source().asked
    rig.clock.advance(ROOM_WAIT_MS)
    assert len(pending.value[0].acquired) == 1


def test_what_was_read_and_is_not_sent_does_not_stay_with_the_answer(rig: ShareRig) -> None:
    rig.source().fill(b"0")
    rig.source().fill(bytes(1000))
    rig.acquire()
    rig.acknowledge(0, 0, AcknowledgeType.RELEASE)
    (fetched,) = rig.fetch(member="other").start().value
    assert offsets(fetched) == [(0, 0)]
    view = memoryview(fetched.records)
    assert len(bytes(view.obj)) == len(view)


def test_only_whole_batches_around_what_was_acquired_are_sent(rig: ShareRig) -> None:
    rig.source().fill(b"0", b"1", b"2")
    rig.source().fill(b"3")
    rig.acquire()
    rig.acknowledge(0, 0, AcknowledgeType.ACCEPT)
    rig.acknowledge(2, 2, AcknowledgeType.RELEASE)
    (fetched,) = rig.start(member="other").value
    assert ([tuple(each) for each in fetched.acquired], offsets(fetched)) == ([(2, 2, 2)], [(0, 2)])


# -- where the log does not have what comes next


def test_a_log_start_that_has_moved_moves_the_start_offset() -> None:
    rig = filled(3)
    rig.leader()
    rig.source().log_start_offset = 2
    assert ranges(rig.fetch(wait_ms=100, min_bytes=10_000).start().value) == [(2, 2, 1)]
    assert rig.leader().core.start_offset == 2


def test_what_is_behind_the_log_end_is_never_reported() -> None:
    rig = filled(3)
    rig.states.states[rig.key()] = KeptState(1, 3)
    rig.leader()
    rig.source().contents.truncate(1)
    assert rig.start().value == [FetchedPartition(rig.topic_id, 0, NONE)]


def passed_over(rig: ShareRig) -> list[tuple[int, int, int]]:
    pending = rig.start(wait_ms=100)
    assert not pending.done
    rig.clock.run_until_idle()
    return ranges(pending.value)


def test_damage_is_reported_until_the_delivery_limit_and_then_passed_over_within_the_fetch() -> None:
    rig = filled(3)
    rig.settings.share = ShareGroupSettings(delivery_count_limit=2)
    rig.source().contents.unreadable = [(0, 2)]
    assert rig.start(wait_ms=100).value == [FetchedPartition(rig.topic_id, 0, ErrorCode.CORRUPT_MESSAGE)]
    assert passed_over(rig) == [(2, 2, 1)]


def test_acknowledging_around_what_cannot_be_read_moves_the_start_offset() -> None:
    rig = filled(3)
    rig.settings.share = ShareGroupSettings(delivery_count_limit=1)
    rig.source().contents.unreadable = [(1, 2)]
    assert rig.acquire() == [(0, 0, 1)]
    assert passed_over(rig) == [(2, 2, 1)]
    rig.acknowledge(0, 0)
    rig.acknowledge(2, 2)
    assert rig.leader().core.start_offset == 3


def test_available_records_that_became_unreadable_are_passed_over_too() -> None:
    """The records were delivered and released before the damage."""
    rig = filled(3)
    rig.settings.share = ShareGroupSettings(delivery_count_limit=2)
    assert rig.acquire() == [(0, 2, 1)]
    rig.acknowledge(0, 2, AcknowledgeType.RELEASE)
    rig.source().contents.unreadable = [(0, 2)]
    assert rig.start(wait_ms=100).value == [FetchedPartition(rig.topic_id, 0, ErrorCode.CORRUPT_MESSAGE)]
    assert passed_over(rig) == [(2, 2, 2)]


def test_a_read_that_succeeds_forgets_the_damage_before_it() -> None:
    rig = filled(3)
    rig.settings.share = ShareGroupSettings(delivery_count_limit=2)
    rig.source().contents.unreadable = [(0, 2)]
    rig.start()
    rig.source().contents.unreadable = []
    rig.acquire()
    assert rig.leader().unreadable is None


def test_gaps_are_passed_over_without_waiting_for_news(rig: ShareRig) -> None:
    """No event would wake the fetch for the records behind a gap that compaction left."""
    rig.settings.share = ShareGroupSettings(isolation_level=IsolationLevel.READ_COMMITTED)
    transactional(rig.source(), 0)
    rig.source().fill(b"1")
    rig.source().aborted = [AbortedTransaction(9, 0, 0, 1)]
    pending = rig.fetch(wait_ms=100, max_bytes=1).start()
    rig.clock.run_until_idle()
    assert ranges(pending.value) == [(1, 1, 1)]


def test_a_group_that_reads_committed_records_sees_up_to_the_last_stable_offset() -> None:
    rig = filled(3)
    rig.settings.share = ShareGroupSettings(isolation_level=IsolationLevel.READ_COMMITTED)
    rig.source().unstable_from = 2
    assert rig.acquire() == [(0, 1, 1)]
    pending = rig.start(wait_ms=100)
    assert not pending.done
    rig.source().unstable_from = None
    rig.manager.on_high_watermark(rig.source())
    assert ranges(pending.value) == [(2, 2, 1)]


def test_a_group_that_reads_everything_sees_up_to_the_high_watermark() -> None:
    rig = filled(3)
    rig.source().unstable_from = 0
    assert rig.acquire() == [(0, 2, 1)]


def test_aborted_records_are_left_out_for_those_who_read_committed_ones() -> None:
    for level, expected in (
        (IsolationLevel.READ_COMMITTED, [(2, 2, 1)]),
        (IsolationLevel.READ_UNCOMMITTED, [(0, 2, 1)]),
    ):
        rig = ShareRig()
        rig.settings.share = ShareGroupSettings(isolation_level=level)
        transactional(rig.source(), 0, 1)
        rig.source().fill(b"2")
        rig.source().aborted = [AbortedTransaction(9, 0, 1, 2)]
        assert rig.acquire() == expected


# -- what is counted


def test_a_fetch_counts_for_its_topic_and_its_group() -> None:
    rig = filled(1)
    rig.states.holds = True
    pending = rig.start(0, 1, wait_ms=100)
    rig.clock.advance(30)
    rig.states.answer(1)
    rig.clock.run_until_idle()
    assert pending.done
    topic, group = rig.manager.counters.of_topic(rig.topic_id), rig.manager.counters.of_group("g")
    assert (topic.fetches, topic.failed_fetches) == (1, 0)
    assert (group.answered, group.ratio_sum, group.waited_ns) == (1, 0.5, 30_000_000)


def test_a_fetch_to_which_nothing_was_open_has_waited_until_its_end() -> None:
    rig = filled(1)
    rig.acquire(member="other")
    rig.settings.share = ShareGroupSettings(partition_max_record_locks=1)
    rig.start(wait_ms=100)
    rig.clock.advance(100)
    group = rig.manager.counters.of_group("g")
    assert (group.answered, group.ratio_sum, group.waited_ns) == (2, 1.0, 100_000_000)


def test_a_group_that_has_no_state_is_not_counted() -> None:
    rig = ShareRig(initialized=False)
    rig.start()
    assert rig.manager.counters.groups == {}
    assert rig.leader().state is LeaderState.FAILED


def test_an_answer_within_its_time_is_no_expiry_and_one_that_did_not_wait_neither() -> None:
    rig = filled(1)
    rig.acquire()
    rig.acquire()
    rig.start(wait_ms=100)
    rig.source().fill(b"1")
    rig.manager.on_high_watermark(rig.source())
    assert rig.manager.counters.expired_fetches == 0


def test_what_fetches_waited_adds_up_until_something_was_open_to_them() -> None:
    rig = filled(1)
    rig.states.holds = True
    rig.fetch(wait_ms=100, min_bytes=10_000).start()
    rig.clock.advance(30)
    rig.states.answer()
    rig.clock.advance(70)
    group = rig.manager.counters.of_group("g")
    assert (group.answered, group.ratio_sum, group.waited_ns) == (1, 1.0, 30_000_000)
    assert rig.manager.counters.expired_fetches == 1
    rig.settings.share = ShareGroupSettings(partition_max_record_locks=1)
    rig.fetch(wait_ms=200).start()
    rig.clock.advance(200)
    assert (group.answered, group.ratio_sum, group.waited_ns) == (2, 1.0, 230_000_000)
    assert rig.manager.counters.expired_fetches == 2


def test_a_fetch_to_which_nothing_was_ever_open_counts_as_none_of_its_partitions() -> None:
    rig = filled(1)
    rig.acquire()
    ratio = rig.manager.counters.of_group("g").ratio_sum
    fetch = rig.fetch(0, wait_ms=100, refuse=lambda _topic: NONE)
    rig.settings.share = ShareGroupSettings(partition_max_record_locks=1)
    fetch.start()
    fetch.finish()
    assert rig.manager.counters.of_group("g").ratio_sum == ratio


@pytest.mark.parametrize(("wanted", "read_until"), [(1, 1), (3, 3), (500, 500)])
def test_no_more_is_read_than_may_be_acquired(wanted: int, read_until: int) -> None:
    rig = filled(5)
    rig.fetch(max_records=wanted).start()
    ((offset, _max_bytes, upto, max_records),) = rig.source().asked
    assert (offset, upto) == (0, 5)
    assert max_records == read_until
    rig.fetch(max_records=wanted, member="other").start()
    if wanted == 1:
        assert rig.source().asked[1][0] == 1
        assert rig.source().asked[1][3] == 1


def test_records_count_by_their_number_wherever_they_are() -> None:
    rig = filled(3, 3)
    for partition in (0, 1):
        rig.states.states[rig.key(partition)] = KeptState(1, 1)
    one, two = rig.fetch(0, 1, max_records=3).start().value
    assert (ranges([one]), ranges([two])) == ([(1, 2, 1)], [(1, 1, 1)])


def test_the_mode_of_the_fetch_holds() -> None:
    for mode, expected in ((AcquireMode.RECORD_LIMIT, [(0, 1, 1)]), (AcquireMode.BATCH_OPTIMIZED, [(0, 2, 1)])):
        rig = ShareRig()
        rig.source().fill(b"0", b"1", b"2")
        assert ranges(rig.fetch(max_records=2, mode=mode).start().value) == expected


def test_bytes_out_are_those_that_were_sent_all_together() -> None:
    rig = filled(3)
    sent = sum(len(each.records) for each in rig.fetch(max_records=1).start().value)
    sent += sum(len(each.records) for each in rig.fetch(max_records=1).start().value)
    rig.acknowledge(0, 0)
    rig.acknowledge(1, 1, AcknowledgeType.RELEASE)
    sent += sum(len(each.records) for each in rig.fetch(member="other").start().value)
    assert (
        rig.source().traffic.bytes_out
        == sent
        == rig.source().available_bytes(0, 3) + len(rig.source().contents.batches[1])
    )


def test_bytes_out_are_those_from_the_middle_of_a_read(rig: ShareRig) -> None:
    """The aborted batch in front is read but not sent."""
    rig.settings.share = ShareGroupSettings(isolation_level=IsolationLevel.READ_COMMITTED)
    transactional(rig.source(), 0)
    rig.source().fill(b"1")
    rig.source().fill(b"2")
    rig.source().aborted = [AbortedTransaction(9, 0, 0, 1)]
    (fetched,) = rig.start(wait_ms=100).value
    assert offsets(fetched) == [(1, 1), (2, 2)]
    assert len(rig.source().asked) == 1
    assert rig.source().traffic.bytes_out == len(fetched.records)


@pytest.mark.parametrize(("mode", "records"), [(AcquireMode.RECORD_LIMIT, 1), (AcquireMode.BATCH_OPTIMIZED, 3)])
def test_how_far_is_read_goes_by_the_mode(mode: AcquireMode, records: int, rig: ShareRig) -> None:
    """Records in flight together are acquired as a whole, unless the mode counts records exactly."""
    rig.source().fill(b"0", b"1", b"2")
    assert rig.acquire() == [(0, 2, 1)]
    rig.acknowledge(0, 2, AcknowledgeType.RELEASE)
    rig.fetch(max_records=1, mode=mode).start()
    assert rig.source().asked[-1][3] == records
