"""A data folder as it is now: its disk, its logs, transactions, redrives. The metrics of a broker on one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from shareq.broker.data_folder_ground import data_folder_of
from shareq.broker.log.append import Traffic
from shareq.broker.metrics.coordinator_snapshot import take_partitions
from shareq.broker.metrics.data_folder_families import (
    ALL_LOGS,
    DATA_FOLDER,
    DISK,
    LETTER_ENDS,
    LOGS,
    OLDEST_TRANSACTION,
    REDRIVE_ENDS,
    REDRIVE_LETTERS,
    REDRIVES,
    REDRIVES_ENDED,
    TOPICS,
    TRANSACTION_COORDINATOR,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
    TRANSACTIONS_ENDED,
    LogTotals,
    SeenLog,
)
from shareq.broker.metrics.families import families_with
from shareq.broker.metrics.rows import Ends, Snapshot
from shareq.coordinator.transaction.metadata import RESTING, TransactionState
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.data_folder_ground import DataFolderGround
    from shareq.broker.foundation.turn_budget import Breathe
    from shareq.broker.log.partition_log import PartitionLog
    from shareq.broker.redrive.service import RedriveService
    from shareq.broker.services import Services
    from shareq.broker.transactions.service import TransactionService

FAMILIES: Final = families_with(DATA_FOLDER)

LATE_MS: Final = 300_000
"""A transaction counts as forgotten once it lasts so much longer than `transaction.max.timeout.ms`."""


async def take(into: Snapshot, services: Services) -> Ends:
    """Take what the folder of a broker is like, and what only a folder makes possible; return its logs."""
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
    """Take transactional ids, and what was counted of their transactions. `wall_ms`: the time of day."""
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
