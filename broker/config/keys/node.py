"""Properties of a node of `shareq serve --cluster`, our own. A node is a broker whose data is in a Kafka cluster."""

from __future__ import annotations

from typing import Final

from shareq.protocol.config_def import NamesOrBeginnings, OneOf, UpdateMode, integer, long, text, words
from shareq.protocol.names import DLQ_TOPICS

FIRST_NODE_ID: Final = 1_000_000
"""The lowest id of a node, far above the ids of the cluster's brokers."""
_MIB: Final = 1 << 20


class NodeProperties:
    """Properties of nodes: memory for records of the cluster, membership, the division of states among nodes, and
    topics for dead letters.
    """

    shareq_cluster_read_ahead_bytes = long(
        "shareq.cluster.read.ahead.bytes",
        128 * _MIB,
        "Of a node: the most bytes of the cluster's records that it holds, for all share groups and consumers.",
        at_least=16 * _MIB,
    )
    shareq_cluster_slots = integer(
        "shareq.cluster.slots",
        48,
        "Of a node: the number of partitions of `__shareq_state` and of `__shareq_groups`. It must be the same on "
        "every node, and cannot change while they exist.",
        at_least=1,
        at_most=1_000,
    )
    shareq_cluster_placement = text(
        "shareq.cluster.placement",
        "one",
        "Of a node: `one`: a single node serves all share groups, the others wait to take over; `topic`: each serves a "
        "part of the topics, and coordinates a part of the groups, once all nodes are configured so. Nodes then "
        "connect to each other's first listener (`--node-config`).",
        valid=OneOf("one", "topic"),
    )
    shareq_cluster_group = text(
        "shareq.cluster.group",
        "__shareq",
        "Of a node: the group on the cluster whose members the nodes are. It must be the same on all nodes of a "
        "cluster: two groups would take the slots from each other.",
    )
    shareq_cluster_session_timeout_ms = integer(
        "shareq.cluster.session.timeout.ms",
        6_000,
        "Of a node: how long it may be silent before the cluster replaces it; at least the cluster's "
        "`group.min.session.timeout.ms`.",
        at_least=1_000,
    )
    shareq_cluster_heartbeat_interval_ms = integer(
        "shareq.cluster.heartbeat.interval.ms",
        500,
        "Of a node: the interval of its heartbeats to the cluster; at most a third of the session timeout, and "
        "of the lease.",
        at_least=100,
    )
    shareq_cluster_lease_ms = integer(
        "shareq.cluster.lease.ms",
        6_000,
        "Of a node: how long it hands out records without proof that it still owns their slots.",
        at_least=1_000,
    )
    shareq_dlq_topics = words(
        DLQ_TOPICS,
        (),
        "Of a node: the topics that share groups may use as their dead-letter queues, by name or, with a `*` at the "
        "end, by how they begin. If the cluster has `errors.deadletterqueue.group.enable` (Apache Kafka from 4.4 on), "
        "that property of the topic counts instead.",
        valid=NamesOrBeginnings(),
        mode=UpdateMode.CLUSTER_WIDE,
    )
