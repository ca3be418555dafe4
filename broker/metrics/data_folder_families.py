"""The metrics of a data folder: its disk, its logs, transactions, redrives. Names as in `families`."""

from __future__ import annotations

from operator import attrgetter
from typing import Final, NamedTuple

from shareq.broker.log.cleaner.schedule import LogCleaner
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.metrics.coordinator_families import Runtime
from shareq.broker.metrics.family import COUNTER, GAUGE, Table, itself

_TOPIC: Final = "kafka_server_broker_topic_metrics"
_REPLICAS: Final = "kafka_server_replica_manager"
_TRANSACTIONS: Final = "kafka_server_transaction_coordinator_metrics"
_MARKERS: Final = "kafka_coordinator_transaction_transaction_marker_channel_manager"

REDRIVE_ENDS: Final = ("done", "cancelled", "failed")
"""The ends of a redrive."""
LETTER_ENDS: Final = (
    "redriven",
    "filtered",
    "already_sent",
    "not_a_letter",
    "unreadable",
    "without_content",
    "no_topic",
    "not_authorized",
    "refused",
)
"""The outcomes of a letter in a redrive."""


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


DISK: Final = Table(
    (),
    (
        GAUGE,
        "shareq_disk_total_bytes",
        "Size of the data folder's file system.",
        lambda it: None if (space := it.space()) is None else space[0],
    ),
    (
        GAUGE,
        "shareq_disk_usable_bytes",
        "What the broker may still write to the data folder's file system, the reserve apart.",
        lambda it: None if (space := it.space()) is None else space[1],
    ),
    (
        GAUGE,
        "shareq_disk_state",
        "0: room, 1: little room, 2: records of clients and new topics are refused, 3: only acknowledgements, "
        "commits and deletions are taken.",
        attrgetter("state"),
    ),
    (GAUGE, "shareq_disk_reserve_bytes", "Blocks kept back for a full disk.", attrgetter("reserve.size")),
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
    (
        GAUGE,
        "shareq_log_cleaned_offset",
        "The log is compacted below it; absent before the first pass.",
        attrgetter("cleaned_offset"),
    ),
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
        "Producer ids that the logs remember, each log for itself, until producer.id.expiration.ms.",
        attrgetter("producer_ids"),
    ),
    (
        GAUGE,
        f"{_REPLICAS}_partitions_with_late_transactions_count",
        "Logs whose first open transaction should have been aborted: its last record is older than "
        "transaction.max.timeout.ms and five minutes.",
        attrgetter("late"),
    ),
    (
        GAUGE,
        "kafka_log_log_cleaner_manager_uncleanable_partitions_count",
        "Compacted logs that the cleaner leaves alone after an error, for five minutes or until the next start.",
        lambda it: len(it.cleaner.uncleanable),
    ),
    (COUNTER, "shareq_log_cleaner_passes_total", "Passes of the log cleaner over a log.", attrgetter("cleaner.passes")),
)
TRANSACTION_COORDINATOR: Final = Runtime("transaction", _TRANSACTIONS, "shareq_transaction_coordinator_partitions")
TRANSACTIONAL_IDS: Final = Table(
    ("state",),
    (GAUGE, "shareq_transactional_ids", "Transactional ids by the state of their transaction.", itself),
)
OLDEST_TRANSACTION: Final = Table(
    (),
    (
        GAUGE,
        "shareq_oldest_open_transaction_age_seconds",
        "How long the oldest transaction lasts that has not ended; 0 without one.",
        lambda age_ms: age_ms / 1_000,
    ),
)
TRANSACTIONS_ENDED: Final = Table(
    ("result",),
    (
        COUNTER,
        "shareq_transactions_ended_total",
        "Transactions that have ended, and whose markers are written; those without any partition are not counted.",
        itself,
    ),
)
TRANSACTIONS: Final = Table(
    (),
    (
        COUNTER,
        "shareq_transactions_timed_out_total",
        "Transactions that were aborted because they lasted too long.",
        attrgetter("coordinator.timed_out"),
    ),
    (
        GAUGE,
        "shareq_transaction_markers_to_retry",
        "Transaction markers that could not be written and are tried again.",
        attrgetter("markers.markers_to_retry"),
    ),
    (
        GAUGE,
        f"{_MARKERS}_log_append_retry_queue_size",
        "Transactions whose end could not be noted and is tried again; their markers are written.",
        attrgetter("markers.ends_to_retry"),
    ),
)

REDRIVES: Final = Table(
    (),
    (GAUGE, "shareq_redrives_running", "Redrives at work.", attrgetter("running")),
    (GAUGE, "shareq_redrives_waiting", "Those of them that cannot go on now, and try again.", attrgetter("waiting")),
)
REDRIVES_ENDED: Final = Table(
    ("state",),
    (COUNTER, "shareq_redrives_ended_total", "Redrives that ended, by how.", itself),
)
REDRIVE_LETTERS: Final = Table(
    ("outcome",),
    (
        COUNTER,
        "shareq_redrive_letters_total",
        "Dead letters that redrives are done with, by what became of them.",
        itself,
    ),
)

DATA_FOLDER: Final = (
    *(DISK, TOPICS, LOGS, ALL_LOGS),
    *(TRANSACTIONAL_IDS, OLDEST_TRANSACTION, TRANSACTIONS_ENDED, TRANSACTIONS),
    *(TRANSACTION_COORDINATOR.served, TRANSACTION_COORDINATOR.work),
    *(REDRIVES, REDRIVES_ENDED, REDRIVE_LETTERS),
)
