"""The commits that a group accepts, by its type and the request's version; and commits to share groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.offsets import rules
from shareq.coordinator.group.offsets.commit import refused
from shareq.coordinator.group.share.group import ShareGroup
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponseTopic,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.unit.coordinator.group.consumer.world import ConsumerWorld
from tests.unit.coordinator.group.offsets.world import NONE, OffsetsWorld
from tests.unit.coordinator.group.share.world import CLIENT
from tests.unit.coordinator.support import commit_decision

DAY_MS = 86_400_000


def commit_of(generation: int = -1, member: str = "", topic_id: bytes = b"t" * 16) -> OffsetCommitRequest:
    topics = [OffsetCommitRequestTopic("t", topic_id, [OffsetCommitRequestPartition(0, 5, committed_metadata="")])]
    return OffsetCommitRequest("g", generation, member, topics=topics)


def error_of(
    rule: Callable[[Group | None, OffsetCommitRequest, Iterable[OffsetCommitResponseTopic], int], ErrorCode],
    group: Group | None,
    request: OffsetCommitRequest,
    version: int,
) -> ErrorCode:
    return rule(group, request, refused(request, NONE).topics, version)


@pytest.mark.parametrize(
    ("generation", "version", "error"),
    [
        (-1, 5, NONE),
        (0, 5, ErrorCode.ILLEGAL_GENERATION),
        (0, 6, ErrorCode.GROUP_ID_NOT_FOUND),
        (1, 9, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_transaction_without_a_group(generation: int, version: int, error: ErrorCode) -> None:
    assert error_of(rules.transactional_commit_error, None, commit_of(generation), version) is error


def test_a_generation_without_a_group_is_none_also_if_it_is_the_first() -> None:
    assert error_of(rules.commit_error, None, commit_of(-1), 9) is NONE
    assert error_of(rules.commit_error, None, commit_of(0), 9) is ErrorCode.GROUP_ID_NOT_FOUND
    assert error_of(rules.commit_error, None, commit_of(0), 8) is ErrorCode.ILLEGAL_GENERATION


def test_a_transaction_need_not_name_the_member_of_a_classic_group(world: OffsetsWorld) -> None:
    world.has_members("t")
    group = world.shard.classic.group("g")
    assert group is not None
    assert error_of(rules.transactional_commit_error, group, commit_of(), 5) is NONE
    assert error_of(rules.commit_error, group, commit_of(), 9) is ErrorCode.UNKNOWN_MEMBER_ID
    assert error_of(rules.transactional_commit_error, group, commit_of(4, "m"), 5) is ErrorCode.ILLEGAL_GENERATION


def test_a_transaction_of_a_member_of_a_consumer_group() -> None:
    """Before version 6 a stale epoch is an illegal generation; other errors stay as they are."""
    world = ConsumerWorld()
    world.join("m")
    group, topic_id = world.group, world.topic_id("foo")
    epoch = group.current_of("m").member_epoch
    for version in (5, 6):
        assert error_of(rules.transactional_commit_error, group, commit_of(), version) is NONE
        assert error_of(rules.transactional_commit_error, group, commit_of(epoch, "m"), version) is NONE
        unknown = error_of(rules.transactional_commit_error, group, commit_of(epoch, "other"), version)
        assert unknown is ErrorCode.UNKNOWN_MEMBER_ID
    stale = commit_of(epoch + 1, "m", topic_id)
    assert error_of(rules.transactional_commit_error, group, stale, 5) is ErrorCode.ILLEGAL_GENERATION
    assert error_of(rules.transactional_commit_error, group, stale, 6) is ErrorCode.STALE_MEMBER_EPOCH


def test_a_refused_transactional_commit_says_so_for_each_partition(world: OffsetsWorld) -> None:
    result = commit_decision(world.shard.offsets, commit_of(3), 6, world.time, transactional=True)
    (topic,) = result.response.topics
    assert (topic.name, topic.topic_id, result.records) == ("t", b"t" * 16, ())
    assert [(row.partition_index, row.error_code) for row in topic.partitions] == [(0, ErrorCode.GROUP_ID_NOT_FOUND)]


def test_neither_a_share_group_nor_none_has_offsets_that_members_read() -> None:
    assert rules.read_topics(None) == frozenset()
    assert rules.read_topics(ShareGroup("g")) == frozenset()


def test_time_does_not_take_share_groups_away(world: OffsetsWorld) -> None:
    request = ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=["t"])
    world.log.run(world.shard.share.begin_heartbeat(request, CLIENT, world.time.now_ms))
    world.log.run(
        world.shard.share.begin_heartbeat(
            ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=-1), CLIENT, world.time.now_ms
        )
    )
    world.log.advance(8 * DAY_MS)
    assert world.listed() == [("g", "share", "share", "Empty")]
    world.log.reload()
    assert world.listed() == [("g", "share", "share", "Empty")]
