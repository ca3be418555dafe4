"""The metrics of the coordinators: groups, committed offsets, share state, transactions. Names as in `families`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Final

from shareq.broker.metrics.family import (
    COUNTER,
    GAUGE,
    HISTOGRAM,
    NS_PER_S,
    Family,
    Samples,
    distribution,
    for_each,
    single,
)
from shareq.broker.metrics.rows import CoordinatorState, Snapshot
from shareq.coordinator.group.classic.group import ClassicState
from shareq.coordinator.group.groups import GroupKind
from shareq.coordinator.transaction.metadata import TransactionState

_GROUPS: Final = "kafka_server_group_coordinator_metrics"
_GROUP_MANAGER: Final = "kafka_coordinator_group_group_metadata_manager"
_STATES: Final = "kafka_server_share_coordinator_metrics"
_TRANSACTIONS: Final = "kafka_server_transaction_coordinator_metrics"
_MARKERS: Final = "kafka_coordinator_transaction_transaction_marker_channel_manager"

DEAD: Final = "Dead"
"""A state of groups in Apache Kafka's memory alone: no client ever sees one there, and here there are none."""

SHARE_STATES: Final = ("Empty", "Stable", DEAD)
CONSUMER_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable", DEAD)
CLASSIC_STATES: Final = (
    (ClassicState.PREPARING_REBALANCE.value, "preparing_rebalance", "whose members are asked to join"),
    (ClassicState.COMPLETING_REBALANCE.value, "completing_rebalance", "that wait for the assignment of their leader"),
    (ClassicState.STABLE.value, "stable", "whose members have their assignment"),
    (DEAD, "dead", "that are gone"),
    (ClassicState.EMPTY.value, "empty", "without members"),
)


def _runtime(
    coordinator: str, prefix: str, partitions: str, state: Callable[[Snapshot], CoordinatorState]
) -> tuple[Family, ...]:
    """What all coordinators have. `partitions`: the name of the metric that counts those that are served."""
    return (
        Family(
            GAUGE,
            partitions,
            ("state",),
            f"Partitions of the {coordinator} coordinator's topic that are served (active) or refused (failed).",
            lambda snapshot: [(("active",), state(snapshot).active), (("failed",), state(snapshot).failed)],
        ),
        single(
            HISTOGRAM,
            f"{prefix}_partition_load_time_seconds",
            f"What it took to read a partition of the {coordinator} coordinator's topic.",
            lambda snapshot: distribution(state(snapshot).loads),
        ),
        single(
            GAUGE,
            f"{prefix}_partition_load_time_max_seconds",
            "The longest load that ended in the last 30 to 60 seconds.",
            lambda snapshot: state(snapshot).longest_load_ns / NS_PER_S,
        ),
        single(
            GAUGE,
            f"shareq_{coordinator}_coordinator_waiting_operations",
            f"Operations of the {coordinator} coordinator that were decided and are not durable yet.",
            lambda snapshot: state(snapshot).waiting,
        ),
    )


def _by_state(names: tuple[str, ...], counts: Mapping[str, int]) -> Samples:
    return [((name.lower(),), counts.get(name, 0)) for name in names]


def _classic_count(state: str, name: str, text: str) -> Family:
    return single(
        GAUGE,
        f"{_GROUP_MANAGER}_num_groups_{name}",
        f"Classic groups {text}.",
        lambda snapshot: snapshot.groups.classic_states[state],
    )


_GROUP_COORDINATOR: Final = (
    Family(
        GAUGE,
        f"{_GROUPS}_group_count",
        ("protocol",),
        "Groups by protocol.",
        lambda snapshot: [((kind.value,), snapshot.groups.kinds[kind]) for kind in GroupKind],
    ),
    Family(
        GAUGE,
        f"{_GROUPS}_share_group_count",
        ("state",),
        "Share groups by state.",
        lambda snapshot: _by_state(SHARE_STATES, snapshot.groups.share_states),
    ),
    single(
        COUNTER,
        f"{_GROUPS}_share_group_rebalance_total",
        "Group epochs raised by heartbeats: members that joined, other subscriptions, changed topics.",
        attrgetter("groups.share_rebalances"),
    ),
    *for_each(
        "groups.share_members",
        ("group",),
        (GAUGE, "shareq_share_group_members", "Members of the share group.", lambda row: int(row[1])),
    ),
    *_runtime("group", _GROUPS, f"{_GROUPS}_num_partitions", attrgetter("group_coordinator")),
)

_CONSUMER_GROUPS: Final = (
    Family(
        GAUGE,
        f"{_GROUPS}_consumer_group_count",
        ("state",),
        "Consumer groups by state.",
        lambda snapshot: _by_state(CONSUMER_STATES, snapshot.groups.consumer_states),
    ),
    *(_classic_count(*each) for each in CLASSIC_STATES),
    single(
        COUNTER,
        f"{_GROUPS}_group_completed_rebalance_total",
        "Generations of classic groups that got their assignment.",
        attrgetter("groups.classic_rebalances"),
    ),
    single(
        COUNTER,
        f"{_GROUPS}_consumer_group_rebalance_total",
        "Epochs of consumer groups raised by members that joined, other subscriptions, changed topics.",
        attrgetter("groups.consumer_rebalances"),
    ),
    *for_each(
        "groups.consumer_members",
        ("group",),
        (GAUGE, "shareq_consumer_group_members", "Members of the classic or consumer group.", lambda row: int(row[1])),
    ),
)

_OFFSETS: Final = (
    single(
        GAUGE,
        f"{_GROUP_MANAGER}_num_offsets",
        "Committed offsets.",
        lambda snapshot: len(snapshot.groups.offsets),
    ),
    *(
        single(COUNTER, f"{_GROUPS}_offset_{what}_total", text, attrgetter(f"groups.offset_{what}s"))
        for what, text in (
            ("commit", "Offsets that were committed, one for each partition."),
            ("expiration", "Committed offsets whose retention was over."),
            ("deletion", "Committed offsets that administrators deleted."),
        )
    ),
    *for_each(
        "groups.offsets",
        ("group", "topic", "partition"),
        (
            GAUGE,
            "shareq_consumer_group_committed_offset",
            "The offset the group goes on from.",
            attrgetter("offset"),
        ),
        (
            GAUGE,
            "shareq_consumer_group_lag",
            "Records from the committed offset to the end of the partition.",
            attrgetter("lag"),
        ),
    ),
)

_SHARE_COORDINATOR: Final = (
    single(
        COUNTER,
        f"{_STATES}_write_total",
        "Calls that write the state of a share partition.",
        lambda snapshot: sum(snapshot.state_writes.buckets),
    ),
    single(
        HISTOGRAM,
        f"{_STATES}_write_latency_seconds",
        "From such a call to the durable state, or to the refusal.",
        lambda snapshot: distribution(snapshot.state_writes),
    ),
    single(
        GAUGE,
        f"{_STATES}_write_latency_max_seconds",
        "The longest such call that ended in the last 30 to 60 seconds.",
        lambda snapshot: snapshot.longest_state_write_ns / NS_PER_S,
    ),
    *_runtime("share", _STATES, f"{_STATES}_num_partitions", attrgetter("share_coordinator")),
)

_TRANSACTION_COORDINATOR: Final = (
    Family(
        GAUGE,
        "shareq_transactional_ids",
        ("state",),
        "Transactional ids by the state of their transaction.",
        lambda snapshot: [((state.name.lower(),), snapshot.transactions.states[state]) for state in TransactionState],
    ),
    single(
        GAUGE,
        "shareq_oldest_open_transaction_age_seconds",
        "How long the oldest transaction lasts that has not ended; 0 without one.",
        lambda snapshot: snapshot.transactions.oldest_age_ms / 1_000,
    ),
    Family(
        COUNTER,
        "shareq_transactions_ended_total",
        ("result",),
        "Transactions that have ended, and whose markers are written.",
        lambda snapshot: [
            (("commit",), snapshot.transactions.commits),
            (("abort",), snapshot.transactions.aborts),
        ],
    ),
    single(
        COUNTER,
        "shareq_transactions_timed_out_total",
        "Transactions that were aborted because they lasted too long.",
        attrgetter("transactions.timed_out"),
    ),
    single(
        GAUGE,
        "shareq_transaction_markers_to_retry",
        "Transaction markers that could not be written and are tried again.",
        attrgetter("transactions.markers_to_retry"),
    ),
    single(
        GAUGE,
        f"{_MARKERS}_log_append_retry_queue_size",
        "Transactions whose end could not be noted and is tried again; their markers are written.",
        attrgetter("transactions.ends_to_retry"),
    ),
    *_runtime(
        "transaction",
        _TRANSACTIONS,
        "shareq_transaction_coordinator_partitions",
        attrgetter("transaction_coordinator"),
    ),
)

COORDINATORS: Final = (
    *_GROUP_COORDINATOR,
    *_CONSUMER_GROUPS,
    *_OFFSETS,
    *_SHARE_COORDINATOR,
    *_TRANSACTION_COORDINATOR,
)
