"""ShareGroupHeartbeat: joining, assignment, epochs, leaving (KIP-932, group coordinator)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shareq.coordinator.group.groups import Client, Group, GroupKind
from shareq.coordinator.group.shard import GroupCoordinatorSettings
from shareq.coordinator.group.share.groups import ShareGroupLimits
from shareq.coordinator.group.share.initialization import StateInitialization
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.group.share.world import GROUP, GroupWorld
from tests.unit.coordinator.support import START_WALL_MS, Topics, topic_id_of

# -- admission


@pytest.mark.parametrize(
    ("group_id", "member_id", "epoch", "rack", "topics"),
    [
        (" ", "m", 0, None, ["t"]),
        ("g", "", 0, None, ["t"]),
        ("g", "  ", 0, None, ["t"]),
        ("g", "m" * 37, 0, None, ["t"]),
        ("g", "m", 0, " ", ["t"]),
        ("g", "m", 0, None, None),
        ("g", "m", 0, None, []),
        ("g", "m", -2, None, ["t"]),
    ],
)
def test_what_no_group_could_accept(
    group_id: str, member_id: str, epoch: int, rack: str | None, topics: list[str] | None, world: GroupWorld
) -> None:
    answer = world.beat(member_id, epoch, topics, rack=rack, group_id=group_id)
    assert answer.error is ErrorCode.INVALID_REQUEST
    assert answer.response.error_message
    assert world.log.encoded == []


def test_a_member_id_of_36_characters_is_accepted() -> None:
    """The client makes the id, usually the text of a uuid."""
    assert GroupWorld().beat("m" * 36, 0, ["t"]).error is ErrorCode.NONE


def test_only_a_joining_member_creates_a_group(world: GroupWorld) -> None:
    for epoch in (1, -1):
        assert world.beat("m", epoch).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.shard.group_kind(GROUP) is None


class ConsumerGroup:
    kind = GroupKind.CONSUMER
    group_id = GROUP
    protocol_type = "consumer"
    state_name = "Empty"
    members: Mapping[str, object] = {}


def test_a_group_of_another_kind_is_not_found(world: GroupWorld) -> None:
    """All types of group share one namespace."""
    other: Group = ConsumerGroup()
    world.shard._groups[GROUP] = other
    for epoch in (0, 1, -1):
        answer = world.beat("m", epoch, ["t"])
        assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
        assert answer.response.error_message == "Group g is not a share group."


def test_a_full_group_takes_no_new_member() -> None:
    world = GroupWorld(coordinator=GroupCoordinatorSettings(ShareGroupLimits(max_size=1)))
    epoch = world.join("a").epoch
    assert world.beat("b", 0, ["t"]).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.beat("b", 7).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.beat("a", epoch).error is ErrorCode.NONE
    assert world.beat("a", 0, ["t"]).error is ErrorCode.NONE


def test_group_share_max_groups_limits_new_groups_only() -> None:
    world = GroupWorld(coordinator=GroupCoordinatorSettings(ShareGroupLimits(max_groups=1)))
    world.join("a")
    answer = world.beat("a", 0, ["t"], group_id="h")
    assert answer.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert "group.share.max.groups" in (answer.response.error_message or "")
    assert world.beat("b", 0, ["t"]).error is ErrorCode.NONE


# -- the first assignment


def test_the_first_heartbeat_of_a_fresh_group_brings_the_partitions(world: GroupWorld) -> None:
    """4.3.1 answers with an empty assignment, and fills it at a later heartbeat."""
    answer = world.beat("a", 0, ["t"])
    assert (answer.error, answer.epoch, answer.assignment) == (ErrorCode.NONE, 2, {"t": [0, 1]})
    assert answer.response.member_id == "a"
    assert answer.response.heartbeat_interval_ms == 5000
    assert (world.group.group_epoch, world.group.assignment_epoch, world.group.state_name) == (2, 2, "Stable")
    assert world.group.assignment_timestamp_ms == START_WALL_MS


def test_partitions_that_are_added_begin_at_their_first_record(world: GroupWorld) -> None:
    """Added partitions do so whatever share.auto.offset.reset says, as in Apache Kafka 4.4.0.

    A new topic starts where that property says, even if its first initialisation failed.
    """
    plan = world.begin("a", 0, ["t"])
    assert {each.start_offset for each in plan.initialize} == {-1}
    world.finish(plan, initialized=False)
    world.topics.grow("t", 3)
    plan = world.begin("a", 0, ["t"])
    asked = {each.key.partition: (each.start_offset, each.again) for each in plan.initialize}
    assert asked == {0: (-1, True), 1: (-1, True), 2: (0, False)}
    world.finish(plan)
    world.topics.grow("t", 4)
    plan = world.begin("a", world.group.current_of("a").member_epoch)
    assert [(each.key.partition, each.start_offset) for each in plan.initialize] == [(3, 0)]


def test_the_last_member_leaves_its_assignment_as_it_should_be(world: GroupWorld) -> None:
    """ShareGroupTargetAssignmentMetadata has no timestamp, as in Apache Kafka from 4.4 on."""
    for member in ("a", "b"):
        world.join(member)
    world.beat("a", -1)
    assert "ShareGroupTargetAssignmentMetadataValue" not in world.kinds
    world.beat("b", -1)
    assert world.kinds[-2:] == ["ShareGroupMetadataValue", "ShareGroupTargetAssignmentMetadataValue"]
    assert world.group.assignment_epoch == world.group.group_epoch
    assert world.group.assignment_timestamp_ms == 0


def test_the_records_of_a_first_heartbeat_in_their_order(world: GroupWorld) -> None:
    """The initialisation is recorded in two stages: planned before it, done after it."""
    plan = world.begin("a", 0, ["t"])
    assert world.kinds == [
        "ShareGroupMemberMetadataValue",
        "ShareGroupMetadataValue",
        "ShareGroupStatePartitionMetadataValue",
    ]
    assert plan.response is None
    assert not plan.waits
    topic_id = topic_id_of("t")
    assert plan.initialize == tuple(
        StateInitialization(SharePartitionKey(GROUP, topic_id, partition), 2, -1) for partition in (0, 1)
    )
    assert world.group.initializing.keys() == {topic_id}
    assert not world.group.initialized
    world.kinds.clear()
    world.finish(plan)
    assert world.kinds == [
        "ShareGroupStatePartitionMetadataValue",
        "ShareGroupTargetAssignmentMemberValue",
        "ShareGroupTargetAssignmentMetadataValue",
        "ShareGroupCurrentMemberAssignmentValue",
    ]
    assert not world.group.initializing
    assert world.group.initialized[topic_id].partitions == {0, 1}


def test_the_state_epoch_is_one_the_group_has_by_then(world: GroupWorld) -> None:
    """The state epoch is the group epoch (KIP-932), and only once that is in the log."""
    plan = world.begin("a", 0, ["t"])
    assert {initialization.state_epoch for initialization in plan.initialize} == {world.group.group_epoch} == {2}


def test_a_topic_that_does_not_exist_yet_is_assigned_when_it_does() -> None:
    world = GroupWorld(Topics())
    answer = world.join("a")
    assert (answer.epoch, answer.assignment) == (2, {})
    assert world.beat("a", 2).assignment is None
    world.topics.create("t", 1)
    world.shard.topics_changed(["t"])
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment) == (3, {"t": [0]})


def test_new_partitions_are_assigned_by_the_heartbeat_that_finds_them(world: GroupWorld) -> None:
    """New partitions come with one new epoch, whatever the assignment interval."""
    world.join("a")
    world.topics.grow("t", 3)
    world.shard.topics_changed(["t"])
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment) == (3, {"t": [0, 1, 2]})
    assert [i.key.partition for i in world.initialized] == [0, 1, 2]
    assert world.initialized[-1].state_epoch == 3


def test_new_partitions_are_found_without_a_notification(world: GroupWorld) -> None:
    world.join("a")
    world.topics.grow("t", 3)
    assert world.beat("a", 2).assignment == {"t": [0, 1, 2]}


def test_the_second_member_gets_its_share_at_once(world: GroupWorld) -> None:
    """share.assignment.interval.ms does not apply to a joining member."""
    world.join("a")
    assert (world.join("b").assignment, world.group.group_epoch) == ({"t": [1]}, 3)
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment) == (3, {"t": [0]})
    assert len(world.initialized) == 2


# -- when initialisation is not immediate, or fails


def test_a_failed_initialisation_is_tried_again_by_the_next_heartbeat(world: GroupWorld) -> None:
    world.initializes = False
    answer = world.join("a")
    assert (answer.epoch, answer.assignment) == (2, {})
    assert world.group.initializing  # some may have state: recorded until this succeeds or the group is deleted
    world.initializes = True
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment) == (3, {"t": [0, 1]})


def test_an_initialisation_that_takes_longer_is_assigned_by_a_later_heartbeat(world: GroupWorld) -> None:
    """The first answer assigns nothing, and a new epoch follows the initialisation, as in Apache Kafka 4.3.1."""
    world.time.now_ms = 10
    plan = world.begin("a", 0, ["t"])
    answer = world.finish(plan, None)
    assert (answer.epoch, answer.assignment) == (2, {})
    assert world.group.initializing
    world.time.now_ms = 5000
    assert world.beat("a", 2).assignment is None
    world.log.run(world.shard.share.finish_initialization(plan, True))
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment) == (3, {"t": [0, 1]})


def test_the_later_heartbeat_obeys_the_assignment_interval(world: GroupWorld) -> None:
    plan = world.begin("a", 0, ["t"])
    world.finish(plan, None)
    world.log.run(world.shard.share.finish_initialization(plan, True))
    world.time.now_ms = 999
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment, world.group.group_epoch) == (2, None, 3)
    world.time.now_ms = 1000
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment) == (3, {"t": [0, 1]})


def test_an_outcome_that_never_came_is_tried_again_after_the_retry_interval() -> None:
    world = GroupWorld(coordinator=GroupCoordinatorSettings(ShareGroupLimits(initialize_retry_interval_ms=30_000)))
    world.finish(world.begin("a", 0, ["t"]), None)
    for now, tried in ((29_999, False), (30_000, True)):
        world.time.now_ms = now
        plan = world.begin("a", 2)
        assert bool(plan.initialize) is tried
    assert plan.initialize[0].state_epoch == 2


def test_after_a_restart_initialising_topics_are_retried_at_the_first_heartbeat(world: GroupWorld) -> None:
    """The crash was between the two records of an initialisation."""
    world.begin("a", 0, ["t"])
    world.log.reload()
    answer = world.beat("a", 0, ["t"])
    assert (answer.epoch, answer.assignment) == (2, {"t": [0, 1]})


def test_a_crash_between_the_phases_leaves_no_member_without_target(world: GroupWorld) -> None:
    world.join("a")
    world.topics.create("u", 1)
    world.begin("b", 0, ["u"])
    world.log.reload()
    assert world.beat("b", 0, ["u"]).assignment == {"u": [0]}


# -- heartbeats of others between the phases


def test_members_that_join_together_all_get_their_partitions_in_the_first_answer() -> None:
    world = GroupWorld(Topics(t=3))
    plans = [world.begin(member, 0, ["t"]) for member in ("a", "b", "c")]
    assert [plan.waits for plan in plans] == [False, True, True]
    answers = [world.finish(plan) for plan in plans]
    assert [answer.epoch for answer in answers] == [4, 4, 4]
    assert sorted(p for answer in answers for p in (answer.assignment or {})["t"]) == [0, 1, 2]
    assert len(world.initialized) == 3


def test_a_member_that_does_not_wait_learns_later(world: GroupWorld) -> None:
    first = world.begin("a", 0, ["t"])
    second = world.begin("b", 0, ["t"])
    assert (world.finish(second, None).assignment, world.group.group_epoch) == ({}, 3)
    answer = world.finish(first)
    assert (answer.epoch, answer.assignment) == (4, {"t": [0]})
    assert world.beat("b", 3).assignment == {"t": [1]}


def test_a_steady_heartbeat_does_not_wait_for_others() -> None:
    world = GroupWorld(Topics(t=1, u=1))
    world.join("a")
    world.topics.grow("t", 2)
    plan = world.begin("a", 2)
    assert plan.initialize
    assert world.begin("a", 2).response is not None
    assert world.finish(plan).assignment == {"t": [0, 1]}


def test_the_member_left_between_the_phases(world: GroupWorld) -> None:
    plan = world.begin("a", 0, ["t"])
    world.beat("a", -1)
    assert world.finish(plan).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.group.initialized, "the outcome of the initialisation is recorded all the same"


def test_the_group_was_deleted_between_the_phases(world: GroupWorld) -> None:
    plan = world.begin("a", 0, ["t"])
    world.beat("a", -1)
    world.log.run(world.shard.share.begin_delete_group(GROUP))
    world.log.run(world.shard.share.finish_delete_group(GROUP, ErrorCode.NONE))
    assert world.finish(plan).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.shard.group_kind(GROUP) is None


def test_the_topic_was_deleted_between_the_phases(world: GroupWorld) -> None:
    plan = world.begin("a", 0, ["t"])
    gone = world.topics.delete("t")
    world.log.run(world.shard.topics_deleted({gone.topic_id: "t"}))
    answer = world.finish(plan)
    assert (answer.epoch, answer.assignment) == (2, {})
    assert not world.group.initialized


def test_the_session_of_a_joining_member_runs_from_its_first_phase(world: GroupWorld) -> None:
    world.begin("a", 0, ["t"])
    world.log.advance(45_000)
    assert world.group.state_name == "Empty"


# -- member epochs


def test_the_epoch_table(world: GroupWorld) -> None:
    """The known epoch, the previous one and 0 are accepted, and all others fenced."""
    world.join("a")
    world.join("b")
    assert world.beat("a", 2).epoch == 3
    expected = {3: ErrorCode.NONE, 2: ErrorCode.NONE, 0: ErrorCode.NONE}
    for epoch in range(6):
        answer = world.beat("a", epoch, ["t"])
        assert answer.error is expected.get(epoch, ErrorCode.FENCED_MEMBER_EPOCH), epoch
    assert world.beat("x", 3).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_lost_answer_is_reported_again(world: GroupWorld) -> None:
    """The new assignment is returned until the member acknowledges it (KIP-932)."""
    world.join("a")
    world.join("b")
    assert world.beat("a", 2).assignment == {"t": [0]}
    again = world.beat("a", 2)
    assert (again.epoch, again.assignment) == (3, {"t": [0]})
    assert world.beat("a", 3).assignment is None


def test_joining_again_keeps_the_member_and_returns_everything(world: GroupWorld) -> None:
    world.join("a")
    again = world.join("a")
    assert (again.epoch, again.assignment) == (2, {"t": [0, 1]})
    assert world.kinds == []


def test_a_full_request_is_answered_in_full(world: GroupWorld) -> None:
    world.join("a")
    assert world.beat("a", 2, ["t"]).assignment == {"t": [0, 1]}
    assert world.beat("a", 2).assignment is None


# -- subscriptions


def test_a_changed_subscription_moves_partitions_in_one_answer() -> None:
    """One response revokes and assigns: share groups have no revocation phase."""
    world = GroupWorld(Topics(t=1, u=1))
    world.join("a", "t")
    answer = world.beat("a", 2, ["u"])
    assert (answer.epoch, answer.assignment) == (3, {"u": [0]})


def test_a_changed_subscription_within_the_interval_takes_away_at_once_and_gives_later() -> None:
    world = GroupWorld(Topics(t=2, u=2))
    world.join("a", "t", "u")
    answer = world.beat("a", 2, ["u"])
    assert (answer.epoch, answer.assignment) == (2, {"u": [0, 1]})
    assert world.group.group_epoch == 3
    world.time.now_ms = 1000
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment) == (3, None)


def test_an_interval_of_zero_never_delays() -> None:
    world = GroupWorld(Topics(t=2, u=2), ShareGroupSettings(assignment_interval_ms=0))
    world.join("a", "t", "u")
    assert world.beat("a", 2, ["u"]).epoch == 3


def test_a_clock_that_is_set_back_does_not_prolong_the_interval() -> None:
    world = GroupWorld(Topics(t=2, u=2))
    world.time.now_ms = 50_000
    world.join("a", "t", "u")
    world.time.now_ms = 10_000
    assert world.beat("a", 2, ["u"]).epoch == 3


def test_null_leaves_subscription_and_rack_as_they_are(world: GroupWorld) -> None:
    world.beat("a", 0, ["t"], rack="r1")
    world.beat("a", 2)
    assert world.kinds == []
    member = world.group.members["a"]
    assert (member.rack_id, member.subscribed_topic_names) == ("r1", ("t",))


def test_rack_and_client_changes_are_recorded_without_a_new_epoch(world: GroupWorld) -> None:
    world.join("a")
    world.beat("a", 2, rack="r2", client=Client("other", "/10.0.0.1"))
    assert world.kinds == ["ShareGroupMemberMetadataValue"]
    member = world.group.members["a"]
    assert (member.rack_id, member.client_id, member.client_host) == ("r2", "other", "/10.0.0.1")
    assert world.group.group_epoch == 2


def test_a_subscription_is_stored_sorted_and_without_duplicates(world: GroupWorld) -> None:
    world.beat("a", 0, ["t", "b", "t", "a"])
    assert world.group.members["a"].subscribed_topic_names == ("a", "b", "t")
    assert world.beat("a", 2, ["b", "a", "t"]).epoch == 2


def test_a_member_may_unsubscribe_from_everything() -> None:
    world = GroupWorld(settings=ShareGroupSettings(assignment_interval_ms=0))
    world.join("a")
    answer = world.beat("a", 2, [])
    assert (answer.epoch, answer.assignment) == (3, {})


# -- topics that change


def test_a_deleted_topic_is_taken_from_everybody() -> None:
    world = GroupWorld(Topics(t=1, u=1), ShareGroupSettings(assignment_interval_ms=0))
    world.join("a", "t", "u")
    gone = world.topics.delete("t")
    world.log.run(world.shard.topics_deleted({gone.topic_id: "t"}))
    assert world.log.value_types() == ["ShareGroupStatePartitionMetadataValue"]
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment) == (3, {"u": [0]})
    assert world.beat("a", 3).epoch == 3


def test_a_topic_created_again_starts_from_scratch() -> None:
    world = GroupWorld(Topics(t=1))
    world.join("a")
    gone = world.topics.delete("t")
    world.log.run(world.shard.topics_deleted({gone.topic_id: "t"}))
    world.topics.create("t", 1)
    world.shard.topics_changed(["t"])
    answer = world.beat("a", 2)
    assert (answer.epoch, answer.assignment) == (3, {"t": [0]})
    assert world.initialized[-1].key.topic_id != gone.topic_id


def test_a_change_of_another_groups_topic_changes_nothing() -> None:
    world = GroupWorld(Topics(t=1, u=1))
    world.join("a", "t")
    world.topics.grow("u", 2)
    world.shard.topics_changed(["u"])
    assert world.beat("a", 2).epoch == 2
    assert world.kinds == []


def test_what_is_initialised_is_never_initialised_again(world: GroupWorld) -> None:
    """A second initialisation would delete the share state."""
    world.join("a")
    world.beat("a", -1)
    world.log.reload()
    assert world.join("b").assignment == {"t": [0, 1]}
    assert len(world.initialized) == 2


# -- leaving, sessions, restarts


def test_leaving(world: GroupWorld) -> None:
    world.join("a")
    world.join("b")
    answer = world.beat("a", -1)
    assert (answer.error, answer.epoch, answer.assignment) == (ErrorCode.NONE, -1, None)
    assert (answer.response.member_id, answer.response.heartbeat_interval_ms) == ("a", 0)
    assert world.kinds == [
        "-ShareGroupCurrentMemberAssignmentKey",
        "-ShareGroupTargetAssignmentMemberKey",
        "-ShareGroupMemberMetadataKey",
        "ShareGroupMetadataValue",
    ]
    assert world.group.group_epoch == 4
    assert world.beat("a", -1).error is ErrorCode.UNKNOWN_MEMBER_ID
    world.time.now_ms = 1000
    assert world.beat("b", 3).assignment == {"t": [0, 1]}


def test_the_last_member_leaves_an_empty_group_that_stays(world: GroupWorld) -> None:
    """Share groups never expire."""
    world.join("a")
    world.beat("a", -1)
    world.log.advance(10**9)
    assert world.group.state_name == "Empty"


def test_a_silent_member_is_taken_out(world: GroupWorld) -> None:
    world.join("a")
    world.time.now_ms = 30_000
    world.join("b")
    world.log.advance(15_000)
    assert set(world.group.members) == {"b"}
    assert world.beat("a", 2).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.join("a").error is ErrorCode.NONE


def test_members_that_fall_silent_together_cost_one_epoch(world: GroupWorld) -> None:
    for member in ("a", "b", "c"):
        world.join(member)
    epoch = world.group.group_epoch
    world.log.advance(45_000)
    assert (world.group.group_epoch, world.group.state_name) == (epoch + 1, "Empty")
    assert world.shard.share.next_deadline_ms() is None


def test_a_session_timeout_that_was_shortened_counts_from_the_next_heartbeat(world: GroupWorld) -> None:
    world.join("a")
    world.settings.settings = ShareGroupSettings(session_timeout_ms=1000)
    world.beat("a", 2)
    world.log.advance(1000)
    assert world.group.state_name == "Empty"


def test_members_survive_a_restart_with_a_fresh_session(world: GroupWorld) -> None:
    """Members stay, as in 4.3.1; the KIP's first revision had them join again."""
    world.join("a")
    world.log.advance(44_999)
    world.log.reload()
    world.log.advance(44_999)
    answer = world.beat("a", 2)
    assert (answer.error, answer.epoch, answer.assignment) == (ErrorCode.NONE, 2, None)
    assert world.kinds == []


def test_many_heartbeats_leave_one_deadline(world: GroupWorld) -> None:
    world.join("a")
    for _ in range(1000):
        world.log.advance(5000)
        assert world.beat("a", 2).error is ErrorCode.NONE
    assert len(world.shard.share._sessions._deadlines._heap) == 1
