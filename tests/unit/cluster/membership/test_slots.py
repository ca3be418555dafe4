"""Slots on nodes: where they were, else by rendezvous hash."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.cluster.membership.nodes import Node, SlotId
from shareq.cluster.membership.slots import Placement, assign, weight

TOPICS = {"__shareq_state": 48, "__shareq_groups": 48}
SLOTS = [SlotId(topic, partition) for topic in TOPICS for partition in range(48)]


def owners_on(nodes: dict[str, Node], placement: Placement, topics: dict[str, int] | None = None) -> dict[SlotId, str]:
    return result_of(assign(nodes, TOPICS if topics is None else topics, placement, unpaused))


def nodes_of(*node_ids: int) -> dict[str, Node]:
    return {f"member-{each}": Node(each, "1", {}) for each in node_ids}


def holding(nodes: dict[str, Node], owners: dict[SlotId, str], generation: int = 1) -> dict[str, Node]:
    """Return the nodes as they hold what they own."""
    return {
        member_id: replace(node, holds={slot: generation for slot, owner in owners.items() if owner == member_id})
        for member_id, node in nodes.items()
    }


def test_without_nodes_nobody_owns_anything() -> None:
    assert owners_on({}, Placement.ONE) == owners_on({}, Placement.SPREAD) == {}


@given(st.sets(st.integers(0, 50), min_size=1, max_size=6))
def test_one_node_owns_all_and_goes_on_with_it(node_ids: set[int]) -> None:
    nodes = nodes_of(*node_ids)
    owners = owners_on(nodes, Placement.ONE)
    assert owners.keys() == set(SLOTS)
    (owner,) = set(owners.values())
    more = holding(nodes, owners) | nodes_of(100, 101)
    assert set(owners_on(more, Placement.ONE).values()) == {owner}


def test_the_one_that_took_over_last_is_right() -> None:
    """A zombie goes on saying that it holds what another node has taken over."""
    first, second = nodes_of(1), nodes_of(2)
    zombie = holding(first, dict.fromkeys(SLOTS, "member-1"), 4)
    for successor in (
        holding(second, dict.fromkeys(SLOTS, "member-2"), 5),
        holding(second, dict.fromkeys(SLOTS[:50], "member-2"), 5),
    ):
        assert set(owners_on(zombie | successor, Placement.ONE).values()) == {"member-2"}
    spread = owners_on(zombie | holding(second, {SLOTS[0]: "member-2"}, 5), Placement.SPREAD)
    assert spread[SLOTS[0]] == "member-2"


@given(st.sets(st.integers(0, 50), min_size=1, max_size=7))
def test_spread_slots_are_as_many_on_each_node(node_ids: set[int]) -> None:
    counts = Counter(owners_on(nodes_of(*node_ids), Placement.SPREAD).values())
    assert sum(counts.values()) == len(SLOTS)
    assert max(counts.values()) <= -(-len(SLOTS) // len(node_ids))


@given(st.sets(st.integers(0, 50), min_size=2, max_size=7), st.integers(0, 6))
def test_the_loss_of_a_node_moves_what_it_had(node_ids: set[int], which: int) -> None:
    nodes = nodes_of(*node_ids)
    owners = owners_on(nodes, Placement.SPREAD)
    gone = sorted(nodes)[which % len(nodes)]
    rest = {member_id: node for member_id, node in holding(nodes, owners).items() if member_id != gone}
    after = owners_on(rest, Placement.SPREAD)
    assert [slot for slot in SLOTS if after[slot] != owners[slot]] == [slot for slot in SLOTS if owners[slot] == gone]


@given(st.sets(st.integers(0, 50), min_size=1, max_size=6))
def test_a_node_that_comes_gets_its_part_and_nothing_else_moves(node_ids: set[int]) -> None:
    nodes = nodes_of(*node_ids)
    owners = owners_on(nodes, Placement.SPREAD)
    after = owners_on(holding(nodes, owners) | nodes_of(77), Placement.SPREAD)
    moved = [slot for slot in SLOTS if after[slot] != owners[slot]]
    assert {after[slot] for slot in moved} <= {"member-77"}
    assert len(moved) >= len(SLOTS) - len(node_ids) * -(-len(SLOTS) // (len(node_ids) + 1))


def test_of_two_members_with_one_node_id_one_is_given_slots() -> None:
    nodes = nodes_of(1, 2) | {"member-0": Node(2, "1", {})}
    assert set(owners_on(nodes, Placement.SPREAD).values()) == {"member-1", "member-0"}
    nodes |= {"member-2": Node(2, "1", {}, holds={SLOTS[0]: 1})}
    assert set(owners_on(nodes, Placement.SPREAD).values()) == {"member-1", "member-2"}


def test_a_slot_that_a_topic_has_not_got_is_owned_by_nobody() -> None:
    nodes = {"a": Node(1, "1", {}, holds={SlotId("__shareq_state", 48): 1})}
    assert owners_on(nodes, Placement.ONE, {"__shareq_state": 2}) == {
        SlotId("__shareq_state", 0): "a",
        SlotId("__shareq_state", 1): "a",
    }


def test_weights_are_the_same_in_every_release() -> None:
    assert weight(SlotId("__shareq_state", 7), 1_000_001) == 5_805_079_759_288_611_843
