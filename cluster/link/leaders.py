"""The port by which parts of a node ask the mirror for the leaders of a cluster's partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from shareq.protocol.errors import ErrorCode

STALE: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""The errors that show that facts about a topic and its leaders may be out of date, so that the topic is asked for
again.
"""


class PartitionLeader(NamedTuple):
    """The broker that leads a partition of the cluster, and its leader epoch; -1 for an unknown epoch."""

    node: int
    epoch: int


class PartitionLeaders(Protocol):
    """The leaders of the cluster's partitions. An older leader epoch never replaces a newer one."""

    def leader(self, topic_id: bytes, partition: int) -> PartitionLeader | None:
        """Return the leader; None while no broker is known to lead."""

    def learned(self, topic_id: bytes, partition: int, leader: PartitionLeader) -> None:
        """Note the leader that an answer names beside its error."""

    def refresh(self, topic_id: bytes) -> None:
        """Ask the cluster for the topic soon, because an answer has shown that its facts are out of date."""

    def on_leader(self, listener: Callable[[bytes, int], None]) -> None:
        """Call `listener` with topic id and partition whenever the leader, or the leader epoch, has changed."""
