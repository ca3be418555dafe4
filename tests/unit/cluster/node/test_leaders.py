from __future__ import annotations

from shareq.broker.topics.leaders import Leader
from shareq.cluster.membership.nodes import Endpoint, Node, NodeMap, SlotId
from shareq.cluster.node.leaders import NodeLeaders
from shareq.cluster.node.state_topics import GROUPS, STATES
from shareq.coordinator.ports import TopicImage
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE

ORDERS = TopicImage("orders", b"o" * 16, 2)
SLOT, GROUP_SLOT = SlotId(STATES, 1), SlotId(GROUPS, 0)
OTHER = Node(7, "1", {"PLAINTEXT": Endpoint("other", 9092)}, None, {SLOT: 4})


class Mirror:
    def known(self, name: str) -> TopicImage | None:
        return ORDERS if name == ORDERS.name else None


def leaders() -> NodeLeaders:
    return NodeLeaders(Mirror(), lambda _topic_id: SLOT, lambda slot: slot == SLOT)


def owned_by_another() -> NodeLeaders:
    made = leaders()
    made.take_map("me", NodeMap({"other": OTHER}, {SLOT: "other", GROUP_SLOT: "other"}))
    return made


def test_what_is_served_here_is_led_here_in_the_epoch_of_its_take_over() -> None:
    made = owned_by_another()
    made.serves(SLOT, 5)
    assert made.other_leader("orders", 1) is None
    assert made.own_epoch("orders", 1) == made.epoch_of(ORDERS.topic_id) == 5
    made.leaves(SLOT)
    left = made.other_leader("orders", 1)
    assert left is not None
    assert (left.node and left.node.node_id, left.epoch) == (7, 5)


def test_a_later_take_over_that_was_heard_of_is_not_taken_for_the_own_one() -> None:
    """Two nodes would otherwise lead in one epoch until this one learns that it was deposed."""
    made = leaders()
    made.serves(SLOT, 3)
    made.take_map("me", NodeMap({"other": OTHER}, {SLOT: "me"}))
    assert made.own_epoch("orders", 1) == made.epoch_of(ORDERS.topic_id) == 3
    made.leaves(SLOT)
    assert made.other_leader("orders", 1) == Leader(None, 4)


def test_a_coordinators_partition_is_led_from_when_its_load_begins() -> None:
    made = leaders()
    assert made.other_leader(SHARE_GROUP_STATE, 1) == Leader(None, 0)
    made.begins_to_load(SLOT)
    assert made.other_leader(SHARE_GROUP_STATE, 1) is None
    assert made.other_leader("orders", 0) == Leader(None, 0)


def test_the_owner_by_the_map_is_named_with_the_highest_epoch_that_was_heard_of() -> None:
    made = owned_by_another()
    found = made.other_leader("orders", 0)
    assert found is not None
    assert found.node is not None
    assert (found.node.node_id, found.epoch) == (7, 4)
    assert found.node.at("PLAINTEXT") is not None
    made.take_map("me", NodeMap({"other": Node(7, "1", {}, None, {})}, {SLOT: "other"}))
    again = made.other_leader("orders", 0)
    assert again is not None
    assert again.epoch == 4
    assert made.other_leader(CONSUMER_OFFSETS, 0) == Leader(None, 0)


def test_a_node_that_is_lost_is_named_no_more() -> None:
    made = owned_by_another()
    made.lose("other")
    assert made.other_leader("orders", 0) == Leader(None, 4)
    assert not made.others


def test_a_node_that_is_cut_off_leads_nothing_until_it_is_heard() -> None:
    made = leaders()
    made.begins_to_load(SLOT)
    made.serves(SLOT, 3)
    made.is_cut_off = True
    assert made.other_leader("orders", 0) == Leader(None, 3)
    assert made.other_leader(SHARE_GROUP_STATE, 1) == Leader(None, 3)
    made.is_cut_off = False
    assert made.other_leader("orders", 0) is None


def test_a_topic_that_is_not_known_has_no_leader() -> None:
    assert leaders().other_leader("missing", 0) == Leader(None, 0)
    assert not leaders().may_hand_out("missing", 0)
    assert leaders().may_hand_out("orders", 0)
