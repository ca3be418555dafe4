"""A consumer group becomes a classic group when its last member with KIP-848's protocol leaves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.group_metadata import GroupMetadataValue
from shareq.protocol.generated.leave_group import MemberIdentity
from tests.unit.coordinator.group.consumer.world import INTERVAL_MS, SESSION_MS
from tests.unit.coordinator.group.migration.world import CLASSIC_REBALANCE_MS, MixedWorld, assignment, parts_of

AGAIN = ErrorCode.REBALANCE_IN_PROGRESS


def mixed(
    policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL, *, instance: str | None = None, classic_max: int = 100
) -> tuple[MixedWorld, str, str]:
    """Return a stable group of three: "new", with this instance id, and two members of the classic protocol."""
    world = MixedWorld(policy=policy, classic_max=classic_max)
    world.join("new", instance=instance)
    world.log.advance(INTERVAL_MS)
    one, _, _ = world.rejoin()
    world.log.advance(INTERVAL_MS)
    two, _, _ = world.rejoin()
    world.rest({one: world.has(one), two: world.has(two)}, "new")
    assert world.group.state_name == "Stable"
    return world, one, two


def leaves(world: MixedWorld) -> None:
    assert world.leave("new") is ErrorCode.NONE


def is_removed(world: MixedWorld) -> None:
    assert world.leave_classic("new") == [ErrorCode.NONE]


def is_silent(world: MixedWorld) -> None:
    for _ in range(SESSION_MS // INTERVAL_MS + 1):
        world.log.advance(INTERVAL_MS)
        for member_id in [] if world.kind == "classic" else [m for m in world.group.members if m != "new"]:
            world.beat_classic(member_id, world.group.current_of(member_id).member_epoch)


@pytest.mark.parametrize("goes", [leaves, is_removed, is_silent])
def test_the_members_that_are_left_rebalance_as_a_classic_group(goes: Callable[[MixedWorld], None]) -> None:
    world, one, two = mixed()
    had = {m: world.has(m) for m in (one, two)}
    generation = world.group.group_epoch
    goes(world)
    group = world.classic
    assert (world.kind, group.state_name, group.generation) == ("classic", "PreparingRebalance", generation)
    assert set(group.members) == {one, two}
    assert (group.protocol_name, group.protocol_type, group.subscribed_topics) == (
        "range",
        "consumer",
        frozenset({"foo"}),
    )
    assert {m: parts_of(group.members[m].assignment) for m in (one, two)} == had
    assert group.leader_id in group.members
    assert [world.beat_classic(m, generation) for m in (one, two)] == [AGAIN, AGAIN]
    tokens = [world.ask_join(member_id) for member_id in (one, two)]
    joins = [world.joined(token) for token in tokens]
    assert {join.generation_id for join in joins} == {generation + 1}
    leader = joins[0].leader
    shares = {one: assignment({"foo": {0, 1}}), two: assignment({"foo": {2, 3}})}
    follower = two if leader == one else one
    waiting = world.ask_sync(follower, generation + 1)
    world.ask_sync(leader, generation + 1, shares)
    assert world.synced(waiting).assignment == shares[follower]
    world.log.reload()
    assert (world.kind, world.classic.state_name, world.classic.generation) == ("classic", "Stable", generation + 1)


def test_what_it_writes_takes_the_consumer_group_away_and_leaves_the_classic_one() -> None:
    world, one, two = mixed()
    generation = world.group.group_epoch
    world.leave("new")
    types = world.log.value_types()
    assert types[-1] == "GroupMetadataValue"
    assert set(types[:-1]) == {
        "-ConsumerGroupCurrentMemberAssignmentKey",
        "-ConsumerGroupTargetAssignmentMemberKey",
        "-ConsumerGroupTargetAssignmentMetadataKey",
        "-ConsumerGroupMemberMetadataKey",
        "-ConsumerGroupPartitionMetadataKey",
        "-ConsumerGroupMetadataKey",
    }
    value = world.log.last[-1].value
    assert isinstance(value, GroupMetadataValue)
    assert {m.member_id for m in value.members} == {one, two}
    world.log.reload()
    assert world.log.shard.consumer.group("g") is None
    assert (world.classic.state_name, world.classic.generation) == ("Stable", generation + 1)


def test_after_a_crash_in_the_rebalance_everybody_joins_again() -> None:
    """Without that the partitions of the member that left would have no owner."""
    world, one, two = mixed()
    generation = world.group.group_epoch
    world.leave("new")
    world.log.reload()
    assert [world.beat_classic(m, generation) for m in (one, two)] == [ErrorCode.ILLEGAL_GENERATION] * 2
    tokens = [world.ask_join(member_id) for member_id in (one, two)]
    for token in tokens:
        assert world.joined(token).generation_id == generation + 2


def test_members_that_do_not_join_again_are_out() -> None:
    world, one, two = mixed()
    generation = world.group.group_epoch
    world.leave("new")
    token = world.ask_join(one)
    for _ in range(CLASSIC_REBALANCE_MS // INTERVAL_MS):
        world.log.advance(INTERVAL_MS)
        world.beat_classic(two, generation)
    assert world.joined(token).leader == one
    assert set(world.classic.members) == {one}


def test_the_consumer_groups_timers_are_gone() -> None:
    """A deadline for rejoining must not continue when it becomes a consumer group again."""
    world, one, two = mixed()
    world.join("newer")
    assert world.beat_classic(one, world.group.current_of(one).member_epoch) is AGAIN
    world.leave_classic("new", "newer")
    tokens = [world.ask_join(member_id) for member_id in (one, two)]
    leader, generation = world.joined(tokens[0]).leader, world.joined(tokens[0]).generation_id
    shares = {one: assignment({"foo": {0, 1}}), two: assignment({"foo": {2, 3}})}
    for member_id in sorted((one, two), key=lambda member_id: member_id == leader):
        world.ask_sync(member_id, generation, shares if member_id == leader else None)

    def live(ms: int) -> None:
        for _ in range(ms // INTERVAL_MS):
            world.log.advance(INTERVAL_MS)
            for member_id in (one, two):
                world.beat_classic(member_id, generation)

    live(CLASSIC_REBALANCE_MS - 2 * INTERVAL_MS)
    world.join("newest")
    live(5 * INTERVAL_MS)
    assert set(world.group.members) == {one, two, "newest"}


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.UPGRADE])
def test_the_policy_may_be_against_it(policy: MigrationPolicy) -> None:
    world, one, two = mixed() if policy is MigrationPolicy.DISABLED else mixed(policy)
    if policy is MigrationPolicy.DISABLED:  # it was a different one when they joined
        world.log.shard.consumer.conversions.policy = policy
    world.leave("new")
    assert world.kind == "consumer"
    assert set(world.group.members) == {one, two}


def test_more_members_than_a_classic_group_may_have_stay_a_consumer_group() -> None:
    world, one, two = mixed(classic_max=1)
    world.leave("new")
    assert (world.kind, set(world.group.members)) == ("consumer", {one, two})


def test_while_a_member_speaks_kip_848_it_stays_a_consumer_group() -> None:
    world, one, two = mixed()
    world.join("newer")
    world.leave("new")
    assert (world.kind, set(world.group.members)) == ("consumer", {one, two, "newer"})


def test_a_group_without_members_stays_a_consumer_group_until_one_joins() -> None:
    world, one, two = mixed()
    world.leave_classic(one, two, "new")
    assert (world.kind, world.group.is_empty) == ("consumer", True)


# -- a static member that comes back with the classic protocol


def test_the_last_of_them_comes_back_with_the_classic_protocol_and_nothing_moves() -> None:
    world, one, two = mixed(instance="i")
    had, epoch = {m: world.has(m) for m in (one, two, "new")}, world.group.group_epoch
    joined = world.joined(world.ask_join(instance="i"))
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, epoch, "range")
    assert (world.kind, world.classic.state_name, world.classic.generation) == ("classic", "Stable", epoch)
    assert set(world.classic.members) == {one, two, joined.member_id}
    synced = world.synced(world.ask_sync(joined.member_id, epoch, instance="i"))
    assert parts_of(synced.assignment) == had["new"]
    assert [world.beat_classic(m, epoch) for m in (one, two)] == [ErrorCode.NONE] * 2
    world.log.reload()
    assert (world.classic.state_name, world.classic.generation) == ("Stable", epoch)
    assert {m: parts_of(world.classic.members[m].assignment) for m in (one, two)} == {m: had[m] for m in (one, two)}
    assert world.beat_classic(joined.member_id, epoch, instance="i") is ErrorCode.NONE


def test_no_timer_of_an_earlier_rebalance_is_left_when_nothing_moves(world: MixedWorld) -> None:
    old, other = world.stable_classic({"foo": {0, 1}}, {"foo": {2, 3}}, statics=("i",))
    world.ask_join(old, topics=("foo", "bar"), instance="i")
    assert world.classic.state_name == "PreparingRebalance"
    world.join("new", instance="i")
    world.log.advance(INTERVAL_MS)
    world.rest({other: world.has(other)}, "new", rounds=3)
    assert world.group.state_name == "Stable"
    joined = world.joined(world.ask_join(instance="i"))
    assert (world.kind, world.classic.state_name) == ("classic", "Stable")
    generation = world.classic.generation
    for _ in range(CLASSIC_REBALANCE_MS // INTERVAL_MS + 5):
        world.log.advance(INTERVAL_MS)
        assert world.beat_classic(joined.member_id, generation, instance="i") is ErrorCode.NONE
        assert world.beat_classic(other, generation) is ErrorCode.NONE


def test_with_another_subscription_they_rebalance() -> None:
    world, one, _ = mixed(instance="i")
    epoch = world.group.group_epoch
    joined = world.joined(world.ask_join(instance="i", topics=("foo", "bar")))
    assert joined.error_code == ErrorCode.NONE
    assert (world.kind, world.classic.state_name) == ("classic", "PreparingRebalance")
    assert world.error(world.ask_sync(joined.member_id, joined.generation_id, instance="i")) is not ErrorCode.NONE
    assert world.beat_classic(one, epoch) is AGAIN


def test_while_partitions_are_on_their_way_they_rebalance(world: MixedWorld) -> None:
    """A member would otherwise get a partition that another one has not yet revoked."""
    (one,) = world.stable_classic({"foo": {0, 1, 2, 3}})
    world.join("new", instance="i")
    assert world.has(one) == {"foo": {0, 1, 2, 3}}
    world.ask_join(instance="i")
    assert (world.kind, world.classic.state_name) == ("classic", "PreparingRebalance")


def test_its_id_alone_does_not_replace_a_static_member() -> None:
    world, _, _ = mixed(instance="i")
    assert world.error(world.ask_join("other", instance="i")) is ErrorCode.FENCED_INSTANCE_ID
    joined = world.joined(world.ask_join("new", instance="i"))
    assert joined.error_code == ErrorCode.NONE, "the same member with the other protocol"
    assert (world.kind, "new" in world.classic.members) == ("classic", True)
    world.log.reload()
    assert "new" in world.classic.members


def test_a_static_member_that_is_away_is_not_waited_for() -> None:
    world, one, two = mixed(instance="i")
    world.leave("new", -2, "i")
    assert world.kind == "consumer"
    joined = world.joined(world.ask_join(instance="i"))
    assert set(world.classic.members) == {one, two, joined.member_id}


def test_an_administrator_removes_the_last_of_them_by_its_instance_id() -> None:
    world, one, two = mixed(instance="i")
    assert world.leave_classic(MemberIdentity("", "i")) == [ErrorCode.NONE]
    assert (world.kind, set(world.classic.members)) == ("classic", {one, two})


def test_there_and_back_again() -> None:
    world, one, two = mixed()
    world.leave("new")
    tokens = [world.ask_join(member_id) for member_id in (one, two)]
    leader, generation = world.joined(tokens[0]).leader, world.joined(tokens[0]).generation_id
    shares = {one: assignment({"foo": {0, 1}}), two: assignment({"foo": {2, 3}})}
    world.ask_sync(leader, generation, shares)
    world.join("new")
    assert (world.kind, world.has(one), world.has(two)) == ("consumer", {"foo": {0, 1}}, {"foo": {2, 3}})
    world.log.reload()
    assert (world.kind, set(world.group.members)) == ("consumer", {"new", one, two})
