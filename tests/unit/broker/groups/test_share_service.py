"""Share groups on fakes: the two phases of a heartbeat, heartbeats that wait for each other, and failures between."""

from __future__ import annotations

import pytest

from shareq.broker.foundation.pending import Pending
from shareq.coordinator.group.share.heartbeat import refusal
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatResponse
from tests.support.fakes.group_rig import OFFSETS, STATES, GroupRig, assigned, heartbeat
from tests.support.fakes.share_states import KeptState

NONE = ErrorCode.NONE
LOG_FAILED = "The coordinator's log could not be written."


@pytest.fixture
def rig() -> GroupRig:
    return GroupRig(OFFSETS, STATES)


def beat(rig: GroupRig, member: str, epoch: int, *topics: str) -> Pending[ShareGroupHeartbeatResponse]:
    return rig.beat(heartbeat(member, epoch, *topics))


def both_of(rig: GroupRig) -> dict[bytes, list[int]]:
    return {rig.id_of("t"): [0, 1]}


# -- one heartbeat


def test_a_first_heartbeat_makes_the_internal_topics_and_answers_its_partitions() -> None:
    rig = GroupRig()
    answer = rig.join()
    assert rig.ports.topics.created == ["t", "u", OFFSETS, STATES]
    assert (assigned(answer), answer.member_epoch) == (both_of(rig), 2)
    assert rig.states.calls == [("initialize_once", rig.key(each), 2, -1, False) for each in (0, 1)]
    assert rig.leaders.replaced == [rig.key(0), rig.key(1)]
    assert rig.shard().share.count() == 1


def test_the_group_has_the_epoch_durably_before_a_state_is_initialized(rig: GroupRig) -> None:
    """The other order would leave states with an epoch that the group never had, if a crash came between."""
    pending = beat(rig, "m", 0, "t")
    rig.ports.logs.collect()
    assert (rig.states.calls, pending.done) == ([], False)
    rig.ports.logs.flush()
    assert len(rig.states.calls) == 2
    assert pending.value.error_code == NONE


def test_the_answer_waits_for_the_states_and_for_what_was_noted_of_them(rig: GroupRig) -> None:
    rig.states.holds = True
    pending = beat(rig, "m", 0, "t")
    rig.ports.logs.flush()
    assert rig.states.held == 2
    rig.states.answer(1)
    rig.ports.logs.flush()
    assert not pending.done
    rig.states.answer()
    assert not pending.done
    rig.ports.logs.flush()
    assert assigned(pending.value) == both_of(rig)


def test_a_heartbeat_with_nothing_new_is_answered_at_once() -> None:
    rig = GroupRig()
    rig.join()
    answer = beat(rig, "m", 2)
    assert (answer.done, assigned(answer.value), answer.value.member_epoch) == (True, None, 2)
    assert len(rig.states.calls) == 2


def test_a_refusal_is_answered_at_once(rig: GroupRig) -> None:
    assert beat(rig, "m", 5).value.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert beat(rig, "", 0, "t").value.error_code == ErrorCode.INVALID_REQUEST
    assert rig.service.share.rebalances == 0


@pytest.mark.parametrize("there", [(), (OFFSETS,)])
def test_topics_that_cannot_be_made(there: tuple[str, ...]) -> None:
    rig = GroupRig(*there)
    rig.ports.impossible_topics()
    answer = beat(rig, "m", 0, "t").value
    assert (answer.error_code, bool(answer.error_message)) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, True)
    assert rig.states.calls == []


def test_a_first_phase_that_cannot_be_written_initializes_nothing(rig: GroupRig) -> None:
    pending = beat(rig, "m", 0, "t")
    rig.ports.logs.lose_all()
    assert pending.value == refusal(ErrorCode.NOT_COORDINATOR, LOG_FAILED)
    assert (rig.states.calls, rig.shard().share.count()) == ([], 0)


def test_a_second_phase_that_cannot_be_written_is_reported_and_made_up_for_by_the_next_heartbeat(rig: GroupRig) -> None:
    rig.states.holds = True
    pending = beat(rig, "m", 0, "t")
    rig.ports.logs.flush()
    rig.states.answer()
    rig.ports.logs.lose_all()
    assert pending.value == refusal(ErrorCode.NOT_COORDINATOR, LOG_FAILED)
    rig.states.holds = False
    assert assigned(rig.join()) == both_of(rig)
    assert rig.states.calls[2:] == [("initialize_once", rig.key(each), 2, -1, True) for each in (0, 1)]
    assert rig.leaders.replaced == [rig.key(0), rig.key(1)], "what fetches made of the states is not wiped"


@pytest.mark.parametrize("failed", [1, 2])
def test_states_that_cannot_be_made_are_asked_for_again_after_the_retry_time(failed: int, rig: GroupRig) -> None:
    rig.states.holds = True
    rig.states.errors["initialize_once"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    pending = beat(rig, "m", 0, "t")
    rig.ports.logs.flush()
    rig.states.answer()
    rig.ports.logs.flush()
    assert (pending.value.error_code, assigned(pending.value)) == (NONE, {})
    rig.states.errors.clear()
    rig.states.holds = False
    rig.ports.clock.advance(30_000)
    answer = beat(rig, "m", pending.value.member_epoch)
    rig.ports.logs.flush()
    assert assigned(answer.value) == both_of(rig)
    assert len(rig.states.calls) == 4


# -- several heartbeats


def test_who_comes_between_the_phases_is_answered_with_their_outcome(rig: GroupRig) -> None:
    rig.states.holds = True
    first, second, third = beat(rig, "m1", 0, "t"), beat(rig, "m2", 0, "t"), beat(rig, "m3", 0, "t")
    rig.ports.logs.flush()
    assert rig.states.held == 2, "the partitions are initialised once"
    assert [first.done, second.done, third.done] == [False] * 3
    rig.states.answer()
    rig.ports.logs.flush()
    shares = [assigned(each.value) for each in (first, second, third)]
    assert all(share is not None and share[rig.id_of("t")] for share in shares)
    late = beat(rig, "m4", 0, "t")
    rig.ports.logs.flush()
    assert late.done, "nobody is between the phases any more"


def test_heartbeats_that_initialize_at_the_same_time_are_all_waited_for(rig: GroupRig) -> None:
    rig.states.holds = True
    first = beat(rig, "m1", 0, "t")
    rig.ports.logs.flush()
    second = beat(rig, "m2", 0, "u")
    rig.ports.logs.flush()
    assert rig.states.held == 3
    waits = beat(rig, "m3", 0, "t", "u")
    rig.ports.logs.flush()
    rig.states.answer(2)
    rig.ports.logs.flush()
    assert (first.done, second.done, waits.done) == (True, False, False)
    rig.states.answer()
    rig.ports.logs.flush()
    assert (second.done, waits.done) == (True, True)
    shares = assigned(waits.value)
    assert shares is not None
    assert shares[rig.id_of("u")] == [0]


def test_who_waits_in_one_group_does_not_wait_for_another(rig: GroupRig) -> None:
    rig.states.holds = True
    beat(rig, "m1", 0, "t")
    rig.ports.logs.flush()
    rig.states.holds = False
    other = rig.beat(heartbeat("m", 0, "t", group="h"))
    rig.ports.logs.flush()
    assert assigned(other.value) == both_of(rig)


def test_those_it_would_wait_for_may_have_finished_meanwhile(rig: GroupRig) -> None:
    """A heartbeat continues at once if the second phase that it would wait for ended before its own first phase was
    durable.
    """
    rig.states.holds = True
    first = beat(rig, "m1", 0, "t")
    rig.ports.logs.flush()
    second = beat(rig, "m2", 0, "t")
    rig.ports.logs.collect()
    rig.states.answer()
    rig.ports.logs.flush()
    assert (first.done, second.done) == (True, True)
    assert assigned(second.value) is not None


# -- states and epochs


def test_a_state_that_is_there_already_is_kept_and_its_leader_not_disturbed(rig: GroupRig) -> None:
    rig.states.states[rig.key(0)] = KeptState(7, 42)
    rig.join()
    assert rig.states.states[rig.key(0)].start_offset == 42
    assert rig.leaders.replaced == [rig.key(1)]


def test_rebalances_are_counted_but_for_departures() -> None:
    rig = GroupRig()
    rig.join("m1")
    assert rig.service.share.rebalances == 1
    rig.join("m2")
    assert rig.service.share.rebalances == 2
    rig.leave("m2")
    assert rig.service.share.rebalances == 2
    beat(rig, "m1", 1)
    assert rig.service.share.rebalances == 2


def test_a_rebalance_of_the_second_phase_is_counted_like_the_others(rig: GroupRig) -> None:
    """States that are initialised after the group has an assignment of the current epoch raise the epoch again."""
    rig.states.holds = True
    beat(rig, "m1", 0, "t")
    rig.ports.logs.flush()
    late = beat(rig, "m2", 0, "u")
    rig.ports.logs.flush()
    rig.states.answer(2)
    rig.ports.logs.flush()
    group = rig.shard().share.group("g")
    assert group is not None
    assert (rig.service.share.rebalances, group.group_epoch, group.assignment_epoch) == (2, 3, 3)
    rig.states.answer()
    rig.ports.logs.flush()
    assert (rig.service.share.rebalances, group.group_epoch, late.value.member_epoch) == (3, 4, 4)


def test_the_session_of_a_member_runs_on_monotonic_time() -> None:
    rig = GroupRig()
    rig.join()
    rig.ports.clock.advance(44_999)
    assert rig.shard().share.group("g") is not None
    rig.ports.logs.flush()
    group = rig.shard().share.group("g")
    assert group is not None
    assert set(group.members) == {"m"}
    rig.ports.clock.advance(1)
    rig.ports.logs.flush()
    assert set(group.members) == set()


# -- describing


def test_a_group_is_described_when_what_is_reported_is_durable() -> None:
    rig = GroupRig()
    described = rig.service.share.describe("g").value
    assert (described.error_code, described.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")
    assert described.group_id == "g"
    rig.join()
    pending = rig.service.share.describe("g")
    assert (pending.value.group_state, [each.member_id for each in pending.value.members]) == ("Stable", ["m"])
    rig.beat(heartbeat("m2", 0, "t"))
    pending = rig.service.share.describe("g")
    rig.ports.logs.lose_all()
    assert (pending.value.error_code, pending.value.error_message) == (ErrorCode.NOT_COORDINATOR, LOG_FAILED)
    assert pending.value.group_id == "g"
    assert rig.service.share.describe("h").value.error_code == ErrorCode.GROUP_ID_NOT_FOUND
