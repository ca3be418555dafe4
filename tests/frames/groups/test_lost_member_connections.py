"""Members of share groups whose connections end, over frames: their partitions are soon reassigned."""

from __future__ import annotations

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from tests.support.clients.share_client import ShareClient

LONGEST_MS = 5_000 + 3_000
"""The longest time until lost members are removed: a heartbeat interval and the grace."""


def members(world: BrokerWorld) -> set[str]:
    group = world.services.groups.coordinator.partition("g").shard.share_group("g")
    assert group is not None
    return set(group.members)


def test_members_that_were_killed_give_up_their_partitions_to_those_that_come_after_them(world: BrokerWorld) -> None:
    """Three members on three partitions are killed and replaced: none waits for a session timeout."""
    world.create_topic("t", 3)
    killed = [ShareClient(world, f"killed {number}") for number in range(3)]
    for member in killed:
        member.join("t")
    for member in killed:
        member.connection.disconnect()
    fresh = [ShareClient(world, f"fresh {number}") for number in range(3)]
    for member in fresh:
        member.join("t")
    world.clock.advance(LONGEST_MS)
    assert members(world) == {"fresh 0", "fresh 1", "fresh 2"}
    for member in fresh:
        member.heartbeat()
    assigned = [member.assigned(member.heartbeat("t")) for member in fresh]
    assert sorted(partition for each in assigned for partition in (each or {}).get("t", [])) == [0, 1, 2]


def test_a_member_that_reconnects_in_time_keeps_its_partitions_and_its_epoch(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    member = ShareClient(world)
    member.join("t")
    member.connection.disconnect()
    world.clock.advance(5_500)
    member.reconnect()
    answer = member.heartbeat()
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, None)
    world.clock.advance(LONGEST_MS)
    assert members(world) == {"m"}


def test_a_member_that_comes_back_too_late_joins_again(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    member = ShareClient(world)
    member.join("t")
    member.connection.disconnect()
    world.clock.advance(LONGEST_MS)
    member.reconnect()
    assert member.heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert member.join("t") == {"t": [0, 1]}


def test_connections_that_the_stopping_broker_closes_take_nobody_out(world: BrokerWorld) -> None:
    world.create_topic("t")
    member = ShareClient(world)
    member.join("t")
    world.broker.stop_waiting()
    member.connection.disconnect()
    world.clock.advance(2 * LONGEST_MS)
    assert members(world) == {"m"}
