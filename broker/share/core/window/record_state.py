"""The states of an in-flight record, what moves it from one to another, and how records are asked for (KIP-932)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class RecordState(IntEnum):
    """Where a record's delivery stands. The numbers are the persisted `DeliveryState`; ACQUIRED is never persisted.

    An ARCHIVING record is dead, and its dead letter is not written yet (KIP-1191): no member gets it, and it counts as
    in flight.
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4


class AcknowledgeType(IntEnum):
    """What a consumer says of a record it acquired, as ShareFetch and ShareAcknowledge carry it.

    GAP: there is no such record in the log. RENEW keeps the record and restarts its lock (KIP-1222).
    """

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class AcquireMode(IntEnum):
    """ShareFetch's ShareAcquireMode (KIP-1206).

    BATCH_OPTIMIZED rounds MaxRecords up to the end of a record batch, RECORD_LIMIT keeps to it.
    """

    BATCH_OPTIMIZED = 0
    RECORD_LIMIT = 1


# KIP-932, in-flight records. Records that have left the log (log start, compaction, aborted transactions) are archived
# whatever their state; that is `DeliveryStatus.archived`, not a transition of this table.
LEGAL: Final[dict[RecordState, frozenset[RecordState]]] = {
    RecordState.AVAILABLE: frozenset({RecordState.ACQUIRED}),
    RecordState.ACQUIRED: frozenset(
        {RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVING, RecordState.ARCHIVED}
    ),
    RecordState.ACKNOWLEDGED: frozenset(),
    RecordState.ARCHIVING: frozenset({RecordState.ARCHIVED}),
    RecordState.ARCHIVED: frozenset(),
}

TERMINAL: Final = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
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
    """A record was moved along an edge that is not in `LEGAL`: a fault of this broker, never of a client."""


def transition(before: RecordState, after: RecordState) -> RecordState:
    """`after`, when a record may go there from `before`. Raises IllegalTransition otherwise."""
    if after not in LEGAL[before]:
        raise IllegalTransition(f"{before.name} -> {after.name}")
    return after
