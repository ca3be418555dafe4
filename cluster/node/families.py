"""The metrics of a node: its slots, the membership, what it holds of the cluster's records, its requests to brokers."""

from __future__ import annotations

from typing import Final, NamedTuple

from shareq.broker.foundation.durations import Durations
from shareq.broker.metrics.family import COUNTER, GAUGE, HISTOGRAM, Table, distribution, itself

__all__ = [
    "LINK",
    "LINK_FAILURES",
    "NODE",
    "OF_NODES",
    "SLOT",
    "TAKE_OVERS",
    "SeenLink",
    "SeenNode",
    "SeenSlot",
]


class SeenNode(NamedTuple):
    """The node as a whole. Bytes, and counts since its start."""

    is_member: bool
    generation: int
    nodes: int
    is_cut_off: bool
    slots: int
    awaited: int
    lost: int
    held_bytes: int
    reserved_bytes: int
    most_bytes: int
    evicted: int
    partitions: int
    truncations: int
    topics: int


class SeenSlot(NamedTuple):
    """A slot that the node owns. `lease_age_ms`: since the youngest proof."""

    generation: int
    lease_age_ms: int | None
    log_start_offset: int
    log_end_offset: int


class SeenLink(NamedTuple):
    """The requests of one purpose."""

    answered: Durations
    under_way: int
    lost: int


NODE: Final = Table(
    (),
    (
        GAUGE,
        "shareq_node_member",
        "1 if the node is a member of the nodes' group, by its last heartbeat; otherwise 0.",
        lambda it: int(it.is_member),
    ),
    (
        GAUGE,
        "shareq_node_membership_generation",
        "The generation of the nodes' group; -1 outside of one.",
        lambda it: it.generation,
    ),
    (GAUGE, "shareq_node_members", "The nodes by the map of this generation.", lambda it: it.nodes),
    (
        GAUGE,
        "shareq_node_cut_off",
        "1 if no proof of ownership came for a lease: clients are sent to other nodes. Otherwise 0.",
        lambda it: int(it.is_cut_off),
    ),
    (GAUGE, "shareq_node_slots", "Slots that the node owns and serves.", lambda it: it.slots),
    (
        GAUGE,
        "shareq_node_awaited_slots",
        "Slots that the node is to own and does not serve yet.",
        lambda it: it.awaited,
    ),
    (
        COUNTER,
        "shareq_node_lost_slots_total",
        "Slots whose log ended while they were served: another node took them over, or the cluster did not answer.",
        lambda it: it.lost,
    ),
    (GAUGE, "shareq_node_read_ahead_bytes", "Bytes of the cluster's records in memory.", lambda it: it.held_bytes),
    (
        GAUGE,
        "shareq_node_read_ahead_reserved_bytes",
        "Bytes set aside for answers of brokers that are under way.",
        lambda it: it.reserved_bytes,
    ),
    (
        GAUGE,
        "shareq_node_read_ahead_limit_bytes",
        "shareq.cluster.read.ahead.bytes.",
        lambda it: it.most_bytes,
    ),
    (
        COUNTER,
        "shareq_node_read_ahead_evicted_total",
        "Chunks of records that gave way to others.",
        lambda it: it.evicted,
    ),
    (GAUGE, "shareq_node_read_partitions", "Partitions that the node reads.", lambda it: it.partitions),
    (
        COUNTER,
        "shareq_node_truncations_total",
        "Logs of the cluster that were found cut: an unclean election lost records.",
        lambda it: it.truncations,
    ),
    (
        GAUGE,
        "shareq_node_topics",
        "Topics of the cluster that the node knows: those that were asked for.",
        lambda it: it.topics,
    ),
)
SLOT: Final = Table(
    ("topic", "slot"),
    (
        GAUGE,
        "shareq_slot_generation",
        "The take-over that the node owns the slot by; clients see it as the leader epoch.",
        lambda it: it.generation,
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
        lambda it: it.log_start_offset,
    ),
    (GAUGE, "shareq_slot_log_end_offset", "Where the slot's log ends.", lambda it: it.log_end_offset),
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
        lambda it: distribution(it.answered),
    ),
    (GAUGE, "shareq_link_requests_under_way", "Requests to brokers without an answer yet.", lambda it: it.under_way),
    (COUNTER, "shareq_link_lost_connections_total", "Connections to brokers that were lost.", lambda it: it.lost),
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
