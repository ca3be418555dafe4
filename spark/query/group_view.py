"""The share group's progress, as its coordinator reports it: start offsets, lag, and where the logs end."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Mapping
from typing import Final

from shareq.client.admin import Admin
from shareq.client.admin.calls import Partition
from shareq.client.admin.share_groups import SharePosition
from shareq.client.admin.topics import LogRange
from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError, ClientError
from shareq.client.network import Network
from shareq.client.share.session import TopicIdPartition
from shareq.protocol.errors import ErrorCode
from shareq.spark.offsets import SharePartition

_NOT_YET: Final = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})


class GroupView:
    """A view of the group over connections of its own, which the first call opens. Any thread may call."""

    def __init__(
        self, client: ClientConfig, group_id: str, topics: Collection[str], pattern: str | None = None
    ) -> None:
        self._network = Network(client)
        self._admin = Admin(self._network)
        self._group_id = group_id
        self._topics = topics
        self._pattern = None if pattern is None else re.compile(pattern)
        self._lock = threading.Lock()
        self.lag: int | None = None
        """Records that the group has not finished, as of the last `look`; None while that is not known."""
        self.below: Mapping[SharePartition, int] = {}
        """Start offsets as of the last `look`: what lies below is finished for good. They trail by one write."""
        self.idle: Collection[TopicIdPartition] = ()
        """Partitions without anything left to do, as of the last `look`."""

    def find_topics(self) -> list[str]:
        """Return the named topics, or those that match the pattern, never internal ones.

        Raises ClientError naming the topics that do not exist.
        """
        with self._lock:
            if self._pattern is None:
                self._partitions()
            else:
                found = (topic.name for topic in self._admin.topics.all() if not topic.internal)
                self._topics = sorted(name for name in found if self._pattern.fullmatch(name))
            return list(self._topics)

    def log_ends(self) -> dict[TopicIdPartition, int]:
        """Return the offset after the last record of every partition. Raises the errors of `check_topics`."""
        with self._lock:
            counts = self._partitions()
            ids = self._network.topic_ids(self._topics)
            found = self._admin.topics.log_ranges(counts)
            return {(ids[topic], partition): row.end for (topic, partition), row in found.items()}

    def look(self) -> None:
        """Update `lag` and `below`. Raises ClientError, and leaves both unchanged then."""
        with self._lock:
            rows = {tp: row for tp, row in self._share_offsets().items() if tp[0] in self._topics}
            self.lag = self._lag(rows)
            self.below = {
                SharePartition(topic, row.topic_id, partition): row.start
                for (topic, partition), row in rows.items()
                if row.start is not None
            }
            self.idle = frozenset((row.topic_id, partition) for (_, partition), row in rows.items() if row.lag == 0)

    def close(self) -> None:
        """Close the connections, except those of a running call. Later calls raise ClientError."""
        if self._lock.acquire(timeout=1):
            self._network.close()
            self._lock.release()

    def _partitions(self) -> dict[str, list[int]]:
        ids = self._network.topic_ids(self._topics)
        missing = [topic for topic in self._topics if topic not in ids]
        if missing:
            raise ClientError(f"subscribe: there is no topic {', '.join(missing)}; create it before the query starts")
        return {topic: self._network.partitions(ids[topic]) for topic in self._topics}

    def _share_offsets(self) -> dict[Partition, SharePosition]:
        try:
            return self._admin.share_groups.all_offsets(self._group_id)
        except BrokerError as error:
            if error.code in _NOT_YET:
                return {}
            raise

    def _lag(self, rows: Mapping[Partition, SharePosition]) -> int | None:
        silent: dict[str, list[int]] = {}  # Kafka returns the lag from 4.2 on
        for (topic, partition), row in rows.items():
            if row.lag is None and row.start is not None:
                silent.setdefault(topic, []).append(partition)
        ends: Mapping[Partition, LogRange] = self._admin.topics.log_ranges(silent) if silent else {}
        known = [row.lag for row in rows.values() if row.lag is not None]
        known += [max(0, row.end - (rows[tp].start or 0)) for tp, row in ends.items()]
        return sum(known) if known else None
