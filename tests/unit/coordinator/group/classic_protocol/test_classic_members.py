"""Members of the classic protocol in a consumer group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from tests.unit.coordinator.group.consumer.world import INTERVAL_MS
from tests.unit.coordinator.group.migration.world import (
    CLASSIC_REBALANCE_MS,
    CLASSIC_SESSION_MS,
    MixedWorld,
    parts_of,
    subscription,
)
from tests.unit.coordinator.support import Topics

ALL = {"foo": {0, 1, 2, 3}}
AGAIN = ErrorCode.REBALANCE_IN_PROGRESS


@pytest.fixture
def world() -> MixedWorld:
    return MixedWorld()


def mixed(policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL) -> tuple[MixedWorld, str]:
    """Return a stable group with two partitions for each member: "new", and a classic one, whose id is returned."""
    world = MixedWorld(policy=policy)
    world.join("new")
    world.log.advance(INTERVAL_MS)
    member_id, _, _ = world.rejoin()
    owned = world.rest({member_id: {}}, "new")
    assert {len(owned[member_id]["foo"]), len(world.has("new")["foo"])} == {2}
    return world, member_id


def epoch_of(world: MixedWorld, member_id: str) -> int:
    return world.group.current_of(member_id).member_epoch


def test_a_new_member_is_given_an_id_first_and_joins_with_it(world: MixedWorld) -> None:
    world.join("new")
    token = world.ask_join()
    assert world.error(token) is ErrorCode.MEMBER_ID_REQUIRED
    assert set(world.group.members) == {"new"}
    given = world.joined(token).member_id
    joined = world.joined(world.ask_join(given))
    assert (joined.error_code, joined.member_id, joined.leader, joined.members) == (0, given, "", [])
    assert (joined.protocol_type, joined.protocol_name, joined.skip_assignment) == ("consumer", "range", False)
    assert joined.generation_id == epoch_of(world, given)


@pytest.mark.parametrize(("version", "instance"), [(3, None), (9, "i")])
def test_old_clients_and_static_members_join_in_one_round(
    version: int, instance: str | None, world: MixedWorld
) -> None:
    world.join("new")
    joined = world.joined(world.ask_join(version=version, instance=instance))
    assert joined.error_code == ErrorCode.NONE
    assert world.group.members[joined.member_id].instance_id == instance


def test_partitions_are_given_up_before_others_get_them(world: MixedWorld) -> None:
    """A cooperative member keeps what stays, and joins again after it has revoked the rest."""
    (one,) = world.stable_classic(ALL)
    world.join("new")
    assert world.beat_classic(one, 1) is AGAIN
    _, generation, kept = world.rejoin(one, owned=ALL)
    assert (generation, len(kept["foo"])) == (1, 2)
    assert world.beat_classic(one, 1) is AGAIN, "it has not said yet that it has given them up"
    world.beat("new", owned={})
    assert world.has("new") == {}
    _, generation, kept_still = world.rejoin(one, owned=kept)
    assert (generation, kept_still) == (2, kept)
    assert world.reported(world.beat("new")) == {"foo": {0, 1, 2, 3} - kept["foo"]}
    assert world.beat_classic(one, 2) is ErrorCode.NONE


def test_an_eager_member_has_given_everything_up_when_it_joins(world: MixedWorld) -> None:
    (one,) = world.stable_classic(ALL)
    world.join("new")
    _, generation, kept = world.rejoin(one)
    assert (generation, len(kept["foo"])) == (2, 2)
    assert len(world.reported(world.beat("new"))["foo"]) == 2  # type: ignore[index]


def test_a_member_hears_when_others_have_given_up_what_it_waits_for(world: MixedWorld) -> None:
    world.join("new")
    world.log.advance(INTERVAL_MS)
    member_id, generation, parts = world.rejoin()
    assert parts == {}
    assert world.beat_classic(member_id, generation) is ErrorCode.NONE, "it waits for new"
    assert world.log.shard.consumer.describe("g").response.group_state == "Reconciling"
    world.beat("new")
    assert world.beat_classic(member_id, generation) is ErrorCode.NONE
    world.beat("new", owned=world.has("new"))
    assert world.beat_classic(member_id, generation) is AGAIN
    assert len(world.rejoin(member_id)[2]["foo"]) == 2


def test_topics_and_rack_are_those_of_the_last_subscription() -> None:
    world = MixedWorld(Topics(foo=2, bar=1))
    world.join("new")
    protocols = {"range": subscription(("bar", "foo"), rack="r"), "other": b"?"}
    first = world.joined(world.ask_join(version=3, protocols=protocols))
    member = world.group.members[first.member_id]
    assert (member.subscribed_topic_names, member.rack_id) == (("bar", "foo"), "r")
    epoch = world.group.group_epoch
    world.log.advance(INTERVAL_MS)
    world.ask_join(first.member_id, ("bar",))
    member = world.group.members[first.member_id]
    assert (member.subscribed_topic_names, member.rack_id, world.group.group_epoch) == (("bar",), "r", epoch + 1)
    world.log.advance(INTERVAL_MS)
    world.ask_join(first.member_id, ("bar",), {"bar": {0}})
    assert world.group.group_epoch == epoch + 1, "what it owns is no news to others"


def test_a_topic_that_it_does_not_subscribe_to_any_more_goes_before_there_is_a_new_target() -> None:
    world = MixedWorld(Topics(foo=1, bar=1))
    world.join("new", ())
    world.log.advance(INTERVAL_MS)
    member_id, generation, owned = world.rejoin(topics=("bar", "foo"))
    assert owned == {"foo": {0}, "bar": {0}}
    _, again, kept = world.rejoin(member_id, ("foo",), owned)
    assert (again, kept) == (generation, {"foo": {0}})
    assert world.group.assignment_epoch == generation, "the last assignment is too recent"
    assert world.beat_classic(member_id, generation) is AGAIN


def test_the_first_of_its_protocols_is_the_one_it_goes_by(world: MixedWorld) -> None:
    world.join("new")
    protocols = {"sticky": subscription(version=1), "range": subscription()}
    joined = world.joined(world.ask_join(version=3, protocols=protocols))
    assert joined.protocol_name == "sticky"
    token = world.ask_sync(joined.member_id, joined.generation_id, protocol="range")
    assert world.error(token) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    synced = world.synced(world.ask_sync(joined.member_id, joined.generation_id, protocol="sticky"))
    assert (synced.protocol_type, synced.protocol_name, synced.assignment[:2]) == ("consumer", "sticky", b"\0\1")


def test_protocols_have_to_be_those_of_all_other_classic_members(world: MixedWorld) -> None:
    world.join("new")
    world.ask_join(version=3, protocols={"a": subscription(), "b": subscription()})
    assert world.error(world.ask_join(protocols={"c": subscription()})) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.error(world.ask_join(protocols={"b": subscription()})) is ErrorCode.MEMBER_ID_REQUIRED
    assert world.error(world.ask_join(protocols={})) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.error(world.ask_join(kind="connect")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.error(world.ask_join("m", protocols={"b": b"?"})) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_nobody_joins_with_the_classic_protocol_when_migration_is_disabled() -> None:
    world = MixedWorld(policy=MigrationPolicy.DISABLED)
    world.join("new")
    assert world.error(world.ask_join()) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("policy", [MigrationPolicy.UPGRADE, MigrationPolicy.DOWNGRADE])
def test_with_any_other_policy_they_join(policy: MigrationPolicy) -> None:
    world = MixedWorld(policy=policy)
    world.join("new")
    assert world.error(world.ask_join(version=3)) is ErrorCode.NONE


def test_a_full_group_takes_no_more() -> None:
    world = MixedWorld(consumer_max=1)
    world.join("new")
    assert world.error(world.ask_join()) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_session_timeouts_have_the_bounds_of_classic_groups(world: MixedWorld) -> None:
    world.join("new")
    assert world.error(world.ask_join(session_ms=1)) is ErrorCode.INVALID_SESSION_TIMEOUT


def test_who_is_no_member_of_the_classic_protocol_is_unknown() -> None:
    world, member_id = mixed()
    epoch = epoch_of(world, "new")
    assert world.beat_classic("new", epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.error(world.ask_sync("new", epoch)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat_classic("?", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.error(world.ask_sync("?", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat(member_id, epoch_of(world, member_id)).error_code == ErrorCode.NONE, (
        "it speaks KIP-848's from now"
    )
    assert world.group.members[member_id].classic is None


def test_generations_are_member_epochs() -> None:
    world, member_id = mixed()
    epoch = epoch_of(world, member_id)
    assert world.beat_classic(member_id, epoch) is ErrorCode.NONE
    for other in (epoch - 1, epoch + 1):
        assert world.beat_classic(member_id, other) is ErrorCode.ILLEGAL_GENERATION
        assert world.error(world.ask_sync(member_id, other)) is ErrorCode.ILLEGAL_GENERATION
    assert world.error(world.ask_sync(member_id, epoch, kind="x")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    synced = world.synced(world.ask_sync(member_id, epoch, kind=None, protocol=None))
    assert (synced.protocol_type, parts_of(synced.assignment)) == (None, world.has(member_id))


def test_a_member_that_is_behind_cannot_have_its_assignment() -> None:
    world, member_id = mixed()
    epoch = epoch_of(world, member_id)
    world.join("newer")
    assert world.error(world.ask_sync(member_id, epoch)) is AGAIN


def test_a_static_member_comes_back_without_its_id() -> None:
    world, _ = mixed()
    old, _, _ = world.rejoin(instance="i")
    again, _, _ = world.rejoin(instance="i")
    assert again != old
    assert world.group.static_members == {"i": again}
    assert old not in world.group.members
    assert world.beat_classic(old, 3, instance="i") is ErrorCode.FENCED_INSTANCE_ID
    assert world.error(world.ask_join(old, instance="i")) is ErrorCode.FENCED_INSTANCE_ID
    assert world.error(world.ask_join(old, instance="j")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.error(world.ask_sync(old, 3, instance="i")) is ErrorCode.FENCED_INSTANCE_ID
    assert world.error(world.ask_join(again, instance="i")) is ErrorCode.NONE


def test_a_member_of_kip_848_does_not_wait_for_its_classic_self_and_the_other_way_round() -> None:
    world, _ = mixed()
    old, _, _ = world.rejoin(instance="i")
    assert world.join("successor", instance="i").error_code == ErrorCode.NONE
    assert world.group.static_members == {"i": "successor"}
    again, _, _ = world.rejoin(instance="i")
    assert world.group.static_members == {"i": again}
    assert {"successor", old}.isdisjoint(world.group.members)


# -- time


def test_a_silent_member_is_out_after_its_session_timeout() -> None:
    world, member_id = mixed()
    world.log.advance(CLASSIC_SESSION_MS - 1)
    world.beat_classic(member_id, epoch_of(world, member_id))
    world.log.advance(CLASSIC_SESSION_MS - 1)
    assert member_id in world.group.members
    world.log.advance(1)
    assert set(world.group.members) == {"new"}


def alive(world: MixedWorld, member_id: str, ms: int) -> None:
    for _ in range(ms // 1_000):
        if world.kind != "consumer" or member_id not in world.group.members:
            return
        world.log.advance(1_000)
        world.beat_classic(member_id, epoch_of(world, member_id))
        world.beat("new", owned=world.has("new"))


def test_a_member_has_its_rebalance_timeout_to_join_again() -> None:
    world, member_id = mixed()
    world.join("newer")
    alive(world, member_id, CLASSIC_REBALANCE_MS - 1_000)
    assert member_id in world.group.members
    alive(world, member_id, 3_000)
    assert member_id not in world.group.members


def test_a_member_that_has_joined_again_has_done_so_in_time() -> None:
    world, member_id = mixed()
    world.join("newer")
    alive(world, member_id, CLASSIC_REBALANCE_MS - 1_000)
    owned = world.rest({member_id: world.has(member_id)}, "new")
    alive(world, member_id, CLASSIC_REBALANCE_MS)
    assert member_id in world.group.members
    assert owned[member_id]


def test_a_member_has_its_rebalance_timeout_to_ask_for_its_assignment() -> None:
    world, member_id = mixed()
    joined = world.joined(world.ask_join(member_id, owned=world.has(member_id)))
    assert joined.error_code == ErrorCode.NONE
    alive(world, member_id, CLASSIC_REBALANCE_MS - 1_000)
    assert member_id in world.group.members
    alive(world, member_id, 3_000)
    assert member_id not in world.group.members


def test_a_member_that_speaks_the_other_protocol_since_is_not_waited_for() -> None:
    world, member_id = mixed()
    world.ask_join(member_id, owned=world.has(member_id))
    assert world.join(member_id).error_code == ErrorCode.NONE
    for _ in range(CLASSIC_REBALANCE_MS // 1_000 + 2):
        world.log.advance(1_000)
        world.beat(member_id, owned=world.has(member_id))
    assert member_id in world.group.members


def test_a_restart_gives_everybody_a_whole_session_and_keeps_who_speaks_what() -> None:
    world, member_id = mixed()
    world.log.advance(CLASSIC_SESSION_MS - 1)
    before = world.group.members[member_id]
    world.log.reload()
    assert world.group.members[member_id] == before
    world.log.advance(CLASSIC_SESSION_MS - 1)
    assert member_id in world.group.members
    world.log.advance(1)
    assert member_id not in world.group.members


def test_a_restart_does_not_forget_that_a_member_has_to_join_again(world: MixedWorld) -> None:
    (one,) = world.stable_classic(ALL)
    world.join("new")
    world.rejoin(one, owned=ALL)
    world.log.reload()
    alive(world, one, CLASSIC_REBALANCE_MS - 1_000)
    assert one in world.group.members
    alive(world, one, 3_000)
    assert one not in world.group.members


# -- LeaveGroup


def test_members_leave_by_any_of_their_names() -> None:
    world, member_id = mixed()
    static, _, _ = world.rejoin(instance="i")
    other, _, _ = world.rejoin(instance="j")
    epoch = world.group.group_epoch
    errors = world.leave_classic(
        "?",
        MemberIdentity("", "?"),
        MemberIdentity("x", "i"),
        MemberIdentity(other, "j"),
        MemberIdentity("", "i"),
        member_id,
    )
    assert errors == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]
    assert set(world.group.members) == {"new"}
    assert world.group.group_epoch == epoch + 1, "one for all of them"
    assert static not in world.group.members


def test_who_does_not_leave_changes_nothing() -> None:
    world, _ = mixed()
    epoch = world.group.group_epoch
    world.leave_classic("?")
    assert (world.group.group_epoch, world.log.last) == (epoch, ())
    request = LeaveGroupRequest("", members=[MemberIdentity("?")])
    response = world.log.run(world.log.shard.classic_protocol.leave(request, world.time.now_ms))
    assert response.error_code == ErrorCode.INVALID_GROUP_ID


def test_members_that_may_not_be_a_classic_group_share_what_the_last_other_had() -> None:
    """The remaining members have to join again, because none notices that partitions are free."""
    world, member_id = mixed(MigrationPolicy.UPGRADE)
    world.leave("new")
    assert world.kind == "consumer"
    world.log.advance(INTERVAL_MS)
    assert world.beat_classic(member_id, epoch_of(world, member_id)) is AGAIN
    assert world.rejoin(member_id, owned=world.has(member_id))[2] == ALL
    assert world.beat_classic(member_id, epoch_of(world, member_id)) is ErrorCode.NONE
