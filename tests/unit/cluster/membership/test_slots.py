"""Placement of slots: on their earlier nodes, otherwise by rendezvous hash."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.cluster.membership.nodes import Node, Placement, SlotId
from shareq.cluster.membership.slots import assign, placement_of, weight

TOPICS = {"__shareq_state": 48, "__shareq_groups": 48}
SLOTS = [SlotId(topic, partition) for topic in TOPICS for partition in range(48)]


def owners_on(nodes: dict[str, Node], placement: Placement, topics: dict[str, int] | None = None) -> dict[SlotId, str]:
    return result_of(assign(nodes, TOPICS if topics is None else topics, placement, unpaused))


def nodes_of(*node_ids: int) -> dict[str, Node]:
    return {f"member-{each}": Node(each, "1", {}) for each in node_ids}


def holding(nodes: dict[str, Node], owners: dict[SlotId, str], generation: int = 1) -> dict[str, Node]:
    return {
        member_id: replace(node, holds={slot: generation for slot, owner in owners.items() if owner == member_id})
        for member_id, node in nodes.items()
    }


def test_without_nodes_nobody_owns_anything() -> None:
    assert owners_on({}, Placement.ONE) == owners_on({}, Placement.TOPIC) == {}


@given(st.sets(st.integers(0, 50), min_size=1, max_size=6))
def test_one_node_owns_all_and_goes_on_with_it(node_ids: set[int]) -> None:
    nodes = nodes_of(*node_ids)
    owners = owners_on(nodes, Placement.ONE)
    assert owners.keys() == set(SLOTS)
    (owner,) = set(owners.values())
    more = holding(nodes, owners) | nodes_of(100, 101)
    assert set(owners_on(more, Placement.ONE).values()) == {owner}


def test_the_one_that_took_over_last_is_right() -> None:
    """A zombie keeps claiming slots that another node has taken over."""
    first, second = nodes_of(1), nodes_of(2)
    zombie = holding(first, dict.fromkeys(SLOTS, "member-1"), 4)
    for successor in (
        holding(second, dict.fromkeys(SLOTS, "member-2"), 5),
        holding(second, dict.fromkeys(SLOTS[:50], "member-2"), 5),
    ):
        assert set(owners_on(zombie | successor, Placement.ONE).values()) == {"member-2"}
    spread = owners_on(zombie | holding(second, {SLOTS[0]: "member-2"}, 5), Placement.TOPIC)
    assert spread[SLOTS[0]] == "member-2"


NODE_IDS = st.sets(st.integers(0, 15), min_size=1, max_size=12)
FEW = {"__shareq_state": 8, "__shareq_groups": 8}


def counts_of(owners: dict[SlotId, str], nodes: dict[str, Node]) -> list[set[int]]:
    """Return the different numbers of slots per node, for each topic."""
    found = []
    for topic in TOPICS:
        counts = Counter(dict.fromkeys(nodes, 0))
        counts.update(owner for slot, owner in owners.items() if slot.topic == topic)
        found.append(set(counts.values()))
    return found


@given(NODE_IDS, NODE_IDS)
def test_of_each_topic_nodes_own_as_many_slots_as_others_or_one_more(before: set[int], after: set[int]) -> None:
    """Nodes come and go by dozens: none is without a slot while another has two."""
    nodes = nodes_of(*before)
    owners = owners_on(nodes, Placement.TOPIC, FEW)
    later = holding(nodes_of(*before, *after), owners)
    later = {f"member-{each}": later[f"member-{each}"] for each in after}
    for counted, among in ((owners, nodes), (owners_on(later, Placement.TOPIC, FEW), later)):
        each_has, more = divmod(8, len(among))
        for counts in counts_of(counted, among):
            assert counts <= {each_has, each_has + (more > 0)}


def test_one_node_that_wants_to_own_all_has_its_way() -> None:
    spread = [replace(node, placement=Placement.TOPIC) for node in nodes_of(1, 2).values()]
    assert placement_of(spread) is Placement.TOPIC
    assert placement_of([*spread, Node(3, "1", {})]) is Placement.ONE


@given(st.sets(st.integers(0, 50), min_size=2, max_size=7), st.integers(0, 6))
def test_the_loss_of_a_node_moves_what_it_had(node_ids: set[int], which: int) -> None:
    nodes = nodes_of(*node_ids)
    owners = owners_on(nodes, Placement.TOPIC)
    gone = sorted(nodes)[which % len(nodes)]
    rest = {member_id: node for member_id, node in holding(nodes, owners).items() if member_id != gone}
    after = owners_on(rest, Placement.TOPIC)
    assert [slot for slot in SLOTS if after[slot] != owners[slot]] == [slot for slot in SLOTS if owners[slot] == gone]


@given(st.sets(st.integers(0, 50), min_size=1, max_size=6))
def test_a_node_that_comes_gets_its_part_and_nothing_else_moves(node_ids: set[int]) -> None:
    nodes = nodes_of(*node_ids)
    owners = owners_on(nodes, Placement.TOPIC)
    after = owners_on(holding(nodes, owners) | nodes_of(77), Placement.TOPIC)
    moved = [slot for slot in SLOTS if after[slot] != owners[slot]]
    assert {after[slot] for slot in moved} <= {"member-77"}
    assert len(moved) >= 2 * (48 // (len(node_ids) + 1))


def test_of_two_members_with_one_node_id_one_is_given_slots() -> None:
    nodes = nodes_of(1, 2) | {"member-0": Node(2, "1", {})}
    assert set(owners_on(nodes, Placement.TOPIC).values()) == {"member-1", "member-0"}
    nodes |= {"member-2": Node(2, "1", {}, holds={SLOTS[0]: 1})}
    assert set(owners_on(nodes, Placement.TOPIC).values()) == {"member-1", "member-2"}


def test_a_slot_that_a_topic_has_not_got_is_owned_by_nobody() -> None:
    nodes = {"a": Node(1, "1", {}, holds={SlotId("__shareq_state", 48): 1})}
    assert owners_on(nodes, Placement.ONE, {"__shareq_state": 2}) == {
        SlotId("__shareq_state", 0): "a",
        SlotId("__shareq_state", 1): "a",
    }


def test_weights_are_the_same_in_every_release() -> None:
    assert weight(SlotId("__shareq_state", 7), 1_000_001) == 5_805_079_759_288_611_843
