from __future__ import annotations

import pytest

from shareq.broker.share.leader import LeaderState
from shareq.protocol.errors import ErrorCode
from tests.support.fakes.host import ELSEWHERE
from tests.support.fakes.share_leaders import Waiter, filled, in_memory, with_two_groups

NONE = ErrorCode.NONE


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


def test_waiting_fetches_are_notified_of_a_deleted_topic() -> None:
    rig = with_two_groups()
    leader, waiter = rig.leader(0), Waiter()
    rig.manager.counters.of_topic(rig.topic_id)
    rig.manager.purgatory.park(waiter, [leader])
    rig.manager.topics_deleted([rig.topics.delete("t")])
    rig.clock.run_until_idle()
    assert (in_memory(rig), waiter.looks) == ([], 1)
    assert (leader.error, leader.is_gone) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    assert (rig.manager.counters.partitions, rig.manager.counters.topics) == ({}, {})


def test_another_topic_that_is_deleted_takes_nothing_with_it() -> None:
    rig = with_two_groups()
    rig.manager.topics_deleted([rig.topics.add("other")])
    assert len(in_memory(rig)) == 3
    rig.manager.topics_deleted([rig.topics.add("__share_group_state")])
    assert (in_memory(rig), rig.manager.counters.partitions) == ([], {})


def test_switching_share_groups_off_answers_who_waits_and_forgets_all() -> None:
    rig = with_two_groups()
    waiter = Waiter()
    rig.manager.purgatory.park(waiter, [rig.leader(0)])
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
