"""The metrics of a broker on a data folder: its disk, logs, transactions and redrives at present.

`families` describes their names.
"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.data_folder_ground import data_folder_of
from shareq.broker.log.append import Traffic
from shareq.broker.metrics.coordinators import Runtime, take_partitions
from shareq.broker.metrics.families import families_with
from shareq.broker.metrics.family import COUNTER, GAUGE, Table, itself
from shareq.broker.metrics.rows import Ends, Snapshot
from shareq.coordinator.transaction.metadata import RESTING, TransactionState
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.data_folder_ground import DataFolderGround
    from shareq.broker.foundation.turn_budget import Breathe
    from shareq.broker.log.cleaner.schedule import LogCleaner
    from shareq.broker.log.partition_log import PartitionLog
    from shareq.broker.redrive.service import RedriveService
    from shareq.broker.services import Services
    from shareq.broker.transactions.service import TransactionService

_TOPIC: Final = "kafka_server_broker_topic_metrics"
_REPLICAS: Final = "kafka_server_replica_manager"
_TRANSACTIONS: Final = "kafka_server_transaction_coordinator_metrics"
_MARKERS: Final = "kafka_coordinator_transaction_transaction_marker_channel_manager"

REDRIVE_ENDS: Final = ("done", "cancelled", "failed")
"""The possible ends of a redrive."""
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
"""The possible outcomes of a letter in a redrive."""


class SeenLog(NamedTuple):
    """A partition's log. `cleaned_offset` is None if it was never cleaned."""

    log: PartitionLog
    cleaned_offset: int | None


class LogTotals(NamedTuple):
    """Totals over all logs."""

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
FAMILIES: Final = families_with(DATA_FOLDER)

LATE_MS: Final = 300_000
"""The time in ms beyond `transaction.max.timeout.ms` after which a transaction counts as forgotten."""


async def take(into: Snapshot, services: Services) -> Ends:
    """Add the rows of a broker's data folder, and of the features that need one; return its logs."""
    ground, clock = data_folder_of(services), services.env.clock
    into.take(DISK, (), ground.disk)
    logs = await _take_logs(into, ground, services)
    transactions = ground.made_transactions
    served = None if transactions is None else transactions.coordinator.partitions
    take_partitions(into, TRANSACTION_COORDINATOR, served, clock.now_ns())
    await _take_transactions(into, transactions, clock.wall_ms(), services.env.budget.breathe)
    _take_redrives(into, ground.made_redrives)
    return logs


async def _take_logs(into: Snapshot, ground: DataFolderGround, services: Services) -> Ends:
    by_name: dict[tuple[str, int], PartitionLog] = {}
    topics: dict[str, Traffic] = {}
    cleaner, breathe = ground.logs.cleaner, services.env.budget.breathe
    offline = producer_ids = late = 0
    late_before_ms = services.env.clock.wall_ms() - services.started_with.transaction_max_timeout_ms - LATE_MS
    for log in list(ground.logs.logs()):
        cleaned_offset = cleaner.clean_until(log)
        by_name[log.topic, log.partition] = log
        seen = SeenLog(log, cleaned_offset if cleaned_offset >= 0 else None)
        into.take(LOGS, (log.topic, str(log.partition)), seen)
        offline += log.refusal is ErrorCode.KAFKA_STORAGE_ERROR
        producer_ids += len(log.producers)
        heard_of_ms = log.producers.oldest_open_timestamp()
        late += heard_of_ms is not None and 0 < heard_of_ms < late_before_ms
        topics.setdefault(log.topic, Traffic()).add(log.traffic)
        await breathe()
    into.take(ALL_LOGS, (), LogTotals(cleaner, offline, producer_ids, late))
    for topic, traffic in topics.items():
        into.take(TOPICS, (topic,), traffic)
        await breathe()
    return by_name


async def _take_transactions(
    into: Snapshot, service: TransactionService | None, wall_ms: int, breathe: Breathe
) -> None:
    """Add the rows of transactional ids, and the counters of their transactions. `wall_ms` is the time of day."""
    states: Counter[TransactionState] = Counter()
    oldest_age_ms = 0
    if service is not None:
        into.take(TRANSACTIONS, (), service)
        for partition in service.coordinator.partitions:
            for each in partition.shard.all():
                states[each.state] += 1
                if each.state not in RESTING:
                    oldest_age_ms = max(oldest_age_ms, wall_ms - each.start_ms)
                await breathe()
    into.count(TRANSACTIONAL_IDS, states, ((state.name.lower(), state) for state in TransactionState))
    into.take(OLDEST_TRANSACTION, (), oldest_age_ms)
    into.take(TRANSACTIONS_ENDED, ("commit",), 0 if service is None else service.markers.commits)
    into.take(TRANSACTIONS_ENDED, ("abort",), 0 if service is None else service.markers.aborts)


def _take_redrives(into: Snapshot, service: RedriveService | None) -> None:
    ended: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    if service is not None:
        numbers = service.numbers()
        into.take(REDRIVES, (), numbers)
        ended.update({state.value.lower(): number for state, number in numbers.ended.items()})
        letters.update({what.value.lower(): number for what, number in numbers.letters.items()})
    into.count(REDRIVES_ENDED, ended, zip(REDRIVE_ENDS, REDRIVE_ENDS, strict=True))
    into.count(REDRIVE_LETTERS, letters, zip(LETTER_ENDS, LETTER_ENDS, strict=True))
