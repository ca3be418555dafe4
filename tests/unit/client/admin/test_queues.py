"""The topics that an administrator sees as dead-letter queues."""

from __future__ import annotations

from shareq.client.admin import Admin
from shareq.client.admin.redrives import Queue
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
)
from shareq.protocol.generated.list_config_resources import ConfigResource, ListConfigResourcesResponse
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_world import World

ENABLED = "errors.deadletterqueue.group.enable"
OF_NODE = {"errors.deadletterqueue.topic.name.prefix": "dlq.", "shareq.dlq.topics": "dlq.*,rejected"}


def admin(world: World, topics: dict[str, dict[str, str]], of_broker: dict[str, str]) -> Admin:
    """Return an administrator of a broker with these topics; group `g` names `dlq.t`."""
    broker = world.broker(1)

    def configs(request: Message) -> Message:
        assert isinstance(request, DescribeConfigsRequest)
        answer = DescribeConfigsResponse()
        for resource in request.resources:
            kind, name = resource.resource_type, resource.resource_name
            found = (
                topics[name]
                if kind == 2
                else of_broker
                if kind == 4
                else {"errors.deadletterqueue.topic.name": "dlq.t"}
            )
            rows = [
                DescribeConfigsResourceResult(key, value)
                for key, value in found.items()
                if key in (resource.configuration_keys or ())
            ]
            answer.results.append(DescribeConfigsResult(0, "", kind, name, rows))
        return answer

    rows = [DescribeTopicPartitionsResponseTopic(0, name) for name in topics]
    broker.scripts[ApiKey.DESCRIBE_TOPIC_PARTITIONS] = lambda _request: DescribeTopicPartitionsResponse(topics=rows)
    broker.scripts[ApiKey.DESCRIBE_CONFIGS] = configs
    broker.scripts[ApiKey.LIST_CONFIG_RESOURCES] = lambda _request: ListConfigResourcesResponse(
        config_resources=[ConfigResource("g", 32)]
    )
    return Admin(world.network(broker))


def test_topics_that_say_so_are_queues_whatever_a_node_names(world: World) -> None:
    topics = {"dlq.t": {ENABLED: "false"}, "other": {ENABLED: "true"}, "rejected": {ENABLED: "false"}}
    redrives = admin(world, topics, OF_NODE).redrives
    assert redrives.queues() == [Queue("dlq.t", True, False, ("g",)), Queue("other", True, True, ())]
    assert [redrives.is_queue(name) for name in ("dlq.t", "other", "rejected")] == [True, True, False]


def test_before_a_cluster_without_the_property_those_are_that_the_node_names(world: World) -> None:
    redrives = admin(world, {"dlq.t": {}, "other": {}, "rejected": {}}, OF_NODE).redrives
    assert redrives.queues() == [Queue("dlq.t", True, True, ("g",)), Queue("rejected", True, True, ())]
    assert [redrives.is_queue(name) for name in ("dlq.t", "other", "rejected")] == [True, False, True]


def test_a_cluster_without_the_property_and_without_a_node_has_no_queues_of_its_own(world: World) -> None:
    redrives = admin(world, {"dlq.t": {}, "other": {}}, {}).redrives
    assert redrives.queues() == [Queue("dlq.t", True, False, ("g",))]
