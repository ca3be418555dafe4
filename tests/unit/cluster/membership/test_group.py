from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.cluster.membership.group import Membership, MembershipSettings
from shareq.cluster.membership.nodes import Endpoint, Node, NodeMap, Placement, SlotId
from shareq.protocol.generated.heartbeat import HeartbeatRequest
from shareq.protocol.generated.join_group import JoinGroupRequest
from shareq.protocol.generated.sync_group import SyncGroupRequest
from tests.support.cluster.process import NodeProcess
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.world import ClusterWorld

SETTINGS = MembershipSettings()
SESSION_MS, REBALANCE_MS = SETTINGS.session_timeout_ms, SETTINGS.rebalance_timeout_ms


class Member:
    """A node that holds what the map assigns to it, and its notifications. `ended`: nodes presumed ended at start."""

    def __init__(self, world: ClusterWorld, node_id: int, ended: Collection[int] = ()) -> None:
        self.name = f"node-{node_id}"
        self.node_id = node_id
        self.process = NodeProcess(world.clock, world.new_link(self.name))
        self.maps: list[NodeMap] = []
        self.found: Mapping[str, Node] = {}
        self.placement = Placement.TOPIC
        self.heard = 0
        self._ended = {node_id, *ended}
        env = Environment(self.process, Random(node_id), MemFs(world.clock.call_soon))
        self.group = Membership(env, self.process.link, self, SETTINGS)
        beginner(env.budget, in_ticks(self.process.call_soon))(self.group.run())

    def describe(self) -> Node:
        holds = dict.fromkeys(self.slots, 1)
        listeners = {"PLAINTEXT": Endpoint(self.name, 9092)}
        return Node(self.node_id, "1", listeners, holds=holds, placement=self.placement)

    def on_found(self, members: Mapping[str, Node]) -> None:
        self.found = members
        for member_id, node in members.items():
            if node.node_id in self._ended:
                self.group.ended(member_id)

    def partitions(self) -> Mapping[str, int]:
        return {"__shareq_state": 6}

    def on_map(self, member_id: str, node_map: NodeMap, heard: Callable[[], None]) -> None:
        self.maps.append(node_map)
        heard()

    def attempt(self) -> Callable[[], None]:
        def heard() -> None:
            self.heard += 1

        return heard

    @property
    def slots(self) -> frozenset[SlotId]:
        return self.maps[-1].slots_of(self.group.member_id) if self.maps else frozenset()

    @property
    def others(self) -> list[int]:
        return sorted(node.node_id for node in self.maps[-1].nodes.values())


@pytest.fixture
def world() -> ClusterWorld:
    return ClusterWorld()


def members_of(world: ClusterWorld, *node_ids: int) -> list[Member]:
    members = [Member(world, each) for each in node_ids]
    world.clock.advance(4_000)
    for member in members:
        assert member.others == sorted(node_ids)
    return members


def test_members_share_one_map(world: ClusterWorld) -> None:
    first, second, third = members_of(world, 1, 2, 3)
    assert first.maps[-1] == second.maps[-1] == third.maps[-1]
    assert {len(each.slots) for each in (first, second, third)} == {2}
    assert first.maps[-1].nodes[second.group.member_id].listeners == {"PLAINTEXT": Endpoint("node-2", 9092)}


def test_slots_lie_on_several_nodes_when_all_of_them_want_that(world: ClusterWorld) -> None:
    first, second = members_of(world, 1, 2)
    first.placement = Placement.ONE
    first.group.rebalance()
    world.clock.advance(4_000)
    assert sorted([len(first.slots), len(second.slots)]) == [0, 6]
    first.placement = Placement.TOPIC
    second.group.rebalance()
    world.clock.advance(4_000)
    assert (len(first.slots), len(second.slots)) == (3, 3)


def test_heartbeats_are_proofs(world: ClusterWorld) -> None:
    (member,) = members_of(world, 1)
    before = member.heard
    world.clock.advance(5_000)
    assert member.heard - before == 10
    member.group.hear_soon()
    world.clock.run_until_idle()
    assert member.heard - before == 11


def test_a_node_that_comes_is_given_its_part(world: ClusterWorld) -> None:
    (first,) = members_of(world, 1)
    assert len(first.slots) == 6
    kept = first.slots
    second = Member(world, 2)
    world.clock.advance(600)  # the first one learns of it by its next heartbeat
    assert first.others == second.others == [1, 2]
    assert len(first.slots) == len(second.slots) == 3
    assert first.slots < kept


def test_a_node_that_leaves_is_missed_at_once(world: ClusterWorld) -> None:
    first, second = members_of(world, 1, 2)
    left = second.group.leave()
    world.clock.run_until_idle()
    assert left.done
    world.clock.advance(600)
    assert first.others == [1]
    assert len(first.slots) == 6
    generations = len(second.maps)
    world.clock.advance(60_000)
    assert len(second.maps) == generations
    assert second.group.generation == -1


def test_a_node_that_leaves_while_it_joins_does_not_wait_for_the_others(world: ClusterWorld) -> None:
    first, second = members_of(world, 1, 2)
    second.process.stop()
    first.group.rebalance()
    world.clock.advance(100)
    left = first.group.leave()
    world.clock.advance(100)
    assert left.done


def test_a_lost_peer_is_dropped_by_a_rebalance(world: ClusterWorld) -> None:
    first, second, third = members_of(world, 1, 2, 3)
    third.process.kill()
    first.group.rebalance()
    second.group.rebalance()
    world.clock.advance(REBALANCE_MS + 100)
    assert first.others == second.others == [1, 2]
    assert len(first.slots) == len(second.slots) == 3


def test_a_peer_that_has_ended_is_not_waited_for(world: ClusterWorld) -> None:
    first, second, third = members_of(world, 1, 2, 3)
    third.process.kill()
    for each in (first, second):
        each.group.rebalance()
        each.group.ended(third.group.member_id)
    world.clock.advance(SETTINGS.ended_ms + 100)
    assert first.others == second.others == [1, 2]
    assert len(first.slots) == len(second.slots) == 3


def test_an_heir_that_ends_as_well_is_not_waited_for(world: ClusterWorld) -> None:
    first, second, third = members_of(world, 1, 2, 3)
    for each in (first, second):
        each.process.kill()
        third.group.rebalance()
        third.group.ended(each.group.member_id)
        world.clock.advance(50)
    world.clock.advance(SETTINGS.ended_ms + 100)
    assert third.others == [3]
    assert len(third.slots) == 6


def test_one_that_is_wrongly_taken_for_ended_is_back_with_its_next_heartbeat(world: ClusterWorld) -> None:
    first, second = members_of(world, 1, 2)
    before = second.group.member_id
    second.process.stop()
    first.group.ended(before)
    world.clock.advance(SETTINGS.ended_ms + 2 * SETTINGS.heartbeat_interval_ms)
    assert first.others == [1]
    second.process.resume()
    world.clock.advance(2 * SETTINGS.heartbeat_interval_ms + 100)
    assert first.others == second.others == [1, 2]
    assert second.group.member_id != before


def test_one_that_stops_leaves_by_itself_before_others_do_it_for_it(world: ClusterWorld) -> None:
    first, second = members_of(world, 1, 2)
    first.group.rebalance()
    first.group.ended(second.group.member_id)
    world.clock.advance(SETTINGS.ended_ms - 50)
    assert first.others == [1, 2]
    second.group.leave()
    world.clock.advance(40)
    assert first.others == [1]


def test_a_node_that_starts_again_does_not_wait_for_what_it_was(world: ClusterWorld) -> None:
    (first,) = members_of(world, 1)
    first.process.kill()
    again = Member(world, 1)
    world.clock.advance(SETTINGS.ended_ms + 100)
    assert again.others == [1]
    assert len(again.slots) == 6


def test_of_nodes_that_were_all_killed_the_first_one_back_waits_for_none(world: ClusterWorld) -> None:
    for each in members_of(world, 1, 2, 3):
        each.process.kill()
    again = Member(world, 2, ended={1, 2, 3})
    assert not again.found
    world.clock.advance(SETTINGS.ended_ms + 100)
    assert sorted(node.node_id for node in again.found.values()) == [1, 2, 3]
    assert again.others == [2]


def test_nodes_that_end_while_they_join_are_waited_for(world: ClusterWorld) -> None:
    """DescribeGroups names no members of a group that is rebalancing, so the node joins before it asks for the map."""
    first, second = members_of(world, 1, 2)
    second.process.kill()
    first.group.rebalance()
    world.clock.advance(10)
    first.process.kill()
    again = Member(world, 1, ended={2})
    world.clock.advance(REBALANCE_MS - 100)
    assert not again.found
    assert not again.maps
    world.clock.advance(REBALANCE_MS + 200)
    assert again.others == [1]


def test_without_a_rebalance_a_lost_peer_stays_for_its_session(world: ClusterWorld) -> None:
    first, second = members_of(world, 1, 2)
    second.process.kill()
    world.clock.advance(SESSION_MS - 1_000)
    assert first.others == [1, 2]
    world.clock.advance(1_000 + 2 * 600 + REBALANCE_MS)
    assert first.others == [1]


def test_a_zombie_finds_itself_dropped_and_comes_back_with_what_it_is_given(world: ClusterWorld) -> None:
    first, second = members_of(world, 1, 2)
    second.process.stop()
    world.clock.advance(SESSION_MS + REBALANCE_MS + 2_000)
    assert first.others == [1]
    before = second.group.member_id
    second.process.resume()
    world.clock.advance(2_000)
    assert first.others == second.others == [1, 2]
    assert second.group.member_id != before


def test_a_coordinator_that_dies_is_replaced_and_the_generation_goes_on(world: ClusterWorld) -> None:
    first, second = members_of(world, 1, 2)
    generation, maps = first.group.generation, len(first.maps)
    coordinator = world.cluster.leader("__consumer_offsets", 0)
    for partition, state in enumerate(world.cluster.topic("__consumer_offsets").partitions):
        if state.leader == coordinator and len(state.replicas) > 1:
            world.cluster.elect("__consumer_offsets", state.replicas[1], partition)
    world.clock.advance(3_000)
    assert (first.group.generation, len(first.maps)) == (generation, maps)
    assert first.group.problem is None
    heard = second.heard
    world.clock.advance(1_000)
    assert second.heard > heard


@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest, HeartbeatRequest])
@pytest.mark.parametrize("answer", [False, True])
def test_what_gets_lost_is_made_good(world: ClusterWorld, kind: type, answer: bool) -> None:
    first, second = members_of(world, 1, 2)
    for broker in world.cluster.brokers:
        (world.cluster.lose_answer if answer else world.cluster.lose_request)("node-2", broker, kind)
    second.group.rebalance()
    world.clock.advance(SESSION_MS + REBALANCE_MS + 4_000)
    assert first.others == second.others == [1, 2]
    assert first.maps[-1] == second.maps[-1]
    assert second.group.problem is None


def test_a_cluster_that_is_silent_for_a_while_changes_nothing(world: ClusterWorld) -> None:
    first, second = members_of(world, 1, 2)
    maps = len(first.maps), len(second.maps)
    world.cluster.silence()
    heard = first.heard
    world.clock.advance(5_000)
    assert first.heard == heard
    assert first.group.problem is not None
    world.cluster.end_silence()
    world.clock.advance(1_500)
    assert first.heard > heard
    assert (len(first.maps), len(second.maps)) == maps


def test_a_right_that_is_missing_is_said_once_and_asked_for_again(
    world: ClusterWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.cluster.rights.deny(Resource.GROUP, SETTINGS.group_id, Operation.READ)
    member = Member(world, 1)
    world.clock.advance(10_000)
    assert not member.maps
    assert "GROUP_AUTHORIZATION_FAILED" in (member.group.problem or "")
    assert caplog.text.count("GROUP_AUTHORIZATION_FAILED") == 1
    world.cluster.rights.allow(Resource.GROUP, SETTINGS.group_id, Operation.READ)
    world.clock.advance(5_000)
    assert member.others == [1]
