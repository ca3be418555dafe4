"""Groups that change their protocol with their members, over frames: every version, properties, crashes, faults."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.group.classic.embedded import read_assignment
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.frames.groups.test_consumer_groups import GROUP, describe, heartbeat, partitions
from tests.support.clients.classic_client import INITIAL_DELAY_MS, ClassicClient
from tests.support.clients.classic_client import describe as describe_classic
from tests.unit.coordinator.group.migration.world import assignment, subscription

TOPIC = "t"
AGAIN = ErrorCode.REBALANCE_IN_PROGRESS


def group_type(world: BrokerWorld) -> str:
    (listed,) = world.connect().call(ListGroupsRequest(), 5, ListGroupsResponse).groups
    assert (listed.group_id, listed.protocol_type) == (GROUP, "consumer")
    return listed.group_type


def begin(client: ClassicClient, owned: set[int] | None = None) -> None:
    client.begin(protocols={"range": subscription((TOPIC,), {TOPIC: owned} if owned else None)})


def rejoin(client: ClassicClient, owned: set[int] | None = None) -> set[int]:
    begin(client, owned)
    assert client.joined().error_code == ErrorCode.NONE
    synced = client.sync()
    assert synced.error_code == ErrorCode.NONE
    return {number for each in read_assignment(synced.assignment).assigned_partitions for number in each.partitions}


def classic_group(world: BrokerWorld, *clients: ClassicClient) -> None:
    for client in clients:
        begin(client)
    world.clock.advance(2 * INITIAL_DELAY_MS)
    for client in clients:
        assert client.joined().error_code == ErrorCode.NONE
    shares = {
        client.member_id: assignment({TOPIC: set(range(number, 4, len(clients)))})
        for number, client in enumerate(clients)
    }
    for client in clients:
        client.send_sync(shares if client.member_id == client.leader else None)
    assert all(client.synced().error_code == ErrorCode.NONE for client in clients)
    assert group_type(world) == "classic"


def rest(world: BrokerWorld, client: ClassicClient, owned: set[int]) -> set[int]:
    """Settle a group of this client and "m"; return the client's partitions."""
    has: dict[str, list[int]] = {}
    for _ in range(5):
        world.clock.advance(1_000)
        epoch = next(m.member_epoch for m in describe(world).members if m.member_id == "m")
        has = partitions(world, heartbeat(world, epoch=epoch)) or has
        if client.heartbeat() is AGAIN:
            owned = rejoin(client, owned)
    assert describe(world).group_state == "Stable"
    return owned


@pytest.mark.parametrize(
    "versions", [(0, 0, 0, 0), (2, 1, 1, 1), (5, 3, 3, 3), (9, 5, 4, 5)], ids=lambda each: f"join {each[0]}"
)
def test_clients_of_any_version_go_on_in_a_consumer_group_and_are_a_classic_group_again(
    versions: tuple[int, int, int, int], world: BrokerWorld
) -> None:
    world.create_topic(TOPIC, 4)
    join, sync, beat, leave = versions
    client = ClassicClient(world, join=join, sync=sync, heartbeat=beat, leave=leave)
    classic_group(world, client)
    assert partitions(world, heartbeat(world, topics=[TOPIC])) == {}
    assert group_type(world) == "consumer"
    assert client.heartbeat() is AGAIN
    owned = rejoin(client, {0, 1, 2, 3} if join else None)
    owned = rest(world, client, owned)
    assert len(owned) == 2
    assert {m.member_id: m.member_type for m in describe(world).members} == {client.member_id: 0, "m": 1}
    heartbeat(world, epoch=-1)
    assert group_type(world) == "classic"
    assert client.heartbeat() is AGAIN
    begin(client, owned)
    assert client.joined().error_code == ErrorCode.NONE
    shares = {client.member_id: assignment({TOPIC: {0, 1, 2, 3}})}
    assert client.sync(shares).error_code == ErrorCode.NONE
    assert describe_classic(world).group_state == "Stable"
    client.leave()
    assert describe_classic(world).group_state == "Empty"


@pytest.mark.parametrize(
    ("policy", "upgraded", "downgraded"),
    [
        ("bidirectional", True, True),
        ("Upgrade", True, False),
        ("downgrade", False, True),
        ("DISABLED", False, False),
    ],
)
def test_the_policy_is_a_property_of_the_broker(policy: str, upgraded: bool, downgraded: bool) -> None:
    world = BrokerWorld({"group.consumer.migration.policy": policy})
    world.create_topic(TOPIC, 4)
    client = ClassicClient(world)
    classic_group(world, client)
    error = heartbeat(world, topics=[TOPIC]).error_code
    assert error == (ErrorCode.NONE if upgraded else ErrorCode.GROUP_ID_NOT_FOUND)
    client.leave()
    heartbeat(world, topics=[TOPIC])
    other = ClassicClient(world)
    if policy == "DISABLED":
        other.send_join(protocols={"range": subscription((TOPIC,))})
        assert other.joined().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return
    rejoin(other)
    heartbeat(world, epoch=-1)
    assert group_type(world) == ("classic" if downgraded else "consumer")
