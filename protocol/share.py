"""The vocabulary of share groups (KIP-932): delivery states, acknowledge types, acquire modes, epochs."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
"""MemberEpoch of a ShareGroupHeartbeat that joins the group, and of one that leaves it."""

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
"""ShareSessionEpoch of a request that opens a share session, and of the one that closes it."""

MAX_EPOCH: Final = 2**31 - 1
"""Highest ShareSessionEpoch; 1 follows it."""


class RecordState(IntEnum):
    """Delivery state of a record in flight. The numbers are the persisted `DeliveryState`; ACQUIRED is never persisted.

    An ARCHIVING record is dead, and its dead letter is not written yet (KIP-1191): no member gets it, and it counts as
    in flight.
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4


TERMINAL: Final = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
"""The states that no record leaves; DeliveryCompleteCount is of these."""


class AcknowledgeType(IntEnum):
    """A consumer's verdict on a record that it acquired, as ShareFetch and ShareAcknowledge carry it.

    GAP: the log has no such record. RENEW keeps the record and restarts its lock (KIP-1222); it needs version 2 of the
    RPC.
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
