"""Sizes and moves with many nodes: `python -m bench.node_scale --write docs/cluster.md`.

    map        the bytes that the elected node sends to each, for every generation
    record     the group's record in __consumer_offsets, which has every member's metadata and map: brokers take 1 MB
    moves      slots that change their owner while nodes restart one after the other, by the real assignment
    metadata   the answer to a client that asks for all topics

No time is measured: sizes follow from the code alone. A test keeps the document's figures equal to these.
"""

from __future__ import annotations

import argparse
import sys
import uuid
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from devtools.documents import add_write_option, show_and_write
from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.cluster.membership.nodes import Endpoint, Node, NodeMap, Placement, SlotId
from shareq.cluster.membership.slots import assign
from shareq.cluster.node.routes import slot_of
from shareq.cluster.node.state_topics import GROUPS, STATES
from shareq.protocol.generated.group_metadata import GroupMetadataValue, MemberMetadata
from shareq.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

BEGIN: Final = "<!-- node scale: begin -->"
END: Final = "<!-- node scale: end -->"
SIZES: Final = ((3, 48), (30, 48), (100, 48), (100, 480))
"""Nodes, and slots of each state topic."""
TOPICS: Final = 10_000
PARTITIONS: Final = 10
MOST_BYTES: Final = 1_048_588
"""The default max.message.bytes of a broker's topics, __consumer_offsets among them."""
MOST_NODES: Final = 400
_VERSION: Final = 12
_RECORD_VERSION: Final = 3


def nodes_of(count: int) -> dict[str, Node]:
    """Return so many nodes by member id, as they describe themselves when they hold nothing."""
    chance = Random(count)
    made = {}
    for number in range(count):
        listeners = {"CLIENTS": Endpoint(f"shareq-{number}.shareq.example.svc.cluster.local", 9092)}
        node = Node(1_000_000 + number, "0.2.0", listeners, f"zone-{number % 3}", {}, Placement.TOPIC)
        made[f"shareq-{uuid.UUID(int=chance.getrandbits(128))}"] = node
    return made


class Scale:
    """So many nodes, with so many slots of each state topic, divided among them."""

    def __init__(self, count: int, slots: int) -> None:
        self._partitions: Final = {STATES: slots, GROUPS: slots}
        self.generation = 0
        self.moves: list[int] = []
        self.nodes: dict[str, Node] = nodes_of(count)
        self.owners: Mapping[SlotId, str] = {}
        self._divide()

    def _divide(self) -> None:
        """Let the elected node make the map of the next generation, and the other nodes take over their slots."""
        self.generation += 1
        before = self.owners
        self.owners = result_of(assign(self.nodes, self._partitions, Placement.TOPIC, unpaused))
        self.moves.append(sum(before.get(slot) != owner for slot, owner in self.owners.items()))
        held: dict[str, dict[SlotId, int]] = {member_id: {} for member_id in self.nodes}
        for slot, owner in self.owners.items():
            held[owner][slot] = self.generation
        self.nodes = {member_id: replace(node, holds=held[member_id]) for member_id, node in self.nodes.items()}

    def restart_all(self) -> list[int]:
        """Restart the nodes one after the other; return the slots that moved in each generation."""
        self.moves = []
        for member_id in list(self.nodes):
            node = self.nodes.pop(member_id)
            self._divide()
            self.nodes[member_id] = replace(node, holds={})
            self._divide()
        return self.moves

    def map_bytes(self) -> int:
        """Return the size of the map."""
        return len(NodeMap(self.nodes, self.owners).encoded())

    def record_bytes(self) -> int:
        """Return the size of the group's record in __consumer_offsets."""
        encoded = NodeMap(self.nodes, self.owners).encoded()
        members = [
            MemberMetadata(member_id, None, "shareq", "/10.0.0.1", 60_000, 6_000, node.metadata(1), encoded)
            for member_id, node in self.nodes.items()
        ]
        value = GroupMetadataValue("shareq", self.generation, "slots", next(iter(self.nodes)), 0, members)
        return len(value.encode(_RECORD_VERSION))

    def busiest(self) -> tuple[int, int]:
        """Return the fewest and the most of the `TOPICS` topics that any node leads."""
        chance, led = Random(1), dict.fromkeys(self.nodes, 0)
        for _ in range(TOPICS):
            led[self.owners[SlotId(STATES, slot_of(chance.randbytes(16), self._partitions[STATES]))]] += 1
        return min(led.values()), max(led.values())


def metadata_bytes(nodes: int) -> int:
    """Return the size of the answer about all topics."""
    brokers = [MetadataResponseBroker(number, f"shareq-{number}.shareq.example", 9092) for number in range(nodes)]
    leader = 1_000_000
    partitions = [MetadataResponsePartition(0, number, leader, 7, [leader], [leader]) for number in range(PARTITIONS)]
    topics = [MetadataResponseTopic(0, f"topic-{number:05}", bytes(16), False, partitions) for number in range(TOPICS)]
    return len(MetadataResponse(0, brokers, "cluster", 0, topics).encode(_VERSION))


def rows() -> Iterable[str]:
    """Yield the lines of the table."""
    yield "| nodes | slots | map, KB | record, KB | moved in a rolling restart | most at once | topics of a node |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for count, slots in SIZES:
        scale = Scale(count, slots)
        size, record, (fewest, most) = scale.map_bytes(), scale.record_bytes(), scale.busiest()
        moves = scale.restart_all()
        moved = f"{sum(moves):,} | {max(moves)}"
        yield f"| {count} | {slots} | {size / 1000:,.0f} | {record / 1000:,.0f} | {moved} | {fewest:,} to {most:,} |"


def most_nodes(slots: int) -> int:
    """Return how many nodes a record of `MOST_BYTES` has room for."""
    return bisect_right(range(1, MOST_NODES), MOST_BYTES, key=lambda count: Scale(count, slots).record_bytes())


def lines() -> list[str]:
    """Return the section's generated lines."""
    said = f"{TOPICS:,} topics of {PARTITIONS} partitions are {metadata_bytes(100) / 1e6:.1f} MB of Metadata."
    limits = " and ".join(f"{most_nodes(slots)} nodes with {slots}" for slots in (48, 480))
    return [*rows(), "", f"{said} A record of 1 MB, the brokers' default, has room for {limits} slots."]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.node_scale", description=__doc__)
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    show_and_write(lines(), options.write, BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
