"""Membership of share groups over frames: joining, epochs, subscriptions, topics that come, grow and go (KIP-932)."""

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
    """Group id and state of the share groups in one of the states."""
    answer = world.connect().call(ListGroupsRequest(list(states), ["share"]), 5, ListGroupsResponse)
    return [(group.group_id, group.group_state) for group in answer.groups]


def test_a_member_joins_stays_and_leaves(world: BrokerWorld) -> None:
    """Join, liveness and leave all travel on ShareGroupHeartbeat, to the group's coordinator."""
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
    """Let another member join and leave, so that there are two epochs."""
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
    """KIP-932, group epoch: every reason for a new assignment is a new epoch, and the assignment follows."""
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


def test_nothing_else_raises_it(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    member = ShareClient(world)
    member.join("t")
    before = member.describe().group_epoch
    world.create_topic("of-others")
    member.heartbeat(rack="r2")
    member.heartbeat("t")
    world.restart()
    member.reconnect()
    member.heartbeat()
    assert member.describe().group_epoch == before


def test_every_member_converges_by_its_own_heartbeats(world: BrokerWorld) -> None:
    """The target has the epoch of the group it was computed for; who is slow keeps nobody else waiting."""
    world.create_topic("t", 3)
    quick, slow, late = (ShareClient(world, name) for name in ("quick", "slow", "late"))
    assert quick.join("t") == {"t": [0, 1, 2]}
    slow.join("t")
    late.join("t")
    group = late.describe()
    assert group.group_epoch == group.assignment_epoch == 4
    assert {row.member_id: row.member_epoch for row in group.members} == {"quick": 2, "slow": 3, "late": 4}
    assert quick.heartbeat().member_epoch == 4
    assert {row.member_id: row.member_epoch for row in late.describe().members} == {"quick": 4, "slow": 3, "late": 4}
    assert slow.heartbeat().member_epoch == 4
    held = [one.partitions for row in late.describe().members for one in row.assignment.topic_partitions]
    assert sorted(held) == [[0], [1], [2]]


def test_an_assignment_whose_answer_was_lost_is_reported_again(world: BrokerWorld) -> None:
    """KIP-932: until the member has acknowledged it by its epoch."""
    world.create_topic("t", 2)
    member = ShareClient(world)
    member.join("t")
    ShareClient(world, "other").join("t")
    for _ in range(2):
        answer = member.heartbeat(epoch=2)
        assert (answer.error_code, answer.member_epoch, member.assigned(answer)) == (ErrorCode.NONE, 3, {"t": [0]})
    assert member.heartbeat().assignment is None
    for epoch in (1, 4):
        assert member.heartbeat(epoch=epoch).error_code == ErrorCode.FENCED_MEMBER_EPOCH


# -- reconciliation


def test_partitions_move_in_one_answer_and_nobody_has_to_give_them_up_first(world: BrokerWorld) -> None:
    """KIP-932, reconciliation: no fencing, no revocation."""
    world.create_topic("t", 2)
    world.create_topic("u", 2)
    member = ShareClient(world)
    member.join("t")
    world.clock.advance(1_000)
    assert member.assigned(member.heartbeat("u")) == {"u": [0, 1]}


def test_a_member_that_never_comes_back_keeps_nobody_waiting(world: BrokerWorld) -> None:
    """Its partitions go to the other one although it has not confirmed anything."""
    world.create_topic("t", 2)
    assert ShareClient(world, "silent").join("t") == {"t": [0, 1]}
    other = ShareClient(world, "other")
    assert other.join("t") == {"t": [1]}
    world.clock.advance(SESSION_MS - 1)
    assert other.heartbeat().assignment is None
    world.clock.advance(1)
    assert other.assigned(other.heartbeat()) == {"t": [0, 1]}


def test_no_subscription_in_a_heartbeat_means_as_before(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    member = ShareClient(world)
    member.join("t")
    assert member.heartbeat().assignment is None
    (row,) = member.describe().members
    assert (row.subscribed_topic_names, row.assignment.topic_partitions[0].partitions) == (["t"], [0, 1])


def test_balanced_and_sticky_while_members_come_and_go(world: BrokerWorld) -> None:
    """Loads differ by one at most, and partitions are shared only once members outnumber them."""
    world.create_topic("t", 4)
    members = [ShareClient(world, f"m{number}") for number in range(6)]
    for count, member in enumerate(members, 1):
        member.join("t")
        _converge(world, members[:count])
        _check_balance(world, members[:count], 4)
    for count in range(len(members) - 1, 0, -1):
        members[count].leave()
        _converge(world, members[:count])
        _check_balance(world, members[:count], 4)


def _converge(world: BrokerWorld, members: list[ShareClient]) -> None:
    world.clock.advance(1_000)
    for member in members:
        assert member.heartbeat().error_code == ErrorCode.NONE


def _check_balance(world: BrokerWorld, members: list[ShareClient], partitions: int) -> None:
    rows = members[0].describe().members
    held = {row.member_id: [p for one in row.assignment.topic_partitions for p in one.partitions] for row in rows}
    assert len(held) == len(members)
    loads = [len(each) for each in held.values()]
    assert max(loads) - min(loads) <= 1
    owners = [sum(partition in each for each in held.values()) for partition in range(partitions)]
    assert set(owners) <= ({1} if len(members) <= partitions else {1, 2})


# -- sessions


def test_a_silent_member_is_out_and_learns_it_when_it_comes_back(world: BrokerWorld) -> None:
    """KIP-932: it is not fenced from the records it has, and rejoins with epoch 0."""
    world.create_topic("t")
    member = ShareClient(world)
    member.join("t")
    world.clock.advance(SESSION_MS - 1)
    assert member.describe().group_state == "Stable"
    world.clock.advance(1)
    assert (member.describe().group_state, member.describe().members) == ("Empty", [])
    assert member.heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert member.join("t") == {"t": [0]}


@pytest.mark.parametrize("end", [BrokerWorld.restart, BrokerWorld.crash], ids=["stop", "kill"])
def test_a_member_that_does_not_come_back_after_a_restart_is_out(
    end: Callable[[BrokerWorld], None], world: BrokerWorld
) -> None:
    """Every member has one session to be heard of; nobody else has to ask for the group first."""
    world.create_topic("t")
    ShareClient(world).heartbeat("t", epoch=0)
    end(world)
    world.clock.advance(SESSION_MS)
    assert listed(world) == [("g", "Empty")]


def test_the_groups_own_session_timeout_counts(world: BrokerWorld) -> None:
    world.create_topic("t")
    configure(world, share_session_timeout_ms="60000")
    member = ShareClient(world)
    member.join("t")
    world.clock.advance(59_999)
    assert member.describe().group_state == "Stable"
    world.clock.advance(1)
    assert member.describe().group_state == "Empty"


# -- groups


def test_states_are_empty_and_stable_and_no_others(world: BrokerWorld) -> None:
    world.create_topic("t")
    stays, leaves = ShareClient(world, group="stays"), ShareClient(world, group="leaves")
    stays.join("t")
    leaves.join("t")
    leaves.leave()
    assert listed(world, "empty") == [("leaves", "Empty")]
    assert listed(world, "stable") == [("stays", "Stable")]
    for state in ("Dead", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"):
        assert listed(world, state) == []


def test_an_empty_group_stays_for_ever(world: BrokerWorld) -> None:
    """Apache Kafka 4.3.1: share groups do not expire, not even after offsets.retention.minutes (a week)."""
    world.create_topic("t")
    member = ShareClient(world)
    member.join("t")
    member.leave()
    world.clock.advance(10 * 24 * 3_600_000)
    assert listed(world) == [("g", "Empty")]


@pytest.mark.parametrize("end", [BrokerWorld.restart, BrokerWorld.crash], ids=["stop", "kill"])
def test_members_go_on_after_a_restart(end: Callable[[BrokerWorld], None], world: BrokerWorld) -> None:
    """They keep their epoch and assignment, and have a whole session to be heard of again."""
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
