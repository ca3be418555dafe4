from __future__ import annotations

import pytest

from shareq.coordinator.group.classic.group import ClassicState
from shareq.coordinator.group.classic.turn import NEW_MEMBER_JOIN_TIMEOUT_MS, ClassicGroupSettings, loggable_reason
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.sense import check_group_record
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.group_metadata import GroupMetadataKey, GroupMetadataValue
from tests.unit.coordinator.group.classic.world import DELAY_MS, REBALANCE_MS, SESSION_MS, ClassicWorld
from tests.unit.coordinator.support import START_WALL_MS


def test_a_new_member_is_given_its_id_first(world: ClassicWorld) -> None:
    first = world.join()
    assert (first.error, first.response.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "client-1")
    assert world.group.pending_joins == {"client-1"}
    assert not world.group.members
    second = world.join("client-1")
    assert second.waits
    assert list(world.group.members) == ["client-1"]
    assert not world.group.pending_joins


@pytest.mark.parametrize("version", range(4))
def test_before_version_4_a_new_member_is_in_at_once(version: int, world: ClassicWorld) -> None:
    join = world.join(version=version)
    assert join.waits
    world.log.advance(DELAY_MS)
    assert (join.error, join.response.member_id, join.response.generation_id) == (ErrorCode.NONE, "client-1", 1)


@pytest.mark.parametrize("rebalance_ms", [0, -1, -500, -(2**31)])
def test_a_rebalance_timeout_that_has_run_out_is_written_so_that_it_can_be_loaded(
    rebalance_ms: int, world: ClassicWorld
) -> None:
    hasty, first = world.first_join(rebalance_ms=rebalance_ms)
    patient, second = world.first_join()
    while first.waits or second.waits:
        world.log.advance(DELAY_MS)
    leader = first.response.leader
    for member_id in sorted((hasty, patient), key=lambda member_id: member_id == leader):  # the leader's the last
        world.sync(member_id, None, {hasty: b"1", patient: b"2"} if member_id == leader else None, protocol=None)
    (record,) = world.log.last
    check_group_record(record)
    assert isinstance(record.value, GroupMetadataValue)
    timeouts = {member.member_id: member.rebalance_timeout for member in record.value.members}
    assert timeouts == {hasty: 0, patient: REBALANCE_MS}


def test_an_id_that_was_given_out_and_not_used_is_forgotten(world: ClassicWorld) -> None:
    world.join()
    world.log.advance(SESSION_MS - 1)
    assert world.group.pending_joins
    world.log.advance(1)
    assert not world.group.pending_joins
    assert world.join("client-1").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_new_group_is_written_down(world: ClassicWorld) -> None:
    world.join()
    value = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=START_WALL_MS, members=[]
    )
    assert world.log.last == (CoordinatorRecord(GroupMetadataKey("g"), value, 3),)


def test_a_refused_join_leaves_no_group(world: ClassicWorld) -> None:
    assert world.join(kind="").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.join(protocols={}).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.log.shard.group_kind("g") is None
    assert world.log.encoded == []


@pytest.mark.parametrize(
    ("session_ms", "error"),
    [
        (5_999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_the_session_timeout_has_bounds(session_ms: int, error: ErrorCode) -> None:
    assert ClassicWorld().join(session_ms=session_ms).error is error


def test_the_group_has_an_id() -> None:
    join = ClassicWorld().join("a", group_id="")
    assert (join.error, join.response.member_id) == (ErrorCode.INVALID_GROUP_ID, "a")


def test_a_member_of_a_group_that_is_not_there_is_unknown(world: ClassicWorld) -> None:
    join = world.join("a")
    assert (join.error, join.response.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "a")
    assert world.log.shard.group_kind("g") is None


def test_the_first_member_leads_and_gets_all_members(world: ClassicWorld) -> None:
    one, first = world.first_join(protocols={"range": b"1"})
    two, second = world.first_join(protocols={"range": b"2"})
    world.log.advance(2 * DELAY_MS)
    assert first.response.leader == second.response.leader == one
    assert [(m.member_id, m.metadata) for m in first.response.members] == [(one, b"1"), (two, b"2")]
    assert second.response.members == []
    assert (first.response.protocol_type, first.response.protocol_name) == ("consumer", "range")
    assert world.group.state is ClassicState.COMPLETING_REBALANCE


# -- the initial delay


def test_the_first_rebalance_waits_for_more_members(world: ClassicWorld) -> None:
    _, join = world.first_join()
    world.log.advance(DELAY_MS - 1)
    assert join.waits
    world.log.advance(1)
    assert join.error is ErrorCode.NONE


def test_every_new_member_prolongs_the_initial_delay(world: ClassicWorld) -> None:
    _, first = world.first_join()
    world.log.advance(DELAY_MS - 1)
    _, second = world.first_join()
    world.log.advance(1)
    assert first.waits
    world.log.advance(DELAY_MS)
    assert (first.error, second.error) == (ErrorCode.NONE, ErrorCode.NONE)


def test_the_initial_delay_ends_with_the_rebalance_timeout(world: ClassicWorld) -> None:
    _, first = world.first_join(rebalance_ms=7_000)
    for _ in range(3):
        world.log.advance(2_000)
        world.first_join(rebalance_ms=7_000)
    assert first.waits
    world.log.advance(1_000)
    assert first.error is ErrorCode.NONE
    assert len(first.response.members) == 4


def test_without_an_initial_delay_the_first_member_is_answered_at_once() -> None:
    world = ClassicWorld(ClassicGroupSettings(initial_rebalance_delay_ms=0))
    _, join = world.first_join()
    world.log.advance(0)
    assert join.error is ErrorCode.NONE


# -- rebalances


def test_a_new_member_makes_the_others_join_again(world: ClassicWorld) -> None:
    (one,) = world.stable()
    two, join = world.first_join()
    assert world.beat(one) is ErrorCode.REBALANCE_IN_PROGRESS
    again = world.join(one)
    assert (again.error, join.error) == (ErrorCode.NONE, ErrorCode.NONE)
    assert again.response.generation_id == join.response.generation_id == 2
    assert {m.member_id for m in again.response.members} == {one, two}


def test_who_does_not_join_before_the_rebalance_timeout_is_out(world: ClassicWorld) -> None:
    (one,) = world.stable()
    two, join = world.first_join()
    world.keep_alive(REBALANCE_MS - 1, one)
    assert join.waits
    world.log.advance(1)
    assert (join.error, join.response.leader) == (ErrorCode.NONE, two)
    assert world.beat(one) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_longest_rebalance_timeout_counts(world: ClassicWorld) -> None:
    (one,) = world.stable(rebalance_ms=20_000)
    _, join = world.first_join(rebalance_ms=30_000)
    world.keep_alive(29_999, one)
    assert join.waits
    world.log.advance(1)
    assert not join.waits


def test_an_id_that_is_out_holds_the_rebalance_up(world: ClassicWorld) -> None:
    (one,) = world.stable()
    _, join = world.first_join()
    pending = world.join().response.member_id
    again = world.join(one)
    assert (again.waits, join.waits) == (True, True)
    world.join(pending)
    assert (again.error, join.error) == (ErrorCode.NONE, ErrorCode.NONE)


def test_a_new_member_waits_five_minutes_at_most(world: ClassicWorld) -> None:
    (one,) = world.stable(rebalance_ms=400_000)
    _, join = world.first_join(rebalance_ms=400_000)
    world.keep_alive(NEW_MEMBER_JOIN_TIMEOUT_MS - 1, one)
    assert join.waits
    world.log.advance(1)
    assert (join.error, join.response.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


def test_the_leader_joins_again_to_have_an_assignment_made_again(world: ClassicWorld) -> None:
    leader, other = world.stable(2)
    join = world.join(leader)
    assert join.waits
    assert world.beat(other) is ErrorCode.REBALANCE_IN_PROGRESS


def test_another_member_that_joins_a_stable_group_again_gets_its_state(world: ClassicWorld) -> None:
    leader, other = world.stable(2)
    join = world.join(other)
    assert (join.error, join.response.generation_id, join.response.leader) == (ErrorCode.NONE, 1, leader)
    assert join.response.members == []
    assert world.group.state is ClassicState.STABLE


def test_changed_metadata_makes_a_rebalance(world: ClassicWorld) -> None:
    _, other = world.stable(2)
    assert world.join(other, protocols={"range": b"changed"}).waits
    assert world.group.state is ClassicState.PREPARING_REBALANCE


def test_a_repeated_join_while_the_assignment_is_awaited(world: ClassicWorld) -> None:
    """The lost answer is repeated, with the list of members for the leader only."""
    leader, _ = world.first_join()
    other, _ = world.first_join()
    world.log.advance(2 * DELAY_MS)
    again = world.join(leader)
    assert (again.error, again.response.generation_id, len(again.response.members)) == (ErrorCode.NONE, 1, 2)
    assert world.join(other).response.members == []
    changed = world.join(other, protocols={"range": b"changed"})
    assert changed.waits
    assert world.group.state is ClassicState.PREPARING_REBALANCE


def test_a_repeated_join_takes_the_place_of_the_one_that_waits(world: ClassicWorld) -> None:
    (one,) = world.stable(rebalance_ms=REBALANCE_MS)
    two, first = world.first_join()
    second = world.join(two)
    assert (first.error, second.waits) == (ErrorCode.REBALANCE_IN_PROGRESS, True)
    world.join(one)
    assert second.error is ErrorCode.NONE


# -- protocols


def test_a_member_without_a_common_protocol_is_refused(world: ClassicWorld) -> None:
    world.stable(protocols={"range": b"", "sticky": b""})
    assert world.join(protocols={"other": b""}).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.join(kind="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.join(protocols={"sticky": b""}).error is ErrorCode.MEMBER_ID_REQUIRED


def test_a_member_cannot_change_to_protocols_that_the_others_do_not_have(world: ClassicWorld) -> None:
    _, other = world.stable(2)
    join = world.join(other, protocols={"sticky": b""})
    assert (join.error, join.response.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, other)


def test_the_protocol_with_most_votes_among_the_common_ones(world: ClassicWorld) -> None:
    joins = [
        world.first_join(protocols=dict.fromkeys(names, b""))[1]
        for names in (["a", "b", "c"], ["d", "c", "b"], ["e", "c", "b"])
    ]
    world.log.advance(3 * DELAY_MS)
    assert [join.response.protocol_name for join in joins] == ["c", "c", "c"]


# -- the size of a group


def test_no_more_members_than_group_max_size() -> None:
    world = ClassicWorld(ClassicGroupSettings(max_size=2))
    one, _ = world.stable(2)
    refused = world.join()
    assert (refused.error, refused.response.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert refused.response.protocol_name is None
    assert world.join(one).waits


def test_in_a_rebalance_those_who_join_first_are_in(world: ClassicWorld) -> None:
    ids = world.stable(3)
    world.log.shard.classic.settings = ClassicGroupSettings(max_size=2)
    joins = {member_id: world.join(member_id) for member_id in ids}
    assert joins[ids[2]].error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert ids[2] not in world.group.members


def test_a_group_that_is_too_large_after_a_restart_rebalances(world: ClassicWorld) -> None:
    ids = world.stable(3)
    world.settings = type(world.settings)(classic=ClassicGroupSettings(max_size=2))
    world.log.reload()
    assert world.beat(ids[0]) is ErrorCode.REBALANCE_IN_PROGRESS


# -- details


def test_the_member_id_begins_with_the_client_id() -> None:
    assert ClassicWorld().join(client=Client("job-7", "/h")).response.member_id == "job-7-1"


def test_version_0_has_one_timeout(world: ClassicWorld) -> None:
    world.join(version=0, session_ms=9_000, rebalance_ms=-1)
    assert world.group.members["client-1"].rebalance_timeout_ms == 9_000


def test_a_generation_counts_up_over_an_empty_group(world: ClassicWorld) -> None:
    (one,) = world.stable()
    world.leave(one)
    assert (world.group.state, world.group.generation) == (ClassicState.EMPTY, 2)
    (two,) = world.stable()
    assert (world.group.generation, world.group.leader_id) == (3, two)


def test_a_reason_is_one_short_line_in_the_log() -> None:
    assert loggable_reason("rebalance\nERROR all is lost" + "!" * 1000).count("\n") == 0
    assert len(loggable_reason("!" * 1000)) == 257
    assert (loggable_reason(None), loggable_reason("")) == ("not provided", "not provided")
