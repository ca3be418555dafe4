"""The ports of groups: the ends of logs, and for KIP-932 the coordinator of states and the leaders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from shareq.broker.foundation.pending import Pending
from shareq.broker.topics.ports import LedLog
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.protocol.errors import ApiError


class EndedLog(LedLog, Protocol):
    """The log of one partition, of which lags are counted. Its end is exclusive, and durable."""

    @property
    def high_watermark(self) -> int: ...


class MemberConnection(Protocol):
    """A connection over which members heartbeat."""

    id: int
    closed: bool

    def on_close(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when the connection is lost; the result takes that back."""


class ShareStates(Protocol):
    """The durable states of share partitions, as the group coordinator uses them; answers are durable."""

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Pending[ApiError]:
        """InitializeShareGroupState: write a new state, whatever state existed."""

    def initialize_once(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        replaced: Callable[[Iterable[SharePartitionKey]], None],
        *,
        again: bool = False,
    ) -> Pending[ApiError]:
        """Initialize the state like `initialize`, unless one of that epoch exists; with `again`, replace an older one,
        too.

        `replaced` is called immediately if a state was created, before anything else is done with it.
        """

    def read_summary(self, key: SharePartitionKey) -> Pending[SummaryResult]:
        """ReadShareGroupStateSummary."""

    def delete(self, key: SharePartitionKey) -> Pending[ApiError]:
        """DeleteShareGroupState."""


class ShareLeaders(Protocol):
    """The leaders of share partitions, which keep what they have read of the states. Called together with the operation
    on the state, before anything else happens.
    """

    def letters_written(self, key: SharePartitionKey) -> Pending[ApiError]:
        """Wait for the dead letters that the share partition owes: NO_ERROR in the turn in which its state may be
        removed, at once if none is owed. COORDINATOR_NOT_AVAILABLE after `LONGEST_WAIT_MS`, with the reason.
        """

    def state_replaced(self, keys: Iterable[SharePartitionKey]) -> None:
        """Forget what was read of the states: they are being rewritten."""

    def state_deleted(self, keys: Collection[SharePartitionKey]) -> None:
        """Forget the states, which are being deleted, and their counters by name."""
