"""Static members (KIP-345): a restarted member keeps its assignment."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.classic.group import ClassicState
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.leave_group import MemberIdentity
from tests.unit.coordinator.group.classic.world import DELAY_MS, REBALANCE_MS, SESSION_MS, ClassicWorld


def test_a_static_member_is_in_without_an_id(world: ClassicWorld) -> None:
    join = world.join(instance="i")
    world.log.advance(DELAY_MS)
    assert (join.error, join.response.member_id) == (ErrorCode.NONE, "i-1")
    assert join.response.members[0].group_instance_id == "i"


def test_a_static_member_that_comes_back_keeps_its_assignment(world: ClassicWorld) -> None:
    leader, other = world.stable(2, statics=["i", "j"])
    assert world.group.static_members == {"i": leader, "j": other}
    back = world.join(instance="j")
    assert (back.error, back.response.generation_id) == (ErrorCode.NONE, 1)
    new = back.response.member_id
    assert new != other
    assert back.response.leader == leader
    assert world.group.state is ClassicState.STABLE
    assert [m.member_id for m in world.written.members] == [leader, new]
    assert world.sync(new, instance="j").response.assignment == b"1"
    assert world.beat(leader, instance="i") is ErrorCode.NONE


def test_the_old_id_is_fenced(world: ClassicWorld) -> None:
    _, other = world.stable(2, statics=["i", "j"])
    world.join(instance="j")
    assert world.beat(other, instance="j") is ErrorCode.FENCED_INSTANCE_ID
    assert world.sync(other, instance="j").error is ErrorCode.FENCED_INSTANCE_ID
    assert world.leave(MemberIdentity(other, "j")) == [ErrorCode.FENCED_INSTANCE_ID]
    join = world.join(other, instance="j")
    assert (join.error, join.response.protocol_name) == (ErrorCode.FENCED_INSTANCE_ID, None)
    assert world.beat(other) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_unknown_instance_id(world: ClassicWorld) -> None:
    (one,) = world.stable()
    assert world.beat(one, instance="i") is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.join("x", instance="i").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_comes_back_need_not_assign(world: ClassicWorld) -> None:
    (leader,) = world.stable(statics=["i"])
    back = world.join(instance="i", version=9).response
    assert (back.leader, back.skip_assignment, len(back.members)) == (back.member_id, True, 1)
    assert back.member_id != leader


def test_before_version_9_a_leader_that_comes_back_believes_that_another_leads(world: ClassicWorld) -> None:
    (leader,) = world.stable(statics=["i"])
    back = world.join(instance="i", version=8).response
    assert (back.leader, back.skip_assignment, back.members) == (leader, False, [])


def test_a_follower_that_comes_back_does_not_get_the_others(world: ClassicWorld) -> None:
    world.stable(2, statics=["i", "j"])
    back = world.join(instance="j", version=9).response
    assert (back.skip_assignment, back.members) == (False, [])


def test_other_metadata_without_another_protocol_makes_no_rebalance(world: ClassicWorld) -> None:
    world.stable(2, statics=["i", "j"])
    back = world.join(instance="j", protocols={"range": b"changed"})
    assert back.error is ErrorCode.NONE
    assert world.written.members[1].subscription == b"changed"


def test_another_protocol_makes_a_rebalance(world: ClassicWorld) -> None:
    world.stable(1, statics=["i"], protocols={"a": b"", "b": b""})
    back = world.join(instance="i", protocols={"b": b"", "a": b""})
    assert (back.error, back.response.generation_id, back.response.protocol_name) == (ErrorCode.NONE, 2, "b")


def test_who_waits_under_the_old_id_is_fenced(world: ClassicWorld) -> None:
    first = world.join(instance="i")
    second = world.join(instance="i")
    assert (first.error, first.response.member_id) == (ErrorCode.FENCED_INSTANCE_ID, "i-1")
    world.log.advance(DELAY_MS)
    assert (second.error, second.response.leader) == (ErrorCode.NONE, "i-2")


def test_a_replacement_while_the_assignment_is_awaited_makes_a_rebalance(world: ClassicWorld) -> None:
    """The leader may be assigning to the old id."""
    joins = [world.join(instance=each) for each in ("i", "j")]
    world.log.advance(2 * DELAY_MS)
    old = joins[1].response.member_id
    waiting = world.sync(old, instance="j")
    back = world.join(instance="j")
    assert (waiting.error, back.waits) == (ErrorCode.FENCED_INSTANCE_ID, True)
    assert world.beat(joins[0].response.member_id) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_static_member_stays_over_a_rebalance_it_sleeps_through(world: ClassicWorld) -> None:
    (sleeper,) = world.stable(statics=["i"], session_ms=200_000)
    _, join = world.first_join()
    world.log.advance(REBALANCE_MS)
    assert (join.error, len(join.response.members)) == (ErrorCode.NONE, 2)
    assert join.response.leader == join.response.member_id
    assert sleeper in world.group.members


def test_without_anybody_to_lead_the_join_phase_begins_again(world: ClassicWorld) -> None:
    sleeper, other = world.stable(2, statics=["i"], session_ms=200_000)
    if other in world.group.static_members.values():
        sleeper, other = other, sleeper
    world.leave(other)
    world.log.advance(REBALANCE_MS)
    assert (world.group.state_name, world.group.generation) == ("PreparingRebalance", 1)
    world.log.advance(200_000)
    assert world.group.state_name == "Empty"
    assert sleeper not in world.group.members


@pytest.mark.parametrize("rebalance_ms", [0, -1])
def test_timeouts_of_nothing_do_not_keep_the_coordinator_busy(rebalance_ms: int, world: ClassicWorld) -> None:
    _, other = world.stable(2, statics=["i"], session_ms=30_000)
    world.group.members[world.group.static_members["i"]].rebalance_timeout_ms = rebalance_ms
    other = next(each for each in world.group.members if each not in world.group.static_members.values())
    world.leave(other)
    runs = 0
    deadline = world.log.shard.next_deadline_ms()
    while deadline is not None and deadline <= world.time.now_ms + 10_000 and runs < 1_000:
        world.time.now_ms = max(deadline, world.time.now_ms)
        world.log.run(world.log.shard.on_deadline(world.time.now_ms))
        deadline, runs = world.log.shard.next_deadline_ms(), runs + 1
    assert runs < 1_000


def test_the_session_of_a_static_member_that_came_back(world: ClassicWorld) -> None:
    world.stable(statics=["i"])
    new = world.join(instance="i").response.member_id
    world.log.advance(SESSION_MS - 1)
    assert world.beat(new, instance="i") is ErrorCode.NONE
    world.log.advance(SESSION_MS)
    assert world.group.state is ClassicState.EMPTY
    assert world.group.static_members == {}


def test_the_join_phase_that_begins_again_has_an_end_too(world: ClassicWorld) -> None:
    world.stable(2, statics=["i"], session_ms=600_000)
    sleeper = world.group.static_members["i"]
    world.leave(*(each for each in world.group.members if each != sleeper))
    world.log.advance(REBALANCE_MS)
    new, join = world.first_join()
    world.log.advance(REBALANCE_MS - 1)
    assert join.waits
    world.log.advance(1)
    assert (join.error, join.response.leader) == (ErrorCode.NONE, new)
    assert set(world.group.members) == {sleeper, new}
