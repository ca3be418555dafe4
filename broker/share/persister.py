"""The share-group state persister, through which the leaders of share partitions store their state (KIP-932).

The port has the operations of ReadShareGroupState and WriteShareGroupState. `ShareCoordinatorService` serves it in this
process, without a connection to itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shareq.broker.foundation.pending import Pending
from shareq.broker.share.core.effects import StateBatch, WriteState
from shareq.coordinator.share.delays import NO_DELAYS, Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.staged import NONE_STAGED, Staged
from shareq.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class PersistedState:
    """The answer to ReadShareGroupState. `start_offset` is -1 until it is set for the first time.

    `delays` are in wall-clock time, ascending and disjoint. `staged` are acknowledgements in transactions.
    """

    error: ErrorCode
    state_epoch: int = 0
    start_offset: int = -1
    batches: Sequence[StateBatch] = ()
    delays: Sequence[Delay] = NO_DELAYS
    staged: Sequence[Staged] = NONE_STAGED


class Persister(Protocol):
    """Reads and writes of share-partition states by their leaders. Answers come when writes are durable."""

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> Pending[PersistedState]:
        """Read the state, as ReadShareGroupState does."""

    def write_state(self, key: SharePartitionKey, write: WriteState) -> Pending[ErrorCode]:
        """Write the state, as WriteShareGroupState does. The delays of `write` are in wall-clock time."""

    def replace_state(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        batches: Sequence[StateBatch],
        delays: Sequence[Delay] = NO_DELAYS,
        staged: Sequence[Staged] = NONE_STAGED,
    ) -> Pending[ErrorCode]:
        """Delete the state and store this one in its place."""

    def owes_letters(self, key: SharePartitionKey) -> Pending[bool]:
        """Return True if the state has dead records whose dead letters may be missing. This fences no leader."""


# The error a consumer gets for the persister's (Apache Kafka 4.3.1: SharePartition.fetchPersisterError).
_SURFACED = {
    ErrorCode.NONE: ErrorCode.NONE,
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}

# Errors after which a share partition is dropped and read again at the next fetch.
FENCING = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
)


def surfaced_error(error: ErrorCode) -> ErrorCode:
    """Return the error code that the consumer gets for a persister's error: UNKNOWN_SERVER_ERROR for those not in the
    table.
    """
    return _SURFACED.get(error, ErrorCode.UNKNOWN_SERVER_ERROR)
