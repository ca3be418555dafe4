"""An administrator's requests with thousands of elements, handled in portions per turn and per commit."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.foundation.turn_budget import LOOK, PIECE, TURN_ELEMENTS
from shareq.broker.handlers.access import create_acls, delete_acls
from shareq.broker.handlers.groups import delete_groups
from shareq.broker.handlers.topics import create_topics, delete_topics, describe_topic_partitions
from shareq.broker.metadata.changes import MetaChange
from shareq.broker.security import acl_search
from shareq.broker.security.acls import AclFilter
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from shareq.protocol.generated.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from shareq.protocol.generated.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateData,
    PartitionData,
)
from shareq.protocol.names import SHARE_GROUP_STATE
from tests.support.clients.access import STANDARD
from tests.support.coroutines import paused_everywhere
from tests.support.worlds.counted_work import Work

FULL = OSError(28, "No space left on device")


def access_world() -> tuple[BrokerWorld, MockConnection, MockConnection]:
    world = BrokerWorld({"authorizer.class.name": STANDARD, "super.users": "User:root"})
    administrator = world.connect()
    administrator.side.principal = "User:root"
    return world, administrator, world.connect()


def commits_of(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch, work: Work | None = None, fails_from: int | None = None
) -> list[int]:
    """Return the list of changes per metadata commit from now on, also counted as work; later ones than `fails_from`
    fail.
    """
    sizes: list[int] = []
    db = world.folder.metadata._db
    commit = db.commit

    def counted(changes: Sequence[MetaChange]) -> None:
        sizes.append(len(changes))
        if work is not None:
            work.now += len(changes)
        if fails_from is not None and len(sizes) > fails_from:
            raise FULL
        commit(changes)

    monkeypatch.setattr(db, "commit", counted)
    return sizes


def new_topics(count: int) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreatableTopic(f"t{i}", 1, 1) for i in range(count)], 1_000)


def named(count: int) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=f"t{i}") for i in range(count)], timeout_ms=1_000)


def test_topics_are_created_and_deleted_some_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """9,000 topics once took 70 to 90 ms in one commit, without disk time."""
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    commits = commits_of(world, monkeypatch, work)
    stranger.send(new_topics(1_200), 7)
    work.run(world, neighbour)
    assert {row.error_code for row in stranger.receive(CreateTopicsResponse).topics} == {ErrorCode.NONE}
    assert commits == [create_topics.CREATED_TOGETHER, create_topics.CREATED_TOGETHER, 200]
    assert max(work.ticks) == create_topics.CREATED_TOGETHER
    commits.clear()
    work.ticks.clear()
    stranger.send(named(1_200), 6)
    work.run(world, neighbour)
    assert {row.error_code for row in stranger.receive(DeleteTopicsResponse).responses} == {ErrorCode.NONE}
    assert len(commits) == 6
    assert max(work.ticks) <= 2 * delete_topics.DELETED_TOGETHER  # and forgets those of the commit before
    assert world.services.metadata.topics() == []


def test_topics_are_deleted_the_fewer_in_a_commit_the_more_states_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 topics with 10,000 states once blocked the loop for 31 to 45 ms."""
    world = BrokerWorld({"share.coordinator.state.topic.num.partitions": "3"})
    client = world.connect()
    client.call(new_topics(100), 7, CreateTopicsResponse)
    world.folder.internal_topics.ensure(SHARE_GROUP_STATE)
    topics = [world.services.metadata.topic(f"t{i}") for i in range(100)]
    groups = 2 * delete_topics.STATES_FOR_ONE
    for topic in topics:
        assert topic is not None
        for group in range(groups):
            initialize = InitializeStateData(topic.topic_id, [PartitionData(0, 0, 0)])
            request = InitializeShareGroupStateRequest(f"g{group}", [initialize])
            client.call(request, 0, InitializeShareGroupStateResponse)
    commits = commits_of(world, monkeypatch)
    rows = client.call(named(100), 6, DeleteTopicsResponse).responses
    assert {row.error_code for row in rows} == {ErrorCode.NONE}
    assert len(commits) == 2  # a topic weighs three
    assert len(world.services.metadata.topics()) == 1  # of the states


def test_topics_that_cannot_be_stored_are_refused_and_the_others_stand(
    monkeypatch: pytest.MonkeyPatch, world: BrokerWorld
) -> None:
    stranger = world.connect()
    commits_of(world, monkeypatch, fails_from=1)
    rows = stranger.call(new_topics(700), 7, CreateTopicsResponse).topics
    assert [row.error_code for row in rows] == [ErrorCode.NONE] * 500 + [ErrorCode.KAFKA_STORAGE_ERROR] * 200
    assert len(world.services.metadata.topics()) == 500


def test_a_topic_that_another_client_creates_in_between_is_not_created_twice(
    monkeypatch: pytest.MonkeyPatch, world: BrokerWorld
) -> None:
    stranger = world.connect()
    create = world.folder.metadata.create_topics
    began: list[int] = []

    def create_and_more(topics: Sequence[object]) -> object:
        made = create(topics)  # type: ignore[arg-type]
        if not began:
            began.append(len(topics))

            def create_another() -> None:
                world.create_topic("t600", 3)

            world.clock.call_soon(create_another)
        return made

    monkeypatch.setattr(world.services.metadata, "create_topics", create_and_more)
    rows = {row.name: row.error_code for row in stranger.call(new_topics(700), 7, CreateTopicsResponse).topics}
    assert rows.pop("t600") == ErrorCode.TOPIC_ALREADY_EXISTS
    assert set(rows.values()) == {ErrorCode.NONE}
    topic = world.services.metadata.topic("t600")
    assert topic is not None
    assert topic.partitions == 3


def test_a_topic_that_is_deleted_or_grows_before_its_turn_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    paused_everywhere(monkeypatch)
    world = BrokerWorld()
    client = world.connect()
    client.call(new_topics(3), 7, CreateTopicsResponse)
    client.send(CreatePartitionsRequest([CreatePartitionsTopic(f"t{i}", 2, None) for i in range(3)], 1_000), 3)
    metadata = world.folder.metadata
    metadata.delete_topics(["t0"])
    metadata.create_partitions({"t1": 3})
    rows = {row.name: row.error_code for row in client.receive(CreatePartitionsResponse).results}
    assert rows == {
        "t0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "t1": ErrorCode.INVALID_PARTITIONS,
        "t2": ErrorCode.NONE,
    }
    assert [(topic.name, topic.partitions) for topic in metadata.topics()] == [("t1", 3), ("t2", 2)]


def creations(count: int) -> CreateAclsRequest:
    return CreateAclsRequest([AclCreation(2, f"t{i}", 3, "User:a", "*", 3, 3) for i in range(count)])


EVERY_ACL = DeleteAclsFilter(1, None, 1, None, None, 1, 1)


def test_acls_are_added_removed_and_described_some_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    (world, administrator, neighbour), work = access_world(), Work()
    commits = commits_of(world, monkeypatch, work)
    administrator.send(creations(3_500), 3)
    work.run(world, neighbour)
    assert {row.error_code for row in administrator.receive(CreateAclsResponse).results} == {ErrorCode.NONE}
    assert commits == [1_000, 1_000, 1_000, 500]
    assert max(work.ticks) == create_acls.COMMITTED_TOGETHER
    with monkeypatch.context() as patch:
        patch.setattr(AclFilter, "matches", work.count(AclFilter.matches))
        work.ticks.clear()
        administrator.send(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3)
        work.run(world, neighbour)
    answer = administrator.receive(DescribeAclsResponse)
    assert [row.resource_name for row in answer.resources] == [f"t{i}" for i in range(3_500)]
    assert sum(work.ticks) == 3_500
    assert max(work.ticks) <= TURN_ELEMENTS + LOOK
    commits.clear()
    work.ticks.clear()
    administrator.send(DeleteAclsRequest([EVERY_ACL]), 3)
    work.run(world, neighbour)
    (row,) = administrator.receive(DeleteAclsResponse).filter_results
    assert (row.error_code, len(row.matching_acls)) == (ErrorCode.NONE, 3_500)
    assert commits == [1_000, 1_000, 1_000, 500]
    assert max(work.ticks) == delete_acls.COMMITTED_TOGETHER
    assert list(world.services.metadata.acls) == []


@pytest.mark.parametrize(
    ("kind", "deleted"),
    [
        (DeleteAclsFilter(2, None, 3, "User:a", None, 1, 1), 5_000),
        (DeleteAclsFilter(2, "t7", 2, None, None, 1, 1), 1),
        (DeleteAclsFilter(2, "t7", 3, "User:a", "*", 3, 3), 1),
    ],
)
def test_a_kind_of_filter_is_looked_up_among_so_many_acls_in_a_turn(
    kind: DeleteAclsFilter, deleted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search of 100,000 once took 50 ms."""
    (world, administrator, neighbour), work = access_world(), Work()
    administrator.call(creations(5_000), 3, CreateAclsResponse)
    monkeypatch.setattr(acl_search, "itemgetter", lambda *fields: work.count(itemgetter(*fields)))
    administrator.send(DeleteAclsRequest([kind, kind]), 3)
    work.run(world, neighbour)
    rows = administrator.receive(DeleteAclsResponse).filter_results
    assert [(row.error_code, len(row.matching_acls)) for row in rows] == [(ErrorCode.NONE, deleted)] * 2
    assert 5_000 <= sum(work.ticks) < 6_000
    assert max(work.ticks) <= TURN_ELEMENTS + PIECE


def test_the_entries_that_one_filter_means_are_answered_some_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    (world, administrator, neighbour), work = access_world(), Work()
    administrator.call(creations(5_000), 3, CreateAclsResponse)
    monkeypatch.setattr(delete_acls, "DeleteAclsMatchingAcl", work.count(DeleteAclsMatchingAcl))
    administrator.send(DeleteAclsRequest([EVERY_ACL] * 3), 3)
    work.run(world, neighbour)
    rows = administrator.receive(DeleteAclsResponse).filter_results
    assert [len(row.matching_acls) for row in rows] == [5_000] * 3
    assert sum(work.ticks) == 15_000
    assert max(work.ticks) <= TURN_ELEMENTS + PIECE


def test_acls_that_cannot_be_stored_are_refused_and_the_others_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    world, administrator, _ = access_world()
    commits_of(world, monkeypatch, fails_from=2)
    rows = administrator.call(creations(2_500), 3, CreateAclsResponse).results
    assert [row.error_code for row in rows] == [ErrorCode.NONE] * 2_000 + [ErrorCode.KAFKA_STORAGE_ERROR] * 500
    assert len(world.services.metadata.acls) == 2_000


def test_groups_that_may_not_be_deleted_are_answered_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    (world, _, neighbour), work = access_world(), Work()
    stranger = world.connect()
    monkeypatch.setattr(delete_groups, "DeletableGroupResult", work.count(DeletableGroupResult))
    names = [f"g{i * 7919 % 9_000}" for i in range(9_000)]
    stranger.send(DeleteGroupsRequest(names), 2)
    work.run(world, neighbour)
    rows = stranger.receive(DeleteGroupsResponse).results
    assert [row.group_id for row in rows] == names
    assert {row.error_code for row in rows} == {ErrorCode.GROUP_AUTHORIZATION_FAILED}
    assert sum(work.ticks) == 9_000
    assert max(work.ticks) <= TURN_ELEMENTS + LOOK


@pytest.mark.parametrize("described", ["named", "all"])
def test_topics_are_described_by_their_partitions_in_turns(described: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    count = 4_000
    names = sorted(f"t{i * 7919 % count}" for i in range(count))
    if described == "all":
        stranger.call(new_topics(count), 7, CreateTopicsResponse)
    monkeypatch.setattr(describe_topic_partitions, "sorted", work.count(sorted, len), raising=False)
    store = type(world.services.metadata)
    monkeypatch.setattr(store, "topic", work.count(store.topic))
    topics = [TopicRequest(f"t{i}") for i in range(count)] if described == "named" else []
    stranger.send(DescribeTopicPartitionsRequest(topics, 2_000), 0)
    work.run(world, neighbour)
    answer = stranger.receive(DescribeTopicPartitionsResponse)
    expected = names if described == "named" else names[:2_000]
    assert [row.name for row in answer.topics] == expected
    assert (answer.next_cursor is None) == (described == "named")
    assert sum(work.ticks) >= count
    assert max(work.ticks) <= TURN_ELEMENTS + LOOK
