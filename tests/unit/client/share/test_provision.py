"""A worker's topic and group: created as configured, left alone if they exist, and refusals."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from shareq.client.admin import Admin
from shareq.client.admin.topics import NewTopic
from shareq.client.errors import BrokerError, Unreachable
from shareq.client.share.provision import configure_group, ensure_topic
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.names import PARTITION_MAX_RECORD_LOCKS
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import HangUp
from tests.support.fakes.scripted_world import World

RESET = "share.auto.offset.reset"
QUEUE = "errors.deadletterqueue.topic.name"
PREFIX = f"{QUEUE}.prefix"


class Cluster:
    """A broker that records what it is asked to create and set. `refuses`: its errors for group configs, by name."""

    def __init__(self, world: World) -> None:
        self.creation = ErrorCode.NONE
        self.refuses: dict[str, ErrorCode] = {}
        self.prefix: str | None = "dlq."
        self.created: list[tuple[str, int, int, dict[str, str | None]]] = []
        self.changes: list[dict[str, str | None]] = []
        self.scripts = (broker := world.broker(1)).scripts
        self.scripts[ApiKey.CREATE_TOPICS] = self.create
        self.scripts[ApiKey.DESCRIBE_CONFIGS] = self.describe
        self.scripts[ApiKey.INCREMENTAL_ALTER_CONFIGS] = self.alter
        self.admin = Admin(world.network(broker))

    def create(self, request: Message) -> Message:
        assert isinstance(request, CreateTopicsRequest)
        (row,) = request.topics
        configs = {each.name: each.value for each in row.configs}
        self.created.append((row.name, row.num_partitions, row.replication_factor, configs))
        return CreateTopicsResponse(topics=[CreatableTopicResult(row.name, error_code=self.creation)])

    def describe(self, request: Message) -> Message:
        assert isinstance(request, DescribeConfigsRequest)
        (row,) = request.resources
        values = {name: self.prefix if name == PREFIX else "4000" for name in row.configuration_keys or ()}
        found = [DescribeConfigsResourceResult(name, value, config_source=5) for name, value in values.items() if value]
        kind, name = row.resource_type, row.resource_name
        return DescribeConfigsResponse(results=[DescribeConfigsResult(0, None, kind, name, found)])

    def alter(self, request: Message) -> Message:
        assert isinstance(request, IncrementalAlterConfigsRequest)
        (row,) = request.resources
        self.changes.append({each.name: each.value for each in row.configs})
        code = next((self.refuses[each.name] for each in row.configs if each.name in self.refuses), ErrorCode.NONE)
        answer = AlterConfigsResourceResponse(code, None, row.resource_type, row.resource_name)
        return IncrementalAlterConfigsResponse(responses=[answer])


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    world = World()
    yield Cluster(world)
    world.close()


def test_a_topic_is_made_as_asked(cluster: Cluster) -> None:
    ensure_topic(cluster.admin, NewTopic("tasks", 3, 2, {"retention.ms": "60000"}))
    assert cluster.created == [("tasks", 3, 2, {"retention.ms": "60000"})]


def test_a_topic_that_exists_is_no_failure_and_another_refusal_is(cluster: Cluster) -> None:
    cluster.creation = ErrorCode.TOPIC_ALREADY_EXISTS
    ensure_topic(cluster.admin, NewTopic("tasks"))
    cluster.creation = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        ensure_topic(cluster.admin, NewTopic("tasks"))


@pytest.mark.parametrize("required", [True, False])
def test_a_group_gets_its_configs_and_the_widest_window(cluster: Cluster, required: bool) -> None:
    configure_group(cluster.admin, "g", {RESET: "earliest"}, required=required)
    assert cluster.changes == [{RESET: "earliest"}, {PARTITION_MAX_RECORD_LOCKS: "4000"}]


def test_a_group_without_configs_gets_the_window_alone(cluster: Cluster) -> None:
    configure_group(cluster.admin, "g", {}, required=True)
    assert cluster.changes == [{PARTITION_MAX_RECORD_LOCKS: "4000"}]


def test_a_window_among_the_configs_is_not_widened(cluster: Cluster) -> None:
    configure_group(cluster.admin, "g", {PARTITION_MAX_RECORD_LOCKS: "500"}, required=True)
    assert cluster.changes == [{PARTITION_MAX_RECORD_LOCKS: "500"}]


def test_required_configs_that_are_refused_are_raised(cluster: Cluster) -> None:
    cluster.refuses[RESET] = ErrorCode.GROUP_AUTHORIZATION_FAILED
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
        configure_group(cluster.admin, "g", {RESET: "earliest"}, required=True)
    assert cluster.changes == [{RESET: "earliest"}], "nothing more is set"


def test_a_queue_that_would_get_no_letters_is_not_set(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """Brokers accept the name, but archive dead records without a letter."""
    why = rf"group g: INVALID_CONFIG: {QUEUE}=dead: its name must begin with dlq\. \({PREFIX}\)"
    with pytest.raises(BrokerError, match=why):
        configure_group(cluster.admin, "g", {RESET: "earliest", QUEUE: "dead"}, required=True)
    assert cluster.changes == []
    configure_group(cluster.admin, "g", {QUEUE: "dead"}, required=False)
    assert cluster.changes == [{PARTITION_MAX_RECORD_LOCKS: "4000"}]
    assert "its name must begin with dlq." in caplog.text


@pytest.mark.parametrize(
    ("name", "prefix"), [("dlq.orders", "dlq."), ("", "dlq."), ("dead", "de"), ("dead", ""), ("dead", None)]
)
def test_a_queue_is_set_whose_name_is_no_trouble_as_far_as_is_known(
    cluster: Cluster, name: str, prefix: str | None
) -> None:
    """No value means no queue, and a broker that reports no prefix checks the name itself."""
    cluster.prefix = prefix
    configure_group(cluster.admin, "g", {QUEUE: name}, required=True)
    assert cluster.changes[0] == {QUEUE: name}


def test_other_configs_that_are_refused_are_logged(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.refuses[RESET] = ErrorCode.GROUP_AUTHORIZATION_FAILED
    configure_group(cluster.admin, "g", {RESET: "earliest"}, required=False)
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert "share group g: its configs" in line.getMessage()
    assert "GROUP_AUTHORIZATION_FAILED" in line.getMessage()
    assert cluster.changes == [{RESET: "earliest"}, {PARTITION_MAX_RECORD_LOCKS: "4000"}]


def test_a_lost_broker_is_raised_though_the_configs_are_not_required(cluster: Cluster) -> None:
    def hang_up(request: Message) -> Message:
        raise HangUp

    cluster.scripts[ApiKey.INCREMENTAL_ALTER_CONFIGS] = hang_up
    with pytest.raises(Unreachable):
        configure_group(cluster.admin, "g", {RESET: "earliest"}, required=False)
