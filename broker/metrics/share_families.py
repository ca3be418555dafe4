"""The metrics of share groups: share partitions, dead letters, sessions. Names as in `families`."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.metrics.family import (
    COUNTER,
    GAUGE,
    HISTOGRAM,
    NS_PER_S,
    SUMMARY,
    Distribution,
    Table,
    distribution,
    itself,
)
from shareq.protocol.share import AcknowledgeType

if TYPE_CHECKING:
    from shareq.broker.share.core.counters import SharePartitionCounters
    from shareq.broker.share.dlq.counters import GroupDeadLetters

_SHARE_GROUP: Final = "kafka_server_share_group_metrics"
_SHARE_PARTITION: Final = "kafka_server_share_partition_metrics"
_SESSIONS: Final = "kafka_server_share_session_cache"
_TOPIC: Final = "kafka_server_broker_topic_metrics"

ACK_TYPES: Final = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW)
"""The types of acknowledgements that are counted: a gap is no record."""


class SeenPartition(NamedTuple):
    """One share partition. `start_offset`, `lag`, `oldest_ms` (an age) and `limit` are None while unknown."""

    counters: SharePartitionCounters
    in_flight_records: int = 0
    in_flight_batches: int = 0
    start_offset: int | None = None
    lag: int | None = None
    oldest_ms: int | None = None
    limit: int | None = None


class SeenLetters(NamedTuple):
    """The dead letters of one group; `waiting` are dead records that have none yet."""

    counters: GroupDeadLetters
    waiting: int


ACKNOWLEDGED: Final = Table(
    ("ack_type",),
    (COUNTER, f"{_SHARE_GROUP}_record_acknowledgements_total", "Records acknowledged, once that is durable.", itself),
)
ACKNOWLEDGEMENTS: Final = Table(
    ("group", "topic", "ack_type"),
    (COUNTER, "shareq_share_group_acknowledgements_total", "Records acknowledged, once that is durable.", itself),
)
SHARE_GROUPS: Final = Table(
    (),
    (
        HISTOGRAM,
        f"{_SHARE_GROUP}_partition_load_time_seconds",
        "What it took until a share partition could be used, or was found not to be loadable.",
        lambda leaders: distribution(leaders.counters.loads),
    ),
    (
        COUNTER,
        "kafka_server_delayed_share_fetch_metrics_expires_total",
        "Share fetches that waited for records until their time was up.",
        attrgetter("counters.expired_fetches"),
    ),
)
WAITING_FETCHES: Final = Table(
    ("delayed_operation",),
    (
        GAUGE,
        "kafka_server_delayed_operation_purgatory_num_delayed_operations",
        "Requests that wait for records.",
        itself,
    ),
)
GROUP_FETCHES: Final = Table(
    ("group",),
    (
        SUMMARY,
        f"{_SHARE_GROUP}_request_topic_partitions_fetch_ratio",
        "Of each share fetch, which part (0 to 1) of the partitions it asked for was open to it when it ended.",
        lambda it: Distribution(it.ratio_sum, it.answered),
    ),
    (
        SUMMARY,
        f"{_SHARE_GROUP}_topic_partitions_acquire_time_seconds",
        "How long share fetches waited until one of their partitions was open to them, or their time was up.",
        lambda it: Distribution(it.waited_ns / NS_PER_S, it.answered),
    ),
)
DEAD_LETTERS: Final = Table(
    ("group",),
    (
        COUNTER,
        f"{_SHARE_GROUP}_dead_letter_queue_records_total",
        "Dead letters written to the group's queue.",
        attrgetter("counters.records"),
    ),
    (
        COUNTER,
        f"{_SHARE_GROUP}_dead_letter_queue_total_produce_requests_total",
        "Batches of dead letters sent to the group's queue.",
        attrgetter("counters.requests"),
    ),
    (
        COUNTER,
        f"{_SHARE_GROUP}_dead_letter_queue_failed_produce_requests_total",
        "Those of them that the queue did not take.",
        attrgetter("counters.failed_requests"),
    ),
    (GAUGE, "shareq_dead_letters_waiting", "Dead records that have no dead letter yet.", attrgetter("waiting")),
    (
        COUNTER,
        "shareq_dead_letters_lost_total",
        "Dead records archived without a dead letter, because it could not be written.",
        attrgetter("counters.without_letter"),
    ),
    (
        COUNTER,
        "shareq_dead_letters_refused_total",
        "Those of them whose dead letters would go round in circles.",
        attrgetter("counters.refused"),
    ),
    (
        COUNTER,
        "shareq_dead_letters_without_content_total",
        "Dead letters without key and value, of a group that copies them.",
        attrgetter("counters.without_content"),
    ),
    (
        COUNTER,
        "shareq_dead_letter_retries_total",
        "Times that dead letters could not be written and were to be tried again.",
        attrgetter("counters.retries"),
    ),
)
SHARE_PARTITIONS: Final = Table(
    ("group", "topic", "partition"),
    (
        GAUGE,
        f"{_SHARE_PARTITION}_in_flight_message_count",
        "Offsets from the first to the last in flight, finished ones between them included: what the limit of "
        "record locks is about.",
        attrgetter("in_flight_records"),
    ),
    (
        GAUGE,
        "shareq_share_partition_in_flight_limit",
        "How many offsets may be in flight; with so many, nothing new is handed out.",
        attrgetter("limit"),
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
        lambda it: Distribution(it.counters.deliveries - it.counters.redeliveries, it.counters.new_batches),
    ),
    (
        COUNTER,
        f"{_SHARE_PARTITION}_acquisition_lock_timeout_total",
        "Records whose acquisition lock ran out.",
        attrgetter("counters.lock_timeouts"),
    ),
    (
        COUNTER,
        "shareq_share_partition_deliveries_total",
        "Records handed to consumers, again or for the first time.",
        attrgetter("counters.deliveries"),
    ),
    (
        COUNTER,
        "shareq_share_partition_redeliveries_total",
        "Records handed to consumers again.",
        attrgetter("counters.redeliveries"),
    ),
    (
        COUNTER,
        "shareq_share_partition_dead_letters_total",
        "Records given up because their last delivery failed; rejected ones are acknowledgements.",
        attrgetter("counters.dead_letters"),
    ),
    (
        COUNTER,
        "shareq_share_partition_delays_total",
        "Records that began to wait before they come again.",
        attrgetter("counters.delays"),
    ),
    (
        GAUGE,
        "shareq_share_partition_start_offset",
        "The first offset whose delivery is not finished; absent before the group has begun.",
        attrgetter("start_offset"),
    ),
    (
        GAUGE,
        "shareq_share_partition_oldest_unacknowledged_age_seconds",
        "Since the oldest record was first handed out that is not finished with; 0 without one. A restart "
        "begins again.",
        lambda it: None if it.oldest_ms is None else it.oldest_ms / 1000,
    ),
    (
        GAUGE,
        "shareq_share_partition_lag",
        "Records whose delivery is not finished; absent before the group has begun.",
        attrgetter("lag"),
    ),
)
FIRST_RECORDS: Final = Table(
    ("group", "topic", "partition", "state"),
    (
        GAUGE,
        "shareq_share_partition_first_record_age_seconds",
        "Since a member has the record at the start offset, or since it was put in flight if none has it.",
        lambda age_ms: age_ms / 1000,
    ),
)
ALL_SHARE_PARTITIONS: Final = Table(
    (),
    (
        COUNTER,
        "shareq_share_session_released_records_total",
        "Records given back because the share session of their holder ended.",
        attrgetter("session_releases"),
    ),
)
SHARE_SESSIONS: Final = Table(
    (),
    (GAUGE, f"{_SESSIONS}_share_sessions_count", "Open share sessions.", len),
    (GAUGE, f"{_SESSIONS}_share_partitions_count", "Share partitions of all share sessions.", attrgetter("partitions")),
    (
        COUNTER,
        f"{_SESSIONS}_share_session_evictions_total",
        "Share sessions that ended with their connection.",
        attrgetter("evicted"),
    ),
)
TOPIC_SHARES: Final = Table(
    ("topic",),
    (COUNTER, f"{_TOPIC}_total_share_fetch_requests_total", "Share fetches from the topic.", attrgetter("fetches")),
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
)

SHARES: Final = (
    *(ACKNOWLEDGED, ACKNOWLEDGEMENTS, SHARE_GROUPS, GROUP_FETCHES, DEAD_LETTERS, SHARE_PARTITIONS),
    *(FIRST_RECORDS, ALL_SHARE_PARTITIONS, SHARE_SESSIONS, TOPIC_SHARES, WAITING_FETCHES),
)
