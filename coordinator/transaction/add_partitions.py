"""AddPartitionsToTxn and AddOffsetsToTxn: a partition becomes part of the transaction before a record is written to it.

From transaction version 2 on the broker itself adds the partition, with the first records or offsets (KIP-890).
"""

from __future__ import annotations

from shareq.coordinator.transaction.metadata import TopicPartition, Transaction, TransactionState
from shareq.coordinator.transaction.outcome import Decision
from shareq.protocol.errors import ErrorCode


def add_partitions(
    transaction: Transaction | None,
    producer_id: int,
    producer_epoch: int,
    partitions: frozenset[TopicPartition],
    client_version: int,
    now_ms: int,
) -> Decision:
    """Return the transaction with these partitions added; no change if it has all of them already. Errors:
    CONCURRENT_TRANSACTIONS, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED.
    """
    if transaction is None:
        return Decision(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.is_preparing:
        return Decision(ErrorCode.CONCURRENT_TRANSACTIONS)
    error = _wrong_producer(transaction, producer_id, producer_epoch)
    if error:
        return Decision(error)
    if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
        return Decision()
    return Decision(transaction=transaction.with_partitions(partitions, client_version, now_ms))


def verify_partition(
    transaction: Transaction | None, producer_id: int, producer_epoch: int, partition: TopicPartition
) -> ErrorCode:
    """Return the error if the producer may not write to the partition now (KIP-890): one of `add_partitions`, or
    TRANSACTION_ABORTABLE.
    """
    if transaction is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    error = _wrong_producer(transaction, producer_id, producer_epoch)
    if error:
        return error
    if transaction.is_preparing:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.NONE if partition in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE


def _wrong_producer(transaction: Transaction, producer_id: int, producer_epoch: int) -> ErrorCode:
    if producer_id != transaction.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer_epoch != transaction.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.NONE
