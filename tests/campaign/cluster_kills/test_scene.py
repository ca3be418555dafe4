"""The node ids of a scene, which are chosen so that the topic's slot moves to each node that returns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.cluster.membership.nodes import Node, Placement, SlotId
from shareq.cluster.membership.slots import assign
from shareq.cluster.node.state_topics import STATES
from tests.campaign.cluster_kills.scene import SLOTS, first_node_for


@pytest.mark.parametrize("slot", range(SLOTS))
@pytest.mark.parametrize("nodes", [2, 3])
def test_the_slot_moves_to_whichever_node_comes_back(slot: int, nodes: int) -> None:
    first, topic = first_node_for(slot, nodes), SlotId(STATES, slot)
    members = {f"member-{number}": Node(first + number, "1", {}) for number in range(nodes)}
    owner = _divided(members)[topic]
    for _ in range(nodes):
        gone = members.pop(owner)
        assert _divided(members)[topic] != owner
        members[owner] = replace(gone, holds={})
        assert _divided(members)[topic] == owner


def _divided(members: dict[str, Node]) -> dict[SlotId, str]:
    """Return the owners of all slots, and note them as held by the members."""
    owners = result_of(assign(members, {STATES: SLOTS}, Placement.TOPIC, unpaused))
    for member_id, node in members.items():
        held = {slot: 1 for slot, owner in owners.items() if owner == member_id}
        members[member_id] = replace(node, holds=held)
    return owners
