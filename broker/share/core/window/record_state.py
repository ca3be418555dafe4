"""Legal transitions of an in-flight record's state (KIP-932)."""

from __future__ import annotations

from typing import Final

from shareq.protocol.share import AcknowledgeType, RecordState

# KIP-932, in-flight records. Records that have left the log (log start, compaction, aborted transactions) are archived
# whatever their state; that is `DeliveryStatus.archived`, not a transition of this table.
LEGAL: Final[dict[RecordState, frozenset[RecordState]]] = {
    RecordState.AVAILABLE: frozenset({RecordState.ACQUIRED}),
    RecordState.ACQUIRED: frozenset(
        {
            RecordState.AVAILABLE,
            RecordState.ACKNOWLEDGED,
            RecordState.ARCHIVING,
            RecordState.ARCHIVED,
            RecordState.TX_PENDING,
        }
    ),
    RecordState.ACKNOWLEDGED: frozenset(),
    RecordState.ARCHIVING: frozenset({RecordState.ARCHIVED}),
    RecordState.ARCHIVED: frozenset(),
    RecordState.TX_PENDING: frozenset(
        {RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVING, RecordState.ARCHIVED}
    ),
}

GIVEN_UP: Final = frozenset({RecordState.ARCHIVING, RecordState.ARCHIVED})

# RENEW is not here: it changes the lock, not the state.
STATE_AFTER: Final[dict[int, RecordState]] = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}

# The same in a group with a dead-letter queue.
STATE_AFTER_WITH_QUEUE: Final[dict[int, RecordState]] = {**STATE_AFTER, AcknowledgeType.REJECT: RecordState.ARCHIVING}


class IllegalTransition(Exception):
    """Error: a record's state was changed in a way that is not in `LEGAL`. The fault is this broker's, never a
    client's.
    """


def transition(before: RecordState, after: RecordState) -> RecordState:
    """Return `after` if a record may change from state `before` to it. Raise IllegalTransition otherwise."""
    if after not in LEGAL[before]:
        raise IllegalTransition(f"{before.name} -> {after.name}")
    return after
