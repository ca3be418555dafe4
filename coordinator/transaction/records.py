"""Records of `__transaction_state`. The key is a transactional id, the value its whole state; a null value removes it.

    key        int16 type (0), string TransactionalId
    value, 0   int16 0, int64 ProducerId, int16 ProducerEpoch, int32 TransactionTimeoutMs, int8 TransactionStatus,
               array of partitions (string Topic, int32[] PartitionIds; null when empty), int64 last update (ms),
               int64 start (ms, -1 none)
    value, 1   the same, flexible; tags, each left out when it says nothing: 0 int64 PreviousProducerId (-1),
               1 int64 NextProducerId (-1), 2 int16 ClientTransactionVersion (0)

Version 1 is written from transaction.version 1 on, and below it only for what version 0 has no room for. Topics and
partitions are in ascending order, so that equal state gives equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from shareq.coordinator.record_serde import TypedRecordSerde, expect
from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords
from shareq.coordinator.transaction.metadata import NO_PRODUCER_ID, TopicPartition, Transaction, TransactionState
from shareq.protocol.generated.transaction_log import PartitionsSchema, TransactionLogKey, TransactionLogValue

LONGEST_TAGS: Final = 64
"""The bytes, rounded up, by which the record of a transaction's end may exceed the record of its last partition."""


def _check(record: CoordinatorRecord) -> None:
    value = record.value
    if not isinstance(value, TransactionLogValue):
        return
    expect(record, "producer id or timeout", (value.producer_id, value.transaction_timeout_ms))
    times = (value.transaction_last_update_timestamp_ms, value.transaction_start_timestamp_ms)
    expect(record, "producer epoch or time", (value.producer_epoch, *times), -1)
    for topic in value.transaction_partitions or ():
        expect(record, "partition", topic.partition_ids)


TRANSACTION_SERDE: Final = TypedRecordSerde(
    {TransactionLogKey.API_KEY: (TransactionLogKey, TransactionLogValue)}, _check
)


def transaction_record(transaction: Transaction, transaction_version: int) -> CoordinatorRecord:
    """Return the state as a record. `transaction_version` is the finalized level of the feature."""
    needs_tags = transaction.client_version > 0 or transaction.next_producer_id != NO_PRODUCER_ID
    version = 1 if transaction_version > 0 or needs_tags else 0
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id if version else NO_PRODUCER_ID,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=(
            None if transaction.state is TransactionState.EMPTY else _by_topic(transaction.partitions)
        ),
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version,
    )
    return CoordinatorRecord(TransactionLogKey(transaction.transactional_id), value, version)


def tombstone(transactional_id: str) -> CoordinatorRecord:
    """Return the record that removes the id."""
    return CoordinatorRecord(TransactionLogKey(transactional_id), None)


def transaction_of(transactional_id: str, value: TransactionLogValue) -> Transaction:
    """Return the state in a record. Raises InconsistentRecords for a record that no coordinator writes."""
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise InconsistentRecords(
            f"transactional id {transactional_id} is in state {value.transaction_status}, which is never logged"
        ) from None
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            TopicPartition(topic.topic, partition)
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        start_ms=value.transaction_start_timestamp_ms,
        last_update_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )


def _by_topic(partitions: Iterable[TopicPartition]) -> list[PartitionsSchema]:
    rows: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        rows.setdefault(topic, []).append(partition)
    return [PartitionsSchema(topic, ids) for topic, ids in rows.items()]
