"""The metadata with which nodes join, and the map of slots that the elected node sends to all: both as JSON.

    metadata  {"format": 1, "node": id, "version": text, "zone": text or null, "listeners": {name: [host, port]},
              "placement": "one" or "topic", "holds": {topic: {partition: generation}}, "maps": 2, "joins": count}
    map       {"format": 1, "nodes": {member id: metadata}, "slots": {topic: [member id or null, by partition]}}
              or byte 2 and the same with zlib, if all nodes say that they read it ("maps" of their metadata)

`joins` makes the metadata differ: a member that joins again with unchanged metadata gets its old generation back,
without the rebalance that would drop a dead member. Unknown fields are ignored.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage

FORMAT: Final = 1
COMPRESSED: Final = 2
"""The newest format of maps that this release reads."""
_FIRST_OF_COMPRESSED: Final = bytes([COMPRESSED])
MOST_BYTES: Final = 4 << 20
"""The most bytes that are decoded, ten times the size of a map of some hundred nodes with some hundred slots."""
MOST_PARTITIONS: Final = 10_000
MOST_CHARACTERS: Final = 1_000
"""The most characters of a host or zone. Both are sent to clients, in answers whose texts have 32,767 bytes at most."""

_Json = object


class SlotId(NamedTuple):
    """A partition of a state topic."""

    topic: str
    partition: int


class Placement(Enum):
    """The ways of dividing slots among nodes: the values of `shareq.cluster.placement`."""

    ONE = "one"  # one node owns all, the others wait
    TOPIC = "topic"  # as many on each as on any other, so that each leads a part of the topics


class Endpoint(NamedTuple):
    """The address at which a node listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the others know it. `holds`: the slots that it owns, as far as it knows, with their generations.

    `placement`: how it wants slots to be divided. A node that names none is of a release that knows only ONE. `maps`:
    the newest format of maps that it reads.
    """

    node_id: int
    version: str
    listeners: Mapping[str, Endpoint]
    zone: str | None = None
    holds: Mapping[SlotId, int] = field(default_factory=dict)
    placement: Placement = Placement.ONE
    maps: int = COMPRESSED

    def metadata(self, joins: int) -> bytes:
        """Return the node's metadata for JoinGroup. `joins` counts the rebalances that it has asked for."""
        return _encoded(self._fields() | {"joins": joins})

    def _fields(self) -> dict[str, _Json]:
        holds: dict[str, dict[str, int]] = {}
        for slot, generation in sorted(self.holds.items()):
            holds.setdefault(slot.topic, {})[str(slot.partition)] = generation
        return {
            "format": FORMAT,
            "node": self.node_id,
            "version": self.version,
            "zone": self.zone,
            "listeners": {name: list(endpoint) for name, endpoint in sorted(self.listeners.items())},
            "placement": self.placement.value,
            "holds": holds,
            "maps": self.maps,
        }


@dataclass(frozen=True, slots=True)
class NodeMap:
    """The map that the elected node has made for a generation: nodes by member id, and the member that is to own each
    slot.
    """

    nodes: Mapping[str, Node]
    owners: Mapping[SlotId, str]

    def slots_of(self, member_id: str) -> frozenset[SlotId]:
        """Return the slots that a member is to own."""
        return frozenset(slot for slot, owner in self.owners.items() if owner == member_id)

    def encoded(self) -> bytes:
        """Return the map as bytes, as SyncGroup sends it to every member, in a format that all of them read."""
        slots: dict[str, list[str | None]] = {}
        for slot in sorted(self.owners):
            owners = slots.setdefault(slot.topic, [])
            owners += [None] * (slot.partition + 1 - len(owners))
            owners[slot.partition] = self.owners[slot]
        nodes = {member_id: node._fields() for member_id, node in sorted(self.nodes.items())}
        found = _encoded({"format": FORMAT, "nodes": nodes, "slots": slots})
        if any(node.maps < COMPRESSED for node in self.nodes.values()):
            return found
        return _FIRST_OF_COMPRESSED + zlib.compress(found, 9)


def node_from(data: bytes) -> Node:
    """Decode a node's metadata. Raises MalformedMessage."""
    return _node(_decoded(data))


def node_map_from(data: bytes) -> NodeMap:
    """Decode the map of a generation, of either format. Raises MalformedMessage."""
    fields = _decoded(_decompressed(data[1:]) if data[:1] == _FIRST_OF_COMPRESSED else data)
    nodes = {member_id: _node(_mapping(node)) for member_id, node in _mapping(fields.get("nodes")).items()}
    owners: dict[SlotId, str] = {}
    for topic, by_partition in _mapping(fields.get("slots")).items():
        for partition, owner in enumerate(_list(by_partition)):
            if owner is not None:
                owners[SlotId(topic, partition)] = _text(owner)
    return NodeMap(nodes, owners)


def _encoded(fields: Mapping[str, _Json]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _decompressed(data: bytes) -> bytes:
    """Return at most one byte more than may be decoded."""
    try:
        return zlib.decompressobj().decompress(data, MOST_BYTES + 1)
    except zlib.error as error:
        raise MalformedMessage(f"a map that cannot be decompressed: {error}") from error


def _decoded(data: bytes) -> Mapping[str, _Json]:
    if len(data) > MOST_BYTES:
        raise MalformedMessage(f"{len(data)} bytes about nodes")
    try:
        return _mapping(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise MalformedMessage(f"no node's words: {error}") from error


def _node(fields: Mapping[str, _Json]) -> Node:
    listeners = {name: _endpoint(each) for name, each in _mapping(fields.get("listeners")).items()}
    zone = fields.get("zone")
    holds: dict[SlotId, int] = {}
    for topic, by_partition in _mapping(fields.get("holds")).items():
        for partition, generation in _mapping(by_partition).items():
            if not partition.isdecimal() or len(partition) > len(str(MOST_PARTITIONS)):
                raise MalformedMessage(f"partition {partition!r}")
            holds[SlotId(topic, int(partition))] = _number(generation)
    node_id = _number(fields.get("node"))
    placement = Placement.TOPIC if fields.get("placement") == Placement.TOPIC.value else Placement.ONE
    version, where = _text(fields.get("version")), None if zone is None else _text(zone)
    return Node(
        node_id, version, listeners, where, holds, placement=placement, maps=_number(fields.get("maps", FORMAT))
    )


def _endpoint(value: _Json) -> Endpoint:
    pair = _list(value)
    if len(pair) != 2:
        raise MalformedMessage(f"an endpoint of {len(pair)} parts")
    return Endpoint(_text(pair[0]), _number(pair[1]))


def _mapping(value: _Json) -> Mapping[str, _Json]:
    if isinstance(value, dict):
        return value
    raise MalformedMessage(f"{type(value).__name__} where an object is due")


def _list(value: _Json) -> list[_Json]:
    if isinstance(value, list) and len(value) <= MOST_PARTITIONS:
        return value
    raise MalformedMessage("no list, or too long a one")


def _text(value: _Json) -> str:
    if not isinstance(value, str):
        raise MalformedMessage(f"{type(value).__name__} where text is due")
    if len(value) > MOST_CHARACTERS:
        raise MalformedMessage(f"a text of {len(value)} characters, {MOST_CHARACTERS} are allowed")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise MalformedMessage(f"a text that is none: {error}") from error
    return value


def _number(value: _Json) -> int:
    if type(value) is int and 0 <= value < 2**31:
        return value
    raise MalformedMessage(f"{value!r} where a number is due")
