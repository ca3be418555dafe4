"""The convergence of a group with regular heartbeats and no faults: a complete, fair, known assignment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from shareq.coordinator.group.share.group import ShareGroup
from tests.simulation.heartbeats import Heartbeats
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import JOIN, partitions_of
from tests.simulation.topics import Slot

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World

ROUNDS: Final = 4
INTERVAL_MS: Final = 1_001  # longer than share.assignment.interval.ms, and than an initialisation may take


def converge(world: World, group: Group) -> None:
    """Let all members send a few heartbeats, after which the group must be stable; not while a log is offline."""
    world.faults.clear()
    world.settle()
    if not world.knows_what_is_durable():
        return
    world.note(f"{group.id} converges")
    world.seen["groups that converged"] += 1
    for _ in range(ROUNDS):
        for member in group.members:
            member.heartbeats.send()
        world.settle()
        world.advance(INTERVAL_MS)
    check_stable(world, group, {member.id: member.heartbeats for member in group.members})


def check_stable(world: World, group: Group, clients: Mapping[str, Heartbeats]) -> None:
    live = world.live_group(group.id)
    joined = {member_id: client for member_id, client in clients.items() if client.epoch != JOIN}
    if live is None or not joined:
        return
    if set(live.members) != set(joined):
        raise InvariantBroken(f"{group.id} has members {sorted(live.members)}, heartbeating are {sorted(joined)}")
    for member_id, client in joined.items():
        _check_reported(world, live, member_id, client)
    owners: dict[int, list[str]] = {slot.index: [] for slot in world.topics.live}
    for member_id, client in sorted(joined.items()):
        for index in client.assigned & owners.keys():
            owners[index].append(member_id)
    for slot in world.topics.live:
        _check_slot(world, group, slot, owners[slot.index], joined)
    if len({_existing(world, client) for client in joined.values()}) == 1:
        sizes = [len(client.assigned & owners.keys()) for client in joined.values()]
        if max(sizes) - min(sizes) > 1:
            raise InvariantBroken(f"{group.id} is out of balance: {owners}")


def _check_reported(world: World, live: ShareGroup, member_id: str, client: Heartbeats) -> None:
    current = live.current_of(member_id)
    epochs = {client.epoch, current.member_epoch, live.assignment_epoch, live.group_epoch}
    if len(epochs) > 1:
        raise InvariantBroken(
            f"{member_id} is not stable: it believes in epoch {client.epoch}, it is at {current.member_epoch}, "
            f"the assignment at {live.assignment_epoch}, the group at {live.group_epoch}"
        )
    assigned = {world.topics.slot(*each).index for each in partitions_of(current.assigned)}
    # An answer that takes back a deleted topic may have been lost; metadata informs the client all the same.
    if assigned != {index for index in client.assigned if world.topics.is_live(index)}:
        raise InvariantBroken(f"{member_id} believes in slots {sorted(client.assigned)}, it has {sorted(assigned)}")
    if any(world.topics.slots[index].topic not in client.names for index in assigned):
        raise InvariantBroken(f"{member_id} subscribes to {client.names} and has slots {sorted(assigned)}")
    if not all(map(world.topics.is_live, assigned)):
        raise InvariantBroken(f"{member_id} has slots of deleted topics: {sorted(assigned)}")


def _check_slot(world: World, group: Group, slot: Slot, owners: list[str], joined: Mapping[str, Heartbeats]) -> None:
    subscribers = [member_id for member_id, client in joined.items() if slot.topic in client.names]
    if subscribers and not owners:
        raise InvariantBroken(f"{group.id}: nobody consumes {slot}, subscribed are {subscribers}")
    if len({_existing(world, client) for client in joined.values()}) == 1:
        partitions = sum(each.topic in joined[subscribers[0]].names for each in world.topics.live) if subscribers else 0
    else:
        partitions = len(world.topics.of(slot.topic))  # topic by topic, when members subscribe to different ones
    if len(owners) > 1 and len(subscribers) <= partitions:
        raise InvariantBroken(f"{group.id}: {owners} share slot {slot.index}, there are {partitions} for {subscribers}")


def _existing(world: World, client: Heartbeats) -> tuple[str, ...]:
    return tuple(name for name in client.names if world.topics.of(name))
