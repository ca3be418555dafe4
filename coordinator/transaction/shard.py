"""The transaction coordinator's state machine: the transactional ids of one partition of `__transaction_state`.

The rules of each request are in a file of their own; this module turns decisions into records. An operation that ends a
transaction returns the markers to write (`WriteMarkers`): the shard's caller writes them once the decision is durable,
and then calls `complete`. After a crash, `unfinished` returns the markers that may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from shareq.coordinator.shard import (
    AmpleRoom,
    CoordinatorRecord,
    CoordinatorResult,
    InconsistentRecords,
    LogRoom,
    RecordsTooLarge,
    Steps,
)
from shareq.coordinator.transaction.add_partitions import add_partitions, verify_partition
from shareq.coordinator.transaction.describe import (
    TransactionFilter,
    listed,
    transaction_entry,
    transaction_error_entry,
)
from shareq.coordinator.transaction.end_txn import end_transaction
from shareq.coordinator.transaction.init_producer_id import (
    ExpectedProducer,
    NewProducerId,
    fence,
    initialize,
    new_transaction,
)
from shareq.coordinator.transaction.metadata import (
    BUMPING_VERSION,
    NO_PRODUCER_EPOCH,
    TopicPartition,
    Transaction,
    TransactionState,
)
from shareq.coordinator.transaction.outcome import Decision, ProducerResult, WriteMarkers, markers_of
from shareq.coordinator.transaction.records import LONGEST_TAGS, tombstone, transaction_of, transaction_record
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import describe_transactions, list_transactions
from shareq.protocol.generated.transaction_log import TransactionLogKey, TransactionLogValue


@dataclass(frozen=True, slots=True)
class TransactionCoordinatorSettings:
    """The broker's properties transaction.max.timeout.ms and transactional.id.expiration.ms, in ms."""

    max_timeout_ms: int = 900_000
    expiration_ms: int = 604_800_000


class _Granted(NamedTuple):
    """The answer to an InitProducerId, and the earlier epoch with which that request may be repeated."""

    producer_id: int
    epoch: int
    last_epoch: int


class TransactionCoordinatorShard:
    """The state machine of one partition. `wall_ms` returns ms since the epoch; `transaction_version` the finalized
    level of the feature now.
    """

    def __init__(
        self,
        wall_ms: Callable[[], int],
        new_producer_id: NewProducerId,
        transaction_version: Callable[[], int],
        settings: TransactionCoordinatorSettings,
        room: LogRoom | None = None,
    ) -> None:
        """Make a shard without transactions. `room`: how much one operation may append to the log."""
        self._room = room or AmpleRoom()
        self._wall_ms = wall_ms
        self._new_producer_id = new_producer_id
        self._transaction_version = transaction_version
        self._settings = settings
        self._transactions: dict[str, Transaction] = {}
        self._granted: dict[str, _Granted] = {}  # not in the log, as in Apache Kafka; good as long as it fits the state

    def __len__(self) -> int:
        return len(self._transactions)

    def get(self, transactional_id: str) -> Transaction | None:
        """Return the replayed state of a transactional id, or None."""
        return self._transactions.get(transactional_id)

    def all(self) -> list[Transaction]:
        """Return the replayed state of every transactional id."""
        return list(self._transactions.values())

    # -- requests

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ExpectedProducer | None
    ) -> CoordinatorResult[ProducerResult]:
        """Return a producer id and epoch.

        With CONCURRENT_TRANSACTIONS and markers, a transaction has to be aborted first.
        """
        if not transactional_id:
            return CoordinatorResult(ProducerResult(ErrorCode.INVALID_REQUEST))
        if not 0 < timeout_ms <= self._settings.max_timeout_ms:
            return CoordinatorResult(ProducerResult(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
        decision = self._initialize(transactional_id, timeout_ms, expected)
        follows = decision.transaction
        if follows is None:
            return CoordinatorResult(ProducerResult(decision.error))
        if follows.is_preparing:
            answer = ProducerResult(ErrorCode.CONCURRENT_TRANSACTIONS, markers=markers_of(follows))
        else:
            epoch = follows.producer_epoch
            self._granted[transactional_id] = _Granted(follows.producer_id, epoch, follows.last_producer_epoch)
            answer = ProducerResult(ErrorCode.NONE, follows.producer_id, epoch)
        return CoordinatorResult(answer, self._records(follows))

    def _initialize(self, transactional_id: str, timeout_ms: int, expected: ExpectedProducer | None) -> Decision:
        transaction = self._transactions.get(transactional_id)
        if transaction is not None:
            version = self._transaction_version()
            now_ms = self._now(transaction)
            return initialize(transaction, expected, timeout_ms, self._new_producer_id, version, now_ms)
        producer_id = self._new_producer_id()
        if isinstance(producer_id, ErrorCode):
            return Decision(producer_id)
        return Decision(transaction=new_transaction(transactional_id, producer_id, timeout_ms, self._wall_ms()))

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
        client_version: int,
    ) -> CoordinatorResult[ErrorCode]:
        """Add the partitions to the producer's transaction, which begins with them if none is under way.

        Raises RecordsTooLarge if the record of the transaction's end would have no room for them.
        """
        if not transactional_id:
            return CoordinatorResult(ErrorCode.INVALID_REQUEST)
        transaction = self._transactions.get(transactional_id)
        decision = add_partitions(
            transaction, producer_id, producer_epoch, frozenset(partitions), client_version, self._now(transaction)
        )
        records = self._records(decision.transaction)
        if records and not self._room.fits(records, spare_bytes=LONGEST_TAGS):
            raise RecordsTooLarge
        return CoordinatorResult(decision.error, records)

    def verify_partition(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partition: TopicPartition
    ) -> CoordinatorResult[ErrorCode]:
        """Return NONE if the partition is in the producer's transaction, else an error."""
        if not transactional_id:
            return CoordinatorResult(ErrorCode.INVALID_REQUEST)
        transaction = self._transactions.get(transactional_id)
        return CoordinatorResult(verify_partition(transaction, producer_id, producer_epoch, partition))

    def end_transaction(
        self, transactional_id: str, producer_id: int, producer_epoch: int, *, commit: bool, client_version: int
    ) -> CoordinatorResult[ProducerResult]:
        """Commit or abort the transaction. From transaction version 2 on the answer has the producer id and epoch to
        continue with.
        """
        if not transactional_id:
            return CoordinatorResult(ProducerResult(ErrorCode.INVALID_REQUEST))
        transaction = self._transactions.get(transactional_id)
        decision = end_transaction(
            transaction,
            producer_id,
            producer_epoch,
            commit=commit,
            client_version=client_version,
            new_producer_id=self._new_producer_id,
            now_ms=self._now(transaction),
        )
        follows = decision.transaction
        markers = None if follows is None else markers_of(follows)
        after = transaction if follows is None else follows.completed(follows.last_update_ms)
        answer = ProducerResult(decision.error, markers=markers)
        if not decision.error and after is not None and client_version >= BUMPING_VERSION:
            answer = replace(answer, producer_id=after.producer_id, producer_epoch=after.producer_epoch)
        return CoordinatorResult(answer, self._records(follows))

    # -- what follows a decision, and time

    def complete(self, written: WriteMarkers) -> CoordinatorResult[ErrorCode]:
        """Complete a transaction after its markers were written to all partitions.

        Error: INVALID_TXN_STATE, if the transaction does not wait for these markers, or no longer does.
        """
        transaction = self._transactions.get(written.transactional_id)
        if transaction is None or not transaction.is_preparing or not _is_of(written, transaction):
            return CoordinatorResult(ErrorCode.INVALID_TXN_STATE)
        done = transaction.completed(self._now(transaction))
        return CoordinatorResult(ErrorCode.NONE, self._records(done))

    def unfinished(self) -> list[WriteMarkers]:
        """Return the markers of every transaction whose outcome is decided and whose markers may be missing."""
        return [markers_of(each) for each in self._transactions.values() if each.is_preparing]

    def abort_timed_out(self) -> CoordinatorResult[list[WriteMarkers]]:
        """Abort transactions that last longer than their producers' timeouts, and fence the producers."""
        now_ms, version = self._wall_ms(), self._transaction_version()
        aborted: list[Transaction] = []
        for transaction in [each for each in self._transactions.values() if each.has_timed_out(now_ms)]:
            follows = fence(transaction, self._new_producer_id, version, now_ms).transaction
            if follows is not None:  # else there is no producer id to be had just now
                aborted.append(follows)
        records = tuple(record for transaction in aborted for record in self._records(transaction))
        return CoordinatorResult([markers_of(transaction) for transaction in aborted], records, atomic=False)

    def remove_expired(self) -> CoordinatorResult[int]:
        """Remove the ids that have expired; return their number."""
        expiration_ms, now_ms = self._settings.expiration_ms, self._wall_ms()
        gone = [each for each in self._transactions.values() if each.has_expired(expiration_ms, now_ms)]
        records = tuple(tombstone(transaction.transactional_id) for transaction in gone)
        return CoordinatorResult(len(gone), records, atomic=False)

    def has_ongoing(self) -> bool:
        """Return True if there is a transaction that can time out."""
        return any(each.state is TransactionState.ONGOING for each in self._transactions.values())

    # -- descriptions

    def describe(self, transactional_id: str) -> CoordinatorResult[describe_transactions.TransactionState]:
        """Return the row of DescribeTransactions."""
        if not transactional_id:
            return CoordinatorResult(transaction_error_entry(transactional_id, ErrorCode.INVALID_REQUEST))
        return CoordinatorResult(transaction_entry(transactional_id, self._transactions.get(transactional_id)))

    def list_transactions(
        self, wanted: TransactionFilter
    ) -> CoordinatorResult[list[list_transactions.TransactionState]]:
        """Return this partition's rows of ListTransactions."""
        return CoordinatorResult(listed(self._transactions.values(), wanted, self._wall_ms()))

    # -- CoordinatorShard

    def replay(self, record: CoordinatorRecord, offset: int) -> None:
        """Apply one record. Raises InconsistentRecords for one that no transaction coordinator writes."""
        key, value = record.key, record.value
        if not isinstance(key, TransactionLogKey):
            raise InconsistentRecords(f"a {type(key).__name__} among the records of transactions")
        if value is None:
            self._transactions.pop(key.transactional_id, None)
            self._granted.pop(key.transactional_id, None)
            return
        if not isinstance(value, TransactionLogValue):
            raise InconsistentRecords(f"a {type(value).__name__} where a TransactionLogValue belongs")
        transaction = transaction_of(key.transactional_id, value)
        last_epoch = self._last_epoch(transaction, self._transactions.get(key.transactional_id))
        self._transactions[key.transactional_id] = replace(transaction, last_producer_epoch=last_epoch)

    def on_loaded(self, now_ms: int) -> Steps[None]:
        """Do nothing: transactions have no timers."""
        yield from ()

    def next_deadline_ms(self) -> int | None:
        """Return None: timed-out transactions are searched for at intervals."""
        return None

    def on_deadline(self, now_ms: int) -> CoordinatorResult[None]:
        return CoordinatorResult(None)

    def _last_epoch(self, transaction: Transaction, before: Transaction | None) -> int:
        """Return the epoch with which a request may be repeated. No record has it: it is taken from the granted epoch,
        or from the state before.
        """
        if transaction.state is TransactionState.EMPTY:
            granted = self._granted.pop(transaction.transactional_id, None)
            fits = granted is not None and granted[:2] == (transaction.producer_id, transaction.producer_epoch)
            return granted.last_epoch if granted is not None and fits else NO_PRODUCER_EPOCH
        if before is None:
            return NO_PRODUCER_EPOCH
        if transaction.is_preparing and transaction.producer_epoch != before.producer_epoch:
            return before.producer_epoch if transaction.bumps_epoch else NO_PRODUCER_EPOCH
        return before.last_producer_epoch

    def _records(self, transaction: Transaction | None) -> tuple[CoordinatorRecord, ...]:
        return () if transaction is None else (transaction_record(transaction, self._transaction_version()),)

    def _now(self, transaction: Transaction | None) -> int:
        """Return the time of day, but no time before the transaction's last update, because the clock may have been set
        back.
        """
        now_ms = self._wall_ms()
        return now_ms if transaction is None else max(now_ms, transaction.last_update_ms)


def _is_of(written: WriteMarkers, transaction: Transaction) -> bool:
    return (written.producer_id, written.producer_epoch) == (transaction.producer_id, transaction.producer_epoch)
