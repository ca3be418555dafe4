"""The ledger of committed offsets and answers that never came."""

from __future__ import annotations

import pytest

from tests.simulation.jobs.ledger import NO_OFFSET, Attempt, OffsetLedger
from tests.simulation.ledger import InvariantBroken

SLOT = 0


def a_ledger(committed: int = NO_OFFSET) -> OffsetLedger:
    ledger = OffsetLedger("job", lambda: 0)
    if committed != NO_OFFSET:
        ledger.on_answered(ledger.on_sent({SLOT: committed}), SLOT, committed=True)
    return ledger


def asked_to_commit(ledger: OffsetLedger, offset: int) -> Attempt:
    """Return a transaction with that offset, whose commit was requested with an unknown outcome."""
    attempt = ledger.begin(1, ("id", 0, 0))
    attempt.offsets[SLOT] = offset
    ledger.on_offsets_sent(attempt)
    attempt.pending = True
    ledger.on_commit_asked(attempt)
    return attempt


def read(ledger: OffsetLedger, offset: int, *, stable: bool = False) -> None:
    ledger.register(SLOT).on_read(offset, ledger.next_order(), stable=stable, torn=False)


def test_transaction_survives_a_deletion_that_may_have_had_no_effect() -> None:
    ledger = a_ledger()
    attempt = asked_to_commit(ledger, 3)
    ledger.on_deletion_sent([SLOT])  # and nobody knows what came of it
    read(ledger, NO_OFFSET)  # it is pending, or gone
    ledger.on_ended(attempt, True)  # asked for again
    read(ledger, 3)


def test_deletion_that_may_have_had_an_effect_takes_the_transaction_along() -> None:
    ledger = a_ledger()
    attempt = asked_to_commit(ledger, 3)
    ledger.on_deletion_sent([SLOT])
    read(ledger, NO_OFFSET)
    ledger.on_ended(attempt, True)
    read(ledger, NO_OFFSET)
    with pytest.raises(InvariantBroken):
        read(ledger, 3)


def test_deletion_that_was_seen_takes_the_transaction_along() -> None:
    ledger = a_ledger(committed=2)
    attempt = asked_to_commit(ledger, 3)
    ledger.on_deletion_sent([SLOT])
    read(ledger, NO_OFFSET)  # nothing else can have deleted 2
    ledger.on_ended(attempt, True)
    with pytest.raises(InvariantBroken):
        read(ledger, 3)


def test_earlier_deletion_may_be_the_one_that_was_seen() -> None:
    ledger = a_ledger(committed=2)
    ledger.on_deletion_sent([SLOT])
    attempt = asked_to_commit(ledger, 3)
    ledger.on_deletion_sent([SLOT])
    read(ledger, NO_OFFSET)
    ledger.on_ended(attempt, True)
    read(ledger, 3)


def test_what_is_stable_has_nothing_to_come() -> None:
    ledger = a_ledger()
    asked_to_commit(ledger, 3)
    ledger.on_deletion_sent([SLOT])
    read(ledger, NO_OFFSET, stable=True)
    with pytest.raises(InvariantBroken):
        read(ledger, 3)


def test_deletion_that_was_not_seen_has_had_no_effect() -> None:
    ledger = a_ledger(committed=2)
    asked_to_commit(ledger, 3)
    ledger.on_deletion_sent([SLOT])
    read(ledger, 2)
    read(ledger, 3)  # the transaction may still be committed
    with pytest.raises(InvariantBroken):
        read(ledger, NO_OFFSET)
