"""InitProducerId with a transactional id (KIP-98, KIP-360): a new epoch, which fences the producer of the one before.

    no such id                    a new producer id, epoch 0
    nothing under way             the next epoch; a new producer id when the epochs are used up
    a transaction under way       it is aborted in a new epoch; CONCURRENT_TRANSACTIONS asks for a retry
    markers being written         CONCURRENT_TRANSACTIONS

A producer that continues after an error names its id and epoch. If they are the current ones, it gets the next epoch.
If they are the previous ones, the request is a repetition and gets the same answer. Otherwise another producer has got
an epoch since, and this one is fenced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from shareq.coordinator.transaction.metadata import (
    BUMPING_VERSION,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    TransactionState,
    is_exhausted,
)
from shareq.coordinator.transaction.outcome import Decision
from shareq.protocol.errors import ErrorCode

NewProducerId = Callable[[], int | ErrorCode]
"""A function that returns a producer id that was never assigned, or an error if none is available."""


class ExpectedProducer(NamedTuple):
    """The producer id and epoch in a client's request."""

    producer_id: int
    epoch: int


def new_transaction(transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
    """Return the state of an unknown transactional id, with the first epoch."""
    fresh = Transaction(transactional_id, producer_id, timeout_ms=timeout_ms)
    return fresh.initialized(0, NO_PRODUCER_EPOCH, timeout_ms, now_ms)


def initialize(
    transaction: Transaction,
    expected: ExpectedProducer | None,
    timeout_ms: int,
    new_producer_id: NewProducerId,
    transaction_version: int,
    now_ms: int,
) -> Decision:
    """Give a known transactional id a new epoch.

    If the decision's state is PREPARE_ABORT, the producer has to repeat its request.

    Errors: CONCURRENT_TRANSACTIONS, PRODUCER_FENCED, or the error of `new_producer_id`. `transaction_version` is the
    broker's.
    """
    if transaction.is_preparing:
        return Decision(ErrorCode.CONCURRENT_TRANSACTIONS)
    if expected is not None and not _is_known(transaction, expected):
        return Decision(ErrorCode.PRODUCER_FENCED)
    if transaction.state is TransactionState.ONGOING:
        return fence(transaction, new_producer_id, transaction_version, now_ms)
    if expected is not None and expected.epoch != transaction.producer_epoch:
        if expected.epoch != transaction.last_producer_epoch:
            return Decision(ErrorCode.PRODUCER_FENCED)
        epochs = transaction.producer_epoch, transaction.last_producer_epoch
        again = transaction.initialized(*epochs, timeout_ms, now_ms)
        again = replace(again, previous_producer_id=transaction.previous_producer_id)  # and once more after that
        return Decision(transaction=again)
    last_epoch = NO_PRODUCER_EPOCH if expected is None else transaction.producer_epoch
    if not transaction.is_exhausted:
        bumped = transaction.initialized(transaction.producer_epoch + 1, last_epoch, timeout_ms, now_ms)
        return Decision(transaction=bumped)
    producer_id = new_producer_id()
    if isinstance(producer_id, ErrorCode):
        return Decision(producer_id)
    return Decision(transaction=transaction.rotated(producer_id, last_epoch, timeout_ms, now_ms))


def fence(transaction: Transaction, new_producer_id: NewProducerId, transaction_version: int, now_ms: int) -> Decision:
    """Abort the current transaction in an epoch that its producer does not have.

    The broker's transaction version decides how, not the producer's.
    """
    if transaction_version < BUMPING_VERSION:
        return Decision(transaction=transaction.fenced(now_ms))
    next_id: int | ErrorCode = new_producer_id() if transaction.is_exhausted else NO_PRODUCER_ID
    if isinstance(next_id, ErrorCode):
        return Decision(next_id)
    aborted = transaction.prepared(TransactionState.PREPARE_ABORT, transaction_version, next_id, now_ms)
    return Decision(transaction=aborted)


def _is_known(transaction: Transaction, expected: ExpectedProducer) -> bool:
    """Return True if the producer id is, or was, that of the transactional id; the epoch is not checked."""
    return expected.producer_id == transaction.producer_id or (
        expected.producer_id == transaction.previous_producer_id and is_exhausted(expected.epoch)
    )
