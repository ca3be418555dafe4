"""The effects of time on transactions: those that last too long are aborted, unused ids are forgotten."""

from __future__ import annotations

from collections.abc import Iterable

from shareq.coordinator.transaction.metadata import RESTING, Transaction, TransactionState


def has_timed_out(transaction: Transaction, now_ms: int) -> bool:
    """Return True if the transaction has been open for longer than its producer allowed."""
    return transaction.state is TransactionState.ONGOING and transaction.start_ms + transaction.timeout_ms < now_ms


def has_expired(transaction: Transaction, expiration_ms: int, now_ms: int) -> bool:
    """Return True if the id was not used for transactional.id.expiration.ms."""
    return transaction.state in RESTING and transaction.last_update_ms <= now_ms - expiration_ms


def timed_out(transactions: Iterable[Transaction], now_ms: int) -> list[Transaction]:
    """Return the transactions to abort."""
    return [transaction for transaction in transactions if has_timed_out(transaction, now_ms)]


def expired(transactions: Iterable[Transaction], expiration_ms: int, now_ms: int) -> list[Transaction]:
    """Return the transactions to forget."""
    return [transaction for transaction in transactions if has_expired(transaction, expiration_ms, now_ms)]
