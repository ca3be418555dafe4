"""The transition table, exhaustively, and the transitions of a record's status."""

from __future__ import annotations

from itertools import product

import pytest

from shareq.broker.share.core.window.delivery_limit import after_release
from shareq.broker.share.core.window.delivery_status import NO_DEADLINE, DeliveryStatus, settled
from shareq.broker.share.core.window.record_state import (
    LEGAL,
    STATE_AFTER,
    STATE_AFTER_WITH_QUEUE,
    IllegalTransition,
    transition,
)
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.share import TERMINAL, AcknowledgeType, RecordState

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVING, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVING, RecordState.ARCHIVED
ALLOWED = {
    (AVAILABLE, ACQUIRED),
    (ACQUIRED, AVAILABLE),
    (ACQUIRED, ACKNOWLEDGED),
    (ACQUIRED, ARCHIVING),
    (ACQUIRED, ARCHIVED),
    (ARCHIVING, ARCHIVED),
    (ACQUIRED, RecordState.TX_PENDING),
    *((RecordState.TX_PENDING, after) for after in (AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED)),
}


@pytest.mark.parametrize(("before", "after"), list(product(RecordState, RecordState)))
def test_every_pair_of_states_is_a_legal_transition_or_raises(before: RecordState, after: RecordState) -> None:
    """Legal is Available -> Acquired -> Available, Acknowledged or Archived, of which the last two are final (KIP-932).

    A dead record is Archiving before it is Archived (KIP-1191). One acknowledged in a transaction is pending until that
    ends (KIP-1289's draft).
    """
    if (before, after) in ALLOWED:
        assert transition(before, after) is after
    else:
        with pytest.raises(IllegalTransition, match=f"{before.name} -> {after.name}"):
            transition(before, after)


def test_the_table_names_every_state_and_terminal_states_lead_nowhere() -> None:
    assert set(LEGAL) == set(RecordState)
    assert {state for state, following in LEGAL.items() if not following} == TERMINAL


def test_persisted_numbers_are_kip_932s_delivery_states() -> None:
    """The numbers are 0 available, 2 acknowledged, 4 archived (KIP-932, WriteShareGroupState), and 3 archiving
    (KIP-1191).
    """
    assert [state.value for state in RecordState] == [0, 1, 2, 3, 4, 5]


def test_acknowledge_types_lead_to_their_states() -> None:
    """0 is gap, 1 accept, 2 release, 3 reject (KIP-932), and 4 renew, which keeps the state (KIP-1222)."""
    assert STATE_AFTER == {
        AcknowledgeType.GAP: ARCHIVED,
        AcknowledgeType.ACCEPT: ACKNOWLEDGED,
        AcknowledgeType.RELEASE: AVAILABLE,
        AcknowledgeType.REJECT: ARCHIVED,
    }
    assert STATE_AFTER_WITH_QUEUE == {**STATE_AFTER, AcknowledgeType.REJECT: ARCHIVING}


def test_acquiring_counts_a_delivery_and_sets_the_lock() -> None:
    status = settled(AVAILABLE, 2).acquired("m1", 500, 100)
    assert (status.state, status.delivery_count, status.owner, status.deadline_ms) == (ACQUIRED, 3, "m1", 500)
    with pytest.raises(IllegalTransition):
        status.acquired("m2", 900, 100)


@pytest.mark.parametrize("state", [AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED])
def test_a_pending_transition_shows_the_new_state_without_owner_and_remembers_the_old(state: RecordState) -> None:
    """A second acknowledgement, and any acquisition of the record, are refused."""
    before = settled(AVAILABLE, 0).acquired("m1", 500, 100)
    pending = before.pending(state, write_id=9)
    assert (pending.state, pending.owner, pending.deadline_ms) == (state, "", NO_DEADLINE)
    assert not pending.available
    assert not pending.done
    assert pending.before is before
    assert pending.after is settled(state, 1)
    assert pending.lock_deadline_ms == 500


@pytest.mark.parametrize("state", list(RecordState))
def test_records_that_left_the_log_are_archived_from_every_state(state: RecordState) -> None:
    assert DeliveryStatus(state, 3).archived() is settled(ARCHIVED, 3)


def test_a_pending_record_that_left_the_log_stays_archived_even_if_the_write_fails() -> None:
    pending = settled(AVAILABLE, 0).acquired("m1", 500, 100).pending(AVAILABLE, write_id=9).archived()
    assert (pending.state, pending.write_id) == (ARCHIVED, 9)
    assert pending.before is settled(ARCHIVED, 1)
    assert pending.after is settled(ARCHIVED, 1)


@pytest.mark.parametrize(("count", "state"), [(1, AVAILABLE), (4, AVAILABLE), (5, ARCHIVED), (6, ARCHIVED)])
def test_given_back_at_the_delivery_count_limit_means_archived(count: int, state: RecordState) -> None:
    held = DeliveryStatus(ACQUIRED, count, "m1")
    assert after_release(held, ShareGroupSettings(delivery_count_limit=5)) is state
    with_queue = ShareGroupSettings(delivery_count_limit=5, dead_letters=True)
    assert after_release(held, with_queue) is (ARCHIVING if state is ARCHIVED else state)


def test_equal_unowned_records_share_one_status() -> None:
    assert settled(ACKNOWLEDGED, 1) is settled(ACKNOWLEDGED, 1)
    assert settled(ACKNOWLEDGED, 1) is not settled(ACKNOWLEDGED, 2)
    assert repr(settled(ACKNOWLEDGED, 1)) == "DeliveryStatus(ACKNOWLEDGED, count 1, owner '')"
