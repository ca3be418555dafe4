"""The common namespace of ids of share groups and KIP-848 consumer groups, over frames (KIP-932)."""

from __future__ import annotations

import pytest

from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.requests import fetch, fetch_request
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.records.batch import decode_records
from tests.support.clients.share_client import ACCEPT, ShareClient, append, from_the_start
from tests.support.kafka.group_requests import consumer_heartbeat


def consume(world: BrokerWorld, epoch: int = 0) -> ErrorCode:
    request = consumer_heartbeat("g", epoch=epoch, topics=None if epoch else ["t"])
    return ErrorCode(world.connect().call(request, 1, ConsumerGroupHeartbeatResponse).error_code)


def share(world: BrokerWorld) -> ErrorCode:
    return ErrorCode(ShareClient(world).heartbeat("t", epoch=0).error_code)


def delete(world: BrokerWorld) -> None:
    (row,) = world.connect().call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse).results
    assert row.error_code == ErrorCode.NONE


def types(world: BrokerWorld) -> list[str]:
    return [group.group_type for group in world.connect().call(ListGroupsRequest(), 5, ListGroupsResponse).groups]


@pytest.mark.parametrize("members", [True, False], ids=["with members", "empty"])
def test_a_share_member_cannot_join_a_consumer_group(members: bool, world: BrokerWorld) -> None:
    """Not even an empty consumer group takes a share member until it is deleted: these kinds are not converted."""
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
def test_a_consumer_cannot_join_a_share_group(members: bool, world: BrokerWorld) -> None:
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


def test_both_kinds_get_every_record_and_go_on_after_a_crash(world: BrokerWorld) -> None:
    """Both kinds of group read one topic: neither affects the other's records or offsets."""
    topic_id = world.create_topic("t").topic_id
    from_the_start(world, "shared")
    append(world, "t", 10)
    member = ShareClient(world, group="shared")
    assert member.join("t") == {"t": [0]}
    assert consume(world) is ErrorCode.NONE
    epoch = 2
    offsets = OffsetsClient(world.connect(), {"t": topic_id})
    assert offsets.commit({("t", 0): 7}, generation=epoch, member="m") == {("t", 0): ErrorCode.NONE}
    assert member.acquire((topic_id, 0)) == [(0, 9, 1)]
    assert member.acknowledge((topic_id, 0), (0, 4, ACCEPT)) is ErrorCode.NONE
    assert records_from(world, 0) == records_from(world, 7) + 7 == 10
    world.crash()
    assert sorted(types(world)) == ["consumer", "share"]
    assert consume(world, epoch) is ErrorCode.NONE, "a member still, in its epoch"
    assert OffsetsClient(world.connect(), {"t": topic_id}).all() == {("t", 0): 7}
    member.reconnect()
    assert member.heartbeat().error_code == ErrorCode.NONE
    assert member.acquire((topic_id, 0)) == [(5, 9, 1)]
    assert records_from(world, 0) == records_from(world, 7) + 7 == 10


def records_from(world: BrokerWorld, offset: int) -> int:
    found = fetch(world.connect(), fetch_request("t", offset))
    assert found.records is not None
    return sum(1 for record in decode_records(found.records) if record.offset >= offset)
