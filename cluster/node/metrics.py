"""The current state of a node, for its metrics: its slots, its membership, cached records, and requests to brokers.

A broker whose ground is a node's reads this module (`Ground.metrics`).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.metrics.families import families_with
from shareq.broker.metrics.family import COUNTER, GAUGE, HISTOGRAM, Table, distribution, itself
from shareq.broker.metrics.rows import Ends, Snapshot
from shareq.cluster.node.ground import NodeGround

if TYPE_CHECKING:
    from shareq.broker.groups.ports import EndedLog
    from shareq.broker.services import Services
    from shareq.cluster.link.counted import Counts
    from shareq.cluster.state.log import SlotLog


class SeenSlot(NamedTuple):
    """A slot that the node owns. `lease_age_ms`: milliseconds since the youngest proof."""

    generation: int
    lease_age_ms: int | None
    log: SlotLog


class SeenLink(NamedTuple):
    """The requests of one purpose."""

    counts: Counts
    lost: int


NODE: Final = Table(  # of a NodeGround
    (),
    (
        GAUGE,
        "shareq_node_member",
        "1 if the node is a member of the nodes' group, by its last heartbeat; otherwise 0.",
        lambda node: int(node.leases.is_member),
    ),
    (
        GAUGE,
        "shareq_node_membership_generation",
        "The generation of the nodes' group; -1 outside of one.",
        attrgetter("membership.generation"),
    ),
    (
        GAUGE,
        "shareq_node_members",
        "The nodes by the map of this generation.",
        lambda node: len(node.leaders.others) + (node.membership.generation >= 0),
    ),
    (
        GAUGE,
        "shareq_node_cut_off",
        "1 if no proof of ownership came for a lease: clients are sent to other nodes. Otherwise 0.",
        lambda node: int(node.leaders.is_cut_off),
    ),
    (GAUGE, "shareq_node_slots", "Slots that the node owns and serves.", lambda node: len(node.ownership.holds)),
    (
        GAUGE,
        "shareq_node_awaited_slots",
        "Slots that the node is to own and does not serve yet.",
        attrgetter("slots.waiting"),
    ),
    (
        COUNTER,
        "shareq_node_lost_slots_total",
        "Slots whose log ended while they were served: another node took them over, or the cluster did not answer.",
        attrgetter("slots.lost"),
    ),
    (
        GAUGE,
        "shareq_node_read_ahead_bytes",
        "Bytes of the cluster's records in memory.",
        attrgetter("sources.cache.held_bytes"),
    ),
    (
        GAUGE,
        "shareq_node_read_ahead_reserved_bytes",
        "Bytes set aside for answers of brokers that are under way.",
        attrgetter("sources.cache.reserved_bytes"),
    ),
    (
        GAUGE,
        "shareq_node_read_ahead_limit_bytes",
        "shareq.cluster.read.ahead.bytes.",
        attrgetter("sources.cache.budget"),
    ),
    (
        COUNTER,
        "shareq_node_read_ahead_evicted_total",
        "Chunks of records that gave way to others.",
        attrgetter("sources.cache.evicted"),
    ),
    (GAUGE, "shareq_node_read_partitions", "Partitions that the node reads.", lambda node: len(node.sources.sources())),
    (
        COUNTER,
        "shareq_node_truncations_total",
        "Logs of the cluster that were found cut: an unclean election lost records.",
        attrgetter("sources.truncations"),
    ),
    (
        GAUGE,
        "shareq_node_topics",
        "Topics of the cluster that the node knows: those that were asked for.",
        lambda node: len(node.mirror.topics()),
    ),
)
SLOT: Final = Table(
    ("topic", "slot"),
    (
        GAUGE,
        "shareq_slot_generation",
        "The take-over that the node owns the slot by; clients see it as the leader epoch.",
        attrgetter("generation"),
    ),
    (
        GAUGE,
        "shareq_slot_lease_age_seconds",
        "Since the youngest proof that the node owns the slot; over shareq.cluster.lease.ms it hands out nothing.",
        lambda it: None if it.lease_age_ms is None else it.lease_age_ms / 1000,
    ),
    (
        GAUGE,
        "shareq_slot_log_start_offset",
        "Where the slot's log begins; pruning moves it.",
        attrgetter("log.log_start_offset"),
    ),
    (GAUGE, "shareq_slot_log_end_offset", "Where the slot's log ends.", attrgetter("log.log_end_offset")),
)
TAKE_OVERS: Final = Table(
    (),
    (
        HISTOGRAM,
        "shareq_node_take_over_seconds",
        "Take-overs of slots that succeeded, from the decision until the slot was served.",
        distribution,
    ),
)
LINK: Final = Table(
    ("purpose",),
    (
        HISTOGRAM,
        "shareq_link_request_seconds",
        "Requests to brokers that were answered, by what their connection is for; tail: with the time that a fetch "
        "waits for records; state: appends to slots, and what take-overs read.",
        lambda it: distribution(it.counts.answered),
    ),
    (
        GAUGE,
        "shareq_link_requests_under_way",
        "Requests to brokers without an answer yet.",
        attrgetter("counts.under_way"),
    ),
    (COUNTER, "shareq_link_lost_connections_total", "Connections to brokers that were lost.", attrgetter("lost")),
)
LINK_FAILURES: Final = Table(
    ("purpose", "failure"),
    (
        COUNTER,
        "shareq_link_failed_requests_total",
        "Requests to brokers without an answer: not_sent (no broker saw them), lost (the connection ended or "
        "they took too long), unsupported, refused (the node's credentials).",
        itself,
    ),
)

OF_NODES: Final = (NODE, SLOT, TAKE_OVERS, LINK, LINK_FAILURES)
FAMILIES: Final = families_with(OF_NODES)


async def take(into: Snapshot, services: Services) -> Ends:
    """Read the state of the node into the snapshot; return the ends of the logs that it reads."""
    ground, breathe = services.ground, services.env.budget.breathe
    assert isinstance(ground, NodeGround), f"{ground.name} is no node"
    into.take(NODE, (), ground)
    into.take(TAKE_OVERS, (), ground.slots.take_overs)
    for slot, generation in list(ground.ownership.holds.items()):
        log = ground.logs.of(slot)
        if log is not None:
            seen = SeenSlot(generation, ground.leases.age_ms(slot), log)
            into.take(SLOT, (slot.topic, str(slot.partition)), seen)
        await breathe()
    for purpose, counts in ground.link.counts.items():
        into.take(LINK, (purpose.value,), SeenLink(counts, ground.link.lost[purpose]))
        for failure, number in counts.failed.items():
            into.take(LINK_FAILURES, (purpose.value, failure.value.replace(" ", "_")), number)
    ends: dict[tuple[str, int], EndedLog] = {}
    for source in ground.sources.sources():
        if source.has_ends:
            ends[source.topic, source.partition] = source
        await breathe()
    return ends
