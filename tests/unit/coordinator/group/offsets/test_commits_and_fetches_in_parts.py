"""OffsetCommit and OffsetFetch of many topics in parts, with the same result as at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.coordinator.group.offsets.commit import PreparedCommit, accepted
from shareq.coordinator.group.offsets.fetch import Joined, parts_of, refused, refused_by_partition
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.shard import RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.unit.coordinator.group.offsets.world import NONE, OffsetsWorld

AMPLE = 1 << 20
IDS = {name: bytes([number]) * 16 for number, name in enumerate("tuvw", 1)}


def commit_of(**metadata: Sequence[str]) -> OffsetCommitRequest:
    """Build a commit of each topic's partitions from 0 on, with this metadata and with offsets counting up from 10."""
    topics = [
        OffsetCommitRequestTopic(
            name, IDS[name], [OffsetCommitRequestPartition(at, 10 + at, 3, text) for at, text in enumerate(texts)]
        )
        for name, texts in metadata.items()
    ]
    return OffsetCommitRequest("g", topics=topics)


def size_of(prepared: PreparedCommit) -> int:
    return sum(len(data.key or b"") + len(data.value or b"") for data in prepared.encoded)


def test_a_commit_in_parts_is_the_commit_of_the_whole() -> None:
    prepared = PreparedCommit(GROUP_SERDE, 4, AMPLE)
    prepared.add(commit_of(t=["", "long!"]), 7_000)
    prepared.add(commit_of(u=["abcd"]), 7_000)
    whole = accepted(commit_of(t=["", "long!"], u=["abcd"]), 7_000, 4)
    assert prepared.topics == whole.response.topics
    assert tuple(prepared.records) == whole.records
    assert [(data.key, data.value) for data in prepared.encoded] == [GROUP_SERDE.encode(row) for row in whole.records]
    assert len(prepared.records) == 2
    assert not prepared.is_too_large


def test_of_a_commit_that_is_too_large_nothing_is_kept_but_its_answer() -> None:
    fits = PreparedCommit(GROUP_SERDE, 9, AMPLE)
    fits.add(commit_of(t=["", ""]), 7_000)
    exact = PreparedCommit(GROUP_SERDE, 9, size_of(fits))
    exact.add(commit_of(t=["", ""]), 7_000)
    assert (exact.is_too_large, len(exact.encoded)) == (False, 2)
    exact.add(commit_of(u=[""]), 7_000)
    exact.add(commit_of(v=[""]), 7_000)
    assert exact.is_too_large
    assert (exact.records, exact.encoded) == ([], [])
    assert [topic.name for topic in exact.topics] == ["t", "u", "v"]
    one_less = PreparedCommit(GROUP_SERDE, 9, size_of(fits) - 1)
    one_less.add(commit_of(t=["", ""]), 7_000)
    assert one_less.is_too_large


def test_what_was_deleted_meanwhile_is_left_out_of_the_records_alone() -> None:
    prepared = PreparedCommit(GROUP_SERDE, 9, AMPLE)
    prepared.add(commit_of(t=["", ""], u=[""], v=[""]), 7_000)
    before = list(zip(prepared.records, prepared.encoded, strict=True))
    prepared.leave_out({IDS["t"], IDS["v"], IDS["w"]})
    assert list(zip(prepared.records, prepared.encoded, strict=True)) == before[2:3]
    assert [topic.name for topic in prepared.topics] == ["t", "u", "v"]


@pytest.mark.parametrize("transactional", [False, True])
def test_a_prepared_commit_is_written_and_counted(transactional: bool, world: OffsetsWorld) -> None:
    prepared = PreparedCommit(GROUP_SERDE, 9, AMPLE)
    request = commit_of(t=["", "x"])
    prepared.add(request, 7_000)
    offsets, world.counters.offset_commits = world.shard.offsets, 5
    for generation, version, error in (
        (-1, 9, NONE),
        (0, 9, ErrorCode.GROUP_ID_NOT_FOUND),
        (0, 5, ErrorCode.ILLEGAL_GENERATION),
    ):
        request.generation_id_or_member_epoch = generation
        if transactional:
            result = offsets.commit_transactional(request, version, prepared)
        else:
            result = offsets.commit(request, version, world.time.now_ms, prepared)
        assert result.response is error
        assert result.records == (tuple(prepared.records) if error is NONE else ())
        assert result.encoded == (tuple(prepared.encoded) if error is NONE else ())
    assert world.counters.offset_commits == 5 + 2


def test_a_prepared_commit_without_room_is_refused_after_what_the_group_says(world: OffsetsWorld) -> None:
    prepared = PreparedCommit(GROUP_SERDE, 9, 10)
    request = commit_of(t=[""])
    prepared.add(request, 7_000)
    with pytest.raises(RecordsTooLarge):
        world.shard.offsets.commit(request, 9, world.time.now_ms, prepared)
    request.generation_id_or_member_epoch = 3
    refusal = world.shard.offsets.commit(request, 9, world.time.now_ms, prepared)
    assert refusal.response is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_prepared_commit_is_a_sign_of_life(world: OffsetsWorld) -> None:
    world.has_members("t")
    request = commit_of(t=[""])
    request.generation_id_or_member_epoch, request.member_id = 5, "m"
    for _ in range(3):
        world.log.advance(44_000)
        prepared = PreparedCommit(GROUP_SERDE, 9, AMPLE)
        result = world.shard.offsets.commit(request, 9, world.time.now_ms, prepared)
        assert result.response is NONE
    world.log.advance(46_000)
    late = world.shard.offsets.commit(request, 9, world.time.now_ms, prepared)
    assert late.response is ErrorCode.UNKNOWN_MEMBER_ID


# -- fetching


def fetch_of(topics: Sequence[tuple[str, int]] | None) -> OffsetFetchRequestGroup:
    named = None if topics is None else [OffsetFetchRequestTopics(n, IDS[n], list(range(size))) for n, size in topics]
    return OffsetFetchRequestGroup("g", "m", 4, named)


def sizes_of(parts: Sequence[OffsetFetchRequestGroup]) -> list[list[tuple[str, list[int]]]]:
    return [[(topic.name, topic.partition_indexes) for topic in part.topics or ()] for part in parts]


def test_parts_have_about_so_many_partitions_and_topics() -> None:
    parts = list(parts_of(fetch_of([("t", 1), ("u", 5), ("v", 0), ("w", 2)]), 4))
    assert sizes_of(parts) == [
        [("t", [0])],
        [("u", [0, 1, 2, 3])],
        [("u", [4]), ("v", [])],
        [("w", [0, 1])],
    ]
    assert all((part.group_id, part.member_id, part.member_epoch) == ("g", "m", 4) for part in parts)
    assert all(topic.topic_id == IDS[topic.name] for part in parts for topic in part.topics or ())


@pytest.mark.parametrize("topics", [None, []])
def test_a_fetch_of_nothing_is_one_part(topics: list[tuple[str, int]] | None) -> None:
    assert sizes_of(list(parts_of(fetch_of(topics), 4))) == [[]]


def test_a_part_is_full_when_the_next_topic_would_take_all_that_is_left() -> None:
    assert sizes_of(list(parts_of(fetch_of([("t", 1), ("u", 1), ("v", 1)]), 4))) == [
        [("t", [0]), ("u", [0])],
        [("v", [0])],
    ]


def answer_to(part: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    topics = [
        OffsetFetchResponseTopics(
            topic.name, topic.topic_id, [OffsetFetchResponsePartitions(at, 10 * at) for at in topic.partition_indexes]
        )
        for topic in part.topics or ()
    ]
    return OffsetFetchResponseGroup("g", topics)


@given(st.lists(st.tuples(st.sampled_from("tuvw"), st.integers(0, 9)), max_size=5), st.integers(1, 12))
def test_answers_to_parts_are_joined_to_the_answer_to_the_whole(topics: list[tuple[str, int]], most: int) -> None:
    """Rows of one topic are joined although a part ends between them."""
    group = fetch_of(topics)
    joined = Joined()
    for part in parts_of(group, most):
        joined.add(answer_to(part))
    whole = answer_to(group)

    def rows(answer: OffsetFetchResponseGroup) -> list[tuple[str, int, int]]:
        return [
            (each.name, row.partition_index, row.committed_offset) for each in answer.topics for row in each.partitions
        ]

    assert joined.group.group_id == "g"
    assert rows(joined.group) == rows(whole)
    assert {each.name for each in joined.group.topics} == {each.name for each in whole.topics}
    assert len(joined.group.topics) <= len(whole.topics)


def test_topics_with_one_name_and_two_ids_stay_two() -> None:
    joined = Joined()
    for topic_id in (IDS["t"], IDS["u"]):
        joined.add(OffsetFetchResponseGroup("g", [OffsetFetchResponseTopics("t", topic_id, [])]))
    assert [(each.name, each.topic_id) for each in joined.group.topics] == [("t", IDS["t"]), ("t", IDS["u"])]


def test_the_first_error_of_a_group_is_that_of_the_whole() -> None:
    joined = Joined()
    joined.add(answer_to(fetch_of([("t", 2)])))
    joined.add(refused(fetch_of([("u", 1)]), ErrorCode.NOT_COORDINATOR))
    joined.add(refused(fetch_of([("v", 1)]), ErrorCode.UNKNOWN_MEMBER_ID))
    joined.add(answer_to(fetch_of([("w", 1)])))
    assert (joined.group.error_code, joined.group.topics) == (ErrorCode.NOT_COORDINATOR, [])


def test_version_1_has_the_error_of_a_group_in_every_row() -> None:
    answer = refused_by_partition(fetch_of([("t", 2), ("u", 1)]), ErrorCode.NOT_COORDINATOR)
    assert (answer.group_id, answer.error_code) == ("g", NONE)
    rows = [
        (topic.name, topic.topic_id, row.partition_index, row.committed_offset, row.error_code)
        for topic in answer.topics
        for row in topic.partitions
    ]
    assert rows == [
        ("t", IDS["t"], 0, -1, ErrorCode.NOT_COORDINATOR),
        ("t", IDS["t"], 1, -1, ErrorCode.NOT_COORDINATOR),
        ("u", IDS["u"], 0, -1, ErrorCode.NOT_COORDINATOR),
    ]
    assert refused_by_partition(fetch_of(None), ErrorCode.NOT_COORDINATOR).topics == []
