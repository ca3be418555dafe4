"""Connections between nodes: which to keep, and which losses to report."""

from __future__ import annotations

from shareq.cluster.membership.nodes import Endpoint, Node, NodeMap
from shareq.cluster.membership.peers import Loss, Peers

NO_NEWS, JOIN_AGAIN = Loss(joins_again=False, has_ended=False), Loss(joins_again=True, has_ended=False)


def map_of(*node_ids: int, port: int = 9092) -> NodeMap:
    return NodeMap({f"m{each}": Node(each, "1", {"INTERNAL": Endpoint(f"h{each}", port)}) for each in node_ids}, {})


def test_each_other_node_is_connected_to() -> None:
    peers = Peers("INTERNAL")
    changes = peers.update("m1", map_of(1, 2, 3))
    assert changes == ({"m2": Endpoint("h2", 9092), "m3": Endpoint("h3", 9092)}, [])
    assert peers.update("m1", map_of(1, 3, 4)) == ({"m4": Endpoint("h4", 9092)}, ["m2"])
    assert peers.wants("m2") is None
    assert peers.wants("m3") == Endpoint("h3", 9092)


def test_a_node_that_listens_elsewhere_is_connected_to_again() -> None:
    peers = Peers("INTERNAL")
    peers.update("m1", map_of(1, 2))
    assert peers.update("m1", map_of(1, 2, port=9)) == ({"m2": Endpoint("h2", 9)}, ["m2"])


def test_a_node_without_that_listener_is_left_alone() -> None:
    assert Peers("EXTERNAL").update("m1", map_of(1, 2)) == ({}, [])


def test_a_lost_peer_is_news_once() -> None:
    """Two nodes that only lose each other must not cause repeated rebalances."""
    peers = Peers("INTERNAL")
    peers.update("m1", map_of(1, 2))
    assert peers.lost("m2", has_ended=True) == NO_NEWS  # it was never reached
    peers.opened("m2")
    assert peers.lost("m2", has_ended=False) == JOIN_AGAIN
    assert peers.lost("m2", has_ended=True) == NO_NEWS
    peers.update("m1", map_of(1, 2))
    assert peers.lost("m2", has_ended=True) == NO_NEWS
    peers.opened("m2")
    assert peers.lost("m2", has_ended=True) == Loss(joins_again=True, has_ended=True)


def test_the_end_of_a_connection_to_one_that_is_no_member_is_no_news() -> None:
    peers = Peers("INTERNAL")
    peers.update("m1", map_of(1, 2))
    peers.opened("m2")
    peers.update("m1", map_of(1))
    assert peers.lost("m2", has_ended=True) == NO_NEWS
    peers.opened("m2")
    assert peers.lost("m2", has_ended=True) == NO_NEWS


def test_what_has_the_number_and_the_addresses_of_a_node_that_starts_was_that_node() -> None:
    own, others = map_of(1).nodes["m1"], map_of(1, 2).nodes
    moved = map_of(1, port=9093).nodes["m1"]
    found = Peers("INTERNAL").find(own, {**others, "m3": moved})
    assert found.ended == ["m1"]
    assert found.open == {"m2": Endpoint("h2", 9092), "m3": Endpoint("h1", 9093)}


def test_members_from_before_are_dropped_if_they_refuse_the_first_connection() -> None:
    peers = Peers("INTERNAL")
    peers.find(map_of(1).nodes["m1"], map_of(2, 3, 4).nodes)
    assert peers.lost("m2", has_ended=True) == Loss(joins_again=False, has_ended=True)
    assert peers.lost("m2", has_ended=True) == NO_NEWS
    assert peers.lost("m3", has_ended=False) == NO_NEWS  # not reached says nothing about it
    assert peers.lost("m3", has_ended=True) == NO_NEWS
    peers.opened("m4")
    assert peers.update("m1", map_of(1, 4)) == ({}, ["m2", "m3"])
    assert peers.lost("m4", has_ended=False) == JOIN_AGAIN
