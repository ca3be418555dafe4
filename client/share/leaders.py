"""The share sessions of one member, one for each leader, and which of its locks can still be its own. Sans-IO."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shareq.client.core.connection import Connection
from shareq.client.share.session import ShareSession, TopicIdPartition


class Leader:
    """A broker that leads partitions of the member, and the session with it.

    `connection` is the one that opened the session; after an error it is not asked again before `ready_at`, on the
    driver's clock (seconds).
    """

    __slots__ = ("connection", "node", "opened", "ready_at", "session")

    def __init__(self, node: int, session: ShareSession) -> None:
        self.node = node
        self.session = session
        self.connection: Connection | None = None
        self.opened = False
        self.ready_at = 0.0


class ShareLeaders:
    """All leaders of one member.

    `generation` grows for a partition whenever the locks acquired on it can no longer be relied on: its session ended,
    or it has another leader.
    """

    def __init__(self, group_id: str, member_id: str) -> None:
        self._group_id = group_id
        self._member_id = member_id
        self._leaders: dict[int, Leader] = {}
        # The leader of the session that acquired last; kept when the partition is taken away.
        self._session_leaders: dict[TopicIdPartition, Leader] = {}
        self.generation: dict[TopicIdPartition, int] = {}

    def __iter__(self) -> Iterator[Leader]:
        return iter(tuple(self._leaders.values()))

    def assign(self, nodes: Mapping[TopicIdPartition, int | None]) -> None:
        """Spread the assigned partitions over the sessions of their leaders. A partition with an unknown leader stays
        where it was.
        """
        by_leader: dict[int, set[TopicIdPartition]] = {}
        for tp, node in nodes.items():
            known = self._session_leaders.get(tp)
            if node is not None and (known is None or known.node != node):
                if known is not None:
                    self.invalidate(tp)
                known = self._session_leaders[tp] = self._leader(node)
            if known is None:
                continue
            self.generation.setdefault(tp, 0)
            by_leader.setdefault(known.node, set()).add(tp)
        for leader in self._leaders.values():
            leader.session.assign(by_leader.get(leader.node, ()))

    def session_leader(self, topic_partition: TopicIdPartition) -> Leader | None:
        """Return the leader whose session acquires, or last acquired, on the partition."""
        return self._session_leaders.get(topic_partition)

    def invalidate(self, topic_partition: TopicIdPartition) -> None:
        """Count a new generation: the records acquired on the partition so far are no longer ours."""
        self.generation[topic_partition] = self.generation.get(topic_partition, 0) + 1

    def session_lost(self, leader: Leader) -> None:
        """End the session with this leader, and with it its locks."""
        leader.session.session_lost()
        leader.connection = None
        if leader.opened:
            leader.opened = False
            for tp, known in self._session_leaders.items():
                if known is leader:
                    self.invalidate(tp)

    def _leader(self, node: int) -> Leader:
        leader = self._leaders.get(node)
        if leader is None:
            leader = self._leaders[node] = Leader(node, ShareSession(self._group_id, self._member_id))
        return leader
