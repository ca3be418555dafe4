"""EndTxn: the outcome is decided and logged, then the markers are written, then the end is logged.

With transaction version 2 every end of a transaction raises the epoch, so every transaction has its own epoch: a
request in the previous epoch is a repetition, and one in the current epoch is about the current transaction.

                     abort, again   abort         commit, again   commit
    Empty            FENCED         a new epoch   FENCED          INVALID_TXN_STATE
    CompleteAbort    NONE           a new epoch   INVALID         INVALID
    CompleteCommit   INVALID        a new epoch   NONE            INVALID
"""

from __future__ import annotations

from shareq.coordinator.transaction.init_producer_id import NewProducerId
from shareq.coordinator.transaction.metadata import (
    BUMPING_VERSION,
    LAST_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    TransactionState,
)
from shareq.coordinator.transaction.outcome import Decision
from shareq.protocol.errors import ErrorCode

_ENDED = {True: TransactionState.COMPLETE_COMMIT, False: TransactionState.COMPLETE_ABORT}
_PREPARED = {True: TransactionState.PREPARE_COMMIT, False: TransactionState.PREPARE_ABORT}


def end_transaction(
    transaction: Transaction | None,
    producer_id: int,
    producer_epoch: int,
    *,
    commit: bool,
    client_version: int,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> Decision:
    """Decide on the end of a transaction: its outcome, or an error.

    Errors: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS (markers are being written),
    INVALID_TXN_STATE, or the error of `new_producer_id`. NONE without a new state means a repeated request: the
    transaction has already ended with this outcome.
    """
    if transaction is None:
        return Decision(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if client_version < BUMPING_VERSION:
        return _end_in_epoch(transaction, producer_id, producer_epoch, commit, now_ms)
    if transaction.is_preparing:
        return Decision(ErrorCode.CONCURRENT_TRANSACTIONS)
    again = _is_again(transaction, producer_id, producer_epoch)
    error = _wrong_producer(transaction, producer_id, producer_epoch, again)
    if error:
        return Decision(error)
    if again:
        return Decision(ErrorCode.NONE if transaction.state is _ENDED[commit] else ErrorCode.INVALID_TXN_STATE)
    if commit and transaction.state is not TransactionState.ONGOING:
        return Decision(ErrorCode.INVALID_TXN_STATE)
    next_id: int | ErrorCode = new_producer_id() if transaction.is_exhausted else NO_PRODUCER_ID
    if isinstance(next_id, ErrorCode):
        return Decision(next_id)
    return Decision(transaction=transaction.prepared(_PREPARED[commit], client_version, next_id, now_ms))


def _end_in_epoch(
    transaction: Transaction, producer_id: int, producer_epoch: int, commit: bool, now_ms: int
) -> Decision:
    """Decide for versions 0 and 1: the epoch stays, and only the state shows whether a request is a repetition."""
    if producer_id != transaction.producer_id:
        return Decision(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer_epoch != transaction.producer_epoch:
        return Decision(ErrorCode.PRODUCER_FENCED)
    if transaction.is_preparing:
        return Decision(ErrorCode.CONCURRENT_TRANSACTIONS)
    if transaction.state is TransactionState.ONGOING:
        return Decision(transaction=transaction.prepared(_PREPARED[commit], 0, NO_PRODUCER_ID, now_ms))
    return Decision(ErrorCode.NONE if transaction.state is _ENDED[commit] else ErrorCode.INVALID_TXN_STATE)


def _is_again(transaction: Transaction, producer_id: int, producer_epoch: int) -> bool:
    """Return True if the request has the epoch before the current one: its first answer contained the current epoch."""
    if producer_epoch + 1 == transaction.producer_epoch:
        return True
    return (  # the answer gave the first epoch of a new producer id
        producer_id == transaction.previous_producer_id
        and producer_epoch == LAST_EPOCH
        and transaction.producer_epoch == 0
    )


def _wrong_producer(transaction: Transaction, producer_id: int, producer_epoch: int, again: bool) -> ErrorCode:
    after_rotation = again and producer_epoch == LAST_EPOCH and transaction.producer_epoch == 0
    if producer_id != transaction.producer_id and not after_rotation:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer_epoch == transaction.producer_epoch:
        return ErrorCode.NONE
    ended = transaction.state in _ENDED.values()
    return ErrorCode.NONE if again and ended else ErrorCode.PRODUCER_FENCED
