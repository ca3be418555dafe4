"""LeaveGroup: of one member, of several, and by an administrator (KIP-345)."""

from __future__ import annotations

from shareq.coordinator.group.classic.group import ClassicState
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from tests.unit.coordinator.group.classic.world import DELAY_MS, ClassicWorld


def test_the_others_rebalance_when_a_member_leaves(world: ClassicWorld) -> None:
    leader, other = world.stable(2)
    assert world.leave(leader) == [ErrorCode.NONE]
    assert world.beat(other) is ErrorCode.REBALANCE_IN_PROGRESS
    join = world.join(other)
    assert (join.response.leader, join.response.generation_id) == (other, 2)


def test_the_last_member_leaves_an_empty_group_at_once(world: ClassicWorld) -> None:
    (one,) = world.stable()
    world.leave(one)
    assert world.group.state is ClassicState.EMPTY
    assert (world.written.generation, world.written.members) == (2, [])


def test_several_members_leave_with_one_rebalance(world: ClassicWorld) -> None:
    one, two, _ = world.stable(3)
    assert world.leave(one, "stranger", two) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert (len(world.group.members), world.group.generation) == (1, 1)


def test_an_administrator_removes_a_static_member_by_its_instance_id(world: ClassicWorld) -> None:
    world.stable(2, statics=["i", "j"])
    assert world.leave(MemberIdentity("", "j"), MemberIdentity("", "k"), MemberIdentity("", None)) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert list(world.group.static_members) == ["i"]


def test_strangers_change_nothing(world: ClassicWorld) -> None:
    world.stable()
    assert world.leave("stranger") == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert world.group.state is ClassicState.STABLE


def test_the_group_is_not_there_or_has_no_id(world: ClassicWorld) -> None:
    assert world.leave("a", "b", group_id="h") == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    response = world.log.run(
        world.log.shard.classic_protocol.leave(LeaveGroupRequest("", members=[MemberIdentity("a")]), 0)
    )
    assert (response.error_code, response.members) == (ErrorCode.INVALID_GROUP_ID, [])


def test_an_id_that_is_out_can_be_given_back(world: ClassicWorld) -> None:
    (one,) = world.stable()
    _, join = world.first_join()
    pending = world.join().response.member_id
    again = world.join(one)
    assert join.waits
    assert world.leave(pending) == [ErrorCode.NONE]
    assert (join.error, again.error) == (ErrorCode.NONE, ErrorCode.NONE)


def test_who_waits_and_leaves_is_answered(world: ClassicWorld) -> None:
    (one,) = world.stable()
    two, join = world.first_join()
    world.leave(two)
    assert (join.error, join.response.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert world.join(one).error is ErrorCode.NONE


def test_who_waits_for_an_assignment_and_leaves_is_answered(world: ClassicWorld) -> None:
    leader, other = (world.first_join()[0] for _ in range(2))
    world.log.advance(2 * DELAY_MS)
    waiting = world.sync(other)
    world.leave(other)
    assert waiting.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat(leader) is ErrorCode.REBALANCE_IN_PROGRESS


def test_leaving_does_not_shorten_the_initial_delay(world: ClassicWorld) -> None:
    one, first = world.first_join()
    two, second = world.first_join()
    world.leave(two)
    assert (first.waits, second.error) == (True, ErrorCode.UNKNOWN_MEMBER_ID)
    world.log.advance(2 * DELAY_MS)
    assert first.response.leader == one
