"""The share sessions of this broker, and the release of a member's records when its session ends."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Sequence

from shareq.broker.network.connection import Connection
from shareq.broker.share.core.sessions import (
    ClosedSession,
    ListedPartition,
    PartitionId,
    ShareFetchContext,
    ShareSession,
    ShareSessions,
)
from shareq.broker.share.partitions import SharePartitionManager
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import INITIAL_EPOCH

logger = logging.getLogger(__name__)


class ShareSessionService:
    """The session cache (`sessions`), tied to connections and to the share-partition leaders."""

    def __init__(self, partitions: SharePartitionManager, limit: int) -> None:
        self._partitions = partitions
        self._watched: set[int] = set()
        self._stopping = False
        self.sessions = ShareSessions(limit)

    def open_or_update(
        self,
        connection: Connection,
        group_id: str,
        member_id: str,
        epoch: int,
        listed: Sequence[ListedPartition],
        forgotten: Iterable[PartitionId],
        *,
        has_acks: bool,
        owner: Hashable,
    ) -> ShareFetchContext | ErrorCode:
        """Begin a ShareFetch, as `ShareSessions.open_or_update` does. A session that this opens ends with its
        connection.
        """
        context = self.sessions.open_or_update(
            group_id, member_id, epoch, listed, forgotten, has_acks=has_acks, connection_id=connection.id, owner=owner
        )
        if not isinstance(context, ErrorCode) and epoch == INITIAL_EPOCH:
            self.watch(connection)
            if context.gave_way is not None:
                self.give_back(context.gave_way)
        return context

    def watch(self, connection: Connection) -> None:
        """End the sessions of the connection when it closes."""
        if connection.id not in self._watched:
            self._watched.add(connection.id)
            connection.on_close(lambda: self._on_disconnect(connection.id))

    def close(self, session: ShareSession) -> None:
        """End a session whose last request has been processed.

        Do nothing if the member has opened a newer session since (on another connection): its records belong to that
        one.
        """
        if self.sessions.get(session.group_id, session.member_id) is not session:
            return
        closed = self.sessions.close(session.group_id, session.member_id)
        if closed is not None:
            self._release(closed)

    def give_back(self, closed: ClosedSession) -> None:
        """Release the records of a member whose session was ended to make room for another one, and log this."""
        logger.info("share group %s: the session of member %s gave way", closed.group_id, closed.member_id)
        self._release(closed)

    def stop(self) -> None:
        """Release no more records, because the broker itself closes the connections now.

        Members' records are handed out again after the next start; this does not count as a failed delivery. Apache
        Kafka does not release records either when it stops.
        """
        self._stopping = True

    def _on_disconnect(self, connection_id: int) -> None:
        self._watched.discard(connection_id)
        if self._stopping:
            return
        ended = self.sessions.on_disconnect(connection_id)
        for closed in ended.closed:
            self._release(closed)
        for group_id in ended.empty_groups:
            self._partitions.group_empty(group_id)

    def _release(self, closed: ClosedSession) -> None:
        for topic_id, partition in closed.partitions:
            key = SharePartitionKey(closed.group_id, topic_id, partition)
            self._partitions.release(key, closed.member_id)
