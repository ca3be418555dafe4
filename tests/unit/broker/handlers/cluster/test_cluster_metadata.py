"""ApiVersions, Metadata, DescribeCluster, DescribeTopicPartitions and FindCoordinator, as in Apache Kafka 4.3.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import pytest

from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.metadata.changes import MetaChange
from shareq.broker.metadata.features import FEATURES, SHARE_TRANSACTIONS
from shareq.broker.metadata.store import NewTopic
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from shareq.protocol.generated.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from shareq.protocol.generated.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.incremental_alter_configs import AlterConfigsResource, IncrementalAlterConfigsRequest
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.primitives import ZERO_UUID, Message
from tests.support.fakes.host import ELSEWHERE
from tests.support.worlds.admin_world import World

NOT_ASKED = -(2**31)


# -- ApiVersions

OURS_FROM = 29_553  # "sq": Apache Kafka's keys are below 100


def api_versions(world: World, version: int, name: str = "test", software: str = "1.0") -> ApiVersionsResponse:
    request = ApiVersionsRequest(name, software) if version >= 3 else ApiVersionsRequest()
    return world.call(ApiVersionsResponse, request, version)


@pytest.mark.parametrize("version", range(6))
def test_api_versions_is_the_handler_table(version: int) -> None:
    response = api_versions(World(), version)
    rows = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}
    assert rows == {
        key: (row.advertised.first, row.advertised.last) for key, row in HANDLERS.items() if key < OURS_FROM
    }
    assert [row.api_key for row in response.api_keys] == sorted(rows)
    assert rows[ApiKey.PRODUCE] == (0, 13)


@pytest.mark.parametrize("version", range(3, 6))
def test_requests_of_our_own_are_shown_to_clients_of_our_own(version: int) -> None:
    ours = {key for key, row in HANDLERS.items() if row.own}
    assert ours == {
        ApiKey.START_REDRIVE,
        ApiKey.DESCRIBE_REDRIVES,
        ApiKey.CANCEL_REDRIVE,
        ApiKey.MOVE_USER_SCRAM_CREDENTIALS,
        ApiKey.TXN_SHARE_ACKNOWLEDGE,
    }
    assert all(key >= OURS_FROM for key in ours)
    off = {ApiKey.TXN_SHARE_ACKNOWLEDGE}
    for level, shown in ((0, ours - off), (1, ours)):
        world = World({}, features={SHARE_TRANSACTIONS: level})
        for name, expected in (("shareq", shown), ("apache-kafka-java", set()), ("shareq2", set())):
            response = api_versions(world, version, name)
            assert {row.api_key for row in response.api_keys if row.api_key >= OURS_FROM} == expected


@pytest.mark.parametrize("software", ["shareq", "librdkafka"])
@pytest.mark.parametrize("level", [0, 1])
def test_features_of_our_own_are_shown_to_others_while_they_are_on(level: int, software: str) -> None:
    response = api_versions(World({}, features={SHARE_TRANSACTIONS: level}), 4, software)
    is_named = any(feature.name == SHARE_TRANSACTIONS for feature in response.supported_features)
    assert is_named is (software == "shareq" or level == 1)
    assert any(feature.name == SHARE_TRANSACTIONS for feature in response.finalized_features) is (level == 1)


def test_features_before_version_4_leave_out_those_that_may_be_off(world: World) -> None:
    """Clients before 3.9 fail on a lowest level of 0 (KIP-584)."""
    assert api_versions(world, 2).supported_features == []
    three, four = api_versions(world, 3), api_versions(world, 4)
    assert [feature.name for feature in three.supported_features] == ["metadata.version"]
    assert {feature.name: (feature.min_version, feature.max_version) for feature in four.supported_features} == {
        name: (feature.lowest, feature.highest) for name, feature in FEATURES.items() if not feature.own
    }
    for response in (three, four):
        assert response.finalized_features_epoch == 1
        assert {
            feature.name: (feature.max_version_level, feature.min_version_level)
            for feature in response.finalized_features
        } == {
            "metadata.version": (33, 33),
            "transaction.version": (2, 2),
            "group.version": (1, 1),
            "share.version": (2, 2),
        }


def test_a_feature_that_is_off_is_not_finalized() -> None:
    response = api_versions(World({}, features={"share.version": 0}), 4)
    assert "share.version" not in {feature.name for feature in response.finalized_features}
    assert "share.version" in {feature.name for feature in response.supported_features}


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error"),
    [
        (None, -1, ErrorCode.NONE),
        (None, 1, ErrorCode.INVALID_REQUEST),
        ("", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("OTHER", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("OTHER", -1, ErrorCode.INVALID_REQUEST),
        ("own", 1, ErrorCode.NONE),
        ("own", 2, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("own", -2, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("own", -1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_client_that_is_at_the_wrong_broker_starts_over(
    cluster_id: str | None, node_id: int, error: ErrorCode, world: World
) -> None:
    """The client gets the error from version 5 on (KIP-1242)."""
    named = world.metadata.cluster_id if cluster_id == "own" else cluster_id
    request = ApiVersionsRequest("test", "1.0", named, node_id)
    assert world.call(ApiVersionsResponse, request, 4).error_code == ErrorCode.NONE
    answer = world.call(ApiVersionsResponse, request, 5)
    assert answer.error_code == error
    assert bool(answer.api_keys) is (error is ErrorCode.NONE)


@pytest.mark.parametrize("name", ["", "-x", "x-", "x y", "ä", "x\n", "."])
def test_client_software_of_a_wrong_form(name: str) -> None:
    for arguments in ((name, "1.0"), ("x", name)):
        response = api_versions(World(), 3, *arguments)
        assert response.error_code == ErrorCode.INVALID_REQUEST
        assert response.api_keys == []


@pytest.mark.parametrize("name", ["x", "9", "apache-kafka-java", "a.b-c.1"])
def test_client_software_of_the_right_form(name: str) -> None:
    assert api_versions(World(), 4, name, name).error_code == ErrorCode.NONE


# -- Metadata


def metadata(world: World, version: int, *names: str, auto_create: bool = True) -> MetadataResponse:
    request = MetadataRequest([MetadataRequestTopic(name=name) for name in names])
    if version >= 4:
        request.allow_auto_topic_creation = auto_create
    return world.call(MetadataResponse, request, version)


@pytest.mark.parametrize("version", range(14))
def test_metadata_of_a_topic(version: int) -> None:
    world = World({"broker.rack": "r", "node.id": "3"})
    topic = world.metadata.create_topic(NewTopic("t", 2))
    response = metadata(world, version, "t")
    (broker,) = response.brokers
    assert (broker.node_id, broker.host, broker.port) == (3, "broker.test", 9092)
    assert broker.rack == ("r" if version >= 1 else None)
    assert response.controller_id == (3 if version >= 1 else -1)
    assert response.cluster_id == (world.metadata.cluster_id if version >= 2 else None)
    (row,) = response.topics
    assert (row.error_code, row.name, row.is_internal) == (ErrorCode.NONE, "t", False)
    assert row.topic_id == (topic.topic_id if version >= 10 else ZERO_UUID)
    assert row.topic_authorized_operations == NOT_ASKED
    for index, partition in enumerate(row.partitions):
        assert (partition.error_code, partition.partition_index, partition.leader_id) == (0, index, 3)
        assert partition.leader_epoch == (0 if version >= 7 else -1)
        assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([3], [3], [])
    assert len(row.partitions) == 2


@pytest.mark.parametrize("version", range(14))
def test_null_means_all_topics_and_empty_means_none_but_in_version_0(version: int, world: World) -> None:
    for name in ("b", "a"):
        world.metadata.create_topic(NewTopic(name, 1))
    everything = world.call(MetadataResponse, MetadataRequest([] if version == 0 else None), version)
    assert [row.name for row in everything.topics] == ["a", "b"]
    if version >= 1:
        assert world.call(MetadataResponse, MetadataRequest([]), version).topics == []


def test_authorized_operations_are_reported_when_asked(world: World) -> None:
    world.metadata.create_topic(NewTopic("t", 1))
    request = MetadataRequest(
        [MetadataRequestTopic(name="t")],
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    response = world.call(MetadataResponse, request, 10)
    assert (response.cluster_authorized_operations, response.topics[0].topic_authorized_operations) == (8096, 3576)


@pytest.mark.parametrize("version", range(14))
def test_a_topic_that_is_asked_for_is_created_and_is_in_the_same_answer(version: int) -> None:
    world = World({"num.partitions": "3"})
    (row,) = metadata(world, version, "new").topics
    assert (row.error_code, len(row.partitions)) == (ErrorCode.NONE, 3)
    created = world.metadata.topic("new")
    assert created is not None
    assert created.topic_id != ZERO_UUID


def test_nothing_is_created_where_the_request_or_the_broker_forbids_it(world: World) -> None:
    assert metadata(world, 4, "new", auto_create=False).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world = World({"auto.create.topics.enable": "false"})
    assert metadata(world, 1, "new").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.metadata.topics() == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../etc", "x" * 250, "a_b"])
def test_impossible_and_colliding_names_are_not_created(name: str, world: World) -> None:
    world.metadata.create_topic(NewTopic("a.b", 1))
    (row,) = metadata(world, 12, name).topics
    assert (row.error_code, row.name, row.partitions) == (ErrorCode.INVALID_TOPIC_EXCEPTION, name, [])
    assert [topic.name for topic in world.metadata.topics()] == ["a.b"]


def test_internal_topics_are_created_as_such_and_cluster_metadata_never(world: World) -> None:
    rows = metadata(world, 12, "__consumer_offsets", "__cluster_metadata").topics
    assert [(row.error_code, row.is_internal, len(row.partitions)) for row in rows] == [
        (ErrorCode.NONE, True, 50),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False, 0),
    ]
    assert world.configs.log_settings("__consumer_offsets").compact


def test_a_topic_that_cannot_be_stored_is_a_storage_error(world: World) -> None:

    def no_space(_changes: Sequence[MetaChange]) -> None:
        raise OSError(28, "No space left on device")

    world.db.before_commit = no_space
    assert metadata(world, 12, "new").topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_more_replicas_than_brokers_by_default() -> None:
    world = World({"default.replication.factor": "2"})
    assert metadata(world, 12, "new").topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize("version", [12, 13])
def test_topics_by_id(version: int, world: World) -> None:
    topic = world.metadata.create_topic(NewTopic("t", 1))
    asked = [
        MetadataRequestTopic(topic_id=topic.topic_id, name=None),
        MetadataRequestTopic(topic_id=b"?" * 16, name=None),
        MetadataRequestTopic(topic_id=topic.topic_id, name=None),
        MetadataRequestTopic(name="t"),
        MetadataRequestTopic(name="t"),
    ]
    rows = world.call(MetadataResponse, MetadataRequest(asked), version).topics
    assert [(row.error_code, row.name, row.topic_id) for row in rows] == [
        (ErrorCode.NONE, "t", topic.topic_id),
        (ErrorCode.NONE, "t", topic.topic_id),
        (ErrorCode.UNKNOWN_TOPIC_ID, None, b"?" * 16),
    ]


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topic", [MetadataRequestTopic(b"?" * 16, "t"), MetadataRequestTopic(ZERO_UUID, None)])
def test_versions_10_and_11_cannot_ask_by_id(version: int, topic: MetadataRequestTopic) -> None:
    response = World().call(MetadataResponse, MetadataRequest([topic]), version)
    assert [row.error_code for row in response.topics] == [ErrorCode.INVALID_REQUEST]


# -- DescribeCluster


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster(version: int) -> None:
    world = World({"broker.rack": "r"})
    response = world.call(DescribeClusterResponse, DescribeClusterRequest(True), version)
    (broker,) = response.brokers
    assert (broker.broker_id, broker.host, broker.port, broker.rack, broker.is_fenced) == (
        1,
        "broker.test",
        9092,
        "r",
        False,
    )
    assert (response.error_code, response.controller_id, response.endpoint_type) == (0, 1, 1)
    assert response.cluster_id == world.metadata.cluster_id
    assert response.cluster_authorized_operations == 8096
    plain = world.call(DescribeClusterResponse, DescribeClusterRequest(), version)
    assert plain.cluster_authorized_operations == NOT_ASKED


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_controllers_are_not_to_be_found_here(endpoint_type: int, code: ErrorCode) -> None:
    response = World().call(DescribeClusterResponse, DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert (response.error_code, response.brokers) == (code, [])


# -- DescribeTopicPartitions


def test_a_partition_that_another_broker_leads_has_no_leader(world: World) -> None:
    world.metadata.create_topic(NewTopic("t", 2))
    world.leaders.move("t", 1, ELSEWHERE)
    own = world.started_with.node_id
    for rows in (metadata(world, 12, "t").topics[0].partitions, describe(world, "t").topics[0].partitions):
        assert [(row.error_code, row.leader_id) for row in rows] == [
            (ErrorCode.NONE, own),
            (ErrorCode.LEADER_NOT_AVAILABLE, -1),
        ]


def describe(
    world: World, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit)
    if cursor is not None:
        request.cursor = DescribeTopicPartitionsRequestCursor(*cursor)
    return world.call(DescribeTopicPartitionsResponse, request, 0)


def page(
    response: DescribeTopicPartitionsResponse,
) -> tuple[list[tuple[str | None, list[int]]], tuple[str, int] | None]:
    rows = [(row.name, [partition.partition_index for partition in row.partitions]) for row in response.topics]
    cursor = response.next_cursor
    return rows, None if cursor is None else (cursor.topic_name, cursor.partition_index)


@pytest.fixture
def three_topics() -> World:
    world = World()
    for name, partitions in (("c", 1), ("a", 3), ("b", 2)):
        world.metadata.create_topic(NewTopic(name, partitions))
    return world


def test_describe_topic_partitions_by_name_and_all(three_topics: World) -> None:
    everything = ([("a", [0, 1, 2]), ("b", [0, 1]), ("c", [0])], None)
    assert page(describe(three_topics)) == everything
    assert page(describe(three_topics, "c", "b", "a", "a")) == everything
    row = describe(three_topics, "c").topics[0]
    topic = three_topics.metadata.topic("c")
    assert topic is not None
    assert (row.topic_id, row.topic_authorized_operations) == (topic.topic_id, 3576)
    assert (row.partitions[0].leader_id, row.partitions[0].eligible_leader_replicas) == (1, [])


def test_describe_topic_partitions_in_pages(three_topics: World) -> None:
    assert page(describe(three_topics, limit=2)) == ([("a", [0, 1])], ("a", 2))
    assert page(describe(three_topics, limit=2, cursor=("a", 2))) == ([("a", [2]), ("b", [0])], ("b", 1))
    assert page(describe(three_topics, limit=2, cursor=("b", 1))) == ([("b", [1]), ("c", [0])], None)
    assert page(describe(three_topics, limit=3)) == ([("a", [0, 1, 2])], ("b", 0))
    assert page(describe(three_topics, limit=0)) == ([("a", [0])], ("a", 1))
    assert page(describe(three_topics, limit=-1)) == ([("a", [0])], ("a", 1))
    assert page(describe(three_topics, cursor=("aa", 7))) == ([("b", [0, 1]), ("c", [0])], None)
    assert page(describe(three_topics, "a", cursor=("a", 9))) == ([("a", [])], None)


def test_the_brokers_own_limit_of_a_page() -> None:
    world = World({"max.request.partition.size.limit": "1"})
    world.metadata.create_topic(NewTopic("a", 3))
    assert page(describe(world)) == ([("a", [0])], ("a", 1))


def test_topics_that_cannot_be_described(three_topics: World) -> None:
    response = describe(three_topics, "nope", "a/b", "c")
    assert [(row.name, row.error_code) for row in response.topics] == [
        ("a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("c", ErrorCode.NONE),
        ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@pytest.mark.parametrize("cursor", [("b", 0), ("a", -1)])
def test_cursors_that_make_no_sense(three_topics: World, cursor: tuple[str, int]) -> None:
    response = describe(three_topics, "a", cursor=cursor)
    assert [row.error_code for row in response.topics] == [ErrorCode.INVALID_REQUEST]


# -- FindCoordinator


def find(world: World, version: int, *keys: str, key_type: int = 0) -> list[tuple[str, int, int, str, int]]:
    if version >= 4:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys))
        rows = world.call(FindCoordinatorResponse, request, version).coordinators
        return [(row.key, row.error_code, row.node_id, row.host, row.port) for row in rows]
    request = FindCoordinatorRequest(keys[0])
    if version >= 1:
        request.key_type = key_type
    row = world.call(FindCoordinatorResponse, request, version)
    return [(keys[0], row.error_code, row.node_id, row.host, row.port)]


@pytest.mark.parametrize(
    ("version", "key_type", "topic"),
    [(version, 0, "__consumer_offsets") for version in range(7)]
    + [(version, 1, "__transaction_state") for version in range(1, 7)],
)
def test_the_coordinators_topic_exists_when_the_answer_is_given(
    version: int, key_type: int, topic: str, world: World
) -> None:
    assert find(world, version, "g", key_type=key_type) == [("g", 0, 1, "broker.test", 9092)]
    assert [image.name for image in world.metadata.topics()] == [topic]


def test_many_keys_and_none(world: World) -> None:
    assert [row[:2] for row in find(world, 4, "a", "b", "")] == [("a", 0), ("b", 0), ("", 0)]
    assert find(world, 4) == []


@pytest.mark.parametrize("version", range(1, 7))
def test_unknown_key_types(version: int, world: World) -> None:
    assert find(world, version, "g", key_type=9) == [("g", ErrorCode.INVALID_REQUEST, -1, "", -1)]
    assert world.metadata.topics() == []


SHARE_KEY = "g:AQIDBAUGBwgJCgsMDQ4PEA:3"


def test_share_partitions_from_version_6_on(world: World) -> None:
    """Key type 2 is accepted from version 6 on, with group ids that may contain colons (KIP-932)."""
    assert [row[1] for row in find(world, 6, SHARE_KEY, f"a:b:{SHARE_KEY}", key_type=2)] == [0, 0]
    assert [image.name for image in world.metadata.topics()] == ["__share_group_state"]
    for version in range(1, 6):
        assert find(world, version, SHARE_KEY, key_type=2)[0][1] == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "key",
    ["", "g", "g:AQIDBAUGBwgJCgsMDQ4PEA", " :AQIDBAUGBwgJCgsMDQ4PEA:3", ":AQIDBAUGBwgJCgsMDQ4PEA:3", "g:short:3"]
    + [f"g:AQIDBAUGBwgJCgsMDQ4PEA:{partition}" for partition in ("", "x", "-1", "٣", "9" * 5000, "2147483648")],
)
def test_share_partition_keys_of_another_form(key: str, world: World) -> None:
    assert find(world, 6, key, key_type=2)[0][1] == ErrorCode.INVALID_REQUEST
    assert world.metadata.topics() == []


def test_an_internal_topic_that_cannot_be_made_names_the_property() -> None:
    world = World({"offsets.topic.replication.factor": "3"})
    response = world.call(FindCoordinatorResponse, FindCoordinatorRequest("g"), 3)
    assert response.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "offsets.topic.replication.factor=3" in str(response.error_message)


# -- what the dispatcher answers when a handler raised

ONE_ROW: dict[ApiKey, Callable[[int], Message]] = {
    ApiKey.METADATA: lambda _: MetadataRequest([MetadataRequestTopic(name="t")]),
    ApiKey.CREATE_TOPICS: lambda _: CreateTopicsRequest([CreatableTopic("t", 1, 1)]),
    ApiKey.DELETE_TOPICS: lambda version: (
        DeleteTopicsRequest([DeleteTopicState("t")]) if version >= 6 else DeleteTopicsRequest(topic_names=["t"])
    ),
    ApiKey.CREATE_PARTITIONS: lambda _: CreatePartitionsRequest([CreatePartitionsTopic("t", 2)]),
    ApiKey.DESCRIBE_CONFIGS: lambda _: DescribeConfigsRequest([DescribeConfigsResource(2, "t")]),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda _: IncrementalAlterConfigsRequest([AlterConfigsResource(2, "t")]),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: lambda _: DescribeTopicPartitionsRequest([TopicRequest("t")]),
    ApiKey.FIND_COORDINATOR: lambda version: (
        FindCoordinatorRequest(coordinator_keys=["g"]) if version >= 4 else FindCoordinatorRequest("g")
    ),
}


@pytest.mark.parametrize("key", ONE_ROW)
def test_a_failure_answer_has_the_error_in_every_version(key: ApiKey) -> None:
    module = import_module(HANDLERS[key].module)
    served = HANDLERS[key].served
    for version in range(served.first, served.last + 1):
        response = module.failed(ONE_ROW[key](version), ErrorCode.UNKNOWN_SERVER_ERROR)
        decoded, _ = type(response).decode(response.encode(version), version)
        rows = [
            row for name in ("topics", "responses", "results", "coordinators") for row in getattr(decoded, name, ())
        ]
        assert [row.error_code for row in rows or [decoded]] == [ErrorCode.UNKNOWN_SERVER_ERROR]


@pytest.mark.parametrize("key", [ApiKey.API_VERSIONS, ApiKey.DESCRIBE_CLUSTER])
def test_the_other_answers_have_a_place_for_it_in_every_version(key: ApiKey) -> None:
    served, response_class = HANDLERS[key].served, codec(key).response_class
    for version in range(served.first, served.last + 1):
        response = response_class(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)  # type: ignore[call-arg]
        decoded, _ = response_class.decode(response.encode(version), version)
        assert decoded.error_code == ErrorCode.UNKNOWN_SERVER_ERROR  # type: ignore[attr-defined]
