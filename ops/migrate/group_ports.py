"""The ports to the groups of a migration's two clusters. Every call may raise ClientError."""

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
    """Offsets `first..last` (inclusive) in a delivery state (0 available, 2 acknowledged, 3 archiving, 4 archived),
    with their number of deliveries.
    """

    first: int
    last: int
    state: int
    deliveries: int


class ShareState(NamedTuple):
    """A share partition's state: the first unfinished offset, and the known states of the records after it.

    Ranges ascend, and are disjoint.
    """

    start: int
    ranges: tuple[StateRange, ...]

    def count(self, states: Collection[int]) -> int:
        """Return the number of records behind the start in one of these delivery states."""
        return sum(each.last - each.first + 1 for each in self.ranges if each.state in states)


class Redrive(NamedTuple):
    """A running redrive: from a queue to a topic, or, if that is "", to the letters' own topics."""

    name: str
    queue: str
    target: str
    left: int


class SourceGroups(Protocol):
    """The groups of the source cluster."""

    def consumer_groups(self) -> Mapping[str, bool]:
        """Return groups with committed offsets by name, and whether they have members."""

    def offsets(self, group: str) -> Mapping[Partition, Committed]: ...

    def share_groups(self) -> Sequence[str]: ...

    def begun(self, group: str) -> Mapping[Partition, int]:
        """Return the share partitions of which a share group has a state, and its starts; -1 if it has none yet."""

    def take_over(self, group: str, partitions: Collection[Partition]) -> Mapping[Partition, ShareState | None]:
        """Read states as a new leader does: the old one confirms nothing more from then on.

        None: the group has not begun.
        """

    def group_configs(self) -> Mapping[str, Mapping[str, str]]:
        """Return properties that were set, by group."""

    def redrives(self) -> Sequence[Redrive]:
        """Return the running redrives."""

    def end_redrive(self, name: str) -> None:
        """Stop a redrive; letters that it has not sent back stay in the queue."""


class TargetGroups(Protocol):
    """The groups of the target cluster."""

    def offsets(self, group: str) -> Mapping[Partition, Committed]: ...

    def commit(self, group: str, offsets: Mapping[Partition, Committed]) -> None:
        """Commit for a group without members."""

    def begun(self, group: str) -> Mapping[Partition, int]: ...

    def writable_states(self) -> Collection[int]:
        """Return the delivery states that can be written; none if the cluster does not accept states from this user."""

    def expect(self, group: str, partitions: Collection[Partition]) -> None:
        """Let the cluster prepare for states of share partitions. This changes no state, and may take seconds."""

    def begin(self, group: str, starts: Mapping[Partition, int]) -> int:
        """Let a share group without members begin at these offsets, without known states; return the number of
        requests.

        The cluster may carry out earlier requests late.
        """

    def begin_above(self, group: str, starts: Mapping[Partition, int]) -> None:
        """Restart partitions that have begun: earlier requests are refused from then on."""

    def write(self, group: str, states: Mapping[Partition, ShareState]) -> None:
        """Write the known states of share partitions that have begun."""

    def read(self, group: str, partitions: Collection[Partition]) -> Mapping[Partition, ShareState]:
        """Return states of partitions that have begun, without fencing; none if this user may not see them."""

    def set_group_configs(
        self, changes: Mapping[str, Mapping[str, str]], *, dry_run: bool
    ) -> Mapping[str, BrokerError]:
        """Set properties of groups, for each all or none; return the errors of refused ones."""
