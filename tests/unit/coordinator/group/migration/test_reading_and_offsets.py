"""Groups with members of both protocols, as seen by offset commits and by administrators."""

from __future__ import annotations

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup
from tests.unit.coordinator.group.consumer.world import GROUP, INTERVAL_MS
from tests.unit.coordinator.group.migration.world import MixedWorld
from tests.unit.coordinator.support import commit_decision

DAY_MS = 86_400_000


def mixed() -> tuple[MixedWorld, str, int]:
    """Return a group of "new" and a classic member, with that member's id and generation."""
    world = MixedWorld()
    world.join("new")
    world.log.advance(INTERVAL_MS)
    one, _, _ = world.rejoin()
    world.rest({one: {}}, "new")
    return world, one, world.group.current_of(one).member_epoch


def commit_request(world: MixedWorld, member_id: str, epoch: int, partition: int) -> OffsetCommitRequest:
    rows = [OffsetCommitRequestPartition(partition, 5, committed_metadata="")]
    return OffsetCommitRequest(
        GROUP, epoch, member_id, topics=[OffsetCommitRequestTopic("foo", world.topic_id("foo"), rows)]
    )


def commit(world: MixedWorld, member_id: str, epoch: int, partition: int = 0, version: int = 9) -> ErrorCode:
    request = commit_request(world, member_id, epoch, partition)
    response = world.log.run(commit_decision(world.log.shard.offsets, request, version, world.time))
    return ErrorCode(response.topics[0].partitions[0].error_code)


@pytest.mark.parametrize("version", [2, 8, 9])
def test_a_classic_member_commits_by_its_generation(version: int) -> None:
    world, one, generation = mixed()
    assert commit(world, one, generation, version=version) is ErrorCode.NONE
    assert commit(world, one, generation + 1, version=version) is ErrorCode.ILLEGAL_GENERATION


def test_what_it_has_had_for_longer_it_may_commit_in_an_older_generation() -> None:
    world, one, generation = mixed()
    (mine, _), (other, _) = sorted(world.has(one)["foo"]), sorted(world.has("new")["foo"])
    world.join("newer")
    world.rest({one: world.has(one)}, "new", "newer")
    kept = next(iter(world.has(one)["foo"]))
    assert world.group.current_of(one).member_epoch > generation
    assert commit(world, one, generation, kept) is ErrorCode.NONE
    assert commit(world, one, generation, other) is ErrorCode.ILLEGAL_GENERATION
    assert commit(world, one, 1, mine) is ErrorCode.ILLEGAL_GENERATION


def test_a_transaction_of_a_classic_member_commits_by_its_generation() -> None:
    world, one, generation = mixed()
    offsets = world.log.shard.offsets
    for epoch, error in ((generation, ErrorCode.NONE), (generation + 1, ErrorCode.ILLEGAL_GENERATION)):
        request = commit_request(world, one, epoch, 0)
        response = commit_decision(offsets, request, 5, world.time, transactional=True).response
        assert response.topics[0].partitions[0].error_code == error


def test_a_classic_member_reads_by_its_generation() -> None:
    world, one, generation = mixed()
    for epoch, error in ((generation, ErrorCode.NONE), (generation - 1, ErrorCode.ILLEGAL_GENERATION)):
        request = OffsetFetchRequestGroup(GROUP, one, epoch, None)
        assert world.log.shard.offsets.fetch(request, require_stable=False).response.error_code == error


def test_offsets_stay_with_the_group_whatever_it_is(world: MixedWorld) -> None:
    (one,) = world.stable_classic({"foo": {0, 1, 2, 3}})
    commit(world, one, 1, 0)
    world.join("new")
    owned = world.rest({one: {"foo": {0, 1, 2, 3}}}, "new")
    commit(world, one, world.group.current_of(one).member_epoch, next(iter(owned[one]["foo"])))
    world.leave("new")
    assert world.kind == "classic"
    world.log.reload()
    assert world.kind == "classic"
    assert set(world.log.shard.offsets.store.of(GROUP)["foo"]) == {0} | {next(iter(owned[one]["foo"]))}


def test_the_description_reports_who_speaks_what() -> None:
    world, one, _ = mixed()
    group = world.log.shard.consumer.describe(GROUP).response
    assert (group.group_state, group.assignor_name) == ("Stable", "uniform")
    assert {m.member_id: m.member_type for m in group.members} == {one: 0, "new": 1}
    described = next(m for m in group.members if m.member_id == one)
    assert (described.client_id, described.subscribed_topic_names, described.subscribed_topic_regex) == (
        "old",
        ["foo"],
        "",
    )


def test_it_is_one_group_of_one_type_in_every_list() -> None:
    world, one, _ = mixed()
    assert [(g.group_type, g.protocol_type) for g in world.log.shard.list_groups().response] == [
        ("consumer", "consumer")
    ]
    refused = world.log.shard.classic.describe(GROUP, 6).response
    assert (refused.error_code, refused.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    world.leave("new")
    (listed,) = world.log.shard.list_groups(types=("classic",)).response
    assert (listed.group_type, listed.protocol_type, listed.group_state) == (
        "classic",
        "consumer",
        "PreparingRebalance",
    )
    described = world.log.shard.classic.describe(GROUP, 6).response
    assert (described.error_code, [m.member_id for m in described.members]) == (0, [one])
    assert world.log.shard.consumer.describe(GROUP).response.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_that_was_converted_goes_when_its_members_and_offsets_are_gone() -> None:
    world, one, generation = mixed()
    commit(world, one, generation)
    world.leave("new")
    world.leave_classic(one)
    world.log.advance(CLASSIC_DAYS * DAY_MS)
    assert world.log.shard.list_groups().response == []
    world.log.reload()
    assert world.log.shard.list_groups().response == []


CLASSIC_DAYS = 8
