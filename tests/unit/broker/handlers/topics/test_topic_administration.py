"""CreateTopics, DeleteTopics and CreatePartitions: effects, refusals and their order, in every version."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shareq.broker.metadata.changes import MetaChange
from shareq.broker.metadata.store import NewTopic
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from shareq.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.primitives import ZERO_UUID
from tests.support.worlds.admin_world import World


def no_space(_changes: Sequence[MetaChange]) -> None:
    raise OSError(28, "No space left on device")


def create(
    world: World, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
) -> CreateTopicsResponse:
    return world.call(CreateTopicsResponse, CreateTopicsRequest(list(topics), 1000, validate_only), version)


def codes(response: CreateTopicsResponse) -> dict[str, int]:
    assert len({row.name for row in response.topics}) == len(response.topics)
    return {row.name: row.error_code for row in response.topics}


def configured(name: str, **configs: str | None) -> CreatableTopic:
    pairs = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    return CreatableTopic(name, 1, 1, configs=pairs)


def assigned(name: str, *pairs: tuple[int, list[int]], partitions: int = -1, factor: int = -1) -> CreatableTopic:
    return CreatableTopic(name, partitions, factor, [CreatableReplicaAssignment(*pair) for pair in pairs])


@pytest.mark.parametrize("version", range(2, 8))
def test_create_topics(version: int, world: World) -> None:
    response = create(world, CreatableTopic("a", 3, 1), configured("b", retention_ms="5"), version=version)
    assert codes(response) == {"a": 0, "b": 0}
    topic = world.metadata.topic("a")
    assert topic is not None
    assert (topic.partitions, topic.internal) == (3, False)
    assert world.metadata.configs("topic", "b") == {"retention.ms": "5"}
    assert world.db.commits == 2  # the database's identity, and both topics together
    row = response.topics[0]
    assert row.error_message is None
    assert row.topic_id == (topic.topic_id if version >= 7 else ZERO_UUID)
    assert (row.num_partitions, row.replication_factor) == ((3, 1) if version >= 5 else (-1, -1))
    if version >= 5:
        values = {config.name: config for config in response.topics[1].configs or ()}
        assert (values["retention.ms"].value, values["retention.ms"].config_source) == ("5", 1)
        assert (values["segment.bytes"].value, values["segment.bytes"].config_source) == ("1073741824", 5)
        assert "internal.segment.bytes" not in values


@pytest.mark.parametrize("version", range(4, 8))
def test_minus_one_takes_the_brokers_defaults(version: int) -> None:
    world = World({"num.partitions": "4"})
    assert codes(create(world, CreatableTopic("a", -1, -1), version=version)) == {"a": 0}
    topic = world.metadata.topic("a")
    assert topic is not None
    assert topic.partitions == 4
    world = World({"default.replication.factor": "2"})
    assert codes(create(world, CreatableTopic("a", -1, -1))) == {"a": ErrorCode.INVALID_REPLICATION_FACTOR}


def test_validate_only_answers_the_same_and_creates_nothing(world: World) -> None:
    commits = world.db.commits
    response = create(world, CreatableTopic("a", 2, 1), CreatableTopic("b", 0, 1), validate_only=True)
    assert codes(response) == {"a": 0, "b": ErrorCode.INVALID_PARTITIONS}
    assert (response.topics[0].num_partitions, response.topics[0].topic_id) == (2, ZERO_UUID)
    assert response.topics[0].configs
    assert (world.metadata.topics(), world.db.commits) == ([], commits)


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (CreatableTopic("", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("..", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("a/b", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("x" * 250, 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("old_topic", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("old.topic", 1, 1), ErrorCode.TOPIC_ALREADY_EXISTS),
        (CreatableTopic("__cluster_metadata", 1, 1), ErrorCode.INVALID_REQUEST),
        (CreatableTopic("a", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (CreatableTopic("a", -2, 1), ErrorCode.INVALID_PARTITIONS),
        (CreatableTopic("a", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("a", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("a", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (configured("a", nope="1"), ErrorCode.INVALID_CONFIG),
        (configured("a", retention_ms=None), ErrorCode.INVALID_CONFIG),
        (configured("a", retention_ms="x"), ErrorCode.INVALID_CONFIG),
        (configured("__share_group_state", cleanup_policy="delete"), ErrorCode.INVALID_CONFIG),
        (assigned("a", (0, [1]), partitions=1), ErrorCode.INVALID_REQUEST),
        (assigned("a", (0, [1]), factor=1), ErrorCode.INVALID_REQUEST),
        (assigned("a", (0, [2])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("a", (0, [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("a", (0, [1, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("a", (0, [1]), (0, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("a", (1, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("a", (-1, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        # the first of several reasons, in Apache Kafka's order
        (
            CreatableTopic("old.topic", 0, 0, configs=[CreatableTopicConfig("nope", "1")]),
            ErrorCode.TOPIC_ALREADY_EXISTS,
        ),
        (CreatableTopic("a", 0, 0, configs=[CreatableTopicConfig("nope", "1")]), ErrorCode.INVALID_CONFIG),
        (CreatableTopic("a", 0, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_refused_topics_leave_the_others_alone(topic: CreatableTopic, code: ErrorCode, world: World) -> None:
    world.metadata.create_topic(NewTopic("old.topic", 1))
    response = create(world, topic, CreatableTopic("good", 1, 1))
    assert codes(response) == {topic.name: code, "good": ErrorCode.NONE}
    assert response.topics[0].error_message
    assert [image.name for image in world.metadata.topics()] == ["good", "old.topic"]


def test_a_name_given_twice(world: World) -> None:
    response = create(world, CreatableTopic("a", 1, 1), CreatableTopic("a", 1, 1), CreatableTopic("b", 1, 1))
    assert codes(response) == {"a": ErrorCode.INVALID_REQUEST, "b": ErrorCode.NONE}


def test_names_that_collide_within_a_request() -> None:
    response = create(World(), CreatableTopic("a.b", 1, 1), CreatableTopic("a_b", 1, 1))
    assert codes(response) == {"a.b": ErrorCode.NONE, "a_b": ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_manual_assignment_to_this_broker() -> None:
    world = World({"node.id": "7"})
    assert codes(create(world, assigned("a", (1, [7]), (0, [7])))) == {"a": 0}
    topic = world.metadata.topic("a")
    assert topic is not None
    assert topic.partitions == 2


def test_too_many_partitions_in_one_request(world: World) -> None:
    response = create(world, CreatableTopic("a", 10_000, 1), CreatableTopic("b", 1, 1))
    assert codes(response) == {"a": ErrorCode.POLICY_VIOLATION, "b": ErrorCode.POLICY_VIOLATION}
    assert codes(create(world, CreatableTopic("a", 2**31 - 1, 1))) == {"a": ErrorCode.POLICY_VIOLATION}
    assert world.metadata.topics() == []
    assert codes(create(world, CreatableTopic("a", 10_000, 1))) == {"a": ErrorCode.NONE}


def test_internal_topics_keep_what_the_coordinators_need(world: World) -> None:
    topic = configured("__share_group_state", retention_ms="-1", segment_bytes="2000000")
    topic.num_partitions = 7
    assert codes(create(world, topic)) == {"__share_group_state": 0}
    image = world.metadata.topic("__share_group_state")
    assert image is not None
    assert (image.partitions, image.internal) == (7, True)
    own = world.metadata.configs("topic", "__share_group_state")
    assert (own["cleanup.policy"], own["segment.bytes"]) == ("compact", "2000000")


def test_a_full_disk_creates_nothing(world: World) -> None:
    world.db.before_commit = no_space
    response = create(world, CreatableTopic("a", 1, 1), CreatableTopic("b", 0, 1))
    assert codes(response) == {"a": ErrorCode.KAFKA_STORAGE_ERROR, "b": ErrorCode.INVALID_PARTITIONS}
    assert world.metadata.topics() == []


# -- DeleteTopics


def delete(world: World, *states: DeleteTopicState, version: int = 6) -> list[tuple[str | None, bytes, int]]:
    request = DeleteTopicsRequest(timeout_ms=1000)
    if version >= 6:
        request.topics = list(states)
    else:
        request.topic_names = [state.name or "" for state in states]
    response = world.call(DeleteTopicsResponse, request, version)
    return sorted((row.name, row.topic_id, row.error_code) for row in response.responses)


def topic(world: World, name: str) -> TopicImage:
    return world.metadata.create_topic(NewTopic(name, 1))


@pytest.mark.parametrize("version", range(1, 7))
def test_delete_topics_by_name(version: int, world: World) -> None:
    old = topic(world, "a")
    topic_id = old.topic_id if version >= 6 else ZERO_UUID
    assert delete(world, DeleteTopicState("a"), DeleteTopicState("b"), version=version) == [
        ("a", topic_id, ErrorCode.NONE),
        ("b", ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert world.metadata.topics() == []


def test_delete_topics_by_id(world: World) -> None:
    old = topic(world, "a")
    assert delete(world, DeleteTopicState(None, old.topic_id)) == [("a", old.topic_id, ErrorCode.NONE)]
    assert delete(world, DeleteTopicState(None, old.topic_id)) == [(None, old.topic_id, ErrorCode.UNKNOWN_TOPIC_ID)]


def test_an_id_of_a_deleted_topic_does_not_delete_its_successor(world: World) -> None:
    old = topic(world, "a")
    world.metadata.delete_topics(["a"])
    new = topic(world, "a")
    assert delete(world, DeleteTopicState(None, old.topic_id))[0][2] == ErrorCode.UNKNOWN_TOPIC_ID
    assert world.metadata.topics() == [new]


def test_neither_or_both_of_name_and_id(world: World) -> None:
    old = topic(world, "a")
    assert delete(world, DeleteTopicState("a", old.topic_id))[0][2] == ErrorCode.INVALID_REQUEST
    assert delete(world, DeleteTopicState(None))[0][2] == ErrorCode.INVALID_REQUEST
    assert world.metadata.topics() == [old]


def test_a_topic_named_twice_stays(world: World) -> None:
    old = topic(world, "a")
    row = [("a", old.topic_id, ErrorCode.INVALID_REQUEST)]
    assert delete(world, DeleteTopicState("a"), DeleteTopicState("a")) == row
    assert delete(world, DeleteTopicState("a"), DeleteTopicState(None, old.topic_id)) == row
    assert world.metadata.topics() == [old]


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_REQUEST), (2, ErrorCode.INVALID_REQUEST)]
    + [(version, ErrorCode.TOPIC_DELETION_DISABLED) for version in range(3, 7)],
)
def test_deletion_switched_off(version: int, code: ErrorCode) -> None:
    world = World({"delete.topic.enable": "false"})
    old = topic(world, "a")
    assert delete(world, DeleteTopicState("a"), version=version) == [("a", ZERO_UUID, code)]
    assert world.metadata.topics() == [old]


def test_a_full_disk_deletes_nothing(world: World) -> None:
    old = topic(world, "a")
    world.db.before_commit = no_space
    assert delete(world, DeleteTopicState("a"))[0][2] == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.metadata.topics() == [old]


# -- CreatePartitions


def grow(
    world: World, *topics: CreatePartitionsTopic, version: int = 3, validate_only: bool = False
) -> dict[str, tuple[int, str | None]]:
    request = CreatePartitionsRequest(list(topics), 1000, validate_only)
    response = world.call(CreatePartitionsResponse, request, version)
    return {row.name: (row.error_code, row.error_message) for row in response.results}


@pytest.fixture
def two_partitions() -> World:
    world = World()
    world.metadata.create_topic(NewTopic("a", 2))
    return world


def partitions(world: World) -> int:
    image = world.metadata.topic("a")
    assert image is not None
    return image.partitions


@pytest.mark.parametrize("version", range(4))
def test_create_partitions(two_partitions: World, version: int) -> None:
    before = two_partitions.metadata.topic("a")
    assert before is not None
    assert grow(two_partitions, CreatePartitionsTopic("a", 5, None), version=version, validate_only=True) == {
        "a": (0, None)
    }
    assert partitions(two_partitions) == 2
    assert grow(two_partitions, CreatePartitionsTopic("a", 5, None), version=version) == {"a": (0, None)}
    after = two_partitions.metadata.topic("a")
    assert after is not None
    assert (after.partitions, after.topic_id) == (5, before.topic_id)


@pytest.mark.parametrize(
    ("request_topic", "code"),
    [
        (CreatePartitionsTopic("b", 5, None), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (CreatePartitionsTopic("a", 2, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic("a", 1, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic("a", -1, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic("a", 10_003, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic("a", 3, []), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatePartitionsTopic("a", 3, [CreatePartitionsAssignment([2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatePartitionsTopic("a", 3, [CreatePartitionsAssignment([])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatePartitionsTopic("a", 3, [CreatePartitionsAssignment([1, 1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_refused_growth(two_partitions: World, request_topic: CreatePartitionsTopic, code: ErrorCode) -> None:
    assert grow(two_partitions, request_topic)[request_topic.name][0] == code
    assert partitions(two_partitions) == 2


def test_growth_assigned_to_this_broker(two_partitions: World) -> None:
    assignments = [CreatePartitionsAssignment([1]), CreatePartitionsAssignment([1])]
    assert grow(two_partitions, CreatePartitionsTopic("a", 4, assignments))["a"][0] == ErrorCode.NONE
    assert partitions(two_partitions) == 4


@pytest.mark.parametrize("name", ["__share_group_state", "__consumer_offsets", "__transaction_state"])
def test_a_coordinators_topic_does_not_grow(name: str, world: World) -> None:
    """With another number of partitions the coordinator would look for its records in the wrong ones."""
    world.internal_topics.ensure(name)
    code, message = grow(world, CreatePartitionsTopic(name, 51, None))[name]
    assert code == ErrorCode.INVALID_PARTITIONS
    assert message == f"Topic '{name}' keeps its 50 partitions: what a coordinator stores is found by their number."


def test_a_topic_to_grow_given_twice(two_partitions: World) -> None:
    response = grow(two_partitions, CreatePartitionsTopic("a", 4, None), CreatePartitionsTopic("a", 5, None))
    assert response["a"][0] == ErrorCode.INVALID_REQUEST
    assert partitions(two_partitions) == 2


def test_a_full_disk_grows_nothing(two_partitions: World) -> None:
    two_partitions.db.before_commit = no_space
    assert grow(two_partitions, CreatePartitionsTopic("a", 4, None))["a"][0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert partitions(two_partitions) == 2
