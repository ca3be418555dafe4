"""Committed offsets over frames: every version, missing topics, restarts, crashes, failing logs.

`tests/unit/coordinator/group/offsets` tests the rules of groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from devtools.clients.offsets_client import (
    COMMIT_VERSIONS,
    FETCH_VERSIONS,
    IDS_FROM,
    NO_OFFSET,
    NONE,
    OffsetsClient,
    Row,
)
from devtools.in_memory.mem_fs import SimulatedCrash
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.broker import Broker
from shareq.broker.data_folder_ground import data_folder_of
from shareq.coordinator.group.offsets.offset import CommittedOffset
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.routing import group_partition_for
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.offset_commit import OffsetCommitKey, OffsetCommitValue
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from shareq.protocol.names import CONSUMER_OFFSETS
from tests.support.fakes.host import ELSEWHERE
from tests.support.worlds.internal_records import records

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
CHECK_MS = 600_000


class Offsets(OffsetsClient):
    """A client that commits, and topics t and u of two partitions each."""

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self.world = BrokerWorld(properties)
        topics = [self.world.create_topic(name, 2) for name in ("t", "u")]
        super().__init__(self.world.connect(), {topic.name: topic.topic_id for topic in topics})

    def restart(self, *, clean: bool = True) -> None:
        if clean:
            self.world.restart()
        else:
            self.world.crash()
        self.client = self.world.connect()

    @property
    def broker(self) -> Broker:
        return self.world.broker

    def listed(self) -> list[tuple[str, str, str, str]]:
        answer = self.client.call(ListGroupsRequest(), 5, ListGroupsResponse)
        return sorted((g.group_id, g.protocol_type, g.group_state, g.group_type) for g in answer.groups)

    def delete_groups(self, *groups: str) -> dict[str, int]:
        answer = self.client.call(DeleteGroupsRequest(list(groups)), 2, DeleteGroupsResponse)
        return {result.group_id: result.error_code for result in answer.results}

    def written(self, group: str = "g") -> list[tuple[str, int, CommittedOffset | None]]:
        """Return the offsets in the log of a group's partition, oldest first; None for a tombstone."""
        count = self.broker.services.groups.coordinator.partitions.count
        found = records(self.world, CONSUMER_OFFSETS, group_partition_for(group, count), GROUP_SERDE)
        return [
            (
                record.key.topic,
                record.key.partition,
                CommittedOffset(value.offset, value.leader_epoch, value.metadata, topic_id=value.topic_id)
                if isinstance(value := record.value, OffsetCommitValue)
                else None,
            )
            for record in found
            if isinstance(record.key, OffsetCommitKey)
        ]


@pytest.fixture
def offsets() -> Offsets:
    return Offsets()


# -- every version


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_a_commit_in_every_version(version: int, offsets: Offsets) -> None:
    epoch = 3 if version >= 6 else -1
    rows = {T0: Row(5, metadata="me", leader_epoch=epoch), U0: Row(7)}
    offsets.committed(rows, version)
    assert offsets.fetch(None) == (NONE, rows)
    topic_id = offsets.ids["t"]
    assert offsets.written()[0] == ("t", 0, CommittedOffset(5, epoch, "me", topic_id=topic_id))


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_fetch_in_every_version(version: int, offsets: Offsets) -> None:
    offsets.committed({T0: Row(5, metadata="me", leader_epoch=3), U0: 7})
    epoch = 3 if version >= 5 else -1
    assert offsets.fetch([T1, T0], version) == (NONE, {T1: NO_OFFSET, T0: Row(5, NONE, "me", epoch)})


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_topics_and_partitions_that_do_not_exist(version: int, offsets: Offsets) -> None:
    offsets.ids["nowhere"] = bytes(range(16))
    errors = offsets.commit({T0: 1, ("t", 2): 2, ("t", -1): 3, ("nowhere", 0): 4, U0: 5}, version)
    no_topic = ErrorCode.UNKNOWN_TOPIC_ID if version >= IDS_FROM else UNKNOWN
    assert errors == {T0: NONE, ("t", 2): UNKNOWN, ("t", -1): UNKNOWN, ("nowhere", 0): no_topic, U0: NONE}
    assert offsets.all() == {T0: 1, U0: 5}


@pytest.mark.parametrize("version", [9, 10])
def test_where_nothing_exists_no_group_is_made(version: int, offsets: Offsets) -> None:
    offsets.ids["nowhere"] = bytes(range(16))
    errors = offsets.commit({("nowhere", 0): 4, ("t", 7): 5}, version)
    no_topic = ErrorCode.UNKNOWN_TOPIC_ID if version >= IDS_FROM else UNKNOWN
    assert errors == {("nowhere", 0): no_topic, ("t", 7): UNKNOWN}
    assert offsets.commit({}, version) == {}
    assert offsets.broker.services.metadata.topic(CONSUMER_OFFSETS) is None


def test_each_topic_is_answered_once_the_refused_ones_first(offsets: Offsets) -> None:
    """Topics that are refused at once come first, as in Apache Kafka, then the coordinator's results."""
    errors = offsets.commit({U0: 1, T0: 2, ("t", 9): 3}, 9)
    assert list(errors) == [("t", 9), T0, U0]


@pytest.mark.parametrize("version", [8, 9, 10])
def test_many_groups_in_one_request(version: int, offsets: Offsets) -> None:
    offsets.committed({T0: 5, U0: 6})
    offsets.committed({T1: 7}, group="h")
    answers = offsets.fetch_many({"h": None, "g": [U0, T1], "nobody": None, "none": [T0], "nothing": []}, version)
    assert list(answers) == ["h", "g", "nobody", "none", "nothing"]
    assert answers == {
        "h": (NONE, {T1: Row(7)}),
        "g": (NONE, {U0: Row(6), T1: NO_OFFSET}),
        "nobody": (NONE, {}),
        "none": (NONE, {T0: NO_OFFSET}),
        "nothing": (NONE, {}),
    }
    assert offsets.client.call(OffsetFetchRequest(), version, OffsetFetchResponse).groups == []


def test_unknown_topic_ids_of_a_fetch_come_last(offsets: Offsets) -> None:
    offsets.ids["nowhere"] = bytes(range(16))
    offsets.committed({T0: 5})
    error, rows = offsets.fetch([("nowhere", 0), T0, ("nowhere", 1)], 10)
    gone = Row(-1, ErrorCode.UNKNOWN_TOPIC_ID)
    assert (error, list(rows.items())) == (NONE, [(T0, Row(5)), (("nowhere", 0), gone), (("nowhere", 1), gone)])


def test_offsets_of_a_deleted_topic_have_no_topic_id(offsets: Offsets) -> None:
    """Version 10 of OffsetFetch omits such offsets, earlier ones name them; the coordinator is not notified of the
    deletion.
    """
    offsets.committed({T0: 5, U0: 6})
    shard = offsets.broker.services.groups.coordinator.partition("g").shard
    shard.offsets.store.put("g", "gone", 0, CommittedOffset(7))
    assert offsets.all() == {T0: 5, U0: 6, ("gone", 0): 7}
    assert offsets.fetch(None, 10) == (NONE, {T0: Row(5), U0: Row(6)})


@pytest.mark.parametrize("version", range(7, 11))
def test_stable_offsets_only(version: int, offsets: Offsets) -> None:
    """KIP-447."""
    offsets.committed({T0: 5, T1: 6})
    store = offsets.broker.services.groups.coordinator.partition("g").shard.offsets.store
    store.put("g", "t", 0, CommittedOffset(9, record_offset=99), producer_id=7)
    unstable = Row(-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    for at in ([T0, T1], None):
        assert offsets.fetch(at, version, stable=True) == (NONE, {T0: unstable, T1: Row(6)})
        assert offsets.fetch(at, version) == (NONE, {T0: Row(5), T1: Row(6)})


@pytest.mark.parametrize("version", range(2, 5))
def test_a_retention_in_the_request(version: int, offsets: Offsets) -> None:
    assert offsets.commit({T0: 5}, version, retention_ms=1_000) == {T0: NONE}
    offsets.world.clock.advance(CHECK_MS)
    assert (offsets.all(), offsets.listed()) == ({}, [])


@pytest.mark.parametrize("version", range(2, 5))
def test_the_longest_retention_is_for_ever(version: int, offsets: Offsets) -> None:
    """A retention is accepted whose end no record could hold."""
    assert offsets.commit({T0: 5}, version, retention_ms=2**63 - 1) == {T0: NONE}
    offsets.world.clock.advance(CHECK_MS)
    offsets.restart()
    assert offsets.all() == {T0: 5}


@pytest.mark.parametrize("retention_ms", [-(2**63), -2])
def test_a_negative_retention_is_over_at_once(retention_ms: int, offsets: Offsets) -> None:
    assert offsets.commit({T0: 5}, 4, retention_ms=retention_ms) == {T0: NONE}
    offsets.world.clock.advance(CHECK_MS)
    assert offsets.all() == {}


def test_properties_of_offsets() -> None:
    offsets = Offsets(
        {
            "offset.metadata.max.bytes": "3",
            "offsets.retention.minutes": "2",
            "offsets.retention.check.interval.ms": "1000",
        }
    )
    errors = offsets.commit({T0: Row(5, metadata="abc"), T1: Row(5, metadata="abcd")})
    assert errors == {T0: NONE, T1: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    offsets.world.clock.advance(119_999)
    assert offsets.all() == {T0: 5}
    offsets.world.clock.advance(1_000)
    assert offsets.all() == {}


# -- groups that only keep offsets


def test_a_simple_group_is_listed_described_and_deleted(offsets: Offsets) -> None:
    """Apache Kafka: it is an empty classic group without a protocol type."""
    offsets.committed({T0: 5, U0: 6})
    assert offsets.listed() == [("g", "", "Empty", "classic")]
    for version in (0, 6):
        (group,) = offsets.client.call(DescribeGroupsRequest(["g"]), version, DescribeGroupsResponse).groups
        assert (group.error_code, group.group_state, group.protocol_type) == (NONE, "Empty", "")
        assert (group.protocol_data, group.members) == ("", [])
    assert offsets.delete_groups("g", "h") == {"g": NONE, "h": ErrorCode.GROUP_ID_NOT_FOUND}
    assert (offsets.listed(), offsets.all()) == ([], {})
    assert [row for row in offsets.written() if row[2] is None] == [("t", 0, None), ("u", 0, None)]
    offsets.restart()
    assert (offsets.listed(), offsets.all()) == ([], {})


def test_the_empty_group_id(offsets: Offsets) -> None:
    """Old consumers without a group id keep their offsets there (Apache Kafka, since KIP-289)."""
    offsets.committed({T0: 5}, group="")
    assert offsets.fetch([T0], group="") == (NONE, {T0: Row(5)})
    assert offsets.delete(T0, group="") is ErrorCode.INVALID_GROUP_ID


def test_offsets_are_deleted(offsets: Offsets) -> None:
    assert offsets.delete(T0) is ErrorCode.GROUP_ID_NOT_FOUND, "before there is any group at all"
    offsets.committed({T0: 5, T1: 6, U0: 7})
    errors = offsets.delete(T0, ("t", 9), U0, ("nowhere", 0))
    assert errors == {("t", 9): UNKNOWN, T0: NONE, ("nowhere", 0): UNKNOWN, U0: NONE}
    assert offsets.all() == {T1: 6}
    assert offsets.delete(T0, group="h") is ErrorCode.GROUP_ID_NOT_FOUND
    offsets.restart()
    assert offsets.all() == {T1: 6}


def test_a_deleted_topic_takes_its_offsets_along(offsets: Offsets) -> None:
    offsets.committed({T0: 5, U0: 6})
    offsets.world.folder.metadata.delete_topics(["t"])
    assert offsets.all() == {U0: 6}
    offsets.world.create_topic("t", 2)
    assert offsets.all() == {U0: 6}
    offsets.restart()
    assert offsets.all() == {U0: 6}


# -- what was answered stays


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_a_restart_keeps_everything(clean: bool, offsets: Offsets) -> None:
    rows = {T0: Row(5, metadata="mé", leader_epoch=3), U0: Row(7)}
    offsets.committed({T0: 1})
    offsets.committed(rows)
    offsets.committed({T1: 9}, group="h")
    offsets.restart(clean=clean)
    assert offsets.fetch(None) == (NONE, rows)
    assert offsets.all("h") == {T1: 9}
    assert offsets.listed() == [("g", "", "Empty", "classic"), ("h", "", "Empty", "classic")]


def test_a_crash_at_any_step_keeps_what_was_answered() -> None:
    outcomes: Counter[str] = Counter()
    for step in range(1, 12):
        offsets = Offsets()
        offsets.committed({T0: 1, T1: 1})
        offsets.world.fs.crash_at = offsets.world.fs.steps + step
        answered = 1
        try:
            for value in (2, 3, 4):
                offsets.committed({T0: value, T1: value})
                answered = value
            offsets.delete(T1)
            answered = 5
        except SimulatedCrash:
            outcomes["crashed"] += 1
        offsets.world.fs.crash_at = None
        offsets.restart(clean=False)
        found = offsets.all()
        assert set(found.values()) in ({answered}, {min(answered + 1, 4)}), "both partitions, or neither"
        assert (T1 in found) is (answered < 5) or answered == 4
    assert outcomes["crashed"]


def test_another_broker_coordinates_the_group(offsets: Offsets) -> None:
    offsets.committed({T0: 5})
    count = offsets.broker.services.groups.coordinator.partitions.count
    at = group_partition_for("g", count)
    data_folder_of(offsets.broker.services).leaders.move(CONSUMER_OFFSETS, at, ELSEWHERE)
    moved = ErrorCode.NOT_COORDINATOR
    assert offsets.commit({T0: 6}) == {T0: moved}
    assert offsets.fetch(None) == (moved, {})
    assert offsets.delete(T0) is moved
    data_folder_of(offsets.broker.services).leaders.move(CONSUMER_OFFSETS, at, None)
    assert offsets.all() == {T0: 5}


def test_our_own_fault_has_its_place_in_every_version(monkeypatch: pytest.MonkeyPatch, offsets: Offsets) -> None:
    offsets.committed({T0: 5})

    def fault(*_arguments: object, **_named: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(offsets.broker.services.groups.offsets, "commit", fault)
    monkeypatch.setattr(offsets.broker.services.groups.offsets, "ask", fault)
    monkeypatch.setattr(offsets.broker.services.groups.offsets, "delete", fault)
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    for version in COMMIT_VERSIONS:
        assert offsets.commit({T0: 6}, version) == {T0: error}
    assert offsets.fetch([T0], 1) == (NONE, {T0: Row(-1, error)})
    for version in range(2, 11):
        assert offsets.fetch(None, version) == (error, {})
    assert offsets.delete(T0) is error
    monkeypatch.undo()
    assert offsets.all() == {T0: 5}


def test_the_log_of_many_commits_stays_small() -> None:
    """Compaction keeps the last commit of each partition, which a restart loads."""
    offsets = Offsets({"offsets.topic.num.partitions": "1", "offsets.topic.segment.bytes": "10000"})
    for value in range(2_000):
        offsets.committed({T0: value, T1: value + 1})
        offsets.world.clock.advance(100)
    log = offsets.world.folder.logs.get(CONSUMER_OFFSETS, 0)
    assert offsets.world.folder.logs.cleaner.passes
    assert log.log_end_offset == 4_000
    assert len(log.segments) <= 3
    for clean in (True, False):
        offsets.restart(clean=clean)
        assert offsets.all() == {T0: 1_999, T1: 2_000}
