"""Nodes' metadata about themselves, and the map that all of them receive."""

from __future__ import annotations

import contextlib
import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.cluster.membership.nodes import (
    COMPRESSED,
    MOST_BYTES,
    Endpoint,
    Node,
    NodeMap,
    Placement,
    SlotId,
    node_from,
    node_map_from,
)
from shareq.protocol.errors import MalformedMessage

NUMBERS = st.integers(0, 2**31 - 1)
SLOTS = st.builds(SlotId, st.sampled_from(["__shareq_state", "__shareq_groups"]), st.integers(0, 99))
NODES = st.builds(
    Node,
    NUMBERS,
    st.text(max_size=8),
    st.dictionaries(st.text(max_size=5), st.builds(Endpoint, st.text(max_size=5), NUMBERS), max_size=3),
    st.one_of(st.none(), st.text(max_size=5)),
    st.dictionaries(SLOTS, NUMBERS, max_size=5),
    st.sampled_from(Placement),
    st.sampled_from([1, COMPRESSED, COMPRESSED + 1]),
)


@given(NODES, NUMBERS)
def test_a_node_is_understood(node: Node, joins: int) -> None:
    assert node_from(node.metadata(joins)) == node


@given(NODES)
def test_metadata_differs_from_join_to_join(node: Node) -> None:
    assert node.metadata(1) != node.metadata(2)


@given(st.dictionaries(st.text(max_size=5), NODES, max_size=3), st.dictionaries(SLOTS, st.text(max_size=5), max_size=9))
def test_a_map_is_understood(nodes: dict[str, Node], owners: dict[SlotId, str]) -> None:
    node_map = NodeMap(nodes, owners)
    assert node_map_from(node_map.encoded()) == node_map
    for member_id in set(owners.values()):
        assert {slot for slot, owner in owners.items() if owner == member_id} == node_map.slots_of(member_id)


MEMBERS = [f"shareq-{number}" for number in range(40)]


@pytest.mark.parametrize("newest", [1, COMPRESSED])
def test_a_map_is_compressed_once_all_nodes_read_it(newest: int) -> None:
    nodes = {each: Node(at, "1", {}, maps=COMPRESSED) for at, each in enumerate(MEMBERS)}
    nodes[MEMBERS[7]] = replace(nodes[MEMBERS[7]], maps=newest)
    node_map = NodeMap(nodes, {SlotId("t", at): each for at, each in enumerate(MEMBERS)})
    data = node_map.encoded()
    assert (data[:1], len(data) < 2_000) == ((b"\x02", True) if newest == COMPRESSED else (b"{", False))
    assert node_map_from(data) == node_map


def test_a_node_that_does_not_say_which_maps_it_reads_reads_the_first() -> None:
    """Nodes of earlier releases do not; their maps are read as ever."""
    fields = json.loads(Node(3, "1", {}).metadata(1))
    del fields["maps"]
    old = node_from(json.dumps(fields).encode())
    assert old.maps == 1
    sent = json.dumps({"format": 1, "nodes": {"a": fields}, "slots": {"t": ["a", None]}}).encode()
    assert node_map_from(sent) == NodeMap({"a": old}, {SlotId("t", 0): "a"})


def test_fields_of_later_releases_are_passed_over() -> None:
    node = Node(3, "1", {})
    fields = json.loads(node.metadata(1)) | {"format": 2, "more": [1]}
    assert node_from(json.dumps(fields).encode()) == node


@pytest.mark.parametrize("placement", [None, "zone", 7])
def test_a_placement_of_another_release_is_that_of_one_node(placement: object) -> None:
    fields = json.loads(Node(3, "1", {}, placement=Placement.TOPIC).metadata(1)) | {"placement": placement}
    assert node_from(json.dumps(fields).encode()).placement is Placement.ONE


WORDS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["node", "nodes", "slots", "holds", "listeners", "version", "zone", "1", "x"]),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)


@given(st.one_of(st.binary(max_size=30), WORDS.map(lambda words: json.dumps(words).encode())))
def test_anything_else_is_malformed(data: bytes) -> None:
    for read in (node_from, node_map_from):
        with contextlib.suppress(MalformedMessage):
            read(data)


@pytest.mark.parametrize(
    "data",
    [
        b" " * (MOST_BYTES + 1),
        b"[" * 100_000,
        b'{"nodes":{},"slots":{"t":"abc"}}',
        b"\x02" + zlib.compress(b" " * (1 << 28)),
        b"\x02" + zlib.compress(b'{"nodes":{},"slots":{}}')[:-6],
        b"\x02{}",
        b"\x02",
    ],
    ids=["bytes", "depth", "no list", "bytes once decompressed", "a part", "not compressed", "nothing"],
)
def test_too_much_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        node_map_from(data)


@pytest.mark.parametrize("host", ["\ud800", "x" * 2_000])
@pytest.mark.parametrize("field", ["host", "zone", "version"])
def test_words_that_no_answer_can_carry_are_malformed(field: str, host: str) -> None:
    """Metadata sends hosts and zones of all nodes, so one member could break all answers."""
    fields = json.loads(Node(3, "1", {"A": Endpoint("here", 9092)}, "zone").metadata(1))
    if field == "host":
        fields["listeners"]["A"][0] = host
    else:
        fields[field] = host
    with pytest.raises(MalformedMessage):
        node_from(json.dumps(fields).encode())
