"""The cluster's topics as a node's clients see them, including those the node does not know yet."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from devtools.in_memory.mock_transport import MockConnection
from shareq.broker.metadata.changes import PutAcl
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.cluster.mirror.topics import MOST_TOPICS
from shareq.cluster.node.metadata import HEARING_MS
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from shareq.protocol.generated.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9
from tests.support.worlds.node_metadata import NodeMetadataWorld

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def world() -> NodeMetadataWorld:
    return NodeMetadataWorld()


def metadata(
    world: NodeMetadataWorld, client: MockConnection, names: Sequence[str | bytes] | None, *, creates: bool = False
) -> dict[str | bytes, MetadataResponseTopic]:
    request = MetadataRequest(None, allow_auto_topic_creation=creates)
    if names is not None:
        request.topics = [
            MetadataRequestTopic(name=each) if isinstance(each, str) else MetadataRequestTopic(each, None)
            for each in names
        ]
    answer = world.ask(client, request, 12, MetadataResponse)
    assert answer.cluster_id == world.cluster.cluster_id
    return {row.topic_id if row.name is None else row.name: row for row in answer.topics}


def pages(world: NodeMetadataWorld, client: MockConnection, *names: str) -> dict[str | None, int]:
    request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in names])
    answer = world.ask(client, request, 0, DescribeTopicPartitionsResponse)
    return {row.name: row.error_code for row in answer.topics}


def test_a_topic_is_asked_for_before_it_is_called_unknown(world: NodeMetadataWorld) -> None:
    topic = world.cluster.create_topic("orders", partitions=3)
    late = world.cluster.create_topic("late")
    client = world.connect()
    rows = metadata(world, client, ["orders", "nowhere", "?", late.topic_id, b"?" * 16])
    assert {key: row.error_code for key, row in rows.items()} == {
        "orders": NONE,
        "nowhere": UNKNOWN,
        "?": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "late": NONE,
        b"?" * 16: ErrorCode.UNKNOWN_TOPIC_ID,
    }
    assert (rows["orders"].topic_id, len(rows["orders"].partitions)) == (topic.topic_id, 3)


def test_a_page_of_topics_is_asked_for_first(world: NodeMetadataWorld) -> None:
    """KIP-966: DescribeTopicPartitions serves requests by name and for all topics."""
    world.cluster.create_topic("orders")
    client = world.connect()
    assert pages(world, client, "nowhere", "orders") == {"orders": NONE, "nowhere": UNKNOWN}
    world.cluster.create_topic("others")
    assert pages(world, client) == {CONSUMER_OFFSETS: NONE, SHARE_GROUP_STATE: NONE, "orders": NONE, "others": NONE}


@pytest.mark.parametrize("settings", [ClusterSettings(), ClusterSettings(release=KAFKA_3_9)])
def test_a_client_that_asks_for_all_is_shown_all_but_the_nodes_own(settings: ClusterSettings) -> None:
    """Internal topics are shown by Apache Kafka's names, with a partition per slot.

    The cluster's own topics of these names would point to offsets and transactions that the node does not have.
    """
    world = NodeMetadataWorld(settings)
    own = world.cluster.create_topic(CONSUMER_OFFSETS, partitions=50)
    for name in ("b", "__shareq_state", TRANSACTION_STATE, "a"):
        world.cluster.create_topic(name)
    client = world.connect()
    rows = metadata(world, client, None)
    assert list(rows) == sorted(["a", "b", SHARE_GROUP_STATE, CONSUMER_OFFSETS])
    assert [len(rows[name].partitions) for name in (SHARE_GROUP_STATE, CONSUMER_OFFSETS)] == [4, 3]
    assert [rows[name].is_internal for name in (SHARE_GROUP_STATE, "a")] == [True, False]
    hidden = metadata(world, client, ["__shareq_state", TRANSACTION_STATE, own.topic_id])
    assert {row.error_code for row in hidden.values()} == {UNKNOWN, ErrorCode.UNKNOWN_TOPIC_ID}
    listed = world.ask(client, ListConfigResourcesRequest([2]), 1, ListConfigResourcesResponse)
    assert [each.resource_name for each in listed.config_resources] == list(rows)


def test_a_topic_that_is_made_later_is_in_the_next_list(world: NodeMetadataWorld) -> None:
    client = world.connect()
    assert "orders" not in metadata(world, client, None)
    world.cluster.create_topic("orders")
    assert "orders" in metadata(world, client, None)


def test_more_names_than_one_question_has(world: NodeMetadataWorld) -> None:
    names = [f"t{number}" for number in range(5 * MOST_TOPICS + 7)]
    there = set(names[::3])
    for name in there:
        world.cluster.create_topic(name)
    rows = metadata(world, world.connect(), names)
    assert {name for name, row in rows.items() if not row.error_code} == there
    assert {row.error_code for row in rows.values()} == {NONE, UNKNOWN}


def test_a_cluster_that_does_not_answer_has_made_nothing_unknown(world: NodeMetadataWorld) -> None:
    """The error is LEADER_NOT_AVAILABLE, on which clients retry: administrators' tools give up on unknown topics."""
    topic = world.cluster.create_topic("orders")
    for broker in (1, 2, 3):
        world.cluster.kill(broker)
    client = world.connect()
    rows = metadata(world, client, ["orders", topic.topic_id])
    assert {row.error_code for row in rows.values()} == {ErrorCode.LEADER_NOT_AVAILABLE}
    assert pages(world, client, "orders") == {"orders": ErrorCode.LEADER_NOT_AVAILABLE}
    assert list(metadata(world, client, None)) == [CONSUMER_OFFSETS, SHARE_GROUP_STATE]


@pytest.mark.parametrize("names", [["nowhere"], [f"t{number}" for number in range(3 * MOST_TOPICS)], None])
def test_a_client_is_not_kept_waiting_by_a_cluster_that_is_silent(
    world: NodeMetadataWorld, names: list[str] | None
) -> None:
    """A client waits 30 seconds by default, and has other nodes to ask."""
    client = world.connect()
    world.cluster.create_topic("known")
    assert metadata(world, client, ["known"])["known"].error_code == NONE
    world.cluster.silence()
    before = world.clock.now_ms()
    rows = metadata(world, client, names, creates=True)
    assert world.clock.now_ms() - before <= HEARING_MS
    if names is None:
        assert "known" in rows
    else:
        assert {row.error_code for row in rows.values()} == {ErrorCode.LEADER_NOT_AVAILABLE}
    assert metadata(world, client, ["known"])["known"].error_code == NONE


@pytest.mark.parametrize("creates", [True, False])
def test_the_cluster_decides_whether_a_topic_is_created_that_is_asked_for(creates: bool) -> None:
    """The cluster's auto.create.topics.enable and defaults apply: three partitions here, one on a broker of ours."""
    world = NodeMetadataWorld(ClusterSettings(default_partitions=3, auto_create_topics=creates))
    client = world.connect()
    first = metadata(world, client, ["orders"], creates=True)
    assert first["orders"].error_code in (NONE, UNKNOWN, ErrorCode.LEADER_NOT_AVAILABLE)
    world.clock.advance(200)
    row = metadata(world, client, ["orders"])["orders"]
    assert (row.error_code, len(row.partitions)) == ((NONE, 3) if creates else (UNKNOWN, 0))


@pytest.mark.parametrize(("properties", "creates"), [({}, False), ({"auto.create.topics.enable": "false"}, True)])
def test_nothing_is_created_that_client_or_node_do_not_want(properties: dict[str, str], creates: bool) -> None:
    world = NodeMetadataWorld(properties=properties)
    client = world.connect()
    assert metadata(world, client, ["orders"], creates=creates)["orders"].error_code == UNKNOWN
    world.clock.advance(10_000)
    assert metadata(world, client, ["orders"])["orders"].error_code == UNKNOWN


def test_the_cluster_is_not_asked_for_what_the_client_may_not_describe() -> None:
    """The node must not remember names that an outsider makes up."""
    properties = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    world = NodeMetadataWorld(properties=properties)
    for name in ("mine", "secret"):
        world.cluster.create_topic(name)
    right = Acl(
        ResourceKind.TOPIC, "mine", PatternType.LITERAL, "User:ANONYMOUS", "*", Operation.DESCRIBE, Permission.ALLOW
    )
    world.stands_on.kept.change([PutAcl(right)])
    rows = metadata(world, world.connect(), ["mine", "secret"])
    assert {name: row.error_code for name, row in rows.items()} == {
        "mine": NONE,
        "secret": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
    assert world.stands_on.mirror.known("secret") is None
