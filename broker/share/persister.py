"""The share-group state persister: how share-partition leaders and the group coordinator keep durable state (KIP-932).

The port is what the five state RPCs can do, for whoever keeps the state. `ShareCoordinatorService` serves it in this
process, without a connection to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from shareq.broker.foundation.pending import Pending
from shareq.broker.share.core.effects import StateBatch, WriteState
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.protocol.errors import ApiError, ErrorCode


@dataclass(frozen=True, slots=True)
class PersistedState:
    """What ReadShareGroupState answered. `start_offset` is -1 while it has never been set."""

    error: ErrorCode
    state_epoch: int = 0
    start_offset: int = -1
    batches: Sequence[StateBatch] = ()


class Persister(Protocol):
    """Reads and writes of share-partition state; answers are durable."""

    # for the group coordinator

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Pending[ApiError]:
        """InitializeShareGroupState: a new state, whatever there was."""

    def initialize_once(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        replaced: Callable[[Iterable[SharePartitionKey]], None],
        *,
        again: bool = False,
    ) -> Pending[ApiError]:
        """As `initialize`, without start offset, unless there is a state of that epoch, or `again`, of an older one.
        `replaced` is called at once if a state was created, before anything else is done with it.
        """

    def read_summary(self, key: SharePartitionKey) -> Pending[SummaryResult]:
        """ReadShareGroupStateSummary."""

    def delete(self, key: SharePartitionKey) -> Pending[ApiError]:
        """DeleteShareGroupState."""

    # for the leader

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> Pending[PersistedState]: ...

    def write_state(self, key: SharePartitionKey, write: WriteState) -> Pending[ErrorCode]: ...

    def replace_state(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, batches: Sequence[StateBatch]
    ) -> Pending[ErrorCode]:
        """Wipe the state and store this one in its place."""


# What a consumer is told for the persister's errors (Apache Kafka 4.3.1: SharePartition.fetchPersisterError).
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
    """The consumer's error code for a persister's; UNKNOWN_SERVER_ERROR for everything that is not in the table."""
    return _SURFACED.get(error, ErrorCode.UNKNOWN_SERVER_ERROR)
