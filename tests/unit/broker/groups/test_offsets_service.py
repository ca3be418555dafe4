"""Committed offsets on fakes: topic ids and names, missing topics, and failures of the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from shareq.coordinator.group.offsets.deletion import DeletedOffsets
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import offset_commit, offset_fetch
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from shareq.protocol.generated.sync_group import SyncGroupRequest
from shareq.protocol.primitives import ZERO_UUID
from tests.support.coroutines import begun
from tests.support.fakes.group_rig import CLIENT, OFFSETS, GroupRig
from tests.support.fakes.transaction_rig import TransactionRig
from tests.support.kafka.group_requests import consumer_heartbeat

NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_ID
NOWHERE = b"x" * 16
Rows = dict[tuple[str | bytes, int], ErrorCode]


class Rig(GroupRig):
    """Commits, fetches and deletions of a group without members."""

    def commit_request(
        self, offsets: Mapping[tuple[str | bytes, int], int], group: str = "g", **fields: object
    ) -> offset_commit.OffsetCommitRequest:
        rows: dict[str | bytes, list[offset_commit.OffsetCommitRequestPartition]] = {}
        for (name, partition), offset in offsets.items():
            rows.setdefault(name, []).append(offset_commit.OffsetCommitRequestPartition(partition, offset))
        topics = [
            offset_commit.OffsetCommitRequestTopic(
                name if isinstance(name, str) else "", name if isinstance(name, bytes) else ZERO_UUID, partitions
            )
            for name, partitions in rows.items()
        ]
        return offset_commit.OffsetCommitRequest(group_id=group, topics=topics, **fields)  # type: ignore[arg-type]

    def commit(
        self, offsets: Mapping[tuple[str | bytes, int], int], version: int = 9, group: str = "g", **fields: object
    ) -> Rows:
        pending = self.commit_begun(self.commit_request(offsets, group, **fields), version)
        self.ports.logs.flush()
        return commit_rows(pending.value, version)

    def fetch(
        self, at: Sequence[tuple[str | bytes, Sequence[int]]] | None, version: int = 9, group: str = "g"
    ) -> offset_fetch.OffsetFetchResponseGroup:
        topics = None
        if at is not None:
            topics = [
                offset_fetch.OffsetFetchRequestTopics(
                    name if isinstance(name, str) else "",
                    name if isinstance(name, bytes) else ZERO_UUID,
                    list(partitions),
                )
                for name, partitions in at
            ]
        asked = offset_fetch.OffsetFetchRequestGroup(group, topics=topics)
        return self.fetch_begun(asked, version).value

    def offsets(self, at: Sequence[tuple[str | bytes, Sequence[int]]] | None, version: int = 9) -> object:
        answer = self.fetch(at, version)
        assert answer.error_code == NONE
        return {
            (topic.topic_id if version >= 10 else topic.name, row.partition_index): row.committed_offset
            for topic in answer.topics
            for row in topic.partitions
        }

    def delete(self, *at: tuple[str, int], group: str = "g") -> Rows | ErrorCode:
        prepared = self.service.offsets.begin_delete(group)
        if isinstance(prepared, ErrorCode):
            return prepared
        for topic, partition in at:
            assert 0 <= partition < self.service.offsets.partitions_of(topic)
            prepared.add(topic, (partition,))
        pending = self.service.offsets.delete(prepared)
        self.ports.logs.flush()
        if pending.value.error:
            return pending.value.error
        assert not pending.value.subscribed
        return dict.fromkeys(at, NONE)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def commit_rows(answer: offset_commit.OffsetCommitResponse, version: int) -> Rows:
    names = [(topic.name, topic.topic_id) for topic in answer.topics]
    assert len(names) == len(set(names))
    for topic in answer.topics:
        assert topic.partitions
        assert len({row.partition_index for row in topic.partitions}) == len(topic.partitions)
    return {
        (topic.topic_id if version >= 10 else topic.name, row.partition_index): ErrorCode(row.error_code)
        for topic in answer.topics
        for row in topic.partitions
    }


# -- commit


def static_member(rig: Rig) -> str:
    """Create the member of group g with instance id `i` and a session of 30 seconds, in generation 1; return its id."""
    joining = JoinGroupRequest("g", 30_000, 60_000, "", "i", "consumer", [JoinGroupRequestProtocol("range", b"r")])
    pending = begun(rig.ports.env, rig.service.classic.join(joining, 5, CLIENT))
    rig.ports.clock.advance(3_000)
    rig.ports.logs.flush()
    member = pending.value.member_id
    synced = rig.service.classic.sync(SyncGroupRequest("g", 1, member, "i", assignments=[]))
    assert rig.ports.answer(synced).error_code == NONE
    return member


def commit_as(rig: Rig, member: str, instance: str | None) -> Rows:
    return rig.commit({("t", 0): 5}, generation_id_or_member_epoch=1, member_id=member, group_instance_id=instance)


def test_a_commit_counts_as_a_heartbeat_of_a_classic_member(rig: Rig) -> None:
    """The commit extends the member's session, as in Apache Kafka."""
    member = static_member(rig)
    for _ in range(3):
        rig.ports.clock.advance(29_999)
        assert commit_as(rig, member, "i") == {("t", 0): NONE}
    rig.ports.clock.advance(30_000)
    rig.ports.logs.flush()
    assert commit_as(rig, member, "i") == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}


@pytest.mark.parametrize(
    ("instance", "error"), [("i", ErrorCode.FENCED_INSTANCE_ID), (None, ErrorCode.UNKNOWN_MEMBER_ID)]
)
def test_a_commit_in_the_name_of_an_instance_that_another_member_has_is_fenced(
    instance: str | None, error: ErrorCode, rig: Rig
) -> None:
    """The commit gets the fencing error (KIP-345)."""
    static_member(rig)
    assert commit_as(rig, "other", instance) == {("t", 0): error}


def test_a_commit_is_answered_when_it_is_durable_and_makes_the_topic(rig: Rig) -> None:
    pending = rig.commit_begun(rig.commit_request({("t", 0): 5}), 9)
    assert (pending.done, rig.ports.topics.created[-1]) == (False, OFFSETS)
    rig.ports.logs.flush()
    assert commit_rows(pending.value, 9) == {("t", 0): NONE}
    assert rig.offsets(None) == {("t", 0): 5}


@pytest.mark.parametrize("version", [2, 9])
def test_what_does_not_exist_is_refused_row_by_row_by_name(version: int, rig: Rig) -> None:
    rows = rig.commit({("t", 0): 5, ("t", 2): 6, ("t", -1): 7, ("nowhere", 0): 8, ("u", 0): 9}, version)
    assert rows == {("t", 0): NONE, ("t", 2): UNKNOWN, ("t", -1): UNKNOWN, ("nowhere", 0): UNKNOWN, ("u", 0): NONE}
    assert rig.offsets(None) == {("t", 0): 5, ("u", 0): 9}


def test_what_does_not_exist_is_refused_row_by_row_by_id(rig: Rig) -> None:
    t = rig.id_of("t")
    assert rig.commit({(t, 1): 5, (t, 2): 6, (NOWHERE, 0): 8}, 10) == {
        (t, 1): NONE,
        (t, 2): UNKNOWN,
        (NOWHERE, 0): UNKNOWN_ID,
    }
    assert rig.offsets(None) == {("t", 1): 5}


def test_with_nothing_that_exists_nobody_is_asked_and_nothing_parks(rig: Rig) -> None:
    commit = rig.service.offsets.commit(rig.commit_request({("nowhere", 0): 5}), 9)
    with pytest.raises(StopIteration) as answered:  # it never waited
        commit.send(None)
    assert commit_rows(answered.value.value, 9) == {("nowhere", 0): UNKNOWN}
    assert rig.ports.topics.topic(OFFSETS) is None


def test_the_id_of_a_name_is_in_the_answer(rig: Rig) -> None:
    pending = rig.commit_begun(rig.commit_request({("t", 0): 5, ("nowhere", 0): 1}), 9)
    rig.ports.logs.flush()
    ids = {topic.name: topic.topic_id for topic in pending.value.topics}
    assert ids == {"t": rig.id_of("t"), "nowhere": ZERO_UUID}


def test_every_field_of_a_commit_reaches_the_group() -> None:
    rig = Rig(OFFSETS)
    rows = rig.commit({("t", 0): 5, ("t", 7): 5}, member_id="m", generation_id_or_member_epoch=3)
    assert rows == {("t", 0): ErrorCode.GROUP_ID_NOT_FOUND, ("t", 7): UNKNOWN}
    assert rig.commit({("t", 0): 5}, generation_id_or_member_epoch=3) == {("t", 0): ErrorCode.GROUP_ID_NOT_FOUND}


def test_a_topic_that_cannot_be_made(rig: Rig) -> None:
    rig.ports.impossible_topics()
    unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert rig.commit({("t", 0): 5, ("nowhere", 0): 1}) == {("t", 0): unavailable, ("nowhere", 0): UNKNOWN}


def test_a_commit_that_is_lost() -> None:
    rig = Rig(OFFSETS)
    pending = rig.commit_begun(rig.commit_request({("t", 0): 5, ("nowhere", 0): 1}), 9)
    rig.ports.logs.lose_all()
    assert commit_rows(pending.value, 9) == {("t", 0): ErrorCode.NOT_COORDINATOR, ("nowhere", 0): UNKNOWN}
    assert rig.offsets(None) == {}


# -- fetch


@pytest.mark.parametrize("there", [(), (OFFSETS,)])
def test_a_group_without_offsets(there: tuple[str, ...]) -> None:
    rig = Rig(*there)
    t = rig.id_of("t")
    assert rig.offsets(None) == {}
    assert rig.offsets([("t", [0, 1]), ("nowhere", [0])]) == {("t", 0): -1, ("t", 1): -1, ("nowhere", 0): -1}
    assert rig.offsets([(t, [0])], 10) == {(t, 0): -1}


def test_offsets_by_name_and_by_id(rig: Rig) -> None:
    t, u = rig.id_of("t"), rig.id_of("u")
    rig.commit({("t", 0): 5, ("t", 1): 6, ("u", 0): 7})
    assert rig.offsets([("t", [1]), ("u", [0])]) == {("t", 1): 6, ("u", 0): 7}
    assert rig.offsets([(t, [1]), (u, [0])], 10) == {(t, 1): 6, (u, 0): 7}
    assert rig.offsets(None, 9) == {("t", 0): 5, ("t", 1): 6, ("u", 0): 7}
    assert rig.offsets(None, 10) == {(t, 0): 5, (t, 1): 6, (u, 0): 7}


@pytest.mark.parametrize("there", [(), (OFFSETS,)])
def test_an_id_that_stands_for_nothing(there: tuple[str, ...]) -> None:
    rig = Rig(*there)
    t = rig.id_of("t")
    answer = rig.fetch([(t, [0]), (NOWHERE, [3, 4])], 10)
    rows = {
        (topic.topic_id, row.partition_index): (ErrorCode(row.error_code), row.committed_offset)
        for topic in answer.topics
        for row in topic.partitions
    }
    assert rows == {(t, 0): (NONE, -1), (NOWHERE, 3): (UNKNOWN_ID, -1), (NOWHERE, 4): (UNKNOWN_ID, -1)}


def test_a_topic_that_was_made_again_has_none_of_the_old_ones_offsets(rig: Rig) -> None:
    rig.commit({("t", 0): 5, ("u", 0): 7})
    rig.ports.topics.delete("t")
    assert rig.offsets(None, 10) == {(rig.id_of("u"), 0): 7}, "without a name it cannot be returned"
    rig.ports.topics.add("t", 1)
    assert rig.offsets([("t", [0])]) == {("t", 0): -1}


@pytest.mark.parametrize(
    ("version", "group_error", "row_errors"),
    [(1, NONE, [ErrorCode.NOT_COORDINATOR]), (2, ErrorCode.NOT_COORDINATOR, []), (9, ErrorCode.NOT_COORDINATOR, [])],
)
def test_a_coordinator_that_fails(version: int, group_error: ErrorCode, row_errors: list[ErrorCode]) -> None:
    rig = Rig(OFFSETS)
    rig.commit_begun(rig.commit_request({("t", 0): 5}), 9)
    asked = offset_fetch.OffsetFetchRequestGroup(
        "g", topics=[offset_fetch.OffsetFetchRequestTopics("t", ZERO_UUID, [0])]
    )
    pending = rig.fetch_begun(asked, version)
    assert not pending.done, "it has seen what is not durable"
    rig.ports.logs.lose_all()
    answer = pending.value
    assert (answer.error_code, [row.error_code for topic in answer.topics for row in topic.partitions]) == (
        group_error,
        row_errors,
    )


def test_an_error_of_the_whole_group_has_no_rows_beside_it() -> None:
    rig = Rig(OFFSETS)
    rig.commit_begun(rig.commit_request({("t", 0): 5}), 9)
    topics = [offset_fetch.OffsetFetchRequestTopics("", each, [0]) for each in (rig.id_of("t"), NOWHERE)]
    asked = offset_fetch.OffsetFetchRequestGroup("g", topics=topics)
    pending = rig.fetch_begun(asked, 10)
    rig.ports.logs.lose_all()
    assert (pending.value.error_code, pending.value.topics) == (ErrorCode.NOT_COORDINATOR, [])


def test_the_member_that_asks_is_checked() -> None:
    rig = Rig(OFFSETS)
    for version in (9, 10):
        asked = offset_fetch.OffsetFetchRequestGroup("g", "m", 4, topics=[])
        answer = rig.fetch_begun(asked, version).value
        assert answer.error_code != NONE or answer.topics == []


# -- delete


def test_offsets_are_deleted_row_by_row(rig: Rig) -> None:
    rig.commit({("t", 0): 5, ("t", 1): 6, ("u", 0): 7})
    assert rig.delete(("t", 0), ("t", 0)) == {("t", 0): NONE}
    assert rig.offsets(None) == {("t", 1): 6, ("u", 0): 7}
    assert rig.delete(("u", 0)) == {("u", 0): NONE}
    assert rig.service.offsets.partitions_of("nowhere") == 0


def test_a_delete_without_a_group(rig: Rig) -> None:
    assert rig.delete(("t", 0), group="") is ErrorCode.INVALID_GROUP_ID
    assert rig.delete(("t", 0)) is ErrorCode.GROUP_ID_NOT_FOUND
    rig.commit({("u", 0): 7}, group="other")
    assert rig.delete(("t", 0)) is ErrorCode.GROUP_ID_NOT_FOUND, "another one's"


def test_a_delete_that_is_lost(rig: Rig) -> None:
    rig.commit({("t", 0): 5})
    prepared = rig.service.offsets.begin_delete("g")
    assert not isinstance(prepared, ErrorCode)
    prepared.add("t", [0])
    pending = rig.service.offsets.delete(prepared)
    rig.ports.logs.lose_all()
    assert pending.value == DeletedOffsets(ErrorCode.NOT_COORDINATOR)
    assert rig.offsets(None) == {("t", 0): 5}


def test_members_commit_and_fetch_in_their_generation() -> None:
    rig = Rig(OFFSETS)
    heartbeat = rig.service.consumer.heartbeat(consumer_heartbeat("g", topics=["t"]), 1, CLIENT, lambda _topic: True)
    joined = begun(rig.ports.env, heartbeat)
    epoch = rig.ports.answer(joined).member_epoch
    for member, member_epoch, error in (
        ("m", epoch, NONE),
        ("other", epoch, ErrorCode.UNKNOWN_MEMBER_ID),
        ("m", epoch + 5, ErrorCode.STALE_MEMBER_EPOCH),
    ):
        rows = rig.commit({("t", 0): 5}, member_id=member, generation_id_or_member_epoch=member_epoch)
        assert rows == {("t", 0): error}
    for version in (9, 10):
        for member, member_epoch, error in (
            ("m", epoch, NONE),
            ("m", epoch + 5, ErrorCode.STALE_MEMBER_EPOCH),
            ("other", epoch, ErrorCode.UNKNOWN_MEMBER_ID),
        ):
            asked = offset_fetch.OffsetFetchRequestGroup("g", member, member_epoch, topics=[])
            answer = rig.fetch_begun(asked, version).value
            assert (version, answer.error_code) == (version, error)


def test_offsets_that_an_open_transaction_may_change() -> None:
    rig = TransactionRig()
    producer = rig.begun()
    row = offset_commit.OffsetCommitRequestPartition(0, 5)
    topics = [offset_commit.OffsetCommitRequestTopic("t", rig.id_of("t"), [row])]
    request = offset_commit.OffsetCommitRequest(group_id="g", topics=topics)
    rig.ports.answer(rig.commit_offsets(producer, request, 5))
    for stable, error in ((False, NONE), (True, ErrorCode.UNSTABLE_OFFSET_COMMIT)):
        asked = offset_fetch.OffsetFetchRequestGroup(
            "g", topics=[offset_fetch.OffsetFetchRequestTopics("t", ZERO_UUID, [0])]
        )
        answer = rig.fetch_begun(asked, 9, require_stable=stable).value
        assert [row.error_code for topic in answer.topics for row in topic.partitions] == [error]


def test_a_topic_that_is_named_without_partitions_is_answered_if_it_does_not_exist() -> None:
    rig = Rig(OFFSETS)
    request = rig.commit_request({("t", 0): 5})
    request.topics += [offset_commit.OffsetCommitRequestTopic("nowhere"), offset_commit.OffsetCommitRequestTopic("u")]
    pending = rig.commit_begun(request, 9)
    rig.ports.logs.flush()
    assert [(topic.name, len(topic.partitions)) for topic in pending.value.topics] == [("nowhere", 0), ("t", 1)]
