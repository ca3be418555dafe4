"""Every metric that is exposed: its name, and where its samples are in a snapshot.

Names are made of Apache Kafka's by one rule: domain, type and name of the MBean in snake case, `PerSec` and totals as
counters that end in `_total`, times in seconds, sizes in bytes. What Apache Kafka does not have begins with `shareq_`.
`docs/metrics.md` has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from itertools import accumulate
from operator import attrgetter
from typing import Any, Final, NamedTuple

from shareq.broker.metrics.counters import BOUNDS_NS
from shareq.broker.metrics.rows import CoordinatorState, Snapshot, Timings
from shareq.broker.share.record_state import AcknowledgeType
from shareq.coordinator.group.groups import GroupKind

NS_PER_S: Final = 1_000_000_000
BOUNDS: Final = (*(f"{bound / NS_PER_S:g}" for bound in BOUNDS_NS), "+Inf")

ACK_TYPES: Final = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW)
GROUP_STATES: Final = ("Empty", "Stable", "Dead")


class Kind(Enum):
    """A metric's type, as Prometheus calls it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


COUNTER, GAUGE, HISTOGRAM, SUMMARY = Kind


class Distribution(NamedTuple):
    """The value of a histogram's or summary's sample. `buckets`: up to each of `BOUNDS` (cumulative)."""

    total: float
    number: int
    buckets: tuple[int, ...] = ()


Value = float | Distribution
Samples = Iterable[tuple[tuple[str, ...], Value]]  # the values of the labels, and the sample's


class Family(NamedTuple):
    """One metric. `name` is complete, `labels` are in the order of the samples' values."""

    kind: Kind
    name: str
    labels: tuple[str, ...]
    text: str
    samples: Callable[[Snapshot], Samples]


def _single(kind: Kind, name: str, text: str, value: Callable[[Snapshot], Value]) -> Family:
    """A metric without labels."""
    return Family(kind, name, (), text, lambda snapshot: [((), value(snapshot))])


def _of(
    rows: str, labels: tuple[str, ...], *metrics: tuple[Kind, str, str, Callable[[Any], Value | None]]
) -> tuple[Family, ...]:
    """Metrics with a sample for each row of that list of the snapshot, unless the value is None.

    The row's first fields are the labels' values. Any: a row of that list.
    """
    rows_of, width = attrgetter(rows), len(labels)

    def family(kind: Kind, name: str, text: str, value_of: Callable[[Any], Value | None]) -> Family:
        def samples(snapshot: Snapshot) -> Samples:
            for row in rows_of(snapshot):
                value = value_of(row)
                if value is not None:
                    yield row[:width], value

        return Family(kind, name, labels, text, samples)

    return tuple(family(*metric) for metric in metrics)


def _distribution(timings: Timings) -> Distribution:
    buckets = tuple(accumulate(timings.buckets))
    return Distribution(timings.total_ns / NS_PER_S, buckets[-1], buckets)


_LISTENER: Final = "kafka_server_socket_server_metrics"
_REQUEST: Final = "kafka_network_request_metrics"
_TOPIC: Final = "kafka_server_broker_topic_metrics"
_GROUPS: Final = "kafka_server_group_coordinator_metrics"
_STATES: Final = "kafka_server_share_coordinator_metrics"
_SHARE_GROUP: Final = "kafka_server_share_group_metrics"
_SHARE_PARTITION: Final = "kafka_server_share_partition_metrics"
_SESSIONS: Final = "kafka_server_share_session_cache"

_BROKER: Final = (
    Family(
        GAUGE,
        "shareq_build_info",
        ("version",),
        "Always 1; the label tells the version.",
        lambda snapshot: [((snapshot.version,), 1)],
    ),
    _single(
        GAUGE,
        "shareq_uptime_seconds",
        "Since the broker began to listen.",
        lambda snapshot: snapshot.uptime_ns / NS_PER_S,
    ),
    _single(
        GAUGE,
        "shareq_held_reply_bytes",
        "Bytes of answers in memory that clients do not take.",
        attrgetter("held_bytes"),
    ),
    *_of(
        "listeners",
        ("listener",),
        (GAUGE, f"{_LISTENER}_connection_count", "Open client connections.", attrgetter("connections")),
        (COUNTER, f"{_LISTENER}_connection_creation_total", "Client connections accepted.", attrgetter("accepted")),
        (
            COUNTER,
            "shareq_connections_refused_total",
            "Client connections closed at once because of a limit.",
            attrgetter("refused"),
        ),
        (COUNTER, f"{_LISTENER}_incoming_byte_total", "Bytes read from clients.", attrgetter("bytes_in")),
        (COUNTER, f"{_LISTENER}_outgoing_byte_total", "Bytes written to clients.", attrgetter("bytes_out")),
    ),
    *_of(
        "requests",
        ("request",),
        (
            COUNTER,
            f"{_REQUEST}_requests_total",
            "Requests that were answered, or that wanted no answer.",
            lambda row: sum(row.timings.buckets) + row.unanswered,
        ),
        (
            HISTOGRAM,
            f"{_REQUEST}_total_time_seconds",
            "From taking up a request to handing over its answer, the time a fetch waits for records included.",
            lambda row: _distribution(row.timings),
        ),
    ),
    Family(
        COUNTER,
        f"{_REQUEST}_errors_total",
        ("request", "error"),
        "Errors in answers; each error of an answer counts.",
        lambda snapshot: (
            ((row.name, error), number) for row in snapshot.requests for error, number in row.errors.items()
        ),
    ),
)

_LOGS: Final = (
    *_of(
        "topics",
        ("topic",),
        (COUNTER, f"{_TOPIC}_messages_in_total", "Records appended.", attrgetter("records_in")),
        (COUNTER, f"{_TOPIC}_bytes_in_total", "Bytes of record batches appended.", attrgetter("bytes_in")),
        (COUNTER, f"{_TOPIC}_bytes_out_total", "Bytes of record batches sent to consumers.", attrgetter("bytes_out")),
    ),
    *_of(
        "logs",
        ("topic", "partition"),
        (GAUGE, "kafka_log_log_size_bytes", "Size of the log.", attrgetter("size_bytes")),
        (GAUGE, "kafka_log_log_num_log_segments", "Segments of the log.", attrgetter("segments")),
        (GAUGE, "kafka_log_log_log_start_offset", "The first offset of the log.", attrgetter("start_offset")),
        (GAUGE, "kafka_log_log_log_end_offset", "The offset the next record gets.", attrgetter("end_offset")),
        (GAUGE, "shareq_log_cleaned_offset", "Below it the log is compacted.", attrgetter("cleaned_offset")),
    ),
    _single(
        GAUGE,
        "kafka_server_replica_manager_offline_replica_count",
        "Logs that refuse everything until the next start, because an I/O error left their files in doubt.",
        attrgetter("offline_logs"),
    ),
    _single(
        GAUGE,
        "kafka_log_log_cleaner_manager_uncleanable_partitions_count",
        "Compacted logs that the cleaner leaves alone because of an error.",
        attrgetter("uncleanable_logs"),
    ),
    _single(
        COUNTER,
        "shareq_log_cleaner_passes_total",
        "Passes of the log cleaner over a log.",
        attrgetter("cleaner_passes"),
    ),
)


def _runtime(coordinator: str, prefix: str, state: Callable[[Snapshot], CoordinatorState]) -> tuple[Family, ...]:
    """What both coordinators have."""
    return (
        Family(
            GAUGE,
            f"{prefix}_num_partitions",
            ("state",),
            f"Partitions of the {coordinator} coordinator's topic that are served (active) or refused (failed).",
            lambda snapshot: [(("active",), state(snapshot).active), (("failed",), state(snapshot).failed)],
        ),
        _single(
            HISTOGRAM,
            f"{prefix}_partition_load_time_seconds",
            f"What it took to read a partition of the {coordinator} coordinator's topic.",
            lambda snapshot: _distribution(state(snapshot).loads),
        ),
        _single(
            GAUGE,
            f"{prefix}_partition_load_time_max_seconds",
            "The longest load that ended in the last 30 to 60 seconds.",
            lambda snapshot: state(snapshot).longest_load_ns / NS_PER_S,
        ),
        _single(
            GAUGE,
            f"shareq_{coordinator}_coordinator_waiting_operations",
            f"Operations of the {coordinator} coordinator that were decided and are not durable yet.",
            lambda snapshot: state(snapshot).waiting,
        ),
    )


_COORDINATORS: Final = (
    Family(
        GAUGE,
        f"{_GROUPS}_group_count",
        ("protocol",),
        "Groups by protocol.",
        lambda snapshot: [((kind.value,), snapshot.group_kinds[kind]) for kind in GroupKind],
    ),
    Family(
        GAUGE,
        f"{_GROUPS}_share_group_count",
        ("state",),
        "Share groups by state.",
        lambda snapshot: [((state.lower(),), snapshot.group_states[state]) for state in GROUP_STATES],
    ),
    _single(
        COUNTER,
        f"{_GROUPS}_share_group_rebalance_total",
        "Group epochs raised by heartbeats: members that joined, other subscriptions, changed topics.",
        attrgetter("rebalances"),
    ),
    *_of(
        "group_members",
        ("group",),
        (GAUGE, "shareq_share_group_members", "Members of the share group.", lambda row: int(row[1])),
    ),
    *_runtime("group", _GROUPS, attrgetter("group_coordinator")),
    _single(
        COUNTER,
        f"{_STATES}_write_total",
        "Calls that write the state of a share partition.",
        lambda snapshot: sum(snapshot.state_writes.buckets),
    ),
    _single(
        HISTOGRAM,
        f"{_STATES}_write_latency_seconds",
        "From such a call to the durable state, or to the refusal.",
        lambda snapshot: _distribution(snapshot.state_writes),
    ),
    _single(
        GAUGE,
        f"{_STATES}_write_latency_max_seconds",
        "The longest such call that ended in the last 30 to 60 seconds.",
        lambda snapshot: snapshot.longest_state_write_ns / NS_PER_S,
    ),
    *_runtime("share", _STATES, attrgetter("share_coordinator")),
)

_SHARES: Final = (
    Family(
        COUNTER,
        f"{_SHARE_GROUP}_record_acknowledgements_total",
        ("ack_type",),
        "Records acknowledged, once that is durable.",
        lambda snapshot: [((kind.name.lower(),), snapshot.share_totals.acknowledged[kind]) for kind in ACK_TYPES],
    ),
    _single(
        HISTOGRAM,
        f"{_SHARE_GROUP}_partition_load_time_seconds",
        "What it took until a share partition could be used, or was found not to be loadable.",
        lambda snapshot: _distribution(snapshot.share_loads),
    ),
    *_of(
        "group_fetches",
        ("group",),
        (
            SUMMARY,
            f"{_SHARE_GROUP}_request_topic_partitions_fetch_ratio",
            "Of each share fetch, which part (0 to 1) of the partitions it asked for was open to it when it ended.",
            lambda row: Distribution(row.ratio_sum, row.answered),
        ),
        (
            SUMMARY,
            f"{_SHARE_GROUP}_topic_partitions_acquire_time_seconds",
            "How long share fetches waited until one of their partitions was open to them, or their time was up.",
            lambda row: Distribution(row.waited_ns / NS_PER_S, row.answered),
        ),
    ),
    *_of(
        "share_partitions",
        ("group", "topic", "partition"),
        (
            GAUGE,
            f"{_SHARE_PARTITION}_in_flight_message_count",
            "Offsets from the first to the last in flight: what the limit of record locks is about.",
            attrgetter("in_flight_records"),
        ),
        (
            GAUGE,
            f"{_SHARE_PARTITION}_in_flight_batch_count",
            "Ranges of records in flight.",
            attrgetter("in_flight_batches"),
        ),
        (
            SUMMARY,
            f"{_SHARE_PARTITION}_in_flight_batch_message_count",
            "Records delivered for the first time, by range that was put in flight.",
            lambda row: Distribution(row.deliveries - row.redeliveries, row.new_batches),
        ),
        (
            COUNTER,
            f"{_SHARE_PARTITION}_acquisition_lock_timeout_total",
            "Records whose acquisition lock ran out.",
            attrgetter("lock_timeouts"),
        ),
        (
            COUNTER,
            "shareq_share_partition_deliveries_total",
            "Records handed to consumers, again or for the first time.",
            attrgetter("deliveries"),
        ),
        (
            COUNTER,
            "shareq_share_partition_redeliveries_total",
            "Records handed to consumers again.",
            attrgetter("redeliveries"),
        ),
        (
            COUNTER,
            "shareq_share_partition_dead_letters_total",
            "Records given up because their last delivery failed.",
            attrgetter("dead_letters"),
        ),
        (
            GAUGE,
            "shareq_share_partition_start_offset",
            "The first offset whose delivery is not finished.",
            attrgetter("start_offset"),
        ),
        (GAUGE, "shareq_share_partition_lag", "Records whose delivery is not finished.", attrgetter("lag")),
    ),
    _single(
        COUNTER,
        "shareq_share_session_released_records_total",
        "Records given back because the share session of their holder ended.",
        lambda snapshot: snapshot.share_totals.session_releases,
    ),
)

_SHARE_REQUESTS: Final = (
    _single(GAUGE, f"{_SESSIONS}_share_sessions_count", "Open share sessions.", attrgetter("share_sessions")),
    _single(
        GAUGE,
        f"{_SESSIONS}_share_partitions_count",
        "Share partitions of all share sessions.",
        attrgetter("share_session_partitions"),
    ),
    _single(
        COUNTER,
        f"{_SESSIONS}_share_session_evictions_total",
        "Share sessions that ended with their connection.",
        attrgetter("evicted_share_sessions"),
    ),
    *_of(
        "topic_shares",
        ("topic",),
        (
            COUNTER,
            f"{_TOPIC}_total_share_fetch_requests_total",
            "Share fetches from the topic.",
            attrgetter("fetches"),
        ),
        (
            COUNTER,
            f"{_TOPIC}_failed_share_fetch_requests_total",
            "Those of them that were answered with an error for one of its partitions.",
            attrgetter("failed_fetches"),
        ),
        (
            COUNTER,
            f"{_TOPIC}_total_share_acknowledgement_requests_total",
            "Requests with acknowledgements for the topic, share fetches among them.",
            attrgetter("acknowledgements"),
        ),
        (
            COUNTER,
            f"{_TOPIC}_failed_share_acknowledgement_requests_total",
            "Those of them that failed for one of its partitions.",
            attrgetter("failed_acknowledgements"),
        ),
    ),
    _single(
        COUNTER,
        "kafka_server_delayed_share_fetch_metrics_expires_total",
        "Share fetches that waited for records until their time was up.",
        attrgetter("expired_share_fetches"),
    ),
    Family(
        GAUGE,
        "kafka_server_delayed_operation_purgatory_num_delayed_operations",
        ("delayed_operation",),
        "Requests that wait for records.",
        lambda snapshot: [(("ShareFetch",), snapshot.parked_share_fetches)],
    ),
)

FAMILIES: Final = (*_BROKER, *_LOGS, *_COORDINATORS, *_SHARES, *_SHARE_REQUESTS)
