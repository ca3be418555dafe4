"""A classic group becomes a consumer group when a member with KIP-848's protocol joins it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.group.consumer.world import GROUP, INTERVAL_MS
from tests.unit.coordinator.group.migration.world import (
    CLASSIC_REBALANCE_MS,
    CLASSIC_SESSION_MS,
    DELAY_MS,
    MixedWorld,
    assignment,
    subscription,
)
from tests.unit.coordinator.support import Topics


def snapshot(world: MixedWorld) -> object:
    group = world.group
    rows = [(m, group.members[m], group.current_of(m), group.target_of(m)) for m in sorted(group.members)]
    return (group.group_epoch, group.assignment_epoch, group.metadata_hash, rows, group.static_members, group.resolved)


def test_members_of_a_stable_group_keep_their_ids_partitions_and_generation(world: MixedWorld) -> None:
    one, two = world.stable_classic({"foo": {0, 1}}, {"foo": {2, 3}})
    answer = world.join("new")
    assert world.reported(answer) == {}
    assert world.kind == "consumer"
    assert (world.has(one), world.has(two)) == ({"foo": {0, 1}}, {"foo": {2, 3}})
    member, current = world.group.members[one], world.group.current_of(one)
    assert (current.member_epoch, current.previous_member_epoch, world.group.group_epoch) == (1, 1, 2)
    assert member.classic is not None
    assert (member.classic.session_timeout_ms, member.classic.protocols) == (
        CLASSIC_SESSION_MS,
        (("range", subscription()),),
    )
    assert (member.client_id, member.rebalance_timeout_ms, member.subscribed_topic_names) == (
        "old",
        CLASSIC_REBALANCE_MS,
        ("foo",),
    )
    types = world.log.value_types()
    assert types[0] == "-GroupMetadataKey"
    assert types[1:3] == ["ConsumerGroupMemberMetadataValue"] * 2
    before = snapshot(world)
    world.log.reload()
    assert (world.kind, snapshot(world)) == ("consumer", before)


def test_everybody_comes_to_rest_with_an_even_share(world: MixedWorld) -> None:
    one, two = world.stable_classic({"foo": {0, 1}}, {"foo": {2, 3}})
    world.join("new")
    world.join("newer")
    owned = world.rest({one: {"foo": {0, 1}}, two: {"foo": {2, 3}}}, "new", "newer")
    shares = [owned[one], owned[two], world.has("new"), world.has("newer")]
    assert all(len(share["foo"]) == 1 for share in shares), shares
    assert set().union(*(share["foo"] for share in shares)) == {0, 1, 2, 3}
    assert world.group.state_name == "Stable"
    assert owned[one]["foo"] <= {0, 1}, "what it keeps was its own before"


def test_a_group_without_members_is_converted_whatever_the_policy() -> None:
    world = MixedWorld(policy=MigrationPolicy.DISABLED)
    (one,) = world.stable_classic({"foo": {0, 1, 2, 3}})
    world.leave_classic(one)
    assert world.classic.is_empty
    assert world.reported(world.join("new")) == {"foo": {0, 1, 2, 3}}
    world.log.reload()
    assert world.kind == "consumer"


def preparing_first(world: MixedWorld) -> list[int]:
    first = world.ask_join()
    return [world.ask_join(world.joined(first).member_id)]


def preparing(world: MixedWorld) -> list[int]:
    one, _ = world.stable_classic({"foo": {0, 1}}, {"foo": {2, 3}})
    return [world.ask_join(one, topics=("foo", "bar"))]


def completing(world: MixedWorld) -> list[int]:
    tokens = preparing_first(world)
    world.log.advance(DELAY_MS)
    joined = world.joined(tokens[0])
    other = world.ask_join(instance="i")
    again = world.ask_join(joined.member_id)
    assert world.joined(other).error_code == ErrorCode.NONE
    follower = next(t for t in (other, again) if world.joined(t).member_id != world.joined(t).leader)
    return [world.ask_sync(world.joined(follower).member_id, 2, instance="i" if follower == other else None)]


@pytest.mark.parametrize("state", [preparing_first, preparing, completing])
def test_a_group_that_rebalances_is_converted_and_its_members_join_again(
    state: Callable[[MixedWorld], list[int]],
) -> None:
    """The group is converted even without a generation, which Apache Kafka 4.3.1 fails to do."""
    world = MixedWorld(Topics(foo=4, bar=1))
    waiting = state(world)
    name = world.classic.state_name
    assert name != "Stable"
    assert not any(token in world.log.answers for token in waiting)
    assert world.join("new").error_code == ErrorCode.NONE
    assert world.kind == "consumer"
    assert [world.error(token) for token in waiting] == [ErrorCode.REBALANCE_IN_PROGRESS] * len(waiting)
    members = {m for m in world.group.members if m != "new"}
    shares = {m: world.has(m) for m in members}
    for member_id in members:
        instance = world.group.members[member_id].instance_id
        shares[member_id] = world.rejoin(member_id, owned=shares[member_id], instance=instance)[2]
    world.log.reload()
    assert members < set(world.group.members)


def test_nothing_of_the_classic_groups_timers_is_left() -> None:
    """Such timers are for a rebalance in progress, and for members that have only been given an id."""
    world = MixedWorld(Topics(foo=4, bar=1))
    preparing(world)
    world.ask_join()
    world.join("new")
    world.leave("new")
    assert (world.kind, world.classic.state_name) == ("classic", "PreparingRebalance")
    generation = world.classic.generation
    for _ in range(20):
        world.log.advance(CLASSIC_SESSION_MS // 10)
        for member_id in list(world.classic.members):
            world.beat_classic(member_id, generation)
    assert (world.classic.state_name, world.classic.generation) == ("PreparingRebalance", generation)


def test_members_that_are_silent_after_it_are_out_after_their_own_session_timeout(world: MixedWorld) -> None:
    (one,) = world.stable_classic({"foo": {0, 1, 2, 3}})
    world.join("new")
    world.log.advance(CLASSIC_SESSION_MS - 1)
    assert one in world.group.members
    world.log.advance(1)
    assert set(world.group.members) == {"new"}
    assert world.kind == "consumer"


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_the_policy_may_be_against_it(policy: MigrationPolicy) -> None:
    world = MixedWorld(policy=policy)
    (one,) = world.stable_classic({"foo": {0, 1, 2, 3}})
    assert world.join("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.kind == "classic"
    assert world.beat_classic(one, 1) is ErrorCode.NONE


def test_only_a_member_that_joins_converts_a_group(world: MixedWorld) -> None:
    world.stable_classic({"foo": {0, 1, 2, 3}})
    assert world.beat("new", 1, group_id=GROUP).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.leave("new") is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.kind == "classic"


@pytest.mark.parametrize(
    ("kind", "metadata", "share"),
    [
        ("connect", subscription(), assignment({"foo": {0}})),
        ("consumer", b"", assignment({"foo": {0}})),
        ("consumer", b"\xff\xff" + subscription()[2:], assignment({"foo": {0}})),
        ("consumer", subscription(), assignment({"foo": {0}}, user_data=b"x")),
        ("consumer", subscription(), b"\0\1\0"),
    ],
    ids=["no consumers", "no subscription", "negative version", "data of an assignor", "no assignment"],
)
def test_a_group_whose_members_cannot_be_understood_stays_as_it_is(
    kind: str, metadata: bytes, share: bytes, world: MixedWorld
) -> None:
    first = world.ask_join(kind=kind, protocols={"range": metadata})
    member_id = world.joined(first).member_id
    second = world.ask_join(member_id, kind=kind, protocols={"range": metadata})
    world.log.advance(DELAY_MS)
    world.ask_sync(member_id, world.joined(second).generation_id, {member_id: share}, kind=kind)
    again = world.ask_join(member_id, kind=kind, protocols={"range": metadata + b"?"})
    assert world.join("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.kind == "classic"
    assert world.error(again) is ErrorCode.NONE, "nobody was sent away"


def test_a_group_with_more_members_than_a_consumer_group_may_have_stays_as_it_is() -> None:
    world = MixedWorld(consumer_max=1)
    world.stable_classic({"foo": {0, 1}}, {"foo": {2, 3}})
    assert world.join("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    world = MixedWorld(consumer_max=1)
    (one,) = world.stable_classic({"foo": {0, 1, 2, 3}})
    waiting = world.ask_join(instance="i")
    assert world.join("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND, "two already"
    assert waiting not in world.log.answers
    world.leave_classic(world.classic.static_members["i"])
    assert world.join("new").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.kind == "classic"
    assert one in world.classic.members


def test_a_static_member_takes_its_own_place_with_the_other_protocol(world: MixedWorld) -> None:
    """A classic member cannot announce that it will return, so it is replaced at once."""
    old, other = world.stable_classic({"foo": {0, 1}}, {"foo": {2, 3}}, statics=("i",))
    assert world.reported(world.join("new", instance="i")) == {"foo": {0, 1}}
    assert set(world.group.members) == {"new", other}
    assert world.group.members["new"].classic is None
    assert world.beat_classic(old, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat_classic(old, 1, instance="i") is ErrorCode.FENCED_INSTANCE_ID
    before = snapshot(world)
    world.log.reload()
    assert snapshot(world) == before
    world.log.advance(CLASSIC_SESSION_MS - 1)
    world.beat_classic(other, 1)
    world.log.advance(CLASSIC_SESSION_MS - 1)
    assert set(world.group.members) == {"new", other}


def test_a_static_member_that_was_giving_partitions_up_leaves_them_to_its_successor_alone(world: MixedWorld) -> None:
    (old,) = world.stable_classic({"foo": {0, 1, 2, 3}}, statics=("i",))
    world.join("new")
    world.rejoin(old, owned={"foo": {0, 1, 2, 3}}, instance="i")
    assert world.has(old) == {"foo": {0, 1}}, "two are to be given up"
    world.reported(world.join("successor", instance="i"))
    world.settle("new", "successor")
    assert set(world.has("new")["foo"]) | set(world.has("successor")["foo"]) == {0, 1, 2, 3}
    assert not set(world.has("new")["foo"]) & set(world.has("successor")["foo"])


def test_a_successor_has_at_once_what_it_was_to_give_up_and_is_to_have_again() -> None:
    world = MixedWorld(Topics(foo=4, bar=1))
    (old,) = world.stable_classic({"foo": {0, 1, 2, 3}}, statics=("i",))
    world.join("new")
    world.join("other", ("bar",))
    world.log.advance(INTERVAL_MS)
    world.rejoin(old, owned={"foo": {0, 1, 2, 3}}, instance="i")
    assert world.has(old) == {"foo": {0, 1}}
    world.leave("new")
    world.log.advance(INTERVAL_MS)
    world.beat("other", owned=world.has("other"))
    assert world.reported(world.join("successor", instance="i")) == {"foo": {0, 1, 2, 3}}


def test_what_a_member_had_that_has_left_is_not_forgotten_when_a_static_member_takes_its_own_place(
    world: MixedWorld,
) -> None:
    """A new epoch begins although the subscription, which alone would not cause one, is unchanged."""
    _, other = world.stable_classic({"foo": {0, 1}}, {"foo": {2, 3}}, statics=("i",))
    world.leave_classic(other)
    assert world.classic.state_name == "PreparingRebalance"
    world.join("new", instance="i")
    world.settle("new")
    assert world.has("new") == {"foo": {0, 1, 2, 3}}


def test_partitions_that_a_topic_has_got_since_are_assigned(world: MixedWorld) -> None:
    world.stable_classic({"foo": {0, 1, 2, 3}}, statics=("i",))
    world.topics.grow("foo", 5)
    world.join("new", instance="i")
    assert world.has("new") == {"foo": {0, 1, 2, 3, 4}}


def test_a_partition_that_a_leader_gave_to_two_is_the_firsts(world: MixedWorld) -> None:
    one, two = world.stable_classic({"foo": {0, 1}}, {"foo": {1, 2, 3}})
    world.join("new")
    first, second = world.has(one)["foo"], world.has(two)["foo"]
    assert first | second == {0, 1, 2, 3}
    assert not first & second


def test_topics_that_are_gone_are_nobodys() -> None:
    world = MixedWorld(Topics(foo=1, bar=2))
    (one,) = world.stable_classic({"foo": {0}, "bar": {0, 1}})
    world.topics.delete("bar")
    world.join("new")
    assert world.has(one) == {"foo": {0}}


def test_members_whose_assignment_has_not_come_have_none(world: MixedWorld) -> None:
    tokens = preparing_first(world)
    world.log.advance(DELAY_MS)
    member_id = world.joined(tokens[0]).member_id
    assert world.classic.state_name == "CompletingRebalance"
    assert world.reported(world.join("new")) is not None
    assert world.has(member_id) == {}
    assert world.rejoin(member_id)[2]["foo"] < {0, 1, 2, 3}
