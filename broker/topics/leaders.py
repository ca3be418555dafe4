"""Which partitions are led by other brokers: none by default; set by tests that simulate a cluster.

One process leads everything it has. What to answer clients when it does not (KIP-932: NOT_LEADER_OR_FOLLOWER with the
leader's address, NOT_COORDINATOR, FindCoordinator's answer) is decided here and there by this map, so that it can be
shown without a cluster. Share groups, the coordinators, and RPCs that read or write records ask it; a broker by itself
never fills it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from shareq.broker.topics.endpoint import Endpoint
from shareq.protocol.errors import ErrorCode

_NO_LEADER: Final = -1


class Leader(NamedTuple):
    """Another broker, and the epoch in which it leads a partition."""

    endpoint: Endpoint
    epoch: int


class LeaderMap:
    """Topic and partition to the broker that leads it; absent: this one does.

    `some_are_elsewhere`: whether another broker leads anything.
    """

    def __init__(self) -> None:
        self.some_are_elsewhere = False  # asked by each request that writes or reads
        self._elsewhere: dict[tuple[str, int], Leader] = {}
        self._moved: list[Callable[[str, int], None]] = []

    def other_leader(self, topic: str, partition: int) -> Leader | None:
        """The other broker that leads the partition; None: this broker does."""
        return self._elsewhere.get((topic, partition)) if self._elsewhere else None

    def move(self, topic: str, partition: int, leader: Leader | None) -> None:
        """The partition is led by `leader` from now on; None: by this broker again. Notifies the listeners."""
        if leader is None:
            self._elsewhere.pop((topic, partition), None)
        else:
            self._elsewhere[topic, partition] = leader
        self.some_are_elsewhere = bool(self._elsewhere)
        for listener in self._moved:
            listener(topic, partition)

    def on_move(self, listener: Callable[[str, int], None]) -> None:
        """Call back with topic and partition whenever one has moved, here or away."""
        self._moved.append(listener)


class PartitionRow(Protocol):
    """A partition in an answer of metadata, with this broker as its leader."""

    partition_index: int
    error_code: int
    leader_id: int


def mark_leaderless(leaders: LeaderMap, topic: str, rows: Iterable[PartitionRow]) -> None:
    """LEADER_NOT_AVAILABLE for those that are led elsewhere: of other brokers this one does not know if they live."""
    if not leaders.some_are_elsewhere:
        return
    for row in rows:
        if leaders.other_leader(topic, row.partition_index) is not None:
            row.error_code, row.leader_id = ErrorCode.LEADER_NOT_AVAILABLE, _NO_LEADER
