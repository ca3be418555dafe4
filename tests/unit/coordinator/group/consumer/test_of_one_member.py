"""One consumer group and its members: owners of partitions, the text of an answer, and target assignments."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.consumer import patterns
from shareq.coordinator.group.consumer.group import Activity, ConsumerGroup, ResolvedRegex
from shareq.coordinator.group.consumer.member import CurrentAssignment, MemberState
from shareq.coordinator.group.consumer.target.pattern_rounds import due
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_current_member_assignment import ConsumerGroupCurrentMemberAssignmentValue
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.unit.coordinator.group.consumer.world import GROUP, INTERVAL_MS, REBALANCE_MS, ConsumerWorld
from tests.unit.coordinator.group.migration.world import MixedWorld
from tests.unit.coordinator.support import START_WALL_MS, Topics, topic_id_of

T, U = topic_id_of("t"), topic_id_of("u")


# -- who has what


def test_partitions_that_two_members_claim_are_the_later_ones_until_it_goes() -> None:
    """Only a damaged log claims a partition for two."""
    group = ConsumerGroup("g")
    group.replay_current("a", CurrentAssignment(1, 0, assigned={T: {0: 1}}))
    group.replay_current("b", CurrentAssignment(1, 0, assigned={T: {0: 1}}))
    assert group.owner(T, 0) == "b"
    group.replay_current("b", None)
    assert group.owner(T, 0) is None
    group.replay_current("a", None)
    assert group.current == {}


def test_a_member_waits_for_what_others_still_have_of_its_target() -> None:
    group = ConsumerGroup("g")
    group.replay_target("a", {T: frozenset({0, 1}), U: frozenset({2})})
    assert not group.waits_for_others("a"), "all of it is free"
    group.replay_current("a", CurrentAssignment(1, 0, assigned={T: {0: 1, 1: 1}}))
    assert not group.waits_for_others("a"), "its own"
    group.replay_current("b", CurrentAssignment(1, 0, assigned={U: {1: 1}}))
    assert not group.waits_for_others("a"), "another partition"
    group.replay_current("b", CurrentAssignment(1, 0, MemberState.UNREVOKED_PARTITIONS, revoking={U: {2: 1}}))
    assert group.waits_for_others("a")


def test_a_partition_that_is_given_up_has_been_the_members_since_it_got_it() -> None:
    current = CurrentAssignment(5, 4, MemberState.UNREVOKED_PARTITIONS, assigned={T: {0: 2}}, revoking={T: {1: 3}})
    assert [current.assignment_epoch_of(T, number) for number in range(3)] == [2, 3, None]
    assert current.assignment_epoch_of(U, 0) is None


def test_the_place_that_a_successor_takes_is_at_epoch_0_before_it_moves(world: ConsumerWorld) -> None:
    world.join("m1", instance="i")
    world.join("other")
    world.settle("m1", "other")
    assert world.group.current_of("m1").previous_member_epoch > 0
    world.leave("m1", -2, "i")
    world.join("m2", instance="i")
    values = [row.value for row in world.log.last]
    first = next(value for value in values if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue))
    assert (first.member_epoch, first.previous_member_epoch) == (0, 0)


# -- answers


def test_a_description_has_topics_by_their_ids() -> None:
    by_id = sorted((topic_id_of(name), name) for name in ("foo", "bar", "baz", "qux"))
    sizes = {name: 4 - at for at, (_, name) in enumerate(by_id)}
    world = ConsumerWorld(Topics(**sizes))
    world.join("m1", tuple(sizes))
    (member,) = world.log.shard.consumer.describe(GROUP).response.members
    for assigned in (member.assignment, member.target_assignment):
        found = [(topic.topic_id, topic.topic_name, topic.partitions) for topic in assigned.topic_partitions]
        assert found == [(topic_id, name, list(range(sizes[name]))) for topic_id, name in by_id]


def test_a_group_that_cannot_be_described_is_named() -> None:
    answer = ConsumerWorld().log.shard.consumer.describe("other").response
    assert (answer.group_id, answer.error_code) == ("other", ErrorCode.GROUP_ID_NOT_FOUND)
    assert answer.error_message == "Group other not found."


def test_who_has_the_instance_id_is_named(world: ConsumerWorld) -> None:
    world.join("m1", instance="i")
    message = world.join("m2", instance="i").error_message
    assert message == "The instance id i is that of member m1, which has not left."


@pytest.mark.parametrize(("version", "error"), [(0, ErrorCode.NONE), (1, ErrorCode.INVALID_REQUEST)])
def test_from_version_1_on_members_bring_their_ids(version: int, error: ErrorCode) -> None:
    request = ConsumerGroupHeartbeatRequest(
        GROUP, "", 0, rebalance_timeout_ms=REBALANCE_MS, subscribed_topic_names=["foo"], topic_partitions=[]
    )
    assert ConsumerWorld().send(request, version).error_code == error


def test_what_is_wrong_with_a_pattern_is_reported_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    """RE2 does not write the error to standard error."""
    with pytest.raises(patterns.InvalidRegularExpression, match="missing"):
        patterns.compiled("(a")
    assert capfd.readouterr() == ("", "")


# -- patterns


def test_patterns_that_were_never_matched_go_first_and_the_senders_before_all() -> None:
    activity = Activity(topics_created=False, to_match=["b", "gone", "c"], matched_ms=1_000)
    wanted = ["e", "d", "c", "b", "a"]
    assert due(wanted, "d", ["b", "c"], activity, 60_000, 1_000) == ["d", "a", "e", "b", "c"]
    assert due(wanted, None, ["b", "c"], activity, 60_000, 1_000) == ["a", "d", "e", "b", "c"]


def test_what_a_pattern_matched_is_written_with_its_time() -> None:
    world = ConsumerWorld(Topics(foo=1, fan=1, bar=1))
    world.join("m1", None, regex="f.*")
    assert world.group.resolved == {"f.*": ResolvedRegex(frozenset({"foo", "fan"}), 0, START_WALL_MS)}


def test_a_member_of_the_classic_protocol_matches_no_patterns_for_others() -> None:
    """Other members may not see all topics that this one sees."""
    world = MixedWorld(Topics(foo=1))
    world.visible = lambda topic: topic != "fsecret"
    world.join("new", None, regex="f.*")
    world.topics.create("fsecret", 1)
    world.log.shard.topics_changed(("fsecret",))
    world.log.advance(10_001)
    world.rejoin()
    assert world.group.resolved["f.*"].topics == frozenset({"foo"})


# -- targets


def test_members_that_stay_keep_of_theirs_what_they_are_to_have() -> None:
    world = ConsumerWorld(Topics(foo=6))
    world.join("m")
    world.join("z")
    world.settle("m", "z")
    had = {member_id: world.has(member_id)["foo"] for member_id in ("m", "z")}
    world.join("a")
    world.settle("m", "z", "a")
    for member_id in ("m", "z"):
        assert len(world.has(member_id)["foo"]) == 2
        assert world.has(member_id)["foo"] < had[member_id]


def test_range_puts_a_static_member_first() -> None:
    world = ConsumerWorld(Topics(foo=2))
    world.join("a", assignor="range")
    world.log.advance(INTERVAL_MS)
    world.join("z", assignor="range", instance="i")
    world.settle("a", "z")
    assert (world.has("z"), world.has("a")) == ({"foo": {0}}, {"foo": {1}})


def test_while_partitions_are_given_up_a_subscription_that_ends_takes_its_own_away_at_once() -> None:
    world = ConsumerWorld(Topics(foo=4, bar=1))
    world.join("m1", ("foo", "bar"))
    world.join("m2", ("foo",))
    world.log.advance(INTERVAL_MS)
    owned = world.has("m1")
    world.beat("m1", owned=owned)
    assert world.group.current_of("m1").state is MemberState.UNREVOKED_PARTITIONS
    assert "bar" in world.has("m1")
    world.beat("m1", owned=owned, topics=("foo",))
    assert "bar" not in world.has("m1")
