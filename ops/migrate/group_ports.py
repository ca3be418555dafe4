"""Ports to the groups of a migration's two clusters. Every call may raise ClientError."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from shareq.client.errors import BrokerError
from shareq.ops.migrate.ports import Partition


class Committed(NamedTuple):
    """A committed offset of a consumer group."""

    offset: int
    metadata: str = ""


class StateRange(NamedTuple):
    """Offsets `first..last` (inclusive) in a delivery state (0 available, 2 acknowledged, 3 archiving, 4 archived)
    after so many deliveries.
    """

    first: int
    last: int
    state: int
    deliveries: int


class ShareState(NamedTuple):
    """A share partition's state: the first offset that is not done with, and what is known of those behind it. Ranges
    ascend, and are disjoint.
    """

    start: int
    ranges: tuple[StateRange, ...]

    def count(self, states: Collection[int]) -> int:
        """Return how many records behind the start are in one of these delivery states."""
        return sum(each.last - each.first + 1 for each in self.ranges if each.state in states)


class Redrive(NamedTuple):
    """A redrive under way: from a queue to a topic, or, where that is "", to the topics that the letters were of."""

    name: str
    queue: str
    target: str
    left: int


class SourceGroups(Protocol):
    """Groups of the cluster that is left."""

    def consumer_groups(self) -> Mapping[str, bool]:
        """Return groups with committed offsets by name, and whether they have members."""

    def offsets(self, group: str) -> Mapping[Partition, Committed]: ...

    def share_groups(self) -> Sequence[str]: ...

    def begun(self, group: str) -> Mapping[Partition, int]:
        """Return the share partitions that a share group has a state of, and its starts; -1 where it has none yet."""

    def take_over(self, group: str, partitions: Collection[Partition]) -> Mapping[Partition, ShareState | None]:
        """Read states as a new leader does: from then on the old one confirms nothing more. None: nothing was begun."""

    def group_configs(self) -> Mapping[str, Mapping[str, str]]:
        """Return properties that were set, by group."""

    def redrives(self) -> Sequence[Redrive]:
        """Return the redrives that are under way."""

    def end_redrive(self, name: str) -> None:
        """End a redrive where it is; what it has not sent back stays in the queue."""


class TargetGroups(Protocol):
    """Groups of the cluster that is moved to."""

    def offsets(self, group: str) -> Mapping[Partition, Committed]: ...

    def commit(self, group: str, offsets: Mapping[Partition, Committed]) -> None:
        """Commit for a group without members."""

    def begun(self, group: str) -> Mapping[Partition, int]: ...

    def writable_states(self) -> Collection[int]:
        """Return delivery states that can be written; none where the cluster does not take states from this user."""

    def begin(self, group: str, starts: Mapping[Partition, int]) -> None:
        """Let a share group without members begin at these offsets, with nothing known of what is behind them."""

    def write(self, group: str, states: Mapping[Partition, ShareState]) -> None:
        """Write what is known of share partitions that have begun."""

    def read(self, group: str, partitions: Collection[Partition]) -> Mapping[Partition, ShareState]:
        """Return states of partitions that have begun, and fence nobody; none where this user is not shown them."""

    def set_group_configs(
        self, changes: Mapping[str, Mapping[str, str]], *, dry_run: bool
    ) -> Mapping[str, BrokerError]:
        """Set properties of groups, of each all or none; return the errors of those that are refused."""
