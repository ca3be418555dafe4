"""A fetch session as its client keeps it (KIP-227): after the first request, only changed partitions are sent. Pure.

epoch 0, id 0      a new session, all partitions         epoch 0, id n      the same, in the place of session n
epoch 1, 2, ...    what was added, changed, forgotten    a broker without room for a session answers id 0
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from shareq.cluster.records.cache import Place
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

MOST_EPOCHS: Final = 2**31 - 1
NO_SESSION_EPOCH: Final = -1


class FetchRow(NamedTuple):
    """A partition of a fetch, by name and by id; the version decides which of them is sent."""

    topic: str
    place: Place
    offset: int
    leader_epoch: int
    max_bytes: int


class FetchLimits(NamedTuple):
    """The other fields of a fetch: its longest wait, its most bytes, and its isolation level."""

    max_wait_ms: int
    max_bytes: int
    isolation_level: int


class FetchSession:
    """One session with one broker. After each `request`, either `answered` or `reset` has to be called."""

    __slots__ = ("_epoch", "_id", "_sent")

    def __init__(self) -> None:
        self._id = 0
        self._epoch = 0
        self._sent: dict[Place, FetchRow] = {}

    def request(self, rows: Iterable[FetchRow], limits: FetchLimits) -> FetchRequest:
        """Return the request that makes the session fetch exactly these partitions."""
        wanted = {row.place: row for row in rows}
        before = self._sent if self._epoch else {}
        changed = [row for place, row in wanted.items() if before.get(place) != row]
        forgotten = [row for place, row in before.items() if place not in wanted]
        self._sent = wanted
        request = fetch_of(changed, limits)
        request.session_id, request.session_epoch = self._id, self._epoch
        request.forgotten_topics_data = _forgotten(forgotten)
        return request

    def answered(self, error: ErrorCode, session_id: int) -> None:
        """Advance the session by the error code and session id of an answer."""
        if error is ErrorCode.NONE:
            self._id = session_id
            self._epoch = self._epoch % MOST_EPOCHS + 1 if session_id else 0
        else:
            self.reset(keeps_id=error is not ErrorCode.FETCH_SESSION_ID_NOT_FOUND)

    def reset(self, *, keeps_id: bool = True) -> None:
        """Begin a new session with the next request. With `keeps_id`, the broker may still have the old one and
        replaces it.
        """
        self._epoch = 0
        self._id = self._id if keeps_id else 0


def fetch_of(rows: Iterable[FetchRow], limits: FetchLimits) -> FetchRequest:
    """Return a fetch without a session, with these partitions in order."""
    topics: dict[bytes, FetchTopic] = {}
    for row in rows:
        topic = topics.get(row.place.topic_id)
        if topic is None:
            topic = topics[row.place.topic_id] = FetchTopic(row.topic, row.place.topic_id)
        topic.partitions.append(
            FetchPartition(row.place.partition, row.leader_epoch, row.offset, partition_max_bytes=row.max_bytes)
        )
    return FetchRequest(
        max_wait_ms=limits.max_wait_ms,
        min_bytes=1,
        max_bytes=limits.max_bytes,
        isolation_level=limits.isolation_level,
        session_epoch=NO_SESSION_EPOCH,
        topics=list(topics.values()),
    )


def _forgotten(rows: Iterable[FetchRow]) -> list[ForgottenTopic]:
    topics: dict[bytes, ForgottenTopic] = {}
    for row in rows:
        topic = topics.get(row.place.topic_id)
        if topic is None:
            topic = topics[row.place.topic_id] = ForgottenTopic(row.topic, row.place.topic_id)
        topic.partitions.append(row.place.partition)
    return list(topics.values())
