from __future__ import annotations

from functools import partial

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.frames.node.test_node import acquired, assigned
from tests.support.clients.share_client import ACCEPT, ShareClient, append, from_the_start
from tests.support.cluster.node_world import NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld()
    world.until_it_serves()
    from_the_start(world)
    return world


def create(world: NodeWorld, name: str, partitions: int = 1) -> bytes:
    request = CreateTopicsRequest([CreatableTopic(name, partitions, 1)], 5_000)
    (row,) = world.connect().call(request, 7, CreateTopicsResponse).topics
    assert row.error_code == ErrorCode.NONE
    return bytes(row.topic_id)


def delete(world: NodeWorld, name: str) -> None:
    request = DeleteTopicsRequest([DeleteTopicState(name)], timeout_ms=5_000)
    (row,) = world.connect().call(request, 6, DeleteTopicsResponse).responses
    assert row.error_code == ErrorCode.NONE


def partitions_of(world: NodeWorld, name: str) -> int | ErrorCode:
    request = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    (row,) = world.connect().call(request, 12, MetadataResponse).topics
    return ErrorCode(row.error_code) if row.error_code else len(row.partitions)


def listed(world: NodeWorld) -> list[str]:
    rows = world.connect().call(MetadataRequest(None), 12, MetadataResponse).topics
    return [row.name or "" for row in rows if not row.is_internal]


def test_a_topic_that_is_deleted_by_way_of_a_node_is_not_shown_any_more(world: NodeWorld) -> None:
    create(world, "t", 3)
    assert (listed(world), partitions_of(world, "t")) == (["t"], 3)
    delete(world, "t")
    assert listed(world) == []
    assert partitions_of(world, "t") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_is_shown_once_it_was_made_however_late_brokers_hear_of_it(world: NodeWorld) -> None:
    for broker in world.cluster.brokers:
        world.cluster.hold_news(broker)
        world.clock.call_at(world.clock.now_ms() + 2_000, partial(world.cluster.release_news, broker))
    create(world, "t", 3)
    assert listed(world) == ["t"]


def test_a_topic_that_is_made_again_is_read_from_its_start_at_once(world: NodeWorld) -> None:
    client = ShareClient(world)
    place = create(world, "t"), 0
    assigned(client, "t")
    append(world, "t", 3)
    assert acquired(client, place) == [(0, 2, 1)]
    assert client.acknowledge(place, (0, 2, ACCEPT)) is ErrorCode.NONE
    delete(world, "t")
    again = create(world, "t", 1), 0
    assert again != place
    assert partitions_of(world, "t") == 1
    append(world, "t", 2)
    other = ShareClient(world, group="shares-again")
    from_the_start(world, "shares-again")
    assigned(other, "t")
    assert acquired(other, again) == [(0, 1, 1)]
    assigned(client, "t")
    assert acquired(client, again) == [(0, 1, 1)]


def test_a_topic_that_could_be_made_took_the_name_of_one_that_is_gone(world: NodeWorld) -> None:
    """The node has not yet heard that the first topic was deleted elsewhere."""
    create(world, "t", 3)
    assert partitions_of(world, "t") == 3
    world.cluster.controller.delete_topic("t")
    check = CreateTopicsRequest([CreatableTopic("t", 2, 1)], 5_000, validate_only=True)
    assert world.connect().call(check, 7, CreateTopicsResponse).topics[0].error_code == ErrorCode.NONE
    assert partitions_of(world, "t") == 3
    create(world, "t", 2)
    assert partitions_of(world, "t") == 2
