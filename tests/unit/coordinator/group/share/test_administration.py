"""Group administration: describe, list and delete groups, alter and delete offsets (KIP-932)."""

from __future__ import annotations

from dataclasses import replace

from shareq.coordinator.group.shard import GroupCoordinatorSettings
from shareq.coordinator.group.share.group import StatePartitions
from shareq.coordinator.group.share.groups import ShareGroupLimits
from shareq.coordinator.group.share.initialization import StateInitialization
from shareq.coordinator.shard import at_once
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import NO_ERROR, ErrorCode
from shareq.protocol.generated.list_groups import ListedGroup
from shareq.protocol.generated.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions
from tests.unit.coordinator.group.share.world import GROUP, GroupWorld
from tests.unit.coordinator.support import Topics, topic_id_of

T, U = topic_id_of("t"), topic_id_of("u")


def emptied(*topics: str, **partitions: int) -> GroupWorld:
    """Return a group at epoch 3 that consumed `topics` and whose members have all left."""
    world = GroupWorld(Topics(**partitions))
    world.join("a", *topics)
    world.beat("a", -1)
    return world


def keys(topic_id: bytes, *partitions: int) -> tuple[SharePartitionKey, ...]:
    return tuple(SharePartitionKey(GROUP, topic_id, partition) for partition in partitions)


# -- describe and list


def test_describe(world: GroupWorld) -> None:
    world.beat("a", 0, ["t"], rack="r1")
    assert world.shard.share.describe(GROUP).response == DescribedGroup(
        group_id=GROUP,
        group_state="Stable",
        group_epoch=2,
        assignment_epoch=2,
        assignor_name="simple",
        members=[
            Member(
                member_id="a",
                rack_id="r1",
                member_epoch=2,
                client_id="client",
                client_host="/127.0.0.1",
                subscribed_topic_names=["t"],
                assignment=Assignment([TopicPartitions(T, "t", [0, 1])]),
            )
        ],
    )


def test_describe_leaves_out_topics_that_are_gone(world: GroupWorld) -> None:
    world.join("a")
    world.topics.delete("t")
    (member,) = world.shard.share.describe(GROUP).response.members
    assert member.assignment == Assignment([])


def test_describe_of_what_is_not_there(world: GroupWorld) -> None:
    described = world.shard.share.describe(GROUP).response
    assert (described.error_code, described.group_id) == (ErrorCode.GROUP_ID_NOT_FOUND, GROUP)
    assert described.error_message == "Group g not found."
    assert world.shard.share.describe("").response.error_code == ErrorCode.INVALID_GROUP_ID


def test_list_filters_by_state_and_type_whatever_the_case() -> None:
    world = emptied("t", t=1)
    world.beat("b", 0, ["t"], group_id="h")
    empty, stable = ListedGroup(GROUP, "share", "Empty", "share"), ListedGroup("h", "share", "Stable", "share")
    assert world.shard.list_groups().response == [empty, stable]
    assert world.shard.list_groups(states=["STABLE"]).response == [stable]
    assert world.shard.list_groups(states=["empty", "stable"], types=["Share"]).response == [empty, stable]
    assert world.shard.list_groups(states=[" Stable "]).response == [stable]
    assert world.shard.list_groups(states=[""]).response == []
    assert world.shard.list_groups(types=["consumer"]).response == []
    assert world.shard.list_groups(states=["Dead"]).response == []


# -- delete group


def test_a_group_with_members_cannot_be_deleted(world: GroupWorld) -> None:
    world.join("a")
    assert at_once(world.shard.share.begin_delete_group(GROUP)).response.error.code is ErrorCode.NON_EMPTY_GROUP
    assert at_once(world.shard.share.begin_delete_group("h")).response.error.code is ErrorCode.GROUP_ID_NOT_FOUND


def test_deleting_a_group_takes_two_stages() -> None:
    world = emptied("t", "u", t=2, u=1)
    plan = world.log.run(world.shard.share.begin_delete_group(GROUP))
    assert sorted(plan.delete) == sorted(keys(T, 0, 1) + keys(U, 0))
    partitions = world.group.state_partitions
    assert partitions is not None
    assert (partitions.initializing, partitions.initialized, partitions.deleting) == ({}, {}, {T: "t", U: "u"})
    assert world.log.run(world.shard.share.finish_delete_group(GROUP, ErrorCode.NONE)) == NO_ERROR
    assert world.log.value_types() == [
        "-ShareGroupTargetAssignmentMetadataKey",
        "-ShareGroupStatePartitionMetadataKey",
        "-ShareGroupMetadataKey",
    ]
    assert world.shard.group_kind(GROUP) is None
    assert world.log.loaded().group_kind(GROUP) is None


def test_a_deletion_that_failed_half_way_is_completed_by_the_next() -> None:
    """The group stays with the state that is still to be deleted (KIP-932)."""
    world = emptied("t", t=2)
    world.log.run(world.shard.share.begin_delete_group(GROUP))
    failed = world.log.run(world.shard.share.finish_delete_group(GROUP, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    assert failed.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.reload()
    plan = world.log.run(world.shard.share.begin_delete_group(GROUP))
    assert plan.delete == keys(T, 0, 1)
    world.log.run(world.shard.share.finish_delete_group(GROUP, ErrorCode.NONE))
    assert world.shard.group_kind(GROUP) is None


def test_a_group_that_a_member_joined_meanwhile_stays() -> None:
    world = emptied("t", t=2)
    world.log.run(world.shard.share.begin_delete_group(GROUP))
    assert world.join("b").assignment == {"t": [0, 1]}
    outcome = world.log.run(world.shard.share.finish_delete_group(GROUP, ErrorCode.NONE))
    assert outcome.code is ErrorCode.NON_EMPTY_GROUP
    assert not (world.group.state_partitions and world.group.state_partitions.deleting)


def test_a_group_whose_offsets_were_altered_meanwhile_stays() -> None:
    """The group's new share state would otherwise remain, and fence a later group of that name."""
    world = emptied("t", t=2)
    world.log.run(world.shard.share.begin_delete_group(GROUP))
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {0: 7}}, 0))
    outcome = world.log.run(world.shard.share.finish_delete_group(GROUP, ErrorCode.NONE))
    assert outcome.code is ErrorCode.NON_EMPTY_GROUP
    world.log.run(world.shard.share.finish_alter_offsets(GROUP, plan, ()))
    assert world.group.initialized[T].partitions == {0}


def test_a_group_without_share_state_goes_at_once() -> None:
    world = emptied("nothing", t=1)
    plan = world.log.run(world.shard.share.begin_delete_group(GROUP))
    assert (plan.error, plan.delete, world.log.last) == (NO_ERROR, (), ())
    world.log.run(world.shard.share.finish_delete_group(GROUP, ErrorCode.NONE))
    assert world.shard.list_groups().response == []


def test_a_deleted_group_begins_again() -> None:
    world = emptied("t", t=1)
    world.log.run(world.shard.share.begin_delete_group(GROUP))
    world.log.run(world.shard.share.finish_delete_group(GROUP, ErrorCode.NONE))
    assert world.join("b").epoch == 2
    assert len(world.initialized) == 2


# -- alter offsets


def test_altering_offsets_initialises_at_the_current_group_epoch() -> None:
    """The epoch is not raised, as in 4.3.1: the leaders were already fenced when the last member left."""
    world = emptied("t", t=2)
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {1: 40}}, 0))
    assert list(plan.initializations()) == [StateInitialization(SharePartitionKey(GROUP, T, 1), 3, 40)]
    assert world.group.group_epoch == 3
    world.log.run(world.shard.share.finish_alter_offsets(GROUP, plan, ()))
    assert world.group.initialized[T].partitions == {0, 1}
    assert not world.group.initializing


def test_altering_offsets_creates_the_group(world: GroupWorld) -> None:
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {0: 5, 1: 6}}, 0))
    assert {i.state_epoch for i in plan.initializations()} == {1}
    assert world.log.value_types() == ["ShareGroupStatePartitionMetadataValue"]
    world.log.run(world.shard.share.finish_alter_offsets(GROUP, plan, ()))
    assert world.group.state_name == "Empty"
    assert world.join("a").assignment == {"t": [0, 1]}
    assert world.initialized == [], "a joining member does not wipe what was set"


def test_altering_offsets_makes_no_group_beyond_group_share_max_groups() -> None:
    world = GroupWorld(coordinator=GroupCoordinatorSettings(ShareGroupLimits(max_groups=1)))
    begin = world.shard.share.begin_alter_offsets
    world.log.run(begin(GROUP, {"t": {0: 5}}, 0))
    one_too_many = at_once(begin("h", {"t": {0: 5}}, 0))
    assert one_too_many.records == ()
    assert not one_too_many.response.topics
    assert one_too_many.response.error.code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert "group.share.max.groups=1" in str(one_too_many.response.error.message)
    assert at_once(begin(GROUP, {"t": {1: 6}}, 0)).response.error.code is ErrorCode.NONE
    assert at_once(begin("h", {"x": {0: 1}}, 0)).response.unknown == {("x", 0)}, "which makes no group anyway"


def test_unknown_partitions_do_not_stop_the_others(world: GroupWorld) -> None:
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {0: 5, 2: 6, -1: 0}, "x": {0: 1}}, 0))
    assert plan.unknown == {("t", 2), ("t", -1), ("x", 0)}
    assert [i.key for i in plan.initializations()] == list(keys(T, 0))


def test_nothing_but_unknown_partitions_creates_no_group(world: GroupWorld) -> None:
    assert at_once(world.shard.share.begin_alter_offsets(GROUP, {"x": {0: 1}}, 0)).records == ()


def test_partitions_that_could_not_be_initialised_stay_as_initialising(world: GroupWorld) -> None:
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {0: 5, 1: 6}}, 0))
    world.log.run(world.shard.share.finish_alter_offsets(GROUP, plan, keys(T, 1)))
    assert world.group.initialized[T].partitions == {0}
    assert world.group.initializing[T].partitions == {1}


def test_what_had_state_before_is_not_initialising_any_more_when_altering_it_failed() -> None:
    """The partition counts as initialised: it has its old state, or the new one if only the answer was lost."""
    world = emptied("t", t=2)
    before = world.group.state_partitions
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {0: 5, 1: 6}}, 0))
    assert world.group.initializing[T].partitions == {0, 1}
    world.log.run(world.shard.share.finish_alter_offsets(GROUP, plan, keys(T, 1)))
    assert world.group.state_partitions == before
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {0: 5, 1: 6}}, 0))
    world.log.run(world.shard.share.finish_alter_offsets(GROUP, plan, keys(T, 0, 1)))
    assert world.group.state_partitions == before


def test_only_an_empty_groups_offsets_can_be_altered(world: GroupWorld) -> None:
    world.join("a")
    assert (
        at_once(world.shard.share.begin_alter_offsets(GROUP, {"t": {0: 5}}, 0)).response.error.code
        is ErrorCode.NON_EMPTY_GROUP
    )
    assert at_once(world.shard.share.begin_alter_offsets("", {}, 0)).response.error.code is ErrorCode.INVALID_GROUP_ID


# -- delete offsets


def test_deleting_offsets_takes_two_stages() -> None:
    world = emptied("t", "u", t=2, u=1)
    plan = world.log.run(world.shard.share.begin_delete_offsets(GROUP, ["t"]))
    assert plan.delete == {"t": keys(T, 0, 1)}
    partitions = world.group.state_partitions
    assert partitions is not None
    assert (set(partitions.initialized), partitions.deleting) == ({U}, {T: "t"})
    world.log.run(world.shard.share.finish_delete_offsets(GROUP, [T]))
    assert world.group.state_partitions == replace(partitions, deleting={})


def test_altering_a_part_of_a_topic_does_not_forget_that_the_rest_is_to_be_deleted() -> None:
    """The deletion of partitions 0 and 2 was interrupted: only the group's record mentions their state."""
    world = emptied("t", t=3)
    world.log.run(world.shard.share.begin_delete_offsets(GROUP, ["t"]))
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {1: 40}}, 0))
    world.log.run(world.shard.share.finish_alter_offsets(GROUP, plan, ()))
    partitions = world.group.state_partitions
    assert partitions is not None
    assert partitions.initialized[T].partitions == {1}
    assert partitions.deleting == {T: "t"}
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {0: 1, 2: 1}}, 0))
    assert world.group.state_partitions is not None
    assert not world.group.state_partitions.deleting


def test_deleting_what_was_altered_in_a_topic_that_is_being_deleted_takes_all_of_it() -> None:
    world = emptied("t", t=3)
    world.log.run(world.shard.share.begin_delete_offsets(GROUP, ["t"]))
    altered = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {1: 40}}, 0))
    world.log.run(world.shard.share.finish_alter_offsets(GROUP, altered, ()))
    plan = world.log.run(world.shard.share.begin_delete_offsets(GROUP, ["t"]))
    assert plan.delete == {"t": keys(T, 0, 1, 2)}
    assert not world.group.initialized
    assert world.log.run(world.shard.share.begin_delete_group(GROUP)).delete == keys(T, 0, 1, 2)


def test_deleting_offsets_that_are_being_altered_leaves_none_that_count_as_initialised() -> None:
    """The alteration that initialised the state reports its success last."""
    world = emptied("t", t=2)
    altered = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {1: 40}}, 0))
    deleted = world.log.run(world.shard.share.begin_delete_offsets(GROUP, ["t"]))
    assert deleted.delete == {"t": keys(T, 0, 1)}
    world.log.run(world.shard.share.finish_alter_offsets(GROUP, altered, ()))
    world.log.run(world.shard.share.finish_delete_offsets(GROUP, [T]))
    assert world.group.state_partitions == StatePartitions()


def test_deleting_offsets_again_retries_the_whole_topic() -> None:
    world = emptied("t", t=2)
    world.log.run(world.shard.share.begin_delete_offsets(GROUP, ["t"]))
    world.log.run(world.shard.share.finish_delete_offsets(GROUP, []))
    assert world.log.last == ()
    plan = world.log.run(world.shard.share.begin_delete_offsets(GROUP, ["t"]))
    assert (plan.delete, world.log.last) == ({"t": keys(T, 0, 1)}, ())


def test_topics_without_offsets_are_refused_one_by_one() -> None:
    world = emptied("t", t=1, u=1)
    plan = at_once(world.shard.share.begin_delete_offsets(GROUP, ["t", "u", "x"])).response
    assert plan.error == NO_ERROR
    assert plan.delete.keys() == {"t"}
    assert {name: outcome.code for name, outcome in plan.refused.items()} == {
        "u": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "x": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert plan.refused["u"] != plan.refused["x"]


def test_a_group_that_never_had_share_state_answers_without_the_topics() -> None:
    world = emptied("nothing", t=1)
    plan = at_once(world.shard.share.begin_delete_offsets(GROUP, ["t"])).response
    assert (plan.error, plan.delete, plan.refused) == (NO_ERROR, {}, {})


def test_only_an_empty_groups_offsets_can_be_deleted(world: GroupWorld) -> None:
    world.join("a")
    errors = [
        at_once(world.shard.share.begin_delete_offsets(group_id, ["t"])).response.error.code
        for group_id in (GROUP, "h", "")
    ]
    assert errors == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INVALID_GROUP_ID]


def test_the_partitions_that_describing_offsets_asks_for() -> None:
    """Unknown groups, which are no error, and deleted topics have none."""
    world = emptied("t", "u", t=2, u=1)
    assert world.shard.share.initialized_partitions("h").response == {}
    world.topics.delete("u")
    topics = world.shard.share.initialized_partitions(GROUP).response
    assert {topic.topic_name: topic.partitions for topic in topics.values()} == {"t": {0, 1}}
