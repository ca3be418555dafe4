"""A node as it is now: the metrics of a broker on one (`Ground.metrics`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.broker.metrics.families import families_with
from shareq.broker.metrics.rows import Ends, Snapshot
from shareq.cluster.node.families import (
    LINK,
    LINK_FAILURES,
    NODE,
    OF_NODES,
    SLOT,
    TAKE_OVERS,
    SeenLink,
    SeenNode,
    SeenSlot,
)
from shareq.cluster.node.ground import NodeGround

if TYPE_CHECKING:
    from shareq.broker.groups.ports import EndedLog
    from shareq.broker.services import Services

__all__ = ["FAMILIES", "take"]

FAMILIES: Final = families_with(OF_NODES)


async def take(into: Snapshot, services: Services) -> Ends:
    """Take what the node is like; return the logs that it reads."""
    ground, breathe = services.ground, services.env.budget.breathe
    assert isinstance(ground, NodeGround), f"{ground.name} is no node"
    sources = ground.sources.sources()
    into.take(NODE, (), _seen(ground, len(sources)))
    into.take(TAKE_OVERS, (), ground.slots.take_overs)
    for slot, generation in list(ground.ownership.holds.items()):
        log = ground.logs.of(slot)
        if log is not None:
            age_ms = ground.leases.age_ms(slot)
            seen = SeenSlot(generation, age_ms, log.log_start_offset, log.log_end_offset)
            into.take(SLOT, (slot.topic, str(slot.partition)), seen)
        await breathe()
    for purpose, counts in ground.link.counts.items():
        into.take(LINK, (purpose.value,), SeenLink(counts.answered, counts.under_way, ground.link.lost[purpose]))
        for failure, number in counts.failed.items():
            into.take(LINK_FAILURES, (purpose.value, failure.value.replace(" ", "_")), number)
    ends: dict[tuple[str, int], EndedLog] = {}
    for source in sources:
        if source.has_ends:
            ends[source.topic, source.partition] = source
        await breathe()
    return ends


def _seen(ground: NodeGround, partitions: int) -> SeenNode:
    membership, ownership, cache = ground.membership, ground.ownership, ground.sources.cache
    return SeenNode(
        is_member=ground.leases.is_member,
        generation=membership.generation,
        nodes=len(ground.leaders.others) + (membership.generation >= 0),
        is_cut_off=ground.leaders.is_cut_off,
        slots=len(ownership.holds),
        awaited=ground.slots.waiting,
        lost=ground.slots.lost,
        held_bytes=cache.held_bytes,
        reserved_bytes=cache.reserved_bytes,
        most_bytes=cache.budget,
        evicted=cache.evicted,
        partitions=partitions,
        truncations=ground.sources.truncations,
        topics=len(ground.mirror.topics()),
    )
