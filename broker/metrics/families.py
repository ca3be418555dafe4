"""Every metric that is exposed: its name, and where its samples are in a snapshot.

Names are made of Apache Kafka's by one rule: domain, type and name of the MBean in snake case, `PerSec` and totals as
counters that end in `_total`, times in seconds, sizes in bytes. What Apache Kafka does not have begins with `shareq_`.
`docs/metrics.md` has the table.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from shareq.broker.metrics.coordinator_families import COORDINATORS
from shareq.broker.metrics.family import (
    COUNTER,
    GAUGE,
    HISTOGRAM,
    NS_PER_S,
    SUMMARY,
    Distribution,
    Family,
    distribution,
    for_each,
    single,
)
from shareq.broker.metrics.rows import ACK_TYPES, LETTER_ENDS, REDRIVE_ENDS

_LISTENER: Final = "kafka_server_socket_server_metrics"
_REQUEST: Final = "kafka_network_request_metrics"
_TOPIC: Final = "kafka_server_broker_topic_metrics"
_REPLICAS: Final = "kafka_server_replica_manager"
_SHARE_GROUP: Final = "kafka_server_share_group_metrics"
_SHARE_PARTITION: Final = "kafka_server_share_partition_metrics"
_SESSIONS: Final = "kafka_server_share_session_cache"

_BROKER: Final = (
    Family(
        GAUGE,
        "shareq_build_info",
        ("version",),
        "Always 1; the version is in the label.",
        lambda snapshot: [((snapshot.version,), 1)],
    ),
    single(
        GAUGE,
        "shareq_uptime_seconds",
        "Since the broker began to listen.",
        lambda snapshot: snapshot.uptime_ns / NS_PER_S,
    ),
    single(
        HISTOGRAM,
        "shareq_event_loop_stall_seconds",
        "How long the event loop was held, looked at a hundred times a second.",
        lambda snapshot: distribution(snapshot.stalls),
    ),
    single(
        GAUGE,
        "shareq_event_loop_longest_stall_seconds",
        "The longest of the last 30 to 60 seconds.",
        lambda snapshot: snapshot.longest_stall_ns / NS_PER_S,
    ),
    single(
        GAUGE,
        "shareq_long_requests",
        "Long requests that are under way or wait for their turn.",
        attrgetter("waiting_turns"),
    ),
    single(
        GAUGE,
        "shareq_held_reply_bytes",
        "Bytes of answers in memory that clients do not take.",
        attrgetter("held_bytes"),
    ),
    single(
        GAUGE,
        "kafka_network_socket_server_memory_pool_used_bytes",
        "Bytes of requests in memory that were received and are not handled, or large and not answered.",
        attrgetter("held_request_bytes"),
    ),
    single(
        GAUGE,
        "shareq_connections_waiting_for_room",
        "Connections that are not read until there is room for their requests.",
        attrgetter("connections_waiting"),
    ),
    single(
        GAUGE,
        "shareq_disk_total_bytes",
        "Size of the data folder's file system.",
        attrgetter("disk_total_bytes"),
    ),
    single(
        GAUGE,
        "shareq_disk_usable_bytes",
        "What the broker may still write to the data folder's file system, the reserve apart.",
        attrgetter("disk_usable_bytes"),
    ),
    single(
        GAUGE,
        "shareq_disk_state",
        "0: room, 1: little room, 2: records of clients are refused, 3: all but acknowledgements and deletions is.",
        attrgetter("disk_state"),
    ),
    single(
        GAUGE,
        "shareq_disk_reserve_bytes",
        "Blocks kept back for a full disk.",
        attrgetter("disk_reserve_bytes"),
    ),
    *for_each(
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
        (
            COUNTER,
            f"{_LISTENER}_successful_authentication_total",
            "Clients that logged in with SASL, or shook hands on a listener of SSL.",
            attrgetter("authenticated"),
        ),
        (
            COUNTER,
            f"{_LISTENER}_failed_authentication_total",
            "Logins with SASL and handshakes of TLS that failed.",
            attrgetter("unauthenticated"),
        ),
        (
            GAUGE,
            "shareq_certificate_end_timestamp_seconds",
            "When the listener's certificate ends, since the epoch.",
            attrgetter("certificate_ends_s"),
        ),
    ),
    *for_each(
        "quotas",
        ("quota",),
        (
            COUNTER,
            "shareq_throttled_requests_total",
            "Requests whose client had to wait because of a quota.",
            attrgetter("throttled"),
        ),
        (
            COUNTER,
            "shareq_throttle_time_seconds_total",
            "How long clients had to wait because of a quota.",
            lambda row: row.throttled_ms / 1000,
        ),
    ),
    *for_each(
        "quota_usages",
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
            lambda row: row.throttled_ms / 1000,
        ),
    ),
    single(
        GAUGE,
        "shareq_muted_connections",
        "Connections of which nothing is read for a while, because their client is over a quota.",
        attrgetter("muted_connections"),
    ),
    *for_each(
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
            lambda row: distribution(row.timings),
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
    *for_each(
        "topics",
        ("topic",),
        (COUNTER, f"{_TOPIC}_messages_in_total", "Records appended.", attrgetter("records_in")),
        (COUNTER, f"{_TOPIC}_bytes_in_total", "Bytes of record batches appended.", attrgetter("bytes_in")),
        (COUNTER, f"{_TOPIC}_bytes_out_total", "Bytes of record batches sent to consumers.", attrgetter("bytes_out")),
    ),
    *for_each(
        "logs",
        ("topic", "partition"),
        (GAUGE, "kafka_log_log_size_bytes", "Size of the log.", attrgetter("size_bytes")),
        (GAUGE, "kafka_log_log_num_log_segments", "Segments of the log.", attrgetter("segments")),
        (GAUGE, "kafka_log_log_log_start_offset", "The first offset of the log.", attrgetter("start_offset")),
        (GAUGE, "kafka_log_log_log_end_offset", "The offset the next record gets.", attrgetter("end_offset")),
        (
            GAUGE,
            "kafka_cluster_partition_last_stable_offset_lag",
            "Records from the first that belongs to an open transaction on.",
            attrgetter("unstable"),
        ),
        (GAUGE, "shareq_log_cleaned_offset", "Below it the log is compacted.", attrgetter("cleaned_offset")),
    ),
    single(
        GAUGE,
        f"{_REPLICAS}_offline_replica_count",
        "Logs that refuse everything until the next start, because an I/O error left their files in doubt.",
        attrgetter("offline_logs"),
    ),
    single(
        GAUGE,
        f"{_REPLICAS}_producer_id_count",
        "Producer ids that the logs remember, each log for itself.",
        attrgetter("producer_ids"),
    ),
    single(
        GAUGE,
        f"{_REPLICAS}_partitions_with_late_transactions_count",
        "Logs with a transaction that should have been aborted long ago.",
        attrgetter("late_logs"),
    ),
    single(
        GAUGE,
        "kafka_log_log_cleaner_manager_uncleanable_partitions_count",
        "Compacted logs that the cleaner leaves alone because of an error.",
        attrgetter("uncleanable_logs"),
    ),
    single(
        COUNTER,
        "shareq_log_cleaner_passes_total",
        "Passes of the log cleaner over a log.",
        attrgetter("cleaner_passes"),
    ),
)


_SHARES: Final = (
    Family(
        COUNTER,
        f"{_SHARE_GROUP}_record_acknowledgements_total",
        ("ack_type",),
        "Records acknowledged, once that is durable.",
        lambda snapshot: [((kind.name.lower(),), snapshot.share_totals.acknowledged[kind]) for kind in ACK_TYPES],
    ),
    *for_each(
        "acknowledgements",
        ("group", "topic", "ack_type"),
        (
            COUNTER,
            "shareq_share_group_acknowledgements_total",
            "Records acknowledged, once that is durable.",
            attrgetter("records"),
        ),
    ),
    single(
        HISTOGRAM,
        f"{_SHARE_GROUP}_partition_load_time_seconds",
        "What it took until a share partition could be used, or was found not to be loadable.",
        lambda snapshot: distribution(snapshot.share_loads),
    ),
    *for_each(
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
    *for_each(
        "dead_letters",
        ("group",),
        (
            COUNTER,
            f"{_SHARE_GROUP}_dead_letter_queue_records_total",
            "Dead letters written to the group's queue.",
            attrgetter("records"),
        ),
        (
            COUNTER,
            f"{_SHARE_GROUP}_dead_letter_queue_total_produce_requests_total",
            "Batches of dead letters sent to the group's queue.",
            attrgetter("requests"),
        ),
        (
            COUNTER,
            f"{_SHARE_GROUP}_dead_letter_queue_failed_produce_requests_total",
            "Those of them that the queue did not take.",
            attrgetter("failed_requests"),
        ),
        (
            GAUGE,
            "shareq_dead_letters_waiting",
            "Dead records that have no dead letter yet.",
            attrgetter("waiting"),
        ),
        (
            COUNTER,
            "shareq_dead_letters_lost_total",
            "Dead records archived without a dead letter, because it could not be written.",
            attrgetter("without_letter"),
        ),
        (
            COUNTER,
            "shareq_dead_letters_refused_total",
            "Those of them whose dead letters would go round in circles.",
            attrgetter("refused"),
        ),
        (
            COUNTER,
            "shareq_dead_letters_without_content_total",
            "Dead letters without key and value, of a group that copies them.",
            attrgetter("without_content"),
        ),
        (
            COUNTER,
            "shareq_dead_letter_retries_total",
            "Times that dead letters could not be written and were to be tried again.",
            attrgetter("retries"),
        ),
    ),
    *for_each(
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
            COUNTER,
            "shareq_share_partition_delays_total",
            "Records that began to wait before they come again.",
            attrgetter("delays"),
        ),
        (
            GAUGE,
            "shareq_share_partition_start_offset",
            "The first offset whose delivery is not finished.",
            attrgetter("start_offset"),
        ),
        (
            GAUGE,
            "shareq_share_partition_oldest_unacknowledged_age_seconds",
            "Since the oldest record was first handed out that is not finished with; 0 without one.",
            lambda row: None if row.oldest_ms is None else row.oldest_ms / 1000,
        ),
        (GAUGE, "shareq_share_partition_lag", "Records whose delivery is not finished.", attrgetter("lag")),
    ),
    single(
        COUNTER,
        "shareq_share_session_released_records_total",
        "Records given back because the share session of their holder ended.",
        lambda snapshot: snapshot.share_totals.session_releases,
    ),
)

_REDRIVES: Final = (
    single(GAUGE, "shareq_redrives_running", "Redrives at work.", lambda snapshot: snapshot.redrives.running),
    single(
        GAUGE,
        "shareq_redrives_waiting",
        "Those of them that cannot go on now, and try again.",
        lambda snapshot: snapshot.redrives.waiting,
    ),
    Family(
        COUNTER,
        "shareq_redrives_ended_total",
        ("state",),
        "Redrives that ended, by how.",
        lambda snapshot: [((end,), snapshot.redrives.ended.get(end, 0)) for end in REDRIVE_ENDS],
    ),
    Family(
        COUNTER,
        "shareq_redrive_letters_total",
        ("outcome",),
        "Dead letters that redrives are done with, by what became of them.",
        lambda snapshot: [((end,), snapshot.redrives.letters.get(end, 0)) for end in LETTER_ENDS],
    ),
)

_SHARE_REQUESTS: Final = (
    single(GAUGE, f"{_SESSIONS}_share_sessions_count", "Open share sessions.", attrgetter("share_sessions")),
    single(
        GAUGE,
        f"{_SESSIONS}_share_partitions_count",
        "Share partitions of all share sessions.",
        attrgetter("share_session_partitions"),
    ),
    single(
        COUNTER,
        f"{_SESSIONS}_share_session_evictions_total",
        "Share sessions that ended with their connection.",
        attrgetter("evicted_share_sessions"),
    ),
    *for_each(
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
    single(
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

_SCRAPE: Final = for_each(
    "left_out",
    ("metric",),
    (
        GAUGE,
        "shareq_metrics_left_out_samples",
        "Samples of a metric that this scrape leaves out: each metric has 5000, of the first groups, topics or "
        "partitions; with shareq.metrics.names=false one sample stands for all.",
        attrgetter("number"),
    ),
)

FAMILIES: Final = (*_BROKER, *_LOGS, *COORDINATORS, *_SHARES, *_REDRIVES, *_SHARE_REQUESTS, *_SCRAPE)
