from __future__ import annotations

import pytest

from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.broker.share.fetch import FetchedPartition, ShareFetch, ShareFetchParams, WantedPartition
from shareq.coordinator.ports import AutoOffsetReset, IsolationLevel, ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType, AcquireMode
from tests.support.fakes.share_fetches import filled, transactional
from tests.support.fakes.share_rig import ShareRig, ranges
from tests.support.fakes.share_states import KeptState

NONE = ErrorCode.NONE


# -- waiting


def test_it_waits_for_records_and_is_woken_by_them(rig: ShareRig) -> None:
    pending = rig.start(wait_ms=100)
    assert (pending.done, len(rig.manager.purgatory)) == (False, 1)
    rig.clock.advance(99)
    rig.source().fill(b"0")
    rig.manager.on_high_watermark(rig.source())
    assert ranges(pending.value) == [(0, 0, 1)]
    assert (len(rig.manager.purgatory), rig.clock.next_timer_ms()) == (0, 2_099), "the lock's timer alone is left"


def test_it_answers_when_its_time_is_up(rig: ShareRig) -> None:
    pending = rig.start(0, 1, wait_ms=100)
    rig.clock.advance(99)
    assert not pending.done
    rig.clock.advance(1)
    assert pending.value == [FetchedPartition(rig.topic_id, each, NONE) for each in (0, 1)]
    assert (len(rig.manager.purgatory), rig.manager.counters.expired_fetches) == (0, 1)


def test_a_source_whose_records_are_not_here_yet_makes_it_wait_and_wakes_it() -> None:
    """The source of a remote log fetches the records and announces them."""
    rig = filled(2)
    rig.source().missing_from = 0
    pending = rig.start(wait_ms=100)
    assert (pending.done, len(rig.manager.purgatory), len(rig.source().asked)) == (False, 1, 1)
    rig.clock.advance(50)
    assert len(rig.source().asked) == 1, "nobody polls"
    rig.source().missing_from = None
    rig.manager.on_high_watermark(rig.source())
    assert ranges(pending.value) == [(0, 1, 1)]


def test_a_source_that_is_too_slow_costs_the_wait_and_no_more() -> None:
    rig = filled(2)
    rig.source().missing_from = 0
    pending = rig.start(wait_ms=100)
    rig.clock.advance(100)
    assert pending.value == [FetchedPartition(rig.topic_id, 0, NONE)]
    rig.source().missing_from = None
    rig.manager.on_high_watermark(rig.source())
    assert rig.acquire() == [(0, 1, 1)], "nothing was acquired for the answer that went out"


def test_what_is_here_of_one_partition_does_not_wait_for_another() -> None:
    rig = filled(2, 1)
    rig.source(0).missing_from = 0
    one, two = rig.start(0, 1, wait_ms=100).value
    assert (one.says_something, ranges([two])) == (False, [(0, 0, 1)])


def test_records_are_given_out_up_to_where_they_are_missing() -> None:
    rig = filled(3)
    rig.source().missing_from = 2
    assert rig.acquire() == [(0, 1, 1)]
    pending = rig.start(wait_ms=100)
    rig.source().missing_from = None
    rig.manager.on_high_watermark(rig.source())
    assert ranges(pending.value) == [(2, 2, 1)]


def test_released_records_wake_it() -> None:
    rig = filled(1)
    rig.acquire(member="other")
    pending = rig.start(wait_ms=100)
    rig.acknowledge(0, 0, AcknowledgeType.RELEASE, member="other")
    assert not pending.done, "after what is being done"
    rig.clock.run_until_idle()
    assert ranges(pending.value) == [(0, 0, 2)]


def test_a_share_partition_that_is_being_loaded_is_waited_for() -> None:
    rig = filled(1)
    rig.states.holds = True
    pending = rig.start(wait_ms=100)
    rig.states.answer()
    rig.clock.run_until_idle()
    assert ranges(pending.value) == [(0, 0, 1)]


def test_a_load_that_fails_is_reported_when_time_is_up() -> None:
    rig = filled(1)
    rig.states.errors["read"] = ErrorCode.NOT_COORDINATOR
    pending = rig.start(0, wait_ms=100)
    rig.clock.advance(99)
    assert not pending.done
    rig.clock.advance(1)
    assert pending.value == [FetchedPartition(rig.topic_id, 0, ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    counters = rig.manager.counters.of_topic(rig.topic_id)
    assert (counters.fetches, counters.failed_fetches) == (1, 1)


def test_a_topic_that_is_deleted_ends_the_wait(rig: ShareRig) -> None:
    pending = rig.start(0, 1, wait_ms=100)
    rig.manager.topics_deleted([rig.topics.delete("t")])
    rig.clock.run_until_idle()
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert pending.value == [FetchedPartition(rig.topic_id, each, error) for each in (0, 1)]
    assert rig.manager.counters.topics == {}, "what is gone is counted no more"


def test_a_client_that_is_gone_acquires_nothing(rig: ShareRig) -> None:
    fetch = rig.fetch(wait_ms=100)
    pending = fetch.start()
    fetch.cancel()
    rig.source().fill(b"0")
    rig.manager.on_high_watermark(rig.source())
    rig.clock.advance(200)
    assert (pending.done, len(rig.manager.purgatory), rig.source().asked) == (False, 0, [])


def test_a_stop_answers_without_records(rig: ShareRig) -> None:
    fetch = rig.fetch(wait_ms=100)
    pending = fetch.start()
    rig.source().fill(b"0")
    fetch.finish()
    fetch.finish()
    assert pending.value == []
    rig.clock.advance(200)
    fetch.look_again()
    assert rig.source().asked == []


# -- bytes that are awaited


@pytest.mark.parametrize("missing", [0, 1])
def test_it_waits_for_its_least_bytes(missing: int) -> None:
    rig = filled(2)
    size = rig.source().available_bytes(0, 2)
    pending = rig.fetch(wait_ms=100, min_bytes=size + missing).start()
    assert pending.done is (missing == 0)
    if missing:
        rig.source().fill(b"2")
        rig.manager.on_high_watermark(rig.source())
        assert ranges(pending.value) == [(0, 2, 1)]


def test_the_bytes_of_all_partitions_count_up_to_their_budgets() -> None:
    rig = filled(2, 2)
    size = rig.source().available_bytes(0, 2)
    assert rig.fetch(0, 1, wait_ms=100, min_bytes=2 * size).start().done
    rig = filled(2, 0)
    assert not rig.fetch(0, 1, wait_ms=100, min_bytes=size + 1).start().done
    rig = filled(20, 0)
    pending = rig.fetch(0, 1, wait_ms=100, min_bytes=2 * size, max_bytes=2 * size).start()
    assert not pending.done, "one partition may fill half of the answer"


def test_without_a_least_it_answers_at_once(rig: ShareRig) -> None:
    assert rig.fetch(wait_ms=100, min_bytes=0).start().value == [FetchedPartition(rig.topic_id, 0, NONE)]


def test_when_time_is_up_fewer_bytes_do() -> None:
    rig = filled(1)
    pending = rig.fetch(wait_ms=100, min_bytes=10_000).start()
    rig.clock.advance(100)
    assert ranges(pending.value) == [(0, 0, 1)]


def test_the_end_of_a_segment_is_enough() -> None:
    """A read ends there, and the fetch is answered whatever it waits for, as in Apache Kafka."""
    rig = filled(2)
    rig.source().segment_ends = (1,)
    assert rig.fetch(wait_ms=100, min_bytes=10_000).start().done
    rig = filled(2)
    rig.source().segment_ends = (2,)
    assert not rig.fetch(wait_ms=100, min_bytes=10_000).start().done


def test_a_source_that_refuses_is_asked_at_once() -> None:
    rig = filled(1)
    rig.source().refusal = ErrorCode.KAFKA_STORAGE_ERROR
    fetched = rig.fetch(wait_ms=100, min_bytes=10_000).start().value
    assert fetched == [FetchedPartition(rig.topic_id, 0, ErrorCode.KAFKA_STORAGE_ERROR)]


# -- what may not be read any more


def test_what_may_not_be_read_any_more_is_reported_and_the_rest_is_waited_for(rig: ShareRig) -> None:
    other = rig.topics.add("u")
    rig.states.states[rig.key()._replace(topic_id=other.topic_id)] = KeptState(1, 0)
    errors = {"t": NONE, "u": NONE}
    params = ShareFetchParams("g", "m", AcquireMode.BATCH_OPTIMIZED, 100, 1, 100_000, 500, 500)
    wanted = [WantedPartition(rig.topic_id, 0, "t"), WantedPartition(other.topic_id, 0, "u")]
    fetch = ShareFetch(rig.host, IsolationLevel.READ_UNCOMMITTED, params, wanted, errors.__getitem__)
    pending = fetch.start()
    errors["u"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    fetch.look_again()
    assert not pending.done
    uninvolved = rig.manager.get(rig.key()._replace(topic_id=other.topic_id))
    assert uninvolved is not None
    assert uninvolved.waiters == {}
    rig.source().fill(b"0")
    rig.manager.on_high_watermark(rig.source())
    assert pending.value[0] == FetchedPartition(other.topic_id, 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert ranges(pending.value[1:]) == [(0, 0, 1)]


def test_when_nothing_may_be_read_any_more_it_is_reported_at_once() -> None:
    rig = filled(1)
    fetch = rig.fetch(0, 1, wait_ms=100, refuse=lambda _topic: ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert fetch.start().value == [FetchedPartition(rig.topic_id, each, error) for each in (0, 1)]
    assert rig.source().asked == []


# -- start offsets that are not durable


def unresolved() -> ShareRig:
    rig = filled(1, 1)
    for partition in (0, 1):
        rig.states.states[rig.key(partition)] = KeptState(1, -1)
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset("earliest"))
    return rig


def test_nothing_is_acquired_before_its_start_offset_is_durable_even_when_time_is_up() -> None:
    rig = unresolved()
    rig.leader(0)
    rig.states.holds = True
    pending = rig.start(wait_ms=0)
    assert (pending.done, len(rig.states.writes)) == (False, 1)
    rig.states.answer()
    rig.clock.run_until_idle()
    assert ranges(pending.value) == [(0, 0, 1)]


def test_an_idle_subscription_writes_no_start_offset(rig: ShareRig) -> None:
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.start(wait_ms=100)
    rig.clock.advance(100)
    assert rig.states.writes == []


def test_a_start_offset_that_cannot_be_written_is_asked_for_once_in_a_fetch() -> None:
    rig = unresolved()
    rig.states.errors["write"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    pending = rig.start(wait_ms=100)
    rig.clock.run_until_idle()
    rig.manager.on_high_watermark(rig.source())
    assert len(rig.states.writes) == 1
    rig.clock.advance(100)
    assert pending.value == []


def test_a_share_partition_without_room_is_not_open() -> None:
    rig = filled(3)
    rig.settings.share = ShareGroupSettings(partition_max_record_locks=2)
    rig.acquire()
    pending = rig.start(wait_ms=100)
    assert not pending.done
    rig.settings.share = ShareGroupSettings(partition_max_record_locks=20)
    rig.manager.on_high_watermark(rig.source())
    assert pending.done, "the settings of the moment"


@pytest.mark.parametrize("stored", [True, False])
def test_a_start_offset_that_is_written_when_time_is_up_holds_the_answer_up_and_no_longer(stored: bool) -> None:
    rig = unresolved()
    rig.leader(0)
    rig.states.holds = True
    pending = rig.start(wait_ms=50)
    rig.clock.advance(50)
    assert not pending.done
    if not stored:
        rig.states.errors["write"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    rig.states.answer()
    rig.clock.run_until_idle()
    assert ranges(pending.value) == ([(0, 0, 1)] if stored else [])
    assert rig.manager.counters.expired_fetches == 1


def test_one_millisecond_and_one_record_are_waited_for(rig: ShareRig) -> None:
    pending = rig.fetch(wait_ms=1, max_records=1).start()
    assert not pending.done
    rig.clock.advance(1)
    assert pending.value == [FetchedPartition(rig.topic_id, 0, NONE)]


def test_a_fetch_whose_client_is_gone_does_not_look_behind_a_gap(rig: ShareRig) -> None:
    rig.settings.share = ShareGroupSettings(isolation_level=IsolationLevel.READ_COMMITTED)
    transactional(rig.source(), 0)
    rig.source().fill(b"1")
    rig.source().aborted = [AbortedTransaction(9, 0, 0, 1)]
    fetch = rig.fetch(wait_ms=100, max_bytes=1)
    pending = fetch.start()
    asked = len(rig.source().asked)
    fetch.cancel()
    rig.clock.run_until_idle()
    assert (pending.done, len(rig.source().asked)) == (False, asked)


def test_when_nothing_is_behind_what_was_passed_over_it_waits_and_looks_no_more(rig: ShareRig) -> None:
    rig.settings.share = ShareGroupSettings(isolation_level=IsolationLevel.READ_COMMITTED)
    transactional(rig.source(), 0)
    rig.source().aborted = [AbortedTransaction(9, 0, 0, 1)]
    pending = rig.start(wait_ms=100)
    assert rig.clock.run_until_idle() == 1
    assert rig.clock.run_until_idle() == 0
    rig.clock.advance(100)
    assert pending.value == [FetchedPartition(rig.topic_id, 0, NONE)]
