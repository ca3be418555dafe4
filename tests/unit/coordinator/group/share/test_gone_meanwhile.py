"""Operations of share groups whose members or topics were removed or changed meanwhile, and the logged lines."""

from __future__ import annotations

import logging

import pytest

from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorSettings, GroupCoordinatorShard
from shareq.coordinator.group.share.group import CurrentAssignment, ShareGroup, StatePartitions, TopicPartitions
from shareq.coordinator.group.share.groups import ShareGroupLimits
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.shard import at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.unit.coordinator.group.share.world import GROUP, GroupWorld
from tests.unit.coordinator.support import Log, Settings, Topics, commit_decision, topic_id_of

T, U, GONE = topic_id_of("t"), topic_id_of("u"), topic_id_of("gone")


def with_simple_group(world: GroupWorld, group_id: str = "simple") -> None:
    rows = [OffsetCommitRequestPartition(0, 5, committed_metadata="")]
    request = OffsetCommitRequest(group_id, topics=[OffsetCommitRequestTopic("t", T, rows)])
    world.log.run(commit_decision(world.shard.offsets, request, 9, world.time))


def test_a_heartbeat_goes_on_after_a_reload_between_its_phases(world: GroupWorld) -> None:
    plan = world.begin("a", 0, ["t"])
    world.log.reload()
    assert world.finish(plan).assignment == {"t": [0, 1]}


def test_a_late_subscription_takes_away_at_once_what_it_leaves_out() -> None:
    """Partitions of other topics are revoked at once, even if the new topic is still to be initialised."""
    world = GroupWorld(Topics(t=2, u=2))
    world.join("a", "t")
    plan = world.begin("a", 2, ["u"])
    assert plan.initialize
    answer = world.finish(plan, None)
    assert (answer.epoch, answer.assignment) == (2, {})


def test_each_group_has_its_own_session_timeout() -> None:
    class ByGroup(Settings):
        def share_group(self, group_id: str) -> ShareGroupSettings:
            return ShareGroupSettings(session_timeout_ms={GROUP: 50_000, "h": 46_000}[group_id])

    world = GroupWorld()
    world.settings = ByGroup()
    world.log.reload()
    plan = world.begin("a", 0, ["t"])
    world.log.advance(1_000)
    world.finish(plan)
    world.beat("a", 0, ["t"], group_id="h")
    world.log.advance(46_001)
    assert set(world.group.members) == {"a"}
    other = world.shard.share_group("h")
    assert other is not None
    assert not other.members
    world.log.advance(3_999)
    assert not world.group.members


def test_offsets_that_were_altered_of_a_group_that_is_gone_are_nobodys(world: GroupWorld) -> None:
    plan = world.log.run(world.shard.share.begin_alter_offsets(GROUP, {"t": {0: 5}}, world.time.now_ms))
    assert plan.topics
    assert world.log.run(world.shard.share.finish_alter_offsets("other", plan, ())) is None
    assert world.log.last == ()


def test_groups_of_another_kind_are_named_as_such(world: GroupWorld) -> None:
    with_simple_group(world)
    share, now = world.shard.share, world.time.now_ms
    for group_id, message in (("simple", "Group simple is not a share group."), ("x", "Group x not found.")):
        errors = [
            at_once(share.begin_delete_group(group_id)).response.error,
            share.finish_delete_group(group_id, ErrorCode.NONE).response,
            at_once(share.begin_delete_offsets(group_id, ["t"])).response.error,
        ]
        if group_id == "simple":
            errors.append(at_once(share.begin_alter_offsets(group_id, {"t": {0: 5}}, now)).response.error)
        assert [(error.code, error.message) for error in errors] == [(ErrorCode.GROUP_ID_NOT_FOUND, message)] * len(
            errors
        )


def test_when_all_share_state_is_lost_groups_start_over(world: GroupWorld) -> None:
    world.join("a", "t")
    world.beat("b", 0, ["nowhere"], group_id="without")
    with_simple_group(world)
    result = world.shard.share.states_lost()
    assert not result.atomic
    world.log.run(result)
    assert world.log.value_types() == ["ShareGroupStatePartitionMetadataValue"]
    assert world.group.state_partitions == StatePartitions()
    again = world.begin("a", 2)
    assert again.topics == {T: TopicPartitions("t", frozenset({0, 1}))}
    assert world.log.run(world.shard.share.states_lost()) is None


def test_assignments_without_their_members_and_partitions_that_never_were_go() -> None:
    group = ShareGroup("g")
    group.replay_target("a", {T: frozenset({0})})
    group.replay_current("b", CurrentAssignment(3, 2, {T: frozenset({1})}))
    believed = {T: TopicPartitions("t", frozenset({0, 1})), GONE: TopicPartitions("gone", frozenset({7}))}
    damaged = {**believed, T: TopicPartitions("t", frozenset({0, 1, 2})), U: TopicPartitions("u", frozenset())}
    group.replay_state_partitions(StatePartitions(damaged, damaged, {T: "t"}))
    group.settle({T: 2, U: 1}.get)
    assert (dict(group.targets), dict(group.current)) == ({}, {})
    assert group.state_partitions == StatePartitions(believed, believed, {T: "t"})


def test_silent_members_are_logged(caplog: pytest.LogCaptureFixture, world: GroupWorld) -> None:
    world.join("b", "t")
    world.join("a", "t")
    with caplog.at_level(logging.INFO):
        world.log.advance(50_000)
    (line,) = [record for record in caplog.records if "not heard of" in record.message]
    assert line.message == "share group g: members ['a', 'b'] were not heard of in time"
    assert line.__dict__["fields"] == {"event": "member_silent", "group": "g", "members": ["a", "b"]}


def test_who_may_make_another_group_is_asked_by_its_name() -> None:
    asked: list[tuple[int, str]] = []

    def may_make(limit: int, group_id: str) -> bool:
        asked.append((limit, group_id))
        return group_id == GROUP

    world = GroupWorld()
    limits = GroupCoordinatorSettings(ShareGroupLimits(max_groups=7))
    world.log = Log(
        lambda: GroupCoordinatorShard(world.topics, world.settings, world.time.wall_ms, limits, may_make),
        GROUP_SERDE,
        world.time,
    )
    assert world.beat("a", 0, ["t"]).error is ErrorCode.NONE
    assert world.beat("a", 0, ["t"], group_id="h").error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert asked == [(7, GROUP), (7, "h")]
