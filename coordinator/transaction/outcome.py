"""The outcome of a request: an error, a new state, or neither; and the markers that have to be written."""

from __future__ import annotations

from dataclasses import dataclass

from shareq.coordinator.transaction.metadata import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TopicPartition,
    Transaction,
    TransactionState,
)
from shareq.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of a request. `transaction` is the new state, which is to be logged; None: nothing changes, and
    `error` may still be NONE.
    """

    error: ErrorCode = ErrorCode.NONE
    transaction: Transaction | None = None


@dataclass(frozen=True, slots=True)
class WriteMarkers:
    """The effect of ending the transaction in these partitions, once the decision is durable; `complete` has to be
    called then.

    `transaction_version` decides how the partitions compare epochs: from version 2 on the marker's epoch has to be a
    new one.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    commit: bool
    partitions: frozenset[TopicPartition]
    transaction_version: int


@dataclass(frozen=True, slots=True)
class ProducerResult:
    """The answer to InitProducerId and EndTxn, with the markers to write when it is durable."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    markers: WriteMarkers | None = None


def markers_of(transaction: Transaction) -> WriteMarkers:
    """Return the markers of a prepared transaction."""
    return WriteMarkers(
        transaction.transactional_id,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.state is TransactionState.PREPARE_COMMIT,
        transaction.partitions,
        transaction.client_version,
    )
