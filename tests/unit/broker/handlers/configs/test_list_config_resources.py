from __future__ import annotations

import pytest

from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.broker.metadata.store import NewTopic
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from tests.support.worlds.admin_world import World

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


def listed(world: World, types: list[int], version: int = 1) -> list[tuple[int, str]]:
    answer = world.call(ListConfigResourcesResponse, ListConfigResourcesRequest(types), version)
    assert answer.error_code == ErrorCode.NONE
    return [(resource.resource_type, resource.resource_name) for resource in answer.config_resources]


@pytest.fixture
def world() -> World:
    world = World({"node.id": "7"})
    world.metadata.create_topics([NewTopic("b", 1), NewTopic("a", 1)])
    world.metadata.alter_configs([PutConfig(ResourceName("group", "g"), "share.session.timeout.ms", "50000")])
    return world


def test_version_0_lists_client_metrics_alone(world: World) -> None:
    assert listed(world, [], 0) == []


def test_by_type(world: World) -> None:
    assert listed(world, [TOPIC]) == [(TOPIC, "a"), (TOPIC, "b")]
    assert listed(world, [BROKER, LOGGER, BROKER]) == [(BROKER, "7"), (LOGGER, "7")]
    assert listed(world, [GROUP]) == [(GROUP, "g")]
    assert listed(world, [METRICS]) == []


def test_no_type_means_all(world: World) -> None:
    assert listed(world, []) == [(TOPIC, "a"), (TOPIC, "b"), (BROKER, "7"), (LOGGER, "7"), (GROUP, "g")]


@pytest.mark.parametrize("kind", [0, 1, 3, 64, -1])
def test_an_unknown_type(world: World, kind: int) -> None:
    answer = world.call(ListConfigResourcesResponse, ListConfigResourcesRequest([TOPIC, kind]), 1)
    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])
