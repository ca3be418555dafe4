"""Nodes that each own some of the slots, so that a group's coordinator and its topics' leaders differ."""

from __future__ import annotations

import pytest

from shareq.cluster.membership.nodes import SlotId
from shareq.cluster.node.state_topics import STATES
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.frames.node.test_node import acquired, assigned, shown_leader
from tests.support.clients.share_client import ACCEPT, ShareClient, append, fetch_errors, from_the_start
from tests.support.cluster.among_nodes import AmongNodes
from tests.support.cluster.node_world import NODE_ID, SLOTS, Among, NodeWorld

SETTLED_MS = 8_000


class Two:
    """Two nodes, and a topic that one leads while the other coordinates a group."""

    def __init__(self) -> None:
        self.among = Among()
        self.first = NodeWorld(among=self.among)
        self.second = NodeWorld(behind=self.first.behind, kept=self.first.kept, node_id=NODE_ID + 1, among=self.among)
        self.nodes = (self.first, self.second)
        self.clock, self.cluster = self.first.clock, self.first.cluster
        self.clock.advance(SETTLED_MS)
        self.topic = self._topic_of(self.first)
        self.leader, self.coordinator = self.first, self.second
        self.group = self._group_of(self.coordinator)
        self.place = (self.cluster.topic(self.topic).topic_id, 0)
        for node in self.nodes:
            from_the_start(node, self.group)

    def _topic_of(self, leader: NodeWorld) -> str:
        for number in range(50):
            name = f"t{number}"
            self.cluster.create_topic(name, 1)
            ground = leader.stands_on
            if ground._slot_of(self.cluster.topic(name).topic_id) in ground.ownership.holds:
                return name
        raise AssertionError("no topic is led by the node")

    def _group_of(self, node: NodeWorld) -> str:
        return next(
            name
            for name in (f"g{number}" for number in range(50))
            if coordinator_of(self.first, name) == node.config.node_id
        )

    def member(self) -> ShareClient:
        client = ShareClient(self.coordinator, group=self.group)
        assigned(client, self.topic)
        return client

    def asked(self, node: NodeWorld) -> list[str]:
        nodes = node.stands_on._nodes
        assert isinstance(nodes, AmongNodes)
        return [type(each).__name__.removesuffix("Request") for each in nodes.sent]


def coordinator_of(world: NodeWorld, group: str) -> int:
    answer = world.connect().call(FindCoordinatorRequest("", 0, [group]), 6, FindCoordinatorResponse)
    assert answer.coordinators[0].error_code == ErrorCode.NONE
    return answer.coordinators[0].node_id


@pytest.fixture
def two() -> Two:
    return Two()


def test_each_node_owns_half_of_the_slots(two: Two) -> None:
    assert [len(node.stands_on.ownership.holds) for node in two.nodes] == [SLOTS, SLOTS]
    for node in two.nodes:
        assert len([slot for slot in node.stands_on.ownership.holds if slot.topic == STATES]) == SLOTS // 2


def test_the_leader_is_named_to_clients_and_another_node_names_it_beside_its_refusal(two: Two) -> None:
    error, node_id, epoch = shown_leader(two.leader, two.topic)
    assert (error, node_id) == (ErrorCode.NONE, NODE_ID)
    assert epoch >= 1
    assert shown_leader(two.coordinator, two.topic)[1] == NODE_ID
    client = two.member()
    answer = client.fetch(two.place)
    assert fetch_errors(answer) == {two.place: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    (row,) = answer.responses[0].partitions
    assert row.current_leader.leader_id == NODE_ID
    assert [each.host for each in answer.node_endpoints] == [f"node-{NODE_ID}"]


def test_the_coordinator_asks_the_owner_of_the_states(two: Two) -> None:
    client = two.member()
    assert two.asked(two.coordinator) == ["InitializeShareGroupState"]
    append(two.leader, two.topic, 3)
    client.world = two.leader
    client.reconnect()
    assert acquired(client, two.place) == [(0, 2, 1)]
    assert client.acknowledge(two.place, (0, 1, ACCEPT)) is ErrorCode.NONE
    topic = DescribeShareGroupOffsetsRequestTopic(two.topic, [0])
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(two.group, [topic])])
    described = two.coordinator.connect().call(request, 1, DescribeShareGroupOffsetsResponse)
    (row,) = described.groups[0].topics[0].partitions
    assert (row.error_code, row.lag) == (ErrorCode.NONE, 1)


def test_states_are_deleted_with_their_group_by_way_of_their_owner(two: Two) -> None:
    client = two.member()
    append(two.leader, two.topic, 1)
    at_leader = ShareClient(two.leader, client.member_id, two.group)
    assert acquired(at_leader, two.place) == [(0, 0, 1)]
    assert at_leader.acknowledge(two.place, (0, 0, ACCEPT)) is ErrorCode.NONE
    client.leave()
    deleted = two.coordinator.connect().call(DeleteGroupsRequest([two.group]), 2, DeleteGroupsResponse)
    assert [row.error_code for row in deleted.results] == [ErrorCode.NONE]
    assert two.asked(two.coordinator)[-1] == "DeleteShareGroupState"
    assert two.leader.services.share_states.states_of(two.place[0]) == 0
    again = two.member()
    at_leader = ShareClient(two.leader, again.member_id, two.group)
    assert acquired(at_leader, two.place) == [(0, 0, 1)], "nothing of the old state is left"


def test_the_other_node_goes_on_with_what_the_first_one_owned(two: Two) -> None:
    client = two.member()
    append(two.leader, two.topic, 2)
    at_leader = ShareClient(two.leader, client.member_id, two.group)
    assert acquired(at_leader, two.place) == [(0, 1, 1)]
    assert at_leader.acknowledge(two.place, (0, 0, ACCEPT)) is ErrorCode.NONE
    before = shown_leader(two.leader, two.topic)[2]
    two.leader.broker.close(clean=False)
    two.coordinator.until_it_serves()
    assert acquired(client, two.place) == [(1, 1, 1)]
    assert shown_leader(two.coordinator, two.topic) == (ErrorCode.NONE, NODE_ID + 1, before + 1)


def test_a_node_that_comes_takes_its_part_and_what_was_confirmed_stays(two: Two) -> None:
    client = two.member()
    append(two.leader, two.topic, 2)
    at_leader = ShareClient(two.leader, client.member_id, two.group)
    assert acquired(at_leader, two.place) == [(0, 1, 1)]
    assert at_leader.acknowledge(two.place, (0, 0, ACCEPT)) is ErrorCode.NONE
    third = NodeWorld(behind=two.first.behind, kept=two.first.kept, node_id=NODE_ID + 2, among=two.among)
    two.clock.advance(SETTLED_MS)
    nodes = (*two.nodes, third)
    holds = [node.stands_on.ownership.holds for node in nodes]
    assert sum(len(each) for each in holds) == 2 * SLOTS
    assert max(len(each) for each in holds) - min(len(each) for each in holds) <= 2
    slot = SlotId(STATES, two.leader.stands_on._slot_of(two.place[0]).partition)
    owner = next(node for node in nodes if slot in node.stands_on.ownership.holds)
    at_owner = ShareClient(owner, client.member_id, two.group)
    if owner is two.leader:
        assert at_leader.acknowledge(two.place, (1, 1, ACCEPT)) is ErrorCode.NONE
    else:
        assert acquired(at_owner, two.place) == [(1, 1, 1)]
