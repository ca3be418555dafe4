from __future__ import annotations

from functools import partial

import pytest

from shareq.broker.log.cleaner.survivors import latest_value
from shareq.coordinator.group.classic.rpc.join import Joining
from shareq.coordinator.group.offsets.deletion import DeletedOffsets, PreparedDeletion
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.shard import at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup
from tests.unit.coordinator.group.consumer.world import CLIENT, GROUP, INTERVAL_MS, ConsumerWorld
from tests.unit.coordinator.support import Topics, commit_decision

DAY_MS = 86_400_000


def commit(
    world: ConsumerWorld, member_id: str = "", epoch: int = -1, partition: int = 0, version: int = 9
) -> ErrorCode:
    rows = [OffsetCommitRequestPartition(partition, 5, committed_metadata="")]
    topic = OffsetCommitRequestTopic("foo", world.topic_id("foo"), rows)
    request = OffsetCommitRequest(GROUP, epoch, member_id, topics=[topic])
    response = world.log.run(commit_decision(world.log.shard.offsets, request, version, world.time))
    return ErrorCode(response.topics[0].partitions[0].error_code)


def committed(world: ConsumerWorld) -> set[int]:
    return set(world.log.shard.offsets.store.of(GROUP).get("foo", {}))


def join_classic(world: ConsumerWorld, member_id: str = "") -> JoinGroupResponse:
    protocols = [JoinGroupRequestProtocol("range", b"")]
    request = JoinGroupRequest(GROUP, 10_000, 60_000, member_id, None, "consumer", protocols)
    token = len(world.log.answers)
    world.log.run(
        at_once(world.log.shard.classic_protocol.join(Joining(request, 9, CLIENT, token, "id"), world.time.now_ms))
    )
    if token not in world.log.answers:
        world.log.advance(4_000)
    answer = world.log.answers[token]
    assert isinstance(answer, JoinGroupResponse)
    return answer


@pytest.mark.parametrize(
    ("member_id", "epoch", "version", "error"),
    [
        ("m1", 2, 9, ErrorCode.NONE),
        ("m1", 3, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("m1", 1, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("m1", 2, 8, ErrorCode.UNSUPPORTED_VERSION),
        ("m2", 2, 9, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, 9, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_commit(member_id: str, epoch: int, version: int, error: ErrorCode, world: ConsumerWorld) -> None:
    world.join("m1")
    assert commit(world, member_id, epoch, version=version) is error


def test_an_older_epoch_commits_what_was_assigned_by_then(world: ConsumerWorld) -> None:
    """Commits in any epoch since the partition was assigned are accepted (KIP-1251)."""
    world.join("m1")
    world.log.advance(INTERVAL_MS)
    world.join("m2")
    world.settle("m1", "m2")
    assert world.group.current_of("m1").member_epoch == 3
    assert commit(world, "m1", 2, 0) is ErrorCode.NONE
    assert commit(world, "m1", 1, 0) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(world, "m1", 2, 3) is ErrorCode.STALE_MEMBER_EPOCH, "it has it no more"
    assert commit(world, "m2", 2, 3) is ErrorCode.STALE_MEMBER_EPOCH, "it has it since epoch 3"


def test_anybody_commits_for_a_group_without_members(world: ConsumerWorld) -> None:
    world.join("m1")
    world.leave("m1")
    assert commit(world) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"),
    [
        (None, -1, ErrorCode.NONE),
        ("m1", 2, ErrorCode.NONE),
        ("m1", 1, ErrorCode.STALE_MEMBER_EPOCH),
        ("m2", 2, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_read(member_id: str | None, epoch: int, error: ErrorCode, world: ConsumerWorld) -> None:
    world.join("m1")
    request = OffsetFetchRequestGroup(GROUP, member_id, epoch, None)
    assert world.log.shard.offsets.fetch(request, require_stable=False).response.error_code == error


def test_offsets_of_topics_that_are_read_stay() -> None:
    world = ConsumerWorld(Topics(foo=2))
    world.join("m1")
    commit(world, "m1", 2)
    offsets = world.log.shard.offsets
    prepared = PreparedDeletion(GROUP, partial(offsets.store.knows, GROUP), GROUP_SERDE)
    prepared.add("foo", [0])
    prepared.add("bar", [0])
    assert world.log.run(offsets.delete(prepared)) == DeletedOffsets(subscribed=frozenset({"foo"}))
    assert committed(world) == {0}
    world.beat("m1", topics=(), owned={})
    assert world.log.run(offsets.delete(prepared)) == DeletedOffsets()
    assert committed(world) == set()


def test_a_group_goes_when_its_members_and_offsets_are_gone(world: ConsumerWorld) -> None:
    world.join("m1")
    commit(world, "m1", 2)
    world.leave("m1")
    world.log.advance(6 * DAY_MS)
    assert committed(world) == {0}
    world.log.advance(2 * DAY_MS)
    assert world.log.shard.list_groups().response == []
    world.log.reload()
    assert world.log.shard.list_groups().response == []


def test_a_group_with_members_is_not_deleted_one_without_is_with_all_it_has(world: ConsumerWorld) -> None:
    world.join("m1", regex="f.*")
    commit(world, "m1", 2)
    shard = world.log.shard
    assert world.log.run(shard.delete_group(GROUP)).code is ErrorCode.NON_EMPTY_GROUP
    world.leave("m1")
    assert world.log.run(shard.delete_group(GROUP)).code is ErrorCode.NONE
    world.log.reload()
    assert (world.log.shard.list_groups().response, committed(world)) == ([], set())


def test_what_compaction_leaves_of_a_deleted_group_can_be_loaded(world: ConsumerWorld) -> None:
    """The log is compacted up to any of the group's tombstones."""
    world.join("m1")
    world.leave("m1")
    world.log.run(world.log.shard.delete_group(GROUP))
    for upto in range(len(world.log.encoded) + 1):
        shard = world.log.compacted(latest_value, upto, tombstones_are_over=True)
        assert shard.list_groups().response == []


def test_how_it_is_listed_and_described(world: ConsumerWorld) -> None:
    world.join("m1", instance="i", rack="r", regex="")
    (listed,) = world.log.shard.list_groups(("stable",), ("consumer",)).response
    assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
        GROUP,
        "consumer",
        "Stable",
        "consumer",
    )
    group = world.log.shard.consumer.describe(GROUP).response
    (member,) = group.members
    assert (group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name) == (
        "Stable",
        2,
        2,
        "uniform",
    )
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch, member.member_type) == (
        "m1",
        "i",
        "r",
        2,
        1,
    )
    assert [(t.topic_name, t.partitions) for t in member.assignment.topic_partitions] == [("foo", [0, 1, 2, 3])]
    assert member.target_assignment.topic_partitions == member.assignment.topic_partitions


def test_what_a_member_has_still_to_give_up_is_described_as_its_own(world: ConsumerWorld) -> None:
    world.join("m1")
    world.log.advance(INTERVAL_MS)
    world.join("m2")
    world.beat("m1")
    first, second = world.log.shard.consumer.describe(GROUP).response.members
    assert [t.partitions for t in first.assignment.topic_partitions] == [[0, 1, 2, 3]]
    assert [t.partitions for t in first.target_assignment.topic_partitions] == [[0, 1]]
    assert second.assignment.topic_partitions == []


def test_a_classic_group_without_members_becomes_a_consumer_group_with_its_offsets(world: ConsumerWorld) -> None:
    assert commit(world) is ErrorCode.NONE
    assert world.log.shard.classic.group(GROUP) is not None
    world.join("m1")
    assert (world.group.state_name, committed(world)) == ("Stable", {0})
    world.log.reload()
    assert (world.group.state_name, committed(world)) == ("Stable", {0})


def test_a_consumer_group_without_members_becomes_a_classic_group_with_its_offsets(world: ConsumerWorld) -> None:
    world.join("m1")
    commit(world, "m1", 2)
    world.leave("m1")
    joined = join_classic(world)
    assert joined.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert join_classic(world, joined.member_id).error_code == ErrorCode.NONE
    world.log.reload()
    assert world.log.shard.consumer.group(GROUP) is None
    assert world.log.shard.classic.group(GROUP) is not None
    assert committed(world) == {0}
