"""Membership of share groups over frames: joining, epochs, subscriptions, changing topics (KIP-932)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from devtools.in_memory.mock_transport import DATA, BrokerWorld
from shareq.broker.config.broker_config import BrokerConfig
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.support.clients.share_client import ShareClient, configure

SESSION_MS = 45_000


def listed(world: BrokerWorld, *states: str) -> list[tuple[str, str]]:
    """Return group id and state of the share groups in one of these states."""
    answer = world.connect().call(ListGroupsRequest(list(states), ["share"]), 5, ListGroupsResponse)
    return [(group.group_id, group.group_state) for group in answer.groups]


def test_a_member_joins_stays_and_leaves(world: BrokerWorld) -> None:
    topic = world.create_topic("t", 2)
    member = ShareClient(world)
    found = member.connection.call(FindCoordinatorRequest(coordinator_keys=["g"]), 4, FindCoordinatorResponse)
    assert (found.coordinators[0].error_code, found.coordinators[0].node_id) == (ErrorCode.NONE, 1)
    joined = member.heartbeat("t", epoch=0)
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (ErrorCode.NONE, "m", 2)
    assert joined.heartbeat_interval_ms == 5_000
    assert joined.assignment is not None
    assert [(row.topic_id, row.partitions) for row in joined.assignment.topic_partitions] == [(topic.topic_id, [0, 1])]
    stayed = member.heartbeat()
    assert (stayed.error_code, stayed.member_epoch, stayed.assignment) == (ErrorCode.NONE, 2, None)
    assert listed(world) == [("g", "Stable")]
    left = member.leave()
    assert (left.error_code, left.member_epoch, left.assignment) == (ErrorCode.NONE, -1, None)
    assert (listed(world), member.describe().members) == ([("g", "Empty")], [])
    assert member.heartbeat(epoch=2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_interval_is_the_brokers_or_the_groups() -> None:
    world = BrokerWorld({"group.share.heartbeat.interval.ms": "6000", "group.share.session.timeout.ms": "50000"})
    world.create_topic("t")
    member = ShareClient(world)
    assert member.heartbeat("t", epoch=0).heartbeat_interval_ms == 6_000
    configure(world, share_heartbeat_interval_ms="7000")
    assert member.heartbeat().heartbeat_interval_ms == 7_000


def test_the_group_is_described_with_its_epochs_and_its_members_as_they_introduced_themselves(
    world: BrokerWorld,
) -> None:
    world.create_topic("t", 2)
    member = ShareClient(world, client_id="worker 7")
    member.heartbeat("u", "t", epoch=0, rack="r1")
    group = member.describe()
    assert (group.error_code, group.group_id, group.group_state) == (ErrorCode.NONE, "g", "Stable")
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name) == (2, 2, "simple")
    (row,) = group.members
    assert (row.member_id, row.rack_id, row.client_id, row.client_host) == ("m", "r1", "worker 7", "/127.0.0.1")
    assert (row.member_epoch, row.subscribed_topic_names) == (2, ["t", "u"])
    assert [(one.topic_name, one.partitions) for one in row.assignment.topic_partitions] == [("t", [0, 1])]


# -- epochs


def a_member_joins(world: BrokerWorld, _member: ShareClient) -> None:
    ShareClient(world, "other").join("t")


def a_member_leaves(world: BrokerWorld, member: ShareClient) -> None:
    other = ShareClient(world, "other")
    other.join("t")
    member.heartbeat()
    other.leave()


def a_member_falls_silent(world: BrokerWorld, member: ShareClient) -> None:
    ShareClient(world, "other").join("t")
    for _ in range(9):
        world.clock.advance(SESSION_MS // 9)
        member.heartbeat()


def the_subscription_changes(_world: BrokerWorld, member: ShareClient) -> None:
    member.heartbeat("t", "u")


def a_topic_grows(world: BrokerWorld, _member: ShareClient) -> None:
    world.folder.metadata.create_partitions({"t": 3})


def a_topic_is_created(world: BrokerWorld, _member: ShareClient) -> None:
    world.create_topic("later")


def a_topic_is_deleted(world: BrokerWorld, _member: ShareClient) -> None:
    world.folder.metadata.delete_topics(["t"])


def the_broker_moves_to_another_rack(world: BrokerWorld, member: ShareClient) -> None:
    world.config = BrokerConfig.load({"log.dirs": DATA, "broker.rack": "r2"})
    world.restart()
    member.reconnect()


REASONS: list[tuple[Callable[[BrokerWorld, ShareClient], None], int, dict[str, list[int]]]] = [
    (a_member_joins, 1, {"t": [0]}),
    (a_member_leaves, 2, {"t": [0, 1]}),
    (a_member_falls_silent, 2, {"t": [0, 1]}),
    (the_subscription_changes, 1, {"t": [0, 1], "u": [0]}),
    (a_topic_grows, 1, {"t": [0, 1, 2]}),
    (a_topic_is_created, 1, {"t": [0, 1], "later": [0]}),
    (a_topic_is_deleted, 1, {}),
    (the_broker_moves_to_another_rack, 1, {"t": [0, 1]}),
]


@pytest.mark.parametrize(("happens", "epochs", "assigned"), REASONS)
def test_what_raises_the_group_epoch(
    happens: Callable[[BrokerWorld, ShareClient], None], epochs: int, assigned: dict[str, list[int]], world: BrokerWorld
) -> None:
    """KIP-932, group epoch: every reason for a new assignment raises it, and the assignment follows."""
    world.create_topic("t", 2)
    world.create_topic("u", 1)
    member = ShareClient(world)
    member.join("t", "later")
    before = member.describe().group_epoch
    world.clock.advance(1_000)  # share.assignment.interval.ms since the last target
    happens(world, member)
    world.clock.advance(1_000)
    answer = member.heartbeat()
    after = member.describe()
    assert after.group_epoch == before + epochs
    assert after.assignment_epoch == after.group_epoch
    (row,) = [row for row in after.members if row.member_id == "m"]
    assert row.member_epoch == answer.member_epoch == after.group_epoch
    assert {one.topic_name: one.partitions for one in row.assignment.topic_partitions} == assigned


# -- reconciliation


# -- sessions


@pytest.mark.parametrize("end", [BrokerWorld.restart, BrokerWorld.crash], ids=["stop", "kill"])
def test_a_member_that_does_not_come_back_after_a_restart_is_out(
    end: Callable[[BrokerWorld], None], world: BrokerWorld
) -> None:
    """Each member is removed after one session timeout, even if no client uses the group before."""
    world.create_topic("t")
    ShareClient(world).heartbeat("t", epoch=0)
    end(world)
    world.clock.advance(SESSION_MS)
    assert listed(world) == [("g", "Empty")]


# -- groups


def test_an_empty_group_stays_for_ever() -> None:
    """Apache Kafka 4.3.1: share groups never expire, not even after offsets.retention.minutes."""
    world = BrokerWorld({"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "60000"})
    world.create_topic("t")
    member = ShareClient(world)
    member.join("t")
    member.leave()
    world.clock.advance(10 * 60_000)
    assert listed(world) == [("g", "Empty")]


@pytest.mark.parametrize("end", [BrokerWorld.restart, BrokerWorld.crash], ids=["stop", "kill"])
def test_members_go_on_after_a_restart(end: Callable[[BrokerWorld], None], world: BrokerWorld) -> None:
    """Members keep their epoch and assignment, with a full session timeout from the restart."""
    world.create_topic("t", 2)
    one, two = ShareClient(world, "one"), ShareClient(world, "two")
    one.join("t")
    two.join("t")
    one.heartbeat()
    before = one.describe()
    end(world)
    for member in (one, two):
        member.reconnect()
    assert one.describe() == before
    world.clock.advance(SESSION_MS - 1)
    assert one.describe() == before
    for member in (one, two):
        answer = member.heartbeat()
        assert (answer.error_code, answer.member_epoch, answer.assignment) == (ErrorCode.NONE, 3, None)
    assert one.describe() == before


def test_the_group_epoch_never_goes_back(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    member = ShareClient(world)
    epochs = []
    for number in range(5):
        member.join("t")
        other = ShareClient(world, f"other {number}")
        other.join("t")
        other.leave()
        epochs.append(member.describe().group_epoch)
        world.crash()
        member.reconnect()
        epochs.append(member.describe().group_epoch)
        member.leave()
    assert all(before <= after for before, after in pairwise(epochs))


def test_a_full_group_and_too_many_groups() -> None:
    world = BrokerWorld({"group.share.max.size": "2", "group.share.max.groups": "1"})
    world.create_topic("t")
    for name in ("one", "two"):
        ShareClient(world, name).join("t")
    refused = ShareClient(world, "three").heartbeat("t", epoch=0)
    assert refused.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    refused = ShareClient(world, "one", group="h").heartbeat("t", epoch=0)
    assert refused.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert "group.share.max.groups" in (refused.error_message or "")
    assert ShareClient(world, "one").join("t") == {"t": [0]}
