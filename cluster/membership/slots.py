"""The assignment of slots to nodes. The elected member makes it for all; safety does not depend on it.

A slot stays with the node that holds it: a move costs its clients a request, and the state a load. All other slots are
placed by rendezvous hash: each slot has its own order of all nodes, so the loss of a node moves only that node's slots.

    ONE     one node owns all
    TOPIC   of each state topic every node owns as many slots as any other, or one more
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from shareq.broker.foundation.turn_budget import Breathe
from shareq.cluster.membership.nodes import Node, Placement, SlotId

_EVERYTHING: Final = SlotId("", 0)


def weight(slot: SlotId, node_id: int) -> int:
    """Return the rank of a node for a slot, the highest being preferred. It is the same in every release."""
    name = f"{slot.topic}/{slot.partition}/{node_id}".encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big")


def placement_of(nodes: Iterable[Node]) -> Placement:
    """Return the placement in force: TOPIC if all nodes want it, else ONE. An older release expects the states of all
    topics at the node that coordinates groups.
    """
    return Placement.TOPIC if all(node.placement is Placement.TOPIC for node in nodes) else Placement.ONE


async def assign(
    nodes: Mapping[str, Node], partitions: Mapping[str, int], placement: Placement, breathe: Breathe
) -> dict[SlotId, str]:
    """Return the member that is to own each slot. `partitions`: the number of slots of each state topic.

    If two nodes claim to hold a slot, the one with the higher generation counts. If several members have the same node
    id, one of them gets slots.
    """
    slots = [SlotId(topic, partition) for topic in sorted(partitions) for partition in range(partitions[topic])]
    members = _of_one_id_each(nodes)
    if not members:
        return {}
    holders: dict[SlotId, str] = {}
    for slot in slots:
        holder = _holder(slot, members)
        if holder is not None:
            holders[slot] = holder
        await breathe(len(members))
    if placement is Placement.ONE:
        return dict.fromkeys(slots, _one(members, holders))
    owners: dict[SlotId, str] = {}
    for topic in sorted(partitions):
        of_topic = [slot for slot in slots if slot.topic == topic]
        owners |= await _spread(of_topic, members, holders, breathe)
    return owners


def _of_one_id_each(nodes: Mapping[str, Node]) -> dict[str, Node]:
    """Return the members with one for each node id: the one that holds most slots, or the first of them by member
    id.
    """
    chosen: dict[int, str] = {}
    for member_id in sorted(nodes, key=lambda each: (-len(nodes[each].holds), each)):
        chosen.setdefault(nodes[member_id].node_id, member_id)
    return {member_id: nodes[member_id] for member_id in sorted(chosen.values())}


def _holder(slot: SlotId, members: Mapping[str, Node]) -> str | None:
    holding = [(node.holds[slot], member_id) for member_id, node in members.items() if slot in node.holds]
    return max(holding)[1] if holding else None


def _one(members: Mapping[str, Node], holders: Mapping[SlotId, str]) -> str:
    """Return the member that holds most slots; if none holds any, the one of highest weight."""
    held = list(holders.values())
    return max(members, key=lambda each: (held.count(each), weight(_EVERYTHING, members[each].node_id)))


async def _spread(
    slots: list[SlotId], members: Mapping[str, Node], holders: Mapping[SlotId, str], breathe: Breathe
) -> dict[SlotId, str]:
    """Return the owners of one topic's slots."""
    held = [slot for slot in slots if slot in holders]
    room = _shares(len(slots), members, Counter(holders[slot] for slot in held))
    owners: dict[SlotId, str] = {}

    def best_first(slot: SlotId) -> list[str]:
        return sorted(members, key=lambda each: weight(slot, members[each].node_id), reverse=True)

    for slot in sorted(held, key=lambda each: weight(each, members[holders[each]].node_id), reverse=True):
        holder = holders[slot]
        if room[holder]:
            room[holder] -= 1
            owners[slot] = holder
    for slot in slots:
        if slot not in owners:
            owners[slot] = next(each for each in best_first(slot) if room[each])
            room[owners[slot]] -= 1
        await breathe(len(members))
    return owners


def _shares(slots: int, members: Mapping[str, Node], held: Mapping[str, int]) -> dict[str, int]:
    """Return the number of slots for each member. The remainder of the division goes to those that hold most slots."""
    each_has, more = divmod(slots, len(members))
    first = sorted(members, key=lambda each: (-held.get(each, 0), -weight(_EVERYTHING, members[each].node_id)))
    return {member_id: each_has + (at < more) for at, member_id in enumerate(first)}
