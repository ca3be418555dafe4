"""The share-partition leader's shell on fakes of its ports: loading, effects, time, and what takes it out of memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.partition import AckBatch, AcquiredRange
from shareq.broker.share.core.window.record_state import AcknowledgeType, RecordState
from shareq.broker.share.leader import LeaderState
from shareq.coordinator.ports import AutoOffsetReset, ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from tests.support.fakes.host import ELSEWHERE
from tests.support.fakes.share_rig import LOCK_MS, ShareRig
from tests.support.fakes.share_states import KeptState

NONE = ErrorCode.NONE
RELEASE, ACCEPT, RENEW = AcknowledgeType.RELEASE, AcknowledgeType.ACCEPT, AcknowledgeType.RENEW


class Waiter:
    """A parked fetch that counts."""

    def __init__(self) -> None:
        self.looks = 0
        self.finished = 0
        self.on_look: Callable[[], None] = lambda: None

    def look_again(self) -> None:
        self.looks += 1
        self.on_look()

    def finish(self) -> None:
        self.finished += 1


def filled(records: int = 3) -> ShareRig:
    """Each record a batch of its own, in both partitions."""
    rig = ShareRig()
    for partition in (0, 1):
        for number in range(records):
            rig.source(partition).fill(str(number).encode())
    return rig


def state(rig: ShareRig, offset: int = 0, partition: int = 0) -> tuple[RecordState, int]:
    (run,) = rig.leader(partition).core.snapshot(offset, offset)
    return run.state, run.delivery_count


# -- loading


def test_a_share_partition_is_loaded_once_with_the_leader_epoch() -> None:
    rig = ShareRig()
    assert rig.manager.get(rig.key()) is None
    leader = rig.leader()
    assert leader is rig.leader() is rig.manager.get(rig.key())
    assert rig.states.calls == [("read", rig.key(), 3)]
    assert (leader.state, leader.error, leader.core.start_offset) == (LeaderState.ACTIVE, NONE, 0)
    assert (leader.is_active, leader.is_gone, leader.topic) == (True, False, "t")


def test_a_load_that_takes_time_is_counted_and_wakes_who_waits() -> None:
    rig = filled()
    rig.states.holds = True
    leader, waiter = rig.leader(), Waiter()
    rig.manager.park(waiter, [leader])
    assert (leader.state, leader.is_active) == (LeaderState.LOADING, False)
    rig.clock.advance(40)
    rig.states.answer()
    assert (leader.is_active, waiter.looks) == (True, 0)
    rig.clock.run_until_idle()
    assert waiter.looks == 1
    assert (rig.manager.counters.loads.count, rig.manager.counters.loads.total_ns) == (1, 40_000_000)
    assert rig.manager.counters.partitions == {rig.key(): leader.core.counters}


def test_counters_go_on_with_the_next_leader() -> None:
    rig = filled()
    assert rig.acquire() == [(0, 2, 1)]
    before = rig.leader().core.counters
    rig.manager.group_empty("g")
    assert rig.leader().core.counters is before


@pytest.mark.parametrize(
    ("of_persister", "told"),
    [
        (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.FENCED_STATE_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_load_that_fails_is_told_and_the_next_fetch_tries_again(of_persister: ErrorCode, told: ErrorCode) -> None:
    rig = ShareRig()
    rig.states.errors["read"] = of_persister
    rig.states.holds = True
    leader, waiter = rig.leader(), Waiter()
    rig.manager.park(waiter, [leader])
    rig.clock.advance(7)
    rig.states.answer()
    rig.clock.run_until_idle()
    assert (leader.state, leader.error, leader.is_gone, waiter.looks) == (LeaderState.FAILED, told, False, 1)
    assert (rig.manager.get(rig.key()), rig.manager.counters.loads.total_ns) == (None, 7_000_000)
    assert rig.manager.counters.partitions == {}
    rig.states.errors.clear()
    rig.states.holds = False
    assert rig.leader().is_active


def test_a_state_that_contradicts_itself_is_a_fault_of_the_server() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, 0, [StateBatch(2, 1, 0, 1)])
    assert rig.leader().error is ErrorCode.UNKNOWN_SERVER_ERROR


def test_what_is_loaded_after_it_was_dropped_counts_no_more() -> None:
    rig = filled()
    rig.states.holds = True
    leader = rig.leader()
    rig.manager.group_empty("g")
    rig.states.answer()
    assert (leader.state, rig.manager.get(rig.key())) == (LeaderState.FENCED, None)
    assert rig.manager.counters.loads.count == 0


# -- where it begins


@pytest.mark.parametrize(("strategy", "start"), [("earliest", 1), ("latest", 3), ("by_duration", 2)])
def test_without_a_start_offset_the_groups_reset_resolves_it(strategy: str, start: int) -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.source().log_start_offset = 1
    rig.source().times = {rig.clock.wall_ms() - 5_000: 2, rig.clock.wall_ms() - 5_001: 0}
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset(strategy, 5_000))
    leader = rig.leader()
    assert (leader.core.start_offset, leader.core.start_is_durable) == (start, False)


def test_a_reset_by_duration_that_finds_no_record_is_told() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset("by_duration", 5_000))
    assert rig.leader().error is ErrorCode.OFFSET_NOT_AVAILABLE
    assert rig.manager.get(rig.key()) is None


def test_a_resolved_start_offset_is_written_once_before_anything_is_acquired() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.settings.share = ShareGroupSettings(auto_offset_reset=AutoOffsetReset("earliest"))
    leader, waiter = rig.leader(), Waiter()
    rig.manager.park(waiter, [leader])
    rig.clock.run_until_idle()
    rig.states.holds = True
    assert not rig.manager.start_is_durable(leader)
    assert not rig.manager.start_is_durable(leader)
    assert [(write.start_offset, write.batches) for write in rig.states.writes] == [(0, ())]
    looks = waiter.looks
    rig.states.answer()
    rig.clock.run_until_idle()
    assert rig.manager.start_is_durable(leader)
    assert (leader.start_write_id, waiter.looks) == (None, looks + 1)
    assert len(rig.states.writes) == 1


def test_a_start_offset_that_could_not_be_written_is_tried_again() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.states.errors["write"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    leader = rig.leader()
    assert not rig.manager.start_is_durable(leader)
    assert leader.start_write_id is None
    rig.states.errors.clear()
    assert not rig.manager.start_is_durable(leader)
    assert rig.manager.start_is_durable(leader)
    assert len(rig.states.writes) == 2


def test_a_state_that_reaches_beyond_the_log_is_replaced_before_anything_is_given_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A power loss took the records; others will get their offsets."""
    rig = filled()
    rig.states.states[rig.key()] = KeptState(4, 0, [StateBatch(0, 0, 0, 2), StateBatch(1, 9, 2, 1)])
    rig.states.holds = True
    leader = rig.leader()
    rig.states.answer()
    assert leader.state is LeaderState.LOADING
    assert rig.states.calls[-1] == (
        "replace", rig.key(), 4, 0, (StateBatch(0, 0, 0, 2), StateBatch(1, 2, 2, 1))
    )  # fmt: skip
    assert "(start offset 0) reaches beyond the log end 3" in caplog.text
    rig.states.answer()
    assert leader.is_active


@pytest.mark.parametrize("dropped", [False, True])
def test_a_state_that_cannot_be_replaced_is_not_used(dropped: bool) -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(4, 0, [StateBatch(1, 9, 2, 1)])
    rig.states.errors["replace"] = ErrorCode.NOT_COORDINATOR
    rig.states.holds = True
    leader = rig.leader()
    rig.states.answer()
    if dropped:
        rig.manager.group_empty("g")
    rig.states.answer()
    expected = (LeaderState.FENCED, NONE) if dropped else (LeaderState.FAILED, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert (leader.state, leader.error) == expected


def test_a_state_that_was_replaced_after_its_leader_was_dropped_revives_nothing() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(4, 0, [StateBatch(1, 9, 2, 1)])
    rig.states.holds = True
    leader = rig.leader()
    rig.states.answer()
    rig.manager.group_empty("g")
    rig.states.answer()
    assert (leader.state, rig.manager.counters.loads.count) == (LeaderState.FENCED, 0)


# -- acknowledging


def test_an_acknowledgement_is_answered_when_it_is_durable() -> None:
    rig = filled()
    assert rig.acquire() == [(0, 2, 1)]
    rig.states.holds = True
    answer = rig.acknowledge(0, 1)
    assert not answer.done
    (write,) = rig.states.writes
    assert (write.start_offset, write.leader_epoch, write.batches) == (0, 3, (StateBatch(0, 1, 2, 1),))
    rig.states.answer()
    assert (answer.value, rig.leader().core.start_offset, rig.leader().writes) == (NONE, 2, {})


def test_what_needs_no_write_is_answered_at_once() -> None:
    rig = filled()
    rig.acquire()
    assert rig.acknowledge(0, 2, RENEW).value is NONE
    assert rig.states.writes == []
    assert rig.acknowledge(0, 0, ACCEPT, member="other").value is ErrorCode.INVALID_RECORD_STATE


def test_a_write_that_fails_is_told_and_rolled_back(caplog: pytest.LogCaptureFixture) -> None:
    rig = filled()
    rig.acquire()
    rig.states.errors["write"] = ErrorCode.NOT_COORDINATOR
    assert rig.acknowledge(0, 2).value is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert state(rig) == (RecordState.ACQUIRED, 1)
    assert rig.leader().is_active, "it is not fenced by an error that passes"
    assert "state write 1 failed: NOT_COORDINATOR" in caplog.text


@pytest.mark.parametrize(
    "error", [ErrorCode.FENCED_STATE_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
)
def test_a_write_that_is_fenced_drops_the_share_partition(error: ErrorCode) -> None:
    rig = filled()
    rig.acquire()
    leader = rig.leader()
    rig.states.errors["write"] = error
    told = rig.acknowledge(0, 2).value
    assert told is (ErrorCode.NOT_LEADER_OR_FOLLOWER if error is ErrorCode.FENCED_STATE_EPOCH else error)
    assert (leader.state, leader.is_gone, rig.manager.get(rig.key())) == (LeaderState.FENCED, False, None)


def test_released_records_wake_who_waits_after_what_is_being_done() -> None:
    rig = filled()
    rig.acquire()
    waiter = Waiter()
    rig.manager.park(waiter, [rig.leader()])
    rig.acknowledge(0, 2, RELEASE)
    assert waiter.looks == 0
    rig.clock.run_until_idle()
    assert waiter.looks == 1


def test_the_settings_of_the_moment_hold_for_acknowledgements() -> None:
    rig = filled()
    rig.acquire()
    rig.settings.share_by_group["g"] = ShareGroupSettings(delivery_count_limit=1)
    rig.acknowledge(0, 2, RELEASE)
    assert rig.leader().core.start_offset == 3, "archived: they had their one delivery"


@pytest.mark.parametrize("limit", [1, 5])
def test_a_session_that_ends_gives_back_what_its_member_holds(limit: int) -> None:
    rig = filled()
    rig.acquire()
    rig.settings.share_by_group["g"] = ShareGroupSettings(delivery_count_limit=limit)
    rig.manager.release(rig.key(), "other")
    assert state(rig) == (RecordState.ACQUIRED, 1)
    rig.manager.release(rig.key(), "m")
    if limit == 1:
        assert rig.leader().core.start_offset == 3
    else:
        assert rig.acquire(member="other") == [(0, 2, 2)]


def test_a_release_needs_a_share_partition_that_is_loaded() -> None:
    rig = filled()
    rig.manager.release(rig.key(), "m")
    rig.states.holds = True
    rig.leader()
    rig.manager.release(rig.key(), "m")
    assert [call[0] for call in rig.states.calls] == ["read"]


def test_what_an_answer_leaves_without_is_given_back_and_nothing_else() -> None:
    rig = filled()
    first, then = rig.fetch(max_records=1).start().value[0].acquired, rig.fetch().start().value[0].acquired
    assert (first, then) == ([(0, 0, 1)], [(1, 2, 1)])
    rig.manager.give_back(rig.key(), "m", then)
    assert [state(rig, each) for each in (0, 1, 2)] == [
        (RecordState.ACQUIRED, 1),
        (RecordState.AVAILABLE, 1),
        (RecordState.AVAILABLE, 1),
    ]
    assert rig.acquire(member="n") == [(1, 2, 2)]
    rig.manager.give_back(rig.key(), "m", then)
    assert state(rig, 1) == (RecordState.ACQUIRED, 2), "it is another member's now"


def test_giving_back_needs_a_share_partition_that_is_loaded() -> None:
    rig = filled()
    rig.manager.give_back(rig.key(), "m", [AcquiredRange(0, 0, 1)])
    rig.states.holds = True
    rig.leader()
    rig.manager.give_back(rig.key(), "m", [AcquiredRange(0, 0, 1)])
    assert [call[0] for call in rig.states.calls] == ["read"]


# -- records that cannot be read


def test_unreadable_records_are_skipped_at_the_delivery_limit() -> None:
    rig = filled(6)
    rig.settings.share = ShareGroupSettings(delivery_count_limit=3)
    rig.source().contents.unreadable = [(0, 4)]
    leader = rig.leader()
    assert [rig.manager.skips_unreadable(leader, 0, 6) for _ in range(2)] == [False, False]
    assert leader.unreadable is not None
    assert leader.unreadable.attempts == 2
    assert rig.manager.skips_unreadable(leader, 0, 6)
    assert leader.core.next_fetch_offset() == 4


def test_unreadable_records_are_skipped_no_further_than_readers_may_see() -> None:
    rig = filled(6)
    rig.settings.share = ShareGroupSettings(delivery_count_limit=1)
    rig.source().contents.unreadable = [(0, 6)]
    assert rig.manager.skips_unreadable(rig.leader(), 0, 2)
    assert rig.leader().core.next_fetch_offset() == 2


def test_attempts_are_counted_for_each_damaged_place() -> None:
    rig = filled(6)
    rig.settings.share = ShareGroupSettings(delivery_count_limit=3)
    rig.source().contents.unreadable = [(0, 2), (2, 4)]
    leader = rig.leader()
    answers = [rig.manager.skips_unreadable(leader, offset, 6) for offset in (0, 1, 2, 3, 1)]
    assert answers == [False] * 5
    assert leader.unreadable is not None
    assert (leader.unreadable.first_offset, leader.unreadable.next_offset, leader.unreadable.attempts) == (0, 2, 1)


def test_what_the_source_knows_no_damage_of_is_not_skipped() -> None:
    rig = filled()
    rig.settings.share = ShareGroupSettings(delivery_count_limit=1)
    assert not rig.manager.skips_unreadable(rig.leader(), 0, 3)
    assert rig.leader().unreadable is None


# -- what takes share partitions out of memory


def both(rig: ShareRig) -> list[LeaderState]:
    leaders = [rig.leader(0), rig.leader(1)]
    rig.manager.get_or_load(rig.key(0, "h"), "t")
    return [leader.state for leader in leaders]


def in_memory(rig: ShareRig) -> list[tuple[str, int]]:
    return [(group, number) for group in "gh" for number in (0, 1) if rig.manager.get(rig.key(number, group))]


def with_two_groups() -> ShareRig:
    rig = filled()
    rig.states.states[rig.key(0, "h")] = KeptState(1, 0)
    assert both(rig) == [LeaderState.ACTIVE] * 2
    assert in_memory(rig) == [("g", 0), ("g", 1), ("h", 0)]
    return rig


def test_a_group_without_sessions_is_forgotten() -> None:
    rig = with_two_groups()
    rig.manager.group_empty("g")
    assert in_memory(rig) == [("h", 0)]
    assert set(rig.manager.counters.partitions) == {rig.key(0), rig.key(1), rig.key(0, "h")}


def test_states_that_are_replaced_are_read_again() -> None:
    rig = with_two_groups()
    rig.manager.state_replaced([rig.key(1), rig.key(0, "h"), rig.key(1, "h")])
    assert in_memory(rig) == [("g", 0)]
    assert len(rig.manager.counters.partitions) == 3


def test_the_counters_of_a_deleted_state_end() -> None:
    rig = with_two_groups()
    leader = rig.leader(1)
    rig.manager.state_deleted((rig.key(1),))
    assert in_memory(rig) == [("g", 0), ("h", 0)]
    assert set(rig.manager.counters.partitions) == {rig.key(0), rig.key(0, "h")}
    assert leader.error is NONE


def test_a_deleted_topic_is_told_to_those_who_wait() -> None:
    rig = with_two_groups()
    leader, waiter = rig.leader(0), Waiter()
    rig.manager.counters.of_topic(rig.topic_id)
    rig.manager.park(waiter, [leader])
    rig.manager.topic_deleted(rig.topics.delete("t"))
    rig.clock.run_until_idle()
    assert (in_memory(rig), waiter.looks) == ([], 1)
    assert (leader.error, leader.is_gone) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    assert (rig.manager.counters.partitions, rig.manager.counters.topics) == ({}, {})


def test_another_topic_that_is_deleted_takes_nothing_with_it() -> None:
    rig = with_two_groups()
    rig.manager.topic_deleted(rig.topics.add("other"))
    assert len(in_memory(rig)) == 3
    rig.manager.topic_deleted(rig.topics.add("__share_group_state"))
    assert (in_memory(rig), rig.manager.counters.partitions) == ([], {})


def test_switching_share_groups_off_answers_who_waits_and_forgets_all() -> None:
    rig = with_two_groups()
    waiter = Waiter()
    rig.manager.park(waiter, [rig.leader(0)])
    rig.manager.forget_all()
    assert (in_memory(rig), waiter.finished) == ([], 1)


def test_only_what_another_broker_leads_is_dropped() -> None:
    rig = with_two_groups()
    leader = rig.leader(0)
    rig.manager.leader_moved("t", 0)
    assert len(in_memory(rig)) == 3, "it leads it itself"
    rig.leader_map.move("t", 0, ELSEWHERE)
    rig.manager.leader_moved("u", 0)
    assert len(in_memory(rig)) == 3
    rig.manager.leader_moved("t", 0)
    assert in_memory(rig) == [("g", 1)]
    assert (leader.error, leader.is_gone) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, True)


def test_an_error_drops_the_share_partition_only_if_it_fences_and_only_once() -> None:
    rig = with_two_groups()
    leader = rig.leader(0)
    rig.manager.fence_if_needed(leader, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert leader.is_active
    rig.manager.fence_if_needed(leader, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert leader.state is LeaderState.FENCED
    again = rig.leader(0)
    rig.manager.fence_if_needed(leader, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert rig.manager.get(rig.key(0)) is again


def test_an_old_leader_that_is_dropped_late_leaves_the_new_one_in_place() -> None:
    rig = filled()
    rig.acquire()
    rig.states.holds = True
    old = rig.leader()
    answer = rig.acknowledge(0, 2)
    rig.manager.group_empty("g")
    rig.states.holds = False
    new = rig.leader()
    rig.states.answer()
    assert (answer.value, old.state) == (NONE, LeaderState.FENCED)
    assert rig.manager.get(rig.key()) is new


# -- who waits


def test_new_records_wake_the_partitions_own_waiters_at_once() -> None:
    rig = with_two_groups()
    waiters = [Waiter(), Waiter(), Waiter()]
    other_group = rig.manager.get(rig.key(0, "h"))
    assert other_group is not None
    for waiter, leader in zip(waiters, (rig.leader(0), rig.leader(1), other_group), strict=True):
        rig.manager.park(waiter, [leader])
    rig.manager.on_high_watermark(rig.source(0))
    assert [waiter.looks for waiter in waiters] == [1, 0, 1]
    rig.manager.group_empty("g")
    rig.manager.group_empty("h")
    rig.manager.on_high_watermark(rig.source(0))
    assert [waiter.looks for waiter in waiters] == [1, 0, 1]


def test_waiters_look_in_the_order_they_came_and_not_after_they_have_left() -> None:
    rig = filled()
    leader, order = rig.leader(), list[str]()
    first, second, third = Waiter(), Waiter(), Waiter()
    for name, waiter in (("1", first), ("2", second), ("3", third)):
        waiter.on_look = lambda name=name: order.append(name)  # type: ignore[misc]
        rig.manager.park(waiter, [leader])

    def take_second_out() -> None:
        order.append("1")
        rig.manager.unpark(second, [leader])

    first.on_look = take_second_out
    assert rig.manager.parked == 3
    rig.manager.on_high_watermark(rig.source())
    assert (order, rig.manager.parked) == (["1", "3"], 2)
    assert [rig.manager.is_parked(each) for each in (first, second, third)] == [True, False, True]
    rig.manager.unpark(second, [leader])
    rig.manager.finish_waiting()
    assert [each.finished for each in (first, second, third)] == [1, 0, 1]


def test_several_reasons_of_one_tick_wake_once_and_every_share_partition() -> None:
    rig = filled()
    one, two = Waiter(), Waiter()
    rig.manager.park(one, [rig.leader(0)])
    rig.manager.park(two, [rig.leader(1)])
    for partition in (0, 1, 0):
        rig.manager.wake(rig.leader(partition))
    rig.clock.run_until_idle()
    assert (one.looks, two.looks) == (1, 1)
    rig.manager.wake(rig.leader(0))
    rig.clock.run_until_idle()
    assert (one.looks, two.looks) == (2, 1)


# -- time


def test_locks_expire_at_their_time_and_the_records_are_given_out_again() -> None:
    rig = filled()
    rig.acquire()
    waiter = Waiter()
    rig.manager.park(waiter, [rig.leader()])
    rig.clock.advance(LOCK_MS - 1)
    assert state(rig) == (RecordState.ACQUIRED, 1)
    rig.clock.advance(1)
    assert (state(rig), waiter.looks) == ((RecordState.AVAILABLE, 1), 1)
    assert rig.acquire(member="other") == [(0, 2, 2)]


def test_one_timer_serves_all_share_partitions() -> None:
    rig = filled()
    rig.acquire(0)
    rig.clock.advance(300)
    rig.acquire(1)
    assert rig.clock.next_timer_ms() == 1_000 + LOCK_MS
    rig.clock.advance(LOCK_MS - 300)
    assert [state(rig, partition=each)[0] for each in (0, 1)] == [RecordState.AVAILABLE, RecordState.ACQUIRED]
    assert rig.clock.next_timer_ms() == 1_300 + LOCK_MS
    rig.clock.advance(300)
    assert state(rig, partition=1)[0] is RecordState.AVAILABLE
    assert rig.clock.next_timer_ms() is None


def test_an_earlier_deadline_of_another_share_partition_moves_the_timer_forward() -> None:
    rig = filled()
    rig.acquire(0)
    rig.settings.share = ShareGroupSettings(record_lock_duration_ms=100)
    rig.acquire(1)
    rig.clock.advance(100)
    assert [state(rig, partition=each)[0] for each in (0, 1)] == [RecordState.ACQUIRED, RecordState.AVAILABLE]
    rig.clock.advance(LOCK_MS - 100)
    assert state(rig)[0] is RecordState.AVAILABLE


def test_a_renewed_lock_is_looked_at_at_the_old_deadline_and_kept() -> None:
    rig = filled()
    rig.acquire()
    rig.clock.advance(600)
    rig.acknowledge(0, 2, RENEW)
    rig.clock.advance(400)
    assert state(rig)[0] is RecordState.ACQUIRED
    assert rig.clock.next_timer_ms() == 1_600 + LOCK_MS
    rig.clock.advance(600)
    assert state(rig)[0] is RecordState.AVAILABLE


def test_an_expiry_goes_by_the_settings_of_the_moment() -> None:
    rig = filled()
    rig.acquire()
    rig.settings.share_by_group["g"] = ShareGroupSettings(delivery_count_limit=1)
    rig.clock.advance(LOCK_MS)
    assert rig.leader().core.start_offset == 3


def test_a_rollback_goes_by_the_settings_of_the_moment() -> None:
    """The lock ran out while the write was under way: what is rolled back has had its one delivery."""
    rig = filled()
    rig.acquire()
    rig.states.holds = True
    rig.acknowledge(0, 2)
    rig.clock.advance(2 * LOCK_MS)
    rig.settings.share_by_group["g"] = ShareGroupSettings(delivery_count_limit=1)
    rig.states.errors["write"] = ErrorCode.NOT_COORDINATOR
    rig.states.answer()
    assert state(rig) == (RecordState.ARCHIVED, 1)


def test_a_dropped_share_partition_has_no_deadline_and_holds_up_no_other() -> None:
    rig = filled()
    rig.acquire(0)
    rig.acquire(1)
    gone = rig.leader(0)
    rig.manager.state_replaced([rig.key(0)])
    rig.clock.advance(LOCK_MS)
    assert gone.core.snapshot()[0].state is RecordState.ACQUIRED
    assert state(rig, partition=1)[0] is RecordState.AVAILABLE


def test_close_stops_the_timer() -> None:
    rig = filled()
    rig.acquire()
    rig.manager.close()
    rig.clock.advance(10 * LOCK_MS)
    assert state(rig)[0] is RecordState.ACQUIRED
    rig.manager.close()


def test_several_batches_of_one_acknowledgement_are_one_write() -> None:
    rig = filled(6)
    rig.acquire()
    acks = [AckBatch(0, 1, [ACCEPT]), AckBatch(3, 3, [AcknowledgeType.REJECT]), AckBatch(4, 5, [RELEASE])]
    assert rig.manager.acknowledge(rig.leader(), "m", acks).value is NONE
    assert [write.batches for write in rig.states.writes] == [
        (StateBatch(0, 1, 2, 1), StateBatch(3, 3, 4, 1), StateBatch(4, 5, 0, 1))
    ]


def test_deadlines_of_many_share_partitions_are_met_whatever_their_order() -> None:
    rig = filled()
    for lock_ms, partition in ((500, 0), (200, 1)):
        rig.settings.share = ShareGroupSettings(record_lock_duration_ms=lock_ms)
        rig.acquire(partition)
    rig.clock.advance(200)
    assert [state(rig, partition=each)[0] for each in (0, 1)] == [RecordState.ACQUIRED, RecordState.AVAILABLE]
    assert rig.clock.next_timer_ms() == 1_500
    rig.acknowledge(0, 2, ACCEPT)
    rig.clock.advance(300)
    assert rig.clock.next_timer_ms() is None


def test_a_share_partition_is_armed_once_for_one_deadline() -> None:
    rig = filled()
    rig.acquire()
    leader = rig.leader()
    for _ in range(3):
        rig.manager.arm(leader)
    assert (len(rig.manager._deadlines), leader.armed_at) == (1, 1_000 + LOCK_MS)


def test_two_that_are_due_at_once_are_both_looked_at_although_one_was_dropped() -> None:
    rig = filled()
    rig.acquire(0)
    rig.acquire(1)
    rig.manager.state_replaced([rig.key(0)])
    rig.clock.advance(LOCK_MS)
    assert (state(rig, partition=1)[0], rig.clock.next_timer_ms()) == (RecordState.AVAILABLE, None)


def test_dropped_share_partitions_are_fenced_and_their_lines_name_them(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    rig = with_two_groups()
    replaced, forgotten = rig.leader(0), rig.leader(1)
    rig.manager.state_replaced([rig.key(0)])
    rig.manager.forget_all()
    assert [replaced.state, forgotten.state] == [LeaderState.FENCED] * 2
    rig.acquire()
    rig.states.errors["write"] = ErrorCode.GROUP_ID_NOT_FOUND
    caplog.clear()
    rig.acknowledge(0, 0)
    name = rig.key(0).text()
    assert caplog.messages == [
        f"{name}: state write 1 failed: GROUP_ID_NOT_FOUND",
        f"{name}: dropped after GROUP_ID_NOT_FOUND; the next fetch loads it",
    ]


def test_the_lines_about_damage_name_the_share_partition(caplog: pytest.LogCaptureFixture) -> None:
    rig = filled(6)
    rig.settings.share = ShareGroupSettings(delivery_count_limit=1)
    rig.source().contents.unreadable = [(0, 4)]
    rig.manager.skips_unreadable(rig.leader(), 0, 6)
    rig.states.states[rig.key(1)] = KeptState(4, 0, [StateBatch(1, 9, 2, 1)])
    rig.leader(1)
    assert caplog.messages == [
        f"{rig.key(0).text()}: offsets 0 to 3 cannot be read, skipped after 1 attempts",
        f"{rig.key(1).text()}: the persisted state (start offset 0) reaches beyond the log end 6: the rest is dropped",
    ]


def test_a_share_partition_is_loaded_with_its_groups_settings() -> None:
    rig = filled()
    rig.states.states[rig.key()] = KeptState(1, -1)
    rig.settings.share_by_group["g"] = ShareGroupSettings(auto_offset_reset=AutoOffsetReset("earliest"))
    assert rig.leader().core.start_offset == 0
    assert rig.leader().core.key == rig.key()
