"""The code around a share partition's core, on fakes of its ports: loading, acknowledging, and unreadable state."""

from __future__ import annotations

import pytest

from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.partition import AckBatch, AcquiredRange
from shareq.broker.share.leader import LeaderState
from shareq.coordinator.ports import AutoOffsetReset, ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType, RecordState
from tests.support.fakes.share_leaders import Waiter, filled, state
from tests.support.fakes.share_rig import ShareRig
from tests.support.fakes.share_states import KeptState

NONE = ErrorCode.NONE
RELEASE, ACCEPT, RENEW = AcknowledgeType.RELEASE, AcknowledgeType.ACCEPT, AcknowledgeType.RENEW


# -- loading


def test_a_share_partition_is_loaded_once_with_the_leader_epoch(rig: ShareRig) -> None:
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
    rig.manager.purgatory.park(waiter, [leader])
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
    ("of_persister", "reported"),
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
def test_a_load_that_fails_is_reported_and_the_next_fetch_tries_again(
    of_persister: ErrorCode, reported: ErrorCode, rig: ShareRig
) -> None:
    rig.states.errors["read"] = of_persister
    rig.states.holds = True
    leader, waiter = rig.leader(), Waiter()
    rig.manager.purgatory.park(waiter, [leader])
    rig.clock.advance(7)
    rig.states.answer()
    rig.clock.run_until_idle()
    assert (leader.state, leader.error, leader.is_gone, waiter.looks) == (LeaderState.FAILED, reported, False, 1)
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


def test_a_write_that_fails_is_reported_and_rolled_back(caplog: pytest.LogCaptureFixture) -> None:
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
    reported = rig.acknowledge(0, 2).value
    assert reported is (ErrorCode.NOT_LEADER_OR_FOLLOWER if error is ErrorCode.FENCED_STATE_EPOCH else error)
    assert (leader.state, leader.is_gone, rig.manager.get(rig.key())) == (LeaderState.FENCED, False, None)


def test_released_records_wake_who_waits_after_what_is_being_done() -> None:
    rig = filled()
    rig.acquire()
    waiter = Waiter()
    rig.manager.purgatory.park(waiter, [rig.leader()])
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


def test_several_batches_of_one_acknowledgement_are_one_write() -> None:
    rig = filled(6)
    rig.acquire()
    acks = [AckBatch(0, 1, [ACCEPT]), AckBatch(3, 3, [AcknowledgeType.REJECT]), AckBatch(4, 5, [RELEASE])]
    assert rig.manager.acknowledge(rig.leader(), "m", acks).value is NONE
    assert [write.batches for write in rig.states.writes] == [
        (StateBatch(0, 1, 2, 1), StateBatch(3, 3, 4, 1), StateBatch(4, 5, 0, 1))
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
