"""ConsumerGroupHeartbeat, rule by rule (KIP-848, as in Apache Kafka 4.3.1)."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.consumer.member import MemberState
from shareq.coordinator.group.consumer_groups import ConsumerGroupLimits
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.unit.coordinator.group.consumer.world import GROUP, INTERVAL_MS, SESSION_MS, ConsumerWorld
from tests.unit.coordinator.support import Topics


def test_the_first_member_has_everything_with_its_first_answer(world: ConsumerWorld) -> None:
    answer = world.join("m1")
    assert world.reported(answer) == {"foo": {0, 1, 2, 3}}
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("m1", 2, 5_000)
    assert world.log.value_types() == [
        "ConsumerGroupMemberMetadataValue",
        "ConsumerGroupMetadataValue",
        "ConsumerGroupTargetAssignmentMemberValue",
        "ConsumerGroupTargetAssignmentMetadataValue",
        "ConsumerGroupCurrentMemberAssignmentValue",
    ]
    assert (world.group.group_epoch, world.group.assignment_epoch, world.group.state_name) == (2, 2, "Stable")


def test_a_heartbeat_of_a_member_at_its_target_writes_nothing_and_returns_no_assignment(world: ConsumerWorld) -> None:
    world.join("m1")
    answer = world.beat("m1", owned={"foo": {0, 1, 2, 3}})
    assert world.reported(answer) is None
    assert world.log.last == ()


def test_a_full_request_gets_the_assignment_though_it_has_not_changed(world: ConsumerWorld) -> None:
    """A member sends a full request after an answer that it did not receive."""
    world.join("m1")
    request = ConsumerGroupHeartbeatRequest(
        GROUP, "m1", 2, rebalance_timeout_ms=60_000, subscribed_topic_names=["foo"], topic_partitions=[]
    )
    assert world.reported(world.send(request)) == {"foo": {0, 1, 2, 3}}


def test_a_second_member_waits_until_the_first_has_given_up_its_part(world: ConsumerWorld) -> None:
    world.join("m1")
    world.log.advance(INTERVAL_MS)
    second = world.join("m2")
    assert (second.member_epoch, world.reported(second)) == (3, {})
    assert world.group.current_of("m2").state is MemberState.UNRELEASED_PARTITIONS

    asked = world.beat("m1")
    assert (asked.member_epoch, world.reported(asked)) == (2, {"foo": {0, 1}})
    assert world.group.current_of("m1").state is MemberState.UNREVOKED_PARTITIONS
    assert world.reported(world.beat("m2", owned={})) is None
    assert world.reported(world.beat("m1", owned={"foo": {0, 1, 2}})) is None, "it still owns one of them"
    assert world.group.state_name == "Reconciling"

    done = world.beat("m1", owned={"foo": {0, 1}})
    assert done.member_epoch == 3
    assert world.reported(world.beat("m2", owned={})) == {"foo": {2, 3}}
    assert world.group.state_name == "Stable"


def test_a_target_is_not_computed_more_often_than_the_assignment_interval_allows(world: ConsumerWorld) -> None:
    world.join("m1")
    joined = world.join("m2")
    assert (joined.member_epoch, world.group.group_epoch, world.group.assignment_epoch) == (2, 3, 2)
    assert world.group.state_name == "Assigning"
    world.log.advance(INTERVAL_MS)
    world.beat("m2", owned={})
    assert world.group.assignment_epoch == 3


def test_without_an_assignment_interval_every_epoch_gets_its_target_at_once(world: ConsumerWorld) -> None:
    world.settings.consumer = world.settings.consumer._replace(assignment_interval_ms=0)
    world.join("m1")
    world.join("m2")
    assert world.group.assignment_epoch == 3


def test_a_member_that_does_not_give_up_in_time_is_fenced(world: ConsumerWorld) -> None:
    """Its rebalance timeout counts from the answer that asked for the revocation; heartbeats do not extend it."""
    world.join("m1")
    world.log.advance(INTERVAL_MS)
    world.join("m2")
    world.beat("m1", owned={"foo": {0, 1, 2, 3}})
    for _ in range(5):
        world.log.advance(11_999)
        world.beat("m1", owned={"foo": {0, 1, 2, 3}})
        world.beat("m2", owned={})
    assert "m1" in world.group.members
    world.log.advance(5)
    assert set(world.group.members) == {"m2"}
    assert world.reported(world.beat("m2", owned={})) == {"foo": {0, 1, 2, 3}}


def test_a_member_that_gives_up_in_time_is_not_fenced(world: ConsumerWorld) -> None:
    world.join("m1")
    world.log.advance(INTERVAL_MS)
    world.join("m2")
    world.beat("m1", owned={"foo": {0, 1, 2, 3}})
    world.settle("m1", "m2", rounds=90)
    assert set(world.group.members) == {"m1", "m2"}


def test_a_silent_member_goes_after_its_session(world: ConsumerWorld) -> None:
    world.join("m1")
    world.log.advance(SESSION_MS - 1)
    assert set(world.group.members) == {"m1"}
    world.log.advance(1)
    assert (world.group.members, world.group.state_name) == ({}, "Empty")
    assert world.group.group_epoch == 3
    assert world.beat("m1", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_session_timeout_is_that_of_the_group(world: ConsumerWorld) -> None:
    world.settings.consumer = world.settings.consumer._replace(session_timeout_ms=5_000, heartbeat_interval_ms=1_234)
    assert world.join("m1").heartbeat_interval_ms == 1_234
    world.log.advance(5_000)
    assert world.group.members == {}


def test_a_member_that_leaves_hands_over_at_once(world: ConsumerWorld) -> None:
    world.join("m1")
    world.log.advance(INTERVAL_MS)
    world.join("m2")
    assert world.leave("m1") is ErrorCode.NONE
    world.log.advance(INTERVAL_MS)
    assert world.reported(world.beat("m2", owned={})) == {"foo": {0, 1, 2, 3}}
    assert world.leave("m1") is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.group.assignment_timestamp_ms > 0
    assert world.leave("m2") is ErrorCode.NONE
    assert world.group.assignment_epoch == world.group.group_epoch, "from Apache Kafka 4.4 on"
    assert world.group.assignment_timestamp_ms == 0


@pytest.mark.parametrize(
    ("epoch", "owned", "error"),
    [
        (2, {"foo": {0, 1, 2, 3}}, ErrorCode.NONE),
        (0, {}, ErrorCode.NONE),
        (1, {}, ErrorCode.FENCED_MEMBER_EPOCH),
        (3, {}, ErrorCode.FENCED_MEMBER_EPOCH),
    ],
)
def test_member_epochs(epoch: int, owned: dict[str, set[int]], error: ErrorCode, world: ConsumerWorld) -> None:
    world.join("m1")
    answer = world.join("m1") if epoch == 0 else world.beat("m1", epoch, owned)
    assert answer.error_code == error


@pytest.mark.parametrize(
    ("owned", "error"),
    [
        ({}, ErrorCode.NONE),
        ({"foo": {0, 1}}, ErrorCode.NONE),
        ({"foo": {0, 1, 2}}, ErrorCode.FENCED_MEMBER_EPOCH),
        (None, ErrorCode.FENCED_MEMBER_EPOCH),
    ],
)
def test_the_epoch_before_is_accepted_of_a_member_that_owns_nothing_else(
    owned: dict[str, set[int]] | None, error: ErrorCode, world: ConsumerWorld
) -> None:
    """The answer with the new epoch may have been lost."""
    world.join("m1")
    world.log.advance(INTERVAL_MS)
    world.join("m2")
    world.beat("m1", owned={"foo": {0, 1}})
    assert world.group.current_of("m1").member_epoch == 3
    assert world.beat("m1", 2, owned).error_code == error


def test_a_group_that_is_not_there_is_not_found_but_by_those_who_join(world: ConsumerWorld) -> None:
    request = ConsumerGroupHeartbeatRequest(GROUP, "m1", 1)
    assert world.send(request).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.leave("m1") is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.log.shard.list_groups().response == []


def test_a_full_group_takes_nobody_but_its_own() -> None:
    world = ConsumerWorld(limits=ConsumerGroupLimits(max_size=1))
    world.join("m1")
    assert world.join("m2").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.join("m1").error_code == ErrorCode.NONE


REQUESTS = {
    "no member id": (ConsumerGroupHeartbeatRequest(GROUP, "", 0), 1),
    "no group id": (ConsumerGroupHeartbeatRequest("", "m", 0), 1),
    "an empty instance id": (ConsumerGroupHeartbeatRequest(GROUP, "m", 1, ""), 1),
    "an empty rack": (ConsumerGroupHeartbeatRequest(GROUP, "m", 1, None, " "), 1),
    "joins without a timeout": (
        ConsumerGroupHeartbeatRequest(GROUP, "m", 0, subscribed_topic_names=["a"], topic_partitions=[]),
        1,
    ),
    "joins without partitions": (
        ConsumerGroupHeartbeatRequest(GROUP, "m", 0, rebalance_timeout_ms=1, subscribed_topic_names=["a"]),
        1,
    ),
    "joins without a subscription": (
        ConsumerGroupHeartbeatRequest(GROUP, "m", 0, rebalance_timeout_ms=1, topic_partitions=[]),
        1,
    ),
    "a static epoch without an instance": (ConsumerGroupHeartbeatRequest(GROUP, "m", -2), 1),
    "no such epoch": (ConsumerGroupHeartbeatRequest(GROUP, "m", -3), 1),
    "version 0 leaves without an id": (ConsumerGroupHeartbeatRequest(GROUP, "", -1), 0),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_what_no_group_accepts(name: str) -> None:
    request, version = REQUESTS[name]
    assert ConsumerWorld().send(request, version).error_code == ErrorCode.INVALID_REQUEST


def test_only_assignors_of_the_broker_may_be_asked_for() -> None:
    world = ConsumerWorld(limits=ConsumerGroupLimits(assignors=("uniform",)))
    answer = world.join("m1", assignor="range")
    assert answer.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert "uniform" in (answer.error_message or "")


def test_the_assignor_that_most_members_ask_for_is_used() -> None:
    world = ConsumerWorld(Topics(foo=3, bar=3))
    for name in ("m1", "m2", "m3"):
        world.join(name, ("foo", "bar"), assignor="range" if name != "m1" else "uniform")
    world.settle("m1", "m2", "m3")
    assert [world.has(name) for name in ("m1", "m2", "m3")] == [{"foo": {n}, "bar": {n}} for n in range(3)]
    assert world.log.shard.consumer.describe(GROUP).response.assignor_name == "range"


def test_a_member_may_subscribe_to_nothing(world: ConsumerWorld) -> None:
    answer = world.join("m1", ())
    assert (answer.member_epoch, world.reported(answer)) == (1, {})
    assert world.group.state_name == "Stable"


def test_what_is_not_subscribed_to_any_more_goes_before_there_is_a_new_target() -> None:
    world = ConsumerWorld(Topics(foo=2, bar=2))
    world.join("m1", ("foo", "bar"))
    answer = world.beat("m1", owned={"foo": {0, 1}, "bar": {0, 1}}, topics=("bar",))
    assert world.group.assignment_epoch == 2, "the interval is not over"
    assert world.reported(answer) == {"bar": {0, 1}}
    assert world.group.current_of("m1").state is MemberState.UNREVOKED_PARTITIONS


def test_a_topic_that_grows_or_comes_is_assigned_with_the_next_heartbeat() -> None:
    world = ConsumerWorld(Topics(foo=1))
    world.join("m1", ("foo", "bar"))
    assert world.has("m1") == {"foo": {0}}
    world.topics.create("bar", 2)
    world.log.shard.topics_changed(("bar",))
    world.log.advance(INTERVAL_MS)
    assert world.reported(world.beat("m1", owned={"foo": {0}})) == {"foo": {0}, "bar": {0, 1}}
    world.topics.grow("foo", 3)
    world.log.shard.topics_changed(("foo",))
    world.log.advance(INTERVAL_MS)
    assert world.reported(world.beat("m1", owned=world.has("m1"))) == {"foo": {0, 1, 2}, "bar": {0, 1}}


def test_a_topic_that_is_deleted_is_given_up() -> None:
    world = ConsumerWorld(Topics(foo=1, bar=1))
    world.join("m1", ("foo", "bar"))
    bar = world.topics.delete("bar")
    world.log.run(world.log.shard.topics_deleted({bar.topic_id: "bar"}))
    world.log.advance(INTERVAL_MS)
    assert world.reported(world.beat("m1")) == {"foo": {0}}


def test_a_restart_changes_nothing_but_timers(world: ConsumerWorld) -> None:
    world.join("m1")
    world.log.advance(INTERVAL_MS)
    world.join("m2", instance="i", rack="r")
    world.beat("m1")
    before = world.group
    world.log.reload()
    after = world.group
    for name in ("members", "current", "targets", "group_epoch", "assignment_epoch", "metadata_hash", "static_members"):
        assert getattr(before, name) == getattr(after, name), name
    world.log.advance(SESSION_MS)
    assert world.group.members == {}, "a session each, from the restart on"
