"""Connections between nodes: which to hold, and when a loss is news."""

from __future__ import annotations

from shareq.cluster.membership.nodes import Endpoint, Node, NodeMap
from shareq.cluster.membership.peers import Peers


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
    """Two nodes that cannot reach each other, and both reach the cluster, must not make one rebalance after another."""
    peers = Peers("INTERNAL")
    peers.update("m1", map_of(1, 2))
    assert not peers.lost("m2")  # it was never reached
    peers.opened("m2")
    assert peers.lost("m2")
    assert not peers.lost("m2")
    peers.update("m1", map_of(1, 2))
    assert not peers.lost("m2")
    peers.opened("m2")
    assert peers.lost("m2")


def test_the_end_of_a_connection_to_one_that_is_no_member_is_no_news() -> None:
    peers = Peers("INTERNAL")
    peers.update("m1", map_of(1, 2))
    peers.opened("m2")
    peers.update("m1", map_of(1))
    assert not peers.lost("m2")
    peers.opened("m2")
    assert not peers.lost("m2")
