"""The port by which forwarding asks the mirror of the cluster's topics."""

from __future__ import annotations

from typing import Final, Protocol, TypeAlias

from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.leaders import PartitionLeader
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode

Topic: TypeAlias = str | bytes
"""A topic as a client names it: by name, or by its 16-byte id."""

GRACE_MS: Final = 5_000
"""The time that a broker has, beyond the timeout in the client's request, until it counts as silent."""


class Topics(Protocol):
    """The cluster's topics, and who leads them."""

    def find(self, key: Topic) -> Pending[TopicImage | ErrorCode]:
        """Return a topic by name or id, or an error code. A topic that is not known is asked for."""

    def leader(self, topic_id: bytes, partition: int) -> PartitionLeader | None:
        """Return the broker that leads a partition; None while there is no leader, or none is known."""

    def known(self, name: str) -> TopicImage | None:
        """Return a topic if the mirror knows it already; None otherwise."""

    def deleted(self, topic_id: bytes) -> None:
        """Note that the cluster has deleted a topic."""

    def refresh(self, topic_id: bytes) -> None:
        """Ask for a topic again soon."""


def leader_of(topics: Topics, found: TopicImage | ErrorCode, partition: int) -> int | ErrorCode:
    """Return the id of the broker that leads a partition of a found topic, or an error code.

    If the partition or its leader is unknown, the topic is asked for again.
    """
    if isinstance(found, ErrorCode):
        return ErrorCode.LEADER_NOT_AVAILABLE if found is ErrorCode.REQUEST_TIMED_OUT else found
    if not 0 <= partition < found.partitions:
        topics.refresh(found.topic_id)  # it may have grown
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    leader = topics.leader(found.topic_id, partition)
    if leader is None:
        topics.refresh(found.topic_id)
        return ErrorCode.LEADER_NOT_AVAILABLE
    return leader.node
