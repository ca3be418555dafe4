"""The ports of groups: the ends of logs and, for KIP-932, the coordinator of states and the leaders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from shareq.broker.foundation.pending import Pending
from shareq.broker.topics.ports import LedLog
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.protocol.errors import ApiError


class EndedLog(LedLog, Protocol):
    """The log of one partition, for which lags are computed. Its end is exclusive, and durable."""

    @property
    def high_watermark(self) -> int: ...


class MemberConnection(Protocol):
    """A connection over which members heartbeat."""

    id: int
    closed: bool

    def on_close(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when the connection is lost. The result is a function that cancels this."""


class ShareStates(Protocol):
    """The durable states of share partitions, as the group coordinator uses them. Answers come when they are
    durable.
    """

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Pending[ApiError]:
        """Write a new state, in place of any existing one, as InitializeShareGroupState does."""

    def initialize_once(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        replaced: Callable[[Iterable[SharePartitionKey]], None],
        *,
        again: bool = False,
    ) -> Pending[ApiError]:
        """Initialize the state like `initialize`, unless one of this state epoch or a later one exists; with
        `again`, unless any exists.

        If a state is created or replaced, `replaced` is called at once with its key, before any other operation on
        it.
        """

    def read_summary(self, key: SharePartitionKey) -> Pending[SummaryResult]:
        """Return a summary of the state, as ReadShareGroupStateSummary does."""

    def delete(self, key: SharePartitionKey) -> Pending[ApiError]:
        """Delete the state, as DeleteShareGroupState does."""


class ShareLeaders(Protocol):
    """The leaders of share partitions, which have states in memory. Their methods are called together with the
    operation on the state, before anything else happens.
    """

    def letters_written(self, key: SharePartitionKey) -> Pending[ApiError]:
        """Wait for the dead letters that the share partition owes.

        Complete with NO_ERROR in the turn in which its state may be removed, at once if none is owed; with
        COORDINATOR_NOT_AVAILABLE, and the reason, after `LONGEST_WAIT_MS`.
        """

    def state_replaced(self, keys: Iterable[SharePartitionKey]) -> None:
        """Drop the states from memory, because they are being rewritten."""

    def state_deleted(self, keys: Collection[SharePartitionKey]) -> None:
        """Drop the states, which are being deleted, and end their counters by name."""
