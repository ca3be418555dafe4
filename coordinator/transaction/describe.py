"""DescribeTransactions and ListTransactions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from shareq.coordinator.transaction.metadata import STATE_NAMES, Transaction
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import describe_transactions, list_transactions


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """The filter of ListTransactions. An empty or negative field admits all. `matches` has to match the whole id."""

    producer_ids: Collection[int] = ()
    states: Collection[str] = ()
    longer_than_ms: int = -1
    matches: Callable[[str], bool] | None = None

    def passes(self, transaction: Transaction, now_ms: int) -> bool:
        """Return True if the filter selects the transaction. For its duration, one that never began counts as begun in
        1970.
        """
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if self.states and STATE_NAMES[transaction.state] not in self.states:
            return False
        if self.longer_than_ms >= 0 and now_ms - transaction.start_ms <= self.longer_than_ms:
            return False
        return self.matches is None or self.matches(transaction.transactional_id)


def unknown_states(names: Iterable[str]) -> list[str]:
    """Return the names that are no states of transactions. Two more of Apache Kafka's states count as known, though no
    client ever sees them.
    """
    known = {*STATE_NAMES.values(), "Dead", "PrepareEpochFence"}
    return [name for name in names if name not in known]


def transaction_entry(transactional_id: str, transaction: Transaction | None) -> describe_transactions.TransactionState:
    """Return the row of DescribeTransactions; None gets TRANSACTIONAL_ID_NOT_FOUND."""
    if transaction is None:
        return transaction_error_entry(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(partition)
    return describe_transactions.TransactionState(
        transactional_id=transactional_id,
        transaction_state=STATE_NAMES[transaction.state],
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[describe_transactions.TopicData(topic, partitions) for topic, partitions in topics.items()],
    )


def transaction_error_entry(transactional_id: str, error: ErrorCode) -> describe_transactions.TransactionState:
    """Return a row of DescribeTransactions with an error."""
    return describe_transactions.TransactionState(error_code=error, transactional_id=transactional_id)


def listed(
    transactions: Iterable[Transaction], wanted: TransactionFilter, now_ms: int
) -> list[list_transactions.TransactionState]:
    """Return the rows of ListTransactions for the transactions that the filter selects."""
    return [
        list_transactions.TransactionState(
            transaction.transactional_id, transaction.producer_id, STATE_NAMES[transaction.state]
        )
        for transaction in transactions
        if wanted.passes(transaction, now_ms)
    ]
