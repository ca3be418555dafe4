"""Share groups and consumer groups of KIP-848 have one namespace of ids, over frames (KIP-932)."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.support.clients.share_client import ShareClient


def consume(world: BrokerWorld, epoch: int = 0) -> ErrorCode:
    """A heartbeat of a consumer group's member."""
    joins = epoch == 0
    request = ConsumerGroupHeartbeatRequest(
        "g",
        "m",
        epoch,
        rebalance_timeout_ms=30_000 if joins else -1,
        subscribed_topic_names=["t"] if joins else None,
        topic_partitions=[] if joins else None,
    )
    return ErrorCode(world.connect().call(request, 1, ConsumerGroupHeartbeatResponse).error_code)


def share(world: BrokerWorld) -> ErrorCode:
    return ErrorCode(ShareClient(world).heartbeat("t", epoch=0).error_code)


def delete(world: BrokerWorld) -> None:
    (row,) = world.connect().call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse).results
    assert row.error_code == ErrorCode.NONE


def types(world: BrokerWorld) -> list[str]:
    return [group.group_type for group in world.connect().call(ListGroupsRequest(), 5, ListGroupsResponse).groups]


@pytest.mark.parametrize("members", [True, False], ids=["with members", "empty"])
def test_a_share_member_cannot_join_a_consumer_group(members: bool) -> None:
    """Nor an empty one, until that is deleted: groups of these kinds are not converted."""
    world = BrokerWorld()
    world.create_topic("t")
    assert consume(world) is ErrorCode.NONE
    if not members:
        assert consume(world, -1) is ErrorCode.NONE
    assert share(world) is ErrorCode.GROUP_ID_NOT_FOUND
    world.restart()
    assert share(world) is ErrorCode.GROUP_ID_NOT_FOUND
    assert types(world) == ["consumer"]
    if not members:
        delete(world)
        assert share(world) is ErrorCode.NONE
        assert types(world) == ["share"]


@pytest.mark.parametrize("members", [True, False], ids=["with members", "empty"])
def test_a_consumer_cannot_join_a_share_group(members: bool) -> None:
    world = BrokerWorld()
    world.create_topic("t")
    member = ShareClient(world)
    member.join("t")
    if not members:
        member.leave()
    assert consume(world) is ErrorCode.GROUP_ID_NOT_FOUND
    world.restart()
    assert consume(world) is ErrorCode.GROUP_ID_NOT_FOUND
    assert types(world) == ["share"]
    if not members:
        delete(world)
        assert consume(world) is ErrorCode.NONE
        assert types(world) == ["consumer"]
