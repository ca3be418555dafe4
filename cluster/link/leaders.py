"""Who leads the partitions of a cluster: what parts of a node ask of its mirror."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class PartitionLeader(NamedTuple):
    """The broker that leads a partition of the cluster, and since which leader epoch; -1: none is known."""

    node: int
    epoch: int


class PartitionLeaders(Protocol):
    """Who leads what in the cluster. An older leader epoch never replaces a newer one."""

    def leader(self, topic_id: bytes, partition: int) -> PartitionLeader | None:
        """Return the leader; None while nobody is known to lead."""

    def learned(self, topic_id: bytes, partition: int, leader: PartitionLeader) -> None:
        """Take over what an answer said beside its error."""

    def refresh(self, topic_id: bytes) -> None:
        """Ask the cluster soon: an answer says that what is known of the topic is out of date."""

    def on_leader(self, listener: Callable[[bytes, int], None]) -> None:
        """Call back with topic id and partition whenever another leader, or another leader epoch, is known."""
