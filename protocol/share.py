"""The vocabulary of share groups (KIP-932): delivery states, acknowledge types, acquire modes, epochs."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
"""The MemberEpoch of a ShareGroupHeartbeat that leaves the group; JOIN_EPOCH is that of one that joins."""

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
"""The ShareSessionEpoch of a request that closes a share session; INITIAL_EPOCH is that of one that opens it."""

MAX_EPOCH: Final = 2**31 - 1
"""The highest ShareSessionEpoch; the next one is 1."""


class RecordState(IntEnum):
    """The delivery states of a record in flight. The numbers are those of the persisted `DeliveryState`; ACQUIRED and
    TX_PENDING are never persisted as such.

    An ARCHIVING record is dead, and its dead letter is not written yet (KIP-1191): no member gets it, and it counts as
    in flight. A TX_PENDING record was acknowledged in a transaction that has not ended (KIP-1289's draft).
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4
    TX_PENDING = 5


TERMINAL: Final = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
"""The states that no record leaves. DeliveryCompleteCount counts records in these states."""


class AcknowledgeType(IntEnum):
    """A consumer's verdicts on a record that it has acquired, with their numbers in ShareFetch and ShareAcknowledge.

    GAP: the log has no such record. RENEW keeps the record and restarts its acquisition lock (KIP-1222); it needs
    version 2 of the RPC.
    """

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class AcquireMode(IntEnum):
    """The values of ShareFetch's ShareAcquireMode (KIP-1206).

    BATCH_OPTIMIZED rounds MaxRecords up to the end of a record batch, RECORD_LIMIT does not.
    """

    BATCH_OPTIMIZED = 0
    RECORD_LIMIT = 1
