"""Every metric that is exposed, declared once; here those of the process, its listeners, requests and logs.

Names are made of Apache Kafka's by one rule: domain, type and name of the MBean in snake case, `PerSec` and totals as
counters that end in `_total`, times in seconds, sizes in bytes. What Apache Kafka does not have begins with `shareq_`.
`docs/metrics.md` has the table. A new metric of something that is counted is a line here; `snapshot` takes the rows.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.metrics.coordinator_families import COORDINATORS
from shareq.broker.metrics.family import (
    COUNTER,
    GAUGE,
    HISTOGRAM,
    NS_PER_S,
    Table,
    distribution,
    itself,
)
from shareq.broker.metrics.share_families import SHARES

if TYPE_CHECKING:
    from shareq.broker.log.cleaner.schedule import LogCleaner
    from shareq.broker.log.partition_log import PartitionLog
    from shareq.broker.services import Services

_LISTENER: Final = "kafka_server_socket_server_metrics"
_REQUEST: Final = "kafka_network_request_metrics"
_TOPIC: Final = "kafka_server_broker_topic_metrics"
_REPLICAS: Final = "kafka_server_replica_manager"


class Moment(NamedTuple):
    """The broker when the snapshot was begun."""

    services: Services
    now_ns: int
    uptime_ns: int


class SeenLog(NamedTuple):
    """A partition's log. `cleaned_offset` is None when it was never cleaned."""

    log: PartitionLog
    cleaned_offset: int | None


class LogTotals(NamedTuple):
    """All logs together."""

    cleaner: LogCleaner
    offline: int
    producer_ids: int
    late: int


class QuotaUsage(NamedTuple):
    """One quota of an entity."""

    bound: float
    used: float
    throttled_ms: int


BUILD: Final = Table(
    ("version",),
    (GAUGE, "shareq_build_info", "Always 1; the version is in the label.", itself),
)
PROCESS: Final = Table(
    (),
    (GAUGE, "shareq_uptime_seconds", "Since the broker began to listen.", lambda it: it.uptime_ns / NS_PER_S),
    (
        HISTOGRAM,
        "shareq_event_loop_stall_seconds",
        "How long the event loop was held, looked at a hundred times a second.",
        lambda it: distribution(it.services.stalls.durations),
    ),
    (
        GAUGE,
        "shareq_event_loop_longest_stall_seconds",
        "The longest of the last 30 to 60 seconds.",
        lambda it: it.services.stalls.longest.of(it.now_ns) / NS_PER_S,
    ),
    (
        GAUGE,
        "shareq_long_requests",
        "Long requests that are under way or wait for their turn.",
        lambda it: len(it.services.turns),
    ),
    (
        GAUGE,
        "shareq_held_reply_bytes",
        "Bytes of answers in memory that clients do not take.",
        attrgetter("services.answer_budget.held"),
    ),
    (
        GAUGE,
        "kafka_network_socket_server_memory_pool_used_bytes",
        "Bytes of requests in memory that were received and are not handled, or large and not answered.",
        attrgetter("services.request_budget.held"),
    ),
    (
        GAUGE,
        "shareq_connections_waiting_for_room",
        "Connections that are not read until there is room for their requests.",
        attrgetter("services.request_budget.waiting"),
    ),
    (
        GAUGE,
        "shareq_disk_total_bytes",
        "Size of the data folder's file system.",
        lambda it: None if (space := it.services.disk.space()) is None else space[0],
    ),
    (
        GAUGE,
        "shareq_disk_usable_bytes",
        "What the broker may still write to the data folder's file system, the reserve apart.",
        lambda it: None if (space := it.services.disk.space()) is None else space[1],
    ),
    (
        GAUGE,
        "shareq_disk_state",
        "0: room, 1: little room, 2: records of clients are refused, 3: all but acknowledgements and deletions is.",
        attrgetter("services.disk.state"),
    ),
    (GAUGE, "shareq_disk_reserve_bytes", "Blocks kept back for a full disk.", attrgetter("services.disk.reserve.size")),
    (
        GAUGE,
        "shareq_muted_connections",
        "Connections of which nothing is read for a while, because their client is over a quota.",
        attrgetter("services.quotas.muted"),
    ),
)
LISTENERS: Final = Table(
    ("listener",),
    (GAUGE, f"{_LISTENER}_connection_count", "Open client connections.", len),
    (COUNTER, f"{_LISTENER}_connection_creation_total", "Client connections accepted.", attrgetter("accepted")),
    (
        COUNTER,
        "shareq_connections_refused_total",
        "Client connections closed at once because of a limit.",
        attrgetter("refused"),
    ),
    (COUNTER, f"{_LISTENER}_incoming_byte_total", "Bytes read from clients.", attrgetter("bytes_in")),
    (COUNTER, f"{_LISTENER}_outgoing_byte_total", "Bytes written to clients.", attrgetter("bytes_out")),
    (
        COUNTER,
        f"{_LISTENER}_successful_authentication_total",
        "Clients that logged in with SASL, or shook hands on a listener of SSL.",
        attrgetter("authentications.succeeded"),
    ),
    (
        COUNTER,
        f"{_LISTENER}_failed_authentication_total",
        "Logins with SASL and handshakes of TLS that failed.",
        attrgetter("authentications.failed"),
    ),
    (
        GAUGE,
        "shareq_certificate_end_timestamp_seconds",
        "When the listener's certificate ends, since the epoch.",
        lambda it: None if it.certificate_ends_s is None else it.certificate_ends_s(),
    ),
)
QUOTAS: Final = Table(
    ("quota",),
    (
        COUNTER,
        "shareq_throttled_requests_total",
        "Requests whose client had to wait because of a quota.",
        attrgetter("number"),
    ),
    (
        COUNTER,
        "shareq_throttle_time_seconds_total",
        "How long clients had to wait because of a quota.",
        lambda it: it.total_ms / 1000,
    ),
)
QUOTA_USAGES: Final = Table(
    ("quota", "user", "client_id"),
    (GAUGE, "shareq_quota_limit", "A quota as it was set for an entity.", attrgetter("bound")),
    (
        COUNTER,
        "shareq_quota_used_total",
        "What all clients of the entity used: bytes, partitions, or hundredths of seconds of the one thread.",
        attrgetter("used"),
    ),
    (
        COUNTER,
        "shareq_quota_throttle_time_seconds_total",
        "How long clients of the entity had to wait because of the quota.",
        lambda it: it.throttled_ms / 1000,
    ),
)
REQUESTS: Final = Table(
    ("request",),
    (
        COUNTER,
        f"{_REQUEST}_requests_total",
        "Requests that were answered, or that wanted no answer.",
        lambda it: sum(it.durations.buckets) + it.unanswered,
    ),
    (
        HISTOGRAM,
        f"{_REQUEST}_total_time_seconds",
        "From taking up a request to handing over its answer, the time a fetch waits for records included.",
        lambda it: distribution(it.durations),
    ),
)
REQUEST_ERRORS: Final = Table(
    ("request", "error"),
    (COUNTER, f"{_REQUEST}_errors_total", "Errors in answers; each error of an answer counts.", itself),
)
TOPICS: Final = Table(
    ("topic",),
    (COUNTER, f"{_TOPIC}_messages_in_total", "Records appended.", attrgetter("records_in")),
    (COUNTER, f"{_TOPIC}_bytes_in_total", "Bytes of record batches appended.", attrgetter("bytes_in")),
    (COUNTER, f"{_TOPIC}_bytes_out_total", "Bytes of record batches sent to consumers.", attrgetter("bytes_out")),
)
LOGS: Final = Table(
    ("topic", "partition"),
    (GAUGE, "kafka_log_log_size_bytes", "Size of the log.", attrgetter("log.size_bytes")),
    (GAUGE, "kafka_log_log_num_log_segments", "Segments of the log.", lambda it: len(it.log.segments)),
    (GAUGE, "kafka_log_log_log_start_offset", "The first offset of the log.", attrgetter("log.log_start_offset")),
    (GAUGE, "kafka_log_log_log_end_offset", "The offset the next record gets.", attrgetter("log.log_end_offset")),
    (
        GAUGE,
        "kafka_cluster_partition_last_stable_offset_lag",
        "Records from the first that belongs to an open transaction on.",
        lambda it: it.log.high_watermark - it.log.last_stable_offset,
    ),
    (GAUGE, "shareq_log_cleaned_offset", "Below it the log is compacted.", attrgetter("cleaned_offset")),
)
ALL_LOGS: Final = Table(
    (),
    (
        GAUGE,
        f"{_REPLICAS}_offline_replica_count",
        "Logs that refuse everything until the next start, because an I/O error left their files in doubt.",
        attrgetter("offline"),
    ),
    (
        GAUGE,
        f"{_REPLICAS}_producer_id_count",
        "Producer ids that the logs remember, each log for itself.",
        attrgetter("producer_ids"),
    ),
    (
        GAUGE,
        f"{_REPLICAS}_partitions_with_late_transactions_count",
        "Logs with a transaction that should have been aborted long ago.",
        attrgetter("late"),
    ),
    (
        GAUGE,
        "kafka_log_log_cleaner_manager_uncleanable_partitions_count",
        "Compacted logs that the cleaner leaves alone because of an error.",
        lambda it: len(it.cleaner.uncleanable),
    ),
    (COUNTER, "shareq_log_cleaner_passes_total", "Passes of the log cleaner over a log.", attrgetter("cleaner.passes")),
)
LEFT_OUT: Final = Table(
    ("metric",),
    (
        GAUGE,
        "shareq_metrics_left_out_samples",
        "Samples of a metric that this scrape leaves out: each metric has 5000, "
        "of the first groups, topics or partitions; with shareq.metrics.names=false one sample stands for all.",
        itself,
    ),
)

FAMILIES: Final = tuple(
    family
    for table in (
        *(BUILD, PROCESS, LISTENERS, QUOTAS, QUOTA_USAGES, REQUESTS, REQUEST_ERRORS),
        *(TOPICS, LOGS, ALL_LOGS),
        *COORDINATORS,
        *SHARES,
        LEFT_OUT,  # the last: it counts what the others left out
    )
    for family in table
)
