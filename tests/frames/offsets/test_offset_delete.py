"""OffsetDelete over frames: its answers and their order, the same in one turn or in many."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.metadata.changes import PutAcl
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from shareq.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from tests.support.clients.access import STANDARD
from tests.support.coroutines import paused_everywhere

NONE, UNKNOWN, HIDDEN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED

Topics = list[tuple[str, list[int]]]


class Deleting:
    """A client of group g, which has offsets of all partitions of topics t and u (40 each)."""

    def __init__(self, properties: dict[str, str] | None = None) -> None:
        self.world = BrokerWorld(properties or {})
        for name in ("t", "u", "secret"):
            self.world.create_topic(name, 40)
        self.client: MockConnection = self.world.connect()
        if properties:
            self.client.side.principal = "User:super"
        topics = [
            OffsetCommitRequestTopic(name, partitions=[OffsetCommitRequestPartition(each, 7) for each in range(40)])
            for name in ("t", "u", "secret")
        ]
        self.client.call(OffsetCommitRequest("g", topics=topics), 9, OffsetCommitResponse)

    def delete(self, topics: Topics, group: str = "g") -> OffsetDeleteResponse:
        asked = [OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(n) for n in ns]) for name, ns in topics]
        return self.client.call(OffsetDeleteRequest(group, asked), 0, OffsetDeleteResponse)

    def left(self) -> set[tuple[str, int]]:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
        (group,) = self.client.call(request, 9, OffsetFetchResponse).groups
        return {(topic.name, row.partition_index) for topic in group.topics for row in topic.partitions}


def rows(answer: OffsetDeleteResponse) -> list[tuple[str, list[tuple[int, int]]]]:
    return [
        (topic.name, [(row.partition_index, row.error_code) for row in topic.partitions]) for topic in answer.topics
    ]


@pytest.fixture(params=["one turn", "many turns"])
def turns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "many turns":
        paused_everywhere(monkeypatch)


def test_what_exists_is_deleted_and_answered_in_order(turns: None) -> None:
    deleting = Deleting()
    answer = deleting.delete([("u", [3, 1]), ("t", list(range(30))), ("u", [1])])
    assert rows(answer) == [
        ("u", [(3, NONE), (1, NONE)]),
        ("t", [(each, NONE) for each in range(30)]),
        ("u", [(1, NONE)]),
    ]
    gone = {("u", 3), ("u", 1), *(("t", each) for each in range(30))}
    assert deleting.left() == {(name, each) for name in ("t", "u", "secret") for each in range(40)} - gone


def test_what_does_not_exist_comes_first_and_each_topic_once(turns: None) -> None:
    """The list is Apache Kafka's: a topic named without partitions appears if it is missing."""
    deleting = Deleting()
    answer = deleting.delete([("u", [3]), ("none", []), ("empty", [1]), ("t", [40, 0, -1]), ("u", [2, 41]), ("t", [])])
    assert rows(answer) == [
        ("none", []),
        ("empty", [(1, UNKNOWN)]),
        ("t", [(40, UNKNOWN), (-1, UNKNOWN), (0, NONE)]),
        ("u", [(41, UNKNOWN), (3, NONE), (2, NONE)]),
    ]


def test_what_the_client_may_not_see_comes_before(turns: None) -> None:
    deleting = Deleting({"authorizer.class.name": STANDARD, "super.users": "User:super"})
    star = [
        Acl(kind, name, PatternType.LITERAL, "User:alice", "*", Operation.ALL, Permission.ALLOW)
        for kind, name in ((ResourceKind.GROUP, "g"), (ResourceKind.TOPIC, "t"), (ResourceKind.TOPIC, "none"))
    ]
    deleting.world.services.metadata.alter_acls([PutAcl(acl) for acl in star])
    deleting.client.side.principal = "User:alice"
    answer = deleting.delete([("t", [0]), ("secret", [0, 99]), ("none", [5]), ("secret", [])])
    assert rows(answer) == [
        ("secret", [(0, HIDDEN), (99, HIDDEN)]),
        ("secret", []),
        ("none", [(5, UNKNOWN)]),
        ("t", [(0, NONE)]),
    ]
    deleting.client.side.principal = "User:super"
    assert ("secret", 0) in deleting.left()
    assert ("t", 0) not in deleting.left()


@pytest.mark.parametrize(("group", "error"), [("", ErrorCode.INVALID_GROUP_ID), ("h", ErrorCode.GROUP_ID_NOT_FOUND)])
def test_an_error_of_the_group_has_no_rows_beside_it(turns: None, group: str, error: ErrorCode) -> None:
    answer = Deleting().delete([("t", [0]), ("none", [1])], group)
    assert (answer.error_code, answer.topics) == (error, [])


def test_what_is_deleted_between_two_turns_is_not_deleted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    paused_everywhere(monkeypatch)
    deleting = Deleting()
    before = deleting.world.services.groups.coordinator.counters.offset_deletions
    asked = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(each) for each in range(20)])]
    deleting.client.send(OffsetDeleteRequest("g", asked), 0)
    other = deleting.world.connect()
    other.send(OffsetDeleteRequest("g", [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(3)])]), 0)
    deleting.client.receive(OffsetDeleteResponse)
    assert deleting.world.services.groups.coordinator.counters.offset_deletions - before == 20
    assert ("t", 3) not in deleting.left()
