"""Listing, changing and deleting groups over frames: every version, every precondition, and restarts."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest

from devtools.clients.requests import batch, produce_request
from devtools.in_memory.mem_fs import SimulatedCrash
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.routing import group_partition_for
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from shareq.protocol.generated.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import ZERO_UUID
from tests.support.worlds.counted_work import Work

NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
Offsets = Mapping[str, Mapping[int, int]]


class Admin:
    """An administrator, and a member "m" of group "g", on connections of their own. Topic t has 2 x 10 records."""

    def __init__(self, **properties: str) -> None:
        self.world = BrokerWorld({name.replace("_", "."): value for name, value in properties.items()})
        self.topic_id = self.world.create_topic("t", 2).topic_id
        self.reconnect()
        for partition in (0, 1):
            request = produce_request(batch(*[b"v"] * 10), topic="t", partition=partition)
            self.client.call(request, 9, ProduceResponse)

    def reconnect(self) -> None:
        self.client = self.world.connect()
        self.member = self.world.connect()
        self._epoch = 0

    def restart(self) -> None:
        self.world.restart()
        self.reconnect()

    def listed(self, version: int = 5, states: Sequence[str] = (), types: Sequence[str] = ()) -> list[tuple[str, ...]]:
        answer = self.client.call(ListGroupsRequest(list(states), list(types)), version, ListGroupsResponse)
        assert answer.error_code == NONE
        return sorted((g.group_id, g.protocol_type, g.group_state, g.group_type) for g in answer.groups)

    def alter(self, offsets: Offsets, group: str = "g") -> AlterShareGroupOffsetsResponse:
        return self.client.call(alter_request(offsets, group), 0, AlterShareGroupOffsetsResponse)

    def altered(self, offsets: Offsets, group: str = "g") -> None:
        assert set(errors_of(self.alter(offsets, group)).values()) == {NONE}

    def describe(
        self, group: str = "g", topics: Mapping[str, list[int]] | None = None, version: int = 1
    ) -> dict[tuple[str, int], tuple[int, int]]:
        named = None
        if topics is not None:
            named = [DescribeShareGroupOffsetsRequestTopic(name, partitions) for name, partitions in topics.items()]
        request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, named)])
        (answer,) = self.client.call(request, version, DescribeShareGroupOffsetsResponse).groups
        assert (answer.group_id, answer.error_code, answer.error_message) == (group, NONE, None)
        rows = {(topic.topic_name, one.partition_index): one for topic in answer.topics for one in topic.partitions}
        assert {(one.error_code, one.error_message) for one in rows.values()} <= {(NONE, None)}
        return {at: (one.start_offset, one.lag) for at, one in rows.items()}

    def delete_offsets(self, *names: str, group: str = "g") -> DeleteShareGroupOffsetsResponse:
        topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in names]
        return self.client.call(DeleteShareGroupOffsetsRequest(group, topics), 0, DeleteShareGroupOffsetsResponse)

    def delete(self, *groups: str, version: int = 2) -> dict[str, int]:
        answer = self.client.call(DeleteGroupsRequest(list(groups)), version, DeleteGroupsResponse)
        return {result.group_id: result.error_code for result in answer.results}

    def heartbeat(self, epoch: int, *topics: str) -> ShareGroupHeartbeatResponse:
        request = ShareGroupHeartbeatRequest("g", "m", epoch, None, list(topics) or None)
        return self.member.call(request, 1, ShareGroupHeartbeatResponse)

    def fetch(self, max_records: int = 100, partition: int = 0) -> list[tuple[int, int]]:
        """Return the acquired offsets, both included, without membership; AssertionError for an error."""
        topics = [FetchTopic(self.topic_id, [FetchPartition(partition)])]
        request = ShareFetchRequest("g", "m", self._epoch, 0, 0, 1 << 20, max_records, 10, 1, False, topics, [])
        answer = self.member.call(request, 2, ShareFetchResponse)
        assert answer.error_code == NONE
        self._epoch += 1
        parts = [part for topic in answer.responses for part in topic.partitions]
        assert {part.error_code for part in parts} <= {NONE}
        return [(one.first_offset, one.last_offset) for part in parts for one in part.acquired_records]

    def acknowledgement(self, first: int, last: int) -> ShareAcknowledgeRequest:
        partitions = [AcknowledgePartition(0, [AcknowledgementBatch(first, last, [1])])]
        request = ShareAcknowledgeRequest("g", "m", self._epoch, False, [AcknowledgeTopic(self.topic_id, partitions)])
        self._epoch += 1
        return request

    def acknowledge(self, first: int, last: int) -> int:
        return ack_error(self.member.call(self.acknowledgement(first, last), 2, ShareAcknowledgeResponse))


@pytest.fixture
def admin() -> Admin:
    return Admin()


def alter_request(offsets: Offsets, group: str = "g") -> AlterShareGroupOffsetsRequest:
    return AlterShareGroupOffsetsRequest(
        group,
        [
            AlterShareGroupOffsetsRequestTopic(
                name, [AlterShareGroupOffsetsRequestPartition(*each) for each in partitions.items()]
            )
            for name, partitions in offsets.items()
        ],
    )


def errors_of(answer: AlterShareGroupOffsetsResponse) -> dict[tuple[str, int], int]:
    assert answer.error_code == NONE, answer
    return {
        (topic.topic_name, one.partition_index): one.error_code
        for topic in answer.responses
        for one in topic.partitions
    }


def ack_error(answer: ShareAcknowledgeResponse) -> int:
    return answer.error_code or answer.responses[0].partitions[0].error_code


# -- listing


@pytest.mark.parametrize("version", range(6))
def test_there_are_no_groups_before_the_first(version: int, admin: Admin) -> None:
    assert admin.listed(version) == []
    assert admin.world.services.metadata.topic("__consumer_offsets") is None


@pytest.mark.parametrize("version", range(6))
def test_groups_of_all_shards_are_listed(version: int, admin: Admin) -> None:
    names = [f"g{number}" for number in range(12)]
    for name in names:
        admin.altered({"t": {0: 0}}, name)
    state = "Empty" if version >= 4 else ""
    kind = "share" if version >= 5 else ""
    assert admin.listed(version) == sorted((name, "share", state, kind) for name in names)
    admin.restart()
    assert [row[0] for row in admin.listed(version)] == sorted(names)


def test_groups_of_some_shards_are_listed_in_a_turn(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"g{number}" for number in range(60)]
    for name in names:
        admin.altered({"t": {0: 0}}, name)
    shards = len({group_partition_for(name, 50) for name in names})
    assert shards > 4 * TURN_ELEMENTS // LOOK
    work, neighbour = Work(), admin.world.connect()
    monkeypatch.setattr(GroupCoordinatorShard, "list_groups", work.count(GroupCoordinatorShard.list_groups))
    admin.client.send(ListGroupsRequest(), 5)
    work.run(admin.world, neighbour)
    assert sorted(row.group_id for row in admin.client.receive(ListGroupsResponse).groups) == sorted(names)
    assert (max(work.ticks), sum(work.ticks)) == (TURN_ELEMENTS // LOOK, shards)


def test_filters_disregard_case(admin: Admin) -> None:
    admin.altered({"t": {0: 0}}, "empty")
    admin.heartbeat(0, "t")
    assert [row[0] for row in admin.listed(4, ["STABLE"])] == ["g"]
    assert [row[0] for row in admin.listed(5, ["stable", "empty"], ["SHARE"])] == ["empty", "g"]
    assert admin.listed(5, ["Dead"]) == []
    assert admin.listed(5, [], ["consumer", "classic", "nonsense"]) == []


# -- altering offsets


def test_altering_creates_the_group_and_lasts(admin: Admin) -> None:
    answer = admin.alter({"t": {0: 3, 1: 10}})
    assert errors_of(answer) == {("t", 0): NONE, ("t", 1): NONE}
    assert [topic.topic_id for topic in answer.responses] == [admin.topic_id]
    assert admin.describe() == {("t", 0): (3, 7), ("t", 1): (10, 0)}
    admin.restart()
    assert admin.describe() == {("t", 0): (3, 7), ("t", 1): (10, 0)}
    assert admin.fetch() == [(3, 9)]


def test_altering_makes_no_group_beyond_the_limit_of_the_broker() -> None:
    """Groups of all the coordinator's partitions count; deleting one makes room."""
    admin = Admin(group_share_max_groups="2")
    for group in ("g", "h"):
        admin.altered({"t": {0: 5}}, group)
    for group in ("i", "j", "k"):
        refused = admin.alter({"t": {0: 5}}, group)
        assert refused.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
        assert "group.share.max.groups" in str(refused.error_message)
    assert {group[0] for group in admin.listed()} == {"g", "h"}
    admin.altered({"t": {1: 6}}, "h")
    assert admin.delete("g") == {"g": NONE}
    admin.altered({"t": {0: 5}}, "k")


def test_what_cannot_be_altered_is_reported_partition_by_partition(admin: Admin) -> None:
    answer = admin.alter({"t": {0: 3, 1: -2, 2: 0, -1: 0}, "u": {0: 0}})
    assert errors_of(answer) == {
        ("t", 0): NONE,
        ("t", 1): ErrorCode.INVALID_REQUEST,
        ("t", 2): UNKNOWN,
        ("t", -1): UNKNOWN,
        ("u", 0): UNKNOWN,
    }
    assert [topic.topic_id for topic in answer.responses] == [admin.topic_id, ZERO_UUID]
    assert all(one.error_message for topic in answer.responses for one in topic.partitions if one.error_code)
    assert admin.describe() == {("t", 0): (3, 7)}


def test_a_topic_named_twice_is_answered_once(admin: Admin) -> None:
    request = alter_request({"t": {0: 5}})
    request.topics += alter_request({"t": {1: 6}}).topics
    answer = admin.client.call(request, 0, AlterShareGroupOffsetsResponse)
    assert [len(topic.partitions) for topic in answer.responses] == [2]
    assert admin.describe() == {("t", 0): (5, 5), ("t", 1): (6, 4)}


def test_the_group_needs_a_name(admin: Admin) -> None:
    assert admin.alter({"t": {0: 1}}, "").error_code == ErrorCode.INVALID_GROUP_ID
    assert admin.delete_offsets("t", group="").error_code == ErrorCode.INVALID_GROUP_ID
    assert admin.delete("") == {"": ErrorCode.GROUP_ID_NOT_FOUND}


def test_share_groups_switched_off() -> None:
    admin = Admin(group_share_enable="false")
    off = ErrorCode.UNSUPPORTED_VERSION
    altered, deleted = admin.alter({"t": {0: 1}}), admin.delete_offsets("t")
    assert (altered.error_code, altered.error_message) == (off, text_of(off))
    assert (deleted.error_code, deleted.error_message) == (off, text_of(off))
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", None)])
    answer = admin.client.call(request, 1, DescribeShareGroupOffsetsResponse)
    assert [(group.group_id, group.error_code, group.error_message) for group in answer.groups] == [
        ("g", off, text_of(off))
    ]
    assert admin.listed() == []


def test_describing_share_groups_switched_off() -> None:
    admin = Admin(group_share_enable="false")
    answer = admin.client.call(ShareGroupDescribeRequest(["g", "h"]), 1, ShareGroupDescribeResponse)
    off = ErrorCode.UNSUPPORTED_VERSION
    assert [(each.group_id, each.error_code, each.error_message) for each in answer.groups] == [
        ("g", off, None),
        ("h", off, None),
    ]


@pytest.mark.parametrize(("asked", "bits"), [(True, 0b110101001000), (False, -(2**31))])
def test_what_may_be_done_to_a_share_group_is_returned_when_asked_for(asked: bool, bits: int, admin: Admin) -> None:
    """The operations are READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS for an existing group."""
    admin.heartbeat(0, "t")
    request = ShareGroupDescribeRequest(["g", "h"], include_authorized_operations=asked)
    answer = admin.client.call(request, 1, ShareGroupDescribeResponse)
    assert [(each.error_code, each.authorized_operations) for each in answer.groups] == [
        (NONE, bits),
        (ErrorCode.GROUP_ID_NOT_FOUND, -(2**31)),
    ]


# -- the share partition in memory


def test_the_next_fetch_reads_the_new_offset(admin: Admin) -> None:
    """The fetch is by a client that is no member, so no leave raises the state epoch."""
    admin.altered({"t": {0: 5}})
    assert admin.fetch(3) == [(5, 7)]
    admin.altered({"t": {0: 2}})
    assert admin.acknowledge(5, 7) == UNKNOWN  # what it was given is forgotten, and the state was not written to
    assert admin.describe(topics={"t": [0]}) == {("t", 0): (2, 8)}
    assert admin.fetch() == [(2, 9)]
    assert admin.acknowledge(2, 9) == NONE
    assert admin.describe(topics={"t": [0]}) == {("t", 0): (2, 0)}


def test_an_acknowledgement_under_way_comes_first(admin: Admin) -> None:
    admin.altered({"t": {0: 0}})
    assert admin.fetch() == [(0, 9)]
    admin.member.send(admin.acknowledgement(0, 9), 2)
    admin.client.send(alter_request({"t": {0: 4}}), 0)
    assert ack_error(admin.member.receive(ShareAcknowledgeResponse)) == NONE
    assert set(errors_of(admin.client.receive(AlterShareGroupOffsetsResponse)).values()) == {NONE}
    assert admin.describe() == {("t", 0): (4, 6)}
    assert admin.fetch() == [(4, 9)]


def test_a_lock_from_before_does_not_write_to_the_new_state(admin: Admin) -> None:
    admin.altered({"t": {0: 0}})
    assert admin.fetch() == [(0, 9)]
    admin.altered({"t": {0: 6}})
    admin.world.clock.advance(60_000)
    assert admin.describe() == {("t", 0): (6, 4)}
    admin.restart()
    assert admin.fetch() == [(6, 9)]


# -- describing offsets


def test_lag_needs_version_1(admin: Admin) -> None:
    admin.altered({"t": {0: 3}})
    assert admin.describe(version=0) == {("t", 0): (3, -1)}
    assert admin.fetch(5) == [(3, 7)]
    admin.acknowledge(4, 5)
    assert admin.describe() == {("t", 0): (3, 5)}


def test_what_is_not_known_is_no_error(admin: Admin) -> None:
    assert admin.describe("nobody") == {}
    asked = {"t": [0, 7], "u": [0]}
    nothing = {("t", 0): (-1, -1), ("t", 7): (-1, -1), ("u", 0): (-1, -1)}
    assert admin.describe("nobody", asked) == nothing
    admin.altered({"t": {1: 3}})
    assert admin.describe("g", asked) == nothing
    assert admin.describe("g", {}) == {}


@pytest.mark.parametrize("named", [True, False])
def test_described_topics_have_their_ids(named: bool, admin: Admin) -> None:
    """KIP-932: DescribeShareGroupOffsets returns ids beside the names; zero for a missing topic."""
    admin.altered({"t": {0: 3}})
    topics = [DescribeShareGroupOffsetsRequestTopic(name, [0]) for name in ("t", "u")] if named else None
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", topics)])
    (answer,) = admin.client.call(request, 1, DescribeShareGroupOffsetsResponse).groups
    ids = {topic.topic_name: topic.topic_id for topic in answer.topics}
    assert ids == {"t": admin.topic_id, **({"u": ZERO_UUID} if named else {})}


def test_a_partition_named_twice_is_answered_once(admin: Admin) -> None:
    admin.altered({"t": {0: 3}})
    twice = DescribeShareGroupOffsetsRequestTopic("t", [0, 0])
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", [twice, twice])])
    (group,) = admin.client.call(request, 1, DescribeShareGroupOffsetsResponse).groups
    assert [(topic.topic_name, [one.partition_index for one in topic.partitions]) for topic in group.topics] == [
        ("t", [0])
    ]


def test_an_offset_beyond_the_log_has_a_negative_lag(admin: Admin) -> None:
    admin.altered({"t": {0: 1000}})
    assert admin.describe() == {("t", 0): (1000, -990)}


def test_the_start_offset_shows_with_the_first_acknowledgement(admin: Admin) -> None:
    admin.altered({"t": {0: -1}})
    assert admin.fetch() == []  # share.auto.offset.reset=latest
    admin.client.call(produce_request(batch(b"v", b"v"), topic="t"), 9, ProduceResponse)
    assert admin.fetch() == [(10, 11)]
    assert admin.describe() == {
        ("t", 0): (-1, 2)
    }  # Apache Kafka has no lag either; its tools show none without a start
    admin.acknowledge(10, 10)
    assert admin.describe() == {("t", 0): (10, 1)}


# -- deleting offsets


def test_deleted_offsets_are_gone_for_good(admin: Admin) -> None:
    admin.altered({"t": {0: 3, 1: 3}})
    answer = admin.delete_offsets("t", "u", "t")
    assert [(row.topic_name, row.topic_id, row.error_code) for row in answer.responses] == [
        ("u", ZERO_UUID, UNKNOWN),
        ("t", admin.topic_id, NONE),
    ]
    assert admin.describe() == {}
    assert admin.describe("g", {"t": [0]}) == {("t", 0): (-1, -1)}
    admin.restart()
    assert admin.describe("g", {"t": [0]}) == {("t", 0): (-1, -1)}
    assert [row.error_code for row in admin.delete_offsets("t").responses] == [UNKNOWN]
    assert [row[0] for row in admin.listed()] == ["g"]


def test_offsets_of_an_unknown_group(admin: Admin) -> None:
    answer = admin.delete_offsets("t")
    assert (answer.error_code, answer.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")
    admin.altered({"t": {0: 3}}, "other")
    assert admin.delete_offsets("t").error_code == ErrorCode.GROUP_ID_NOT_FOUND


# -- deleting groups


@pytest.mark.parametrize("version", range(3))
def test_deleting_groups(version: int, admin: Admin) -> None:
    assert admin.delete("g", version=version) == {"g": ErrorCode.GROUP_ID_NOT_FOUND}
    admin.altered({"t": {0: 3}})
    admin.altered({"t": {0: 3}}, "other")
    deleted = admin.delete("g", "nobody", "g", version=version)
    assert deleted == {"g": NONE, "nobody": ErrorCode.GROUP_ID_NOT_FOUND}
    assert [row[0] for row in admin.listed()] == ["other"]
    assert admin.describe("g", {"t": [0]}) == {("t", 0): (-1, -1)}
    admin.restart()
    assert [row[0] for row in admin.listed()] == ["other"]
    assert admin.describe("g", {"t": [0]}) == {("t", 0): (-1, -1)}


# -- when the coordinators' logs cannot be written


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__share_group_state"])
def test_a_failed_write_is_reported_and_nothing_has_changed(topic: str, admin: Admin) -> None:
    admin.altered({"t": {0: 3, 1: 3}})

    def full(kind: str, path: str) -> OSError | None:
        return OSError(errno.EIO, "broken") if kind == "write" and topic in path else None

    admin.world.fs.fail = full
    states_fail = topic == "__share_group_state"
    error = ErrorCode.NOT_COORDINATOR
    altered = admin.alter({"t": {0: 8}})
    assert (altered.responses[0].partitions[0].error_code if states_fail else altered.error_code) == error
    deleted = admin.delete_offsets("t")
    assert (deleted.responses[0].error_code if states_fail else deleted.error_code) == error
    assert admin.delete("g") == {"g": error}
    admin.world.fs.fail = None
    assert admin.describe("g", {"t": [0, 1]}) == {("t", 0): (3, 7), ("t", 1): (3, 7)}
    assert admin.fetch(1) == [(3, 3)]
    assert admin.delete("g") == {"g": NONE}
    assert admin.listed() == []


# -- crashes

OPERATIONS: Mapping[str, Callable[[Admin], object]] = {
    "alter": lambda admin: admin.alter({"t": {0: 8, 1: 9}}),
    "delete offsets": lambda admin: admin.delete_offsets("t"),
    "delete": lambda admin: admin.delete("g"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_a_crash_interrupts_is_completed_by_doing_it_again(operation: str) -> None:
    run = OPERATIONS[operation]
    outcomes: Counter[str] = Counter()
    for step in range(1, 10):
        admin = Admin()
        admin.altered({"t": {0: 3, 1: 3}})
        admin.world.fs.crash_at = admin.world.fs.steps + step
        try:
            run(admin)
        except SimulatedCrash:
            admin.world.crash()
            admin.reconnect()
        else:
            outcomes["finished"] += 1
            admin.world.fs.crash_at = None
        before = admin.describe("g", {"t": [0, 1]})
        assert all(offset in {(3, 7), (8, 2), (9, 1), (-1, -1)} for offset in before.values())
        run(admin)
        after = admin.describe("g", {"t": [0, 1]})
        if operation == "alter":
            assert after == {("t", 0): (8, 2), ("t", 1): (9, 1)} == admin.describe()
        else:
            assert after == {("t", 0): (-1, -1), ("t", 1): (-1, -1)}
            assert admin.describe() == {}
        assert [row[0] for row in admin.listed()] == ([] if operation == "delete" else ["g"])
        assigned = admin.heartbeat(0, "t").assignment
        assert assigned is not None
        assert [topic.partitions for topic in assigned.topic_partitions] == [[0, 1]]
        assert admin.fetch() == ([(8, 9)] if operation == "alter" else [])
        outcomes["seen"] += 1
    assert 0 < outcomes["finished"] < outcomes["seen"]
