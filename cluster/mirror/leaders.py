"""The leaders of the cluster's partitions, as far as answers have named them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shareq.cluster.link.leaders import PartitionLeader

NO_LEADER: Final = -1


class LeaderTable:
    """Leaders by topic id and partition. An older leader epoch never replaces a newer one; -1 replaces any."""

    __slots__ = ("_epochs", "_leaders", "_listeners")

    def __init__(self) -> None:
        self._leaders: Final[dict[bytes, dict[int, PartitionLeader]]] = {}
        self._epochs: Final[dict[bytes, dict[int, int]]] = {}
        self._listeners: Final[list[Callable[[bytes, int], None]]] = []

    def get(self, topic_id: bytes, partition: int) -> PartitionLeader | None:
        """Return the leader; None while there is none, or none is known."""
        return self._leaders.get(topic_id, {}).get(partition)

    def learn(self, topic_id: bytes, partition: int, node: int, epoch: int) -> None:
        """Note that a broker, or NO_LEADER, leads a partition since this leader epoch."""
        epochs = self._epochs.setdefault(topic_id, {})
        if 0 <= epoch < epochs.get(partition, -1):
            return
        epochs[partition] = epoch
        leaders = self._leaders.setdefault(topic_id, {})
        before = leaders.get(partition)
        if node == NO_LEADER:
            leaders.pop(partition, None)
        else:
            leaders[partition] = PartitionLeader(node, epoch)
        if leaders.get(partition) != before:
            for listener in self._listeners:
                listener(topic_id, partition)

    def forget(self, topic_id: bytes) -> None:
        """Forget a deleted topic's leaders. Listeners are not called."""
        self._leaders.pop(topic_id, None)
        self._epochs.pop(topic_id, None)

    def add_listener(self, listener: Callable[[bytes, int], None]) -> None:
        """Call `listener` with topic id and partition after each change."""
        self._listeners.append(listener)
