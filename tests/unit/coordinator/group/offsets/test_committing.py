"""Commits, fetches and deletions of offsets at the group coordinator, by the rules of Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.offsets.group_offsets import OffsetSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.unit.coordinator.group.offsets.world import NONE, OffsetsWorld
from tests.unit.coordinator.group.share.world import CLIENT
from tests.unit.coordinator.support import commit_decision

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)


# -- groups without members


def test_a_commit_without_a_group_makes_a_simple_one(world: OffsetsWorld) -> None:
    assert world.commit({T0: (5, 2, "me"), U0: 7}) == {T0: NONE, U0: NONE}
    assert world.listed() == [("g", "classic", "", "Empty")]
    assert world.fetch() == {T0: (5, 2, "me", NONE), U0: (7, -1, "", NONE)}
    world.log.reload()
    assert world.listed() == [("g", "classic", "", "Empty")]
    assert world.fetch() == {T0: (5, 2, "me", NONE), U0: (7, -1, "", NONE)}


def test_the_last_commit_counts(world: OffsetsWorld) -> None:
    world.committed({T0: (5, 2, "first")})
    world.committed({T0: 3})
    assert world.fetch([T0]) == {T0: (3, -1, "", NONE)}


@pytest.mark.parametrize(("version", "error"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_generation_of_a_group_that_does_not_exist(version: int, error: ErrorCode, world: OffsetsWorld) -> None:
    assert world.commit({T0: 5, T1: 6}, generation=1, member="m", version=version) == {T0: error, T1: error}
    assert (world.log.last, world.listed()) == ((), [])


def test_metadata_is_measured_as_java_does() -> None:
    """The size counts UTF-16 units: a character outside the basic plane counts twice."""
    world = OffsetsWorld(OffsetSettings(longest_metadata=4))
    at = [("t", 0), ("t", 1), ("t", 2), ("u", 0), ("u", 1)]
    texts = ["abcd", "abcde", "日本語日", "𝄞𝄞", "𝄞𝄞a"]
    errors = world.commit({each: (1, -1, text) for each, text in zip(at, texts, strict=True)})
    too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert list(errors.values()) == [NONE, too_large, NONE, NONE, too_large]
    assert {each: row[2] for each, row in world.fetch().items()} == {
        ("t", 0): "abcd",
        ("t", 2): "日本語日",
        ("u", 0): "𝄞𝄞",
    }


# -- groups with members


def test_a_member_commits_under_its_generation(world: OffsetsWorld) -> None:
    world.has_members("t")
    assert world.commit({T0: 5}, generation=5, member="m") == {T0: NONE}
    assert world.commit({T0: 6}, generation=4, member="m") == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert world.commit({T0: 6}, generation=5, member="x") == {T0: ErrorCode.UNKNOWN_MEMBER_ID}
    assert world.commit({T0: 6}) == {T0: ErrorCode.UNKNOWN_MEMBER_ID}, "nobody commits from outside"
    assert world.offsets() == {T0: 5}


def test_a_static_member_that_was_replaced_is_fenced(world: OffsetsWorld) -> None:
    world.has_members("t", instance="i")
    assert world.commit({T0: 5}, generation=5, member="m", instance="i") == {T0: NONE}
    assert world.commit({T0: 6}, generation=5, member="x", instance="i") == {T0: ErrorCode.FENCED_INSTANCE_ID}
    assert world.commit({T0: 6}, generation=5, member="m", instance="j") == {T0: ErrorCode.UNKNOWN_MEMBER_ID}


def test_committing_is_a_sign_of_life(world: OffsetsWorld) -> None:
    """A commit in a Stable group extends the member's session (45 s here), as in Apache Kafka."""
    world.has_members("t")
    for _ in range(3):
        world.log.advance(44_000)
        assert world.commit({T0: 5}, generation=5, member="m") == {T0: NONE}
    world.log.advance(46_000)
    assert world.commit({T0: 6}, generation=5, member="m") == {T0: ErrorCode.UNKNOWN_MEMBER_ID}


def test_a_share_group_has_no_offsets_of_this_sort(world: OffsetsWorld) -> None:
    request = ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=["t"])
    world.log.run(world.shard.share.begin_heartbeat(request, CLIENT, world.time.now_ms))
    for version in (2, 9):
        assert world.commit({T0: 5}, version=version) == {T0: ErrorCode.GROUP_ID_NOT_FOUND}
    assert world.fetch() == {}
    assert world.fetch([T0]) == {T0: (-1, -1, "", NONE)}
    assert world.delete(T0) is ErrorCode.GROUP_ID_NOT_FOUND


# -- fetching


def test_what_was_not_committed_is_no_error(world: OffsetsWorld) -> None:
    world.committed({T0: 5})
    assert world.fetch([T1, T0, ("nowhere", 9)]) == {
        T1: (-1, -1, "", NONE),
        T0: (5, -1, "", NONE),
        ("nowhere", 9): (-1, -1, "", NONE),
    }
    assert world.fetch([]) == {}, "nothing is asked for, so nothing is answered"


def test_a_group_that_does_not_exist_has_nothing(world: OffsetsWorld) -> None:
    assert world.fetch() == {}
    assert world.fetch([T0]) == {T0: (-1, -1, "", NONE)}


def test_an_offset_of_a_topic_that_had_the_name_before(world: OffsetsWorld) -> None:
    """No offset of an earlier topic of that name is returned (KIP-848, topic ids)."""
    world.committed({T0: 5})
    assert world.fetch([T0], ids={"t": world.id_of("t")}) == {T0: (5, -1, "", NONE)}
    assert world.fetch([T0], ids={"t": world.id_of("u")}) == {T0: (-1, -1, "", NONE)}
    world.commit({T0: 6}, with_ids=False)
    assert world.fetch([T0], ids={"t": world.id_of("u")}) == {T0: (6, -1, "", NONE)}, "it does not say whose it is"


def test_an_offset_of_a_transaction_says_of_which_topic_it_is(world: OffsetsWorld) -> None:
    """The record has the topic id, unlike in Apache Kafka, where a new topic of that name may inherit the offset."""
    topics = [OffsetCommitRequestTopic("t", world.id_of("t"), [OffsetCommitRequestPartition(0, 5)])]
    request = OffsetCommitRequest("g", topics=topics)
    world.log.run(commit_decision(world.shard.offsets, request, 6, world.time, transactional=True))
    committed = world.shard.offsets.store.get("g", "t", 0)
    assert committed is not None
    assert (committed.offset, committed.topic_id) == (5, world.id_of("t"))


def test_a_fetch_of_stable_offsets_reports_open_transactions(world: OffsetsWorld) -> None:
    """The error is UNSTABLE_OFFSET_COMMIT (KIP-447)."""
    world.committed({T0: 5, T1: 6})
    store = world.shard.offsets.store
    pending = store.get("g", "t", 0)
    assert pending is not None
    store.put("g", "t", 0, pending._replace(offset=9, record_offset=99), producer_id=7)
    unstable = (-1, -1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert world.fetch([T0, T1], stable=True) == {T0: unstable, T1: (6, -1, "", NONE)}
    assert world.fetch(stable=True) == {T0: unstable, T1: (6, -1, "", NONE)}
    assert world.offsets() == {T0: 5, T1: 6}
    store.end_transaction(7, commit=True)
    assert world.fetch([T0], stable=True) == {T0: (9, -1, "", NONE)}


# -- deleting


def test_offsets_are_deleted_one_by_one(world: OffsetsWorld) -> None:
    world.committed({T0: 5, T1: 6, U0: 7})
    assert world.delete(T0, U0, ("u", 1)) == {T0: NONE, U0: NONE, ("u", 1): NONE}
    assert len(world.log.last) == 2, "there is nothing to remove where nothing was committed"
    assert world.offsets() == {T1: 6}
    assert world.delete(T0) == {T0: NONE}
    assert not world.log.value_types()


def test_the_group_stays_when_its_last_offset_is_deleted(world: OffsetsWorld) -> None:
    world.committed({T0: 5})
    world.delete(T0)
    assert world.listed() == [("g", "classic", "", "Empty")]
    world.log.advance(600_000)
    assert world.listed() == [], "until the next look for what has expired"


def test_pending_offsets_are_deleted_too(world: OffsetsWorld) -> None:
    world.committed({T0: 5})
    pending = world.shard.offsets.store.get("g", "t", 0)
    assert pending is not None
    world.shard.offsets.store.put("g", "t", 1, pending, producer_id=7)
    world.delete(T1)
    assert len(world.log.last) == 1
    world.shard.offsets.store.end_transaction(7, commit=True)
    assert world.offsets() == {T0: 5}


def test_nothing_is_deleted_of_what_members_read(world: OffsetsWorld) -> None:
    world.has_members("t")
    world.commit({T0: 5, U0: 6}, generation=5, member="m")
    assert world.delete(T0, U0) == {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, U0: NONE}
    assert world.offsets() == {T0: 5}


def test_nothing_is_deleted_while_the_topics_of_members_are_unknown(world: OffsetsWorld) -> None:
    world.has_members("t", protocol_type="connect")
    world.commit({T0: 5}, generation=5, member="m")
    assert world.delete(T0) is ErrorCode.NON_EMPTY_GROUP
    assert world.delete(T0, group="other") is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_deleted_group_takes_its_offsets_along(world: OffsetsWorld) -> None:
    world.committed({T0: 5, U0: 6})
    world.committed({T0: 7}, group="h")
    assert world.log.run(world.shard.delete_group("g")).code is NONE
    assert world.log.value_types() == ["-OffsetCommitKey", "-OffsetCommitKey", "-GroupMetadataKey"]
    for _ in range(2):
        assert (world.offsets(), world.offsets("h")) == ({}, {T0: 7})
        assert world.listed() == [("h", "classic", "", "Empty")]
        world.log.reload()


# -- topics


def test_a_deleted_topic_takes_its_offsets_along(world: OffsetsWorld) -> None:
    world.committed({T0: 5, U0: 6})
    world.commit({T1: 7}, with_ids=False)
    world.committed({T0: 8}, group="h")
    world.delete_topic("t")
    assert (world.offsets(), world.offsets("h")) == ({U0: 6}, {})
    world.log.reload()
    assert (world.offsets(), world.offsets("h")) == ({U0: 6}, {})


def test_offsets_of_the_topics_successor_stay(world: OffsetsWorld) -> None:
    gone = world.topics.delete("t")
    world.topics.create("t", 3)
    world.committed({T0: 5})
    world.log.run(world.shard.topics_deleted({gone.topic_id: "t"}))
    assert world.offsets() == {T0: 5}


def test_topics_that_are_spoken_of(world: OffsetsWorld) -> None:
    world.committed({T0: 5})
    world.commit({U0: 5}, with_ids=False)
    assert world.shard.topics() == {world.id_of("t"): "t"}
    assert world.shard.offsets.topics_without_id() == {"u"}
