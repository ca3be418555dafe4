"""Fetch sessions (KIP-227): a client names its partitions once, then only changes; answers have only changes, too.

Pure: time and session ids come from outside. A session is known by its id alone and outlives its connection; the
cache holds `max.incremental.fetch.session.cache.slots` of them.

    request epoch   0      full fetch; opens a session
                   -1      full fetch without a session; closes the one it names
                    n > 0  incremental: must be the session's next epoch
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

from shareq.protocol.errors import ErrorCode

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
MAX_EPOCH: Final = 2**31 - 1
PROTECTED_MS: Final = 120_000  # Apache Kafka: a session is not evicted in the first two minutes after use or creation

TopicKey = str | bytes  # the name, or from Fetch version 13 on the 16 bytes of the id
PartitionKey = tuple[TopicKey, int]


class SessionPartition:
    """One partition that a client fetches. The last two fields are from the broker's last answer, -1 before the
    first.
    """

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "partition",
        "topic",
    )

    def __init__(
        self,
        topic: TopicKey,
        partition: int,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.high_watermark = -1
        self.log_start_offset = -1

    @property
    def key(self) -> PartitionKey:
        return (self.topic, self.partition)


class Fetched(Protocol):
    """The fields of a partition's answer that matter to the session."""

    error_code: int
    high_watermark: int
    log_start_offset: int
    records: bytes | memoryview | None


T = TypeVar("T", bound=Fetched)


class FetchSession:
    """The partitions of one client, in the order in which they are read. Owned by `FetchSessions`."""

    __slots__ = ("created_ms", "epoch", "id", "partitions", "used_ms", "uses_topic_ids")

    def __init__(
        self, session_id: int, partitions: dict[PartitionKey, SessionPartition], ids: bool, now_ms: int
    ) -> None:
        self.id = session_id
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.partitions = partitions
        self.uses_topic_ids = ids
        self.created_ms = now_ms
        self.used_ms = now_ms

    def update(self, requested: Iterable[SessionPartition]) -> None:
        """Add the requested partitions; update those that the session already has."""
        for partition in requested:
            key = partition.key
            cached = self.partitions.get(key)
            if cached is None:
                self.partitions[key] = partition
            else:
                cached.fetch_offset = partition.fetch_offset
                cached.max_bytes = partition.max_bytes
                cached.current_leader_epoch = partition.current_leader_epoch
                cached.last_fetched_epoch = partition.last_fetched_epoch

    def forget(self, forgotten: Iterable[PartitionKey]) -> None:
        """Remove partitions from the session."""
        for key in forgotten:
            self.partitions.pop(key, None)


class FetchSessions:
    """The cache of sessions. `new_id` returns random numbers from 1 to 2^31-1; one that is in use is drawn again."""

    def __init__(self, max_slots: int, new_id: Callable[[], int]) -> None:
        self._max_slots = max_slots
        self._new_id = new_id
        self._sessions: dict[int, FetchSession] = {}  # least recently used first

    def __len__(self) -> int:
        return len(self._sessions)

    def open(
        self,
        session_id: int,
        epoch: int,
        requested: dict[PartitionKey, SessionPartition],
        *,
        uses_topic_ids: bool,
    ) -> FetchContext:
        """Return the context of a full fetch. This ends the session that it names, and prepares a new one of the
        `requested` partitions.
        """
        self._sessions.pop(session_id, None)
        return FetchContext(self, requested, epoch, None, uses_topic_ids)

    def resume(self, session_id: int, epoch: int, *, uses_topic_ids: bool, now_ms: int) -> FetchContext | ErrorCode:
        """Return the context of an incremental fetch, after its changes of the session, or the error as `find` does.

        A session without partitions ends.
        """
        session = self.find(session_id, epoch, uses_topic_ids=uses_topic_ids)
        if isinstance(session, ErrorCode):
            return session
        if not session.partitions:
            del self._sessions[session_id]
            return FetchContext(self, {}, FINAL_EPOCH, None, uses_topic_ids)
        session.epoch = next_epoch(epoch)
        session.used_ms = now_ms
        self._sessions[session_id] = self._sessions.pop(session_id)
        return FetchContext(self, session.partitions, epoch, session, uses_topic_ids)

    def find(self, session_id: int, epoch: int, *, uses_topic_ids: bool) -> FetchSession | ErrorCode:
        """Return the session of an incremental request, for the caller to change, or the error for the response."""
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        return session

    def create(self, partitions: dict[PartitionKey, SessionPartition], uses_topic_ids: bool, now_ms: int) -> int:
        """Store the partitions as a new session.

        Return its id, or 0 if the cache is full of sessions with precedence.
        """
        if not partitions or (len(self._sessions) >= self._max_slots and not self._evict(len(partitions), now_ms)):
            return NO_SESSION
        session_id = self._new_id()
        while session_id in self._sessions:
            session_id = self._new_id()
        self._sessions[session_id] = FetchSession(session_id, partitions, uses_topic_ids, now_ms)
        return session_id

    def _evict(self, size: int, now_ms: int) -> bool:
        """Make room for a session of `size` partitions: remove a stale session, or else an old one that is smaller.
        Return False if there is none.
        """
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.used_ms > PROTECTED_MS:
            del self._sessions[oldest.id]
            return True
        old = [session for session in self._sessions.values() if now_ms - session.created_ms > PROTECTED_MS]
        smallest = min(old, key=lambda session: len(session.partitions), default=None)
        if smallest is None or len(smallest.partitions) >= size:
            return False
        del self._sessions[smallest.id]
        return True


class FetchContext:
    """One pending request: the partitions to read, and how to answer."""

    __slots__ = ("_cache", "_epoch", "_partitions", "_session", "_uses_topic_ids")

    def __init__(
        self,
        cache: FetchSessions,
        partitions: dict[PartitionKey, SessionPartition],
        epoch: int,
        session: FetchSession | None,
        uses_topic_ids: bool,
    ) -> None:
        self._cache = cache
        self._partitions = partitions
        self._epoch = epoch
        self._session = session
        self._uses_topic_ids = uses_topic_ids

    @property
    def partitions(self) -> list[SessionPartition]:
        """The partitions to read, in this order."""
        return list(self._partitions.values())

    def given_up(self) -> dict[PartitionKey, SessionPartition]:
        """Return the partitions of a request without a session, so that the caller can free them."""
        return self._partitions

    def throttled(self) -> tuple[ErrorCode, int]:
        """Return the error and session id of an answer without partitions, because of a quota. No new session
        begins.

        The error is INVALID_FETCH_SESSION_EPOCH if another request has used the session meanwhile.
        """
        session = self._session
        if session is None:
            return ErrorCode.NONE, NO_SESSION
        wrong = session.epoch != next_epoch(self._epoch)
        return ErrorCode.INVALID_FETCH_SESSION_EPOCH if wrong else ErrorCode.NONE, session.id

    def answered(self, now_ms: int) -> tuple[ErrorCode, int]:
        """Return the error and session id of an answer whose partitions were all noted.

        A new session begins if the request asks for one and there is room. An answer with an error has no
        partitions.
        """
        error, session_id = self.throttled()
        if self._session is None and self._epoch == INITIAL_EPOCH:
            session_id = self._cache.create(self._partitions, self._uses_topic_ids, now_ms)
        return error, session_id

    def noted(self, results: Sequence[tuple[SessionPartition, T]]) -> Sequence[tuple[SessionPartition, T]]:
        """Note the results as answered, and return those that the answer contains.

        An incremental answer has only partitions with news. Those with records are read last the next time, so that
        every partition gets its turn under `max_bytes`.
        """
        session = self._session
        if session is None:
            for partition, fetched in results:
                _remember(partition, fetched)
            return results
        changed = [(partition, fetched) for partition, fetched in results if _is_news(partition, fetched)]
        for partition, fetched in changed:
            _remember(partition, fetched)
            if fetched.records and partition.key in session.partitions:
                session.partitions[partition.key] = session.partitions.pop(partition.key)
        return changed


def next_epoch(epoch: int) -> int:
    """Return the epoch after this one; after 2^31-1 it is 1."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == MAX_EPOCH else epoch + 1


def _is_news(partition: SessionPartition, fetched: Fetched) -> bool:
    return (
        bool(fetched.records)
        or fetched.error_code != ErrorCode.NONE
        or fetched.high_watermark != partition.high_watermark
        or fetched.log_start_offset != partition.log_start_offset
    )


def _remember(partition: SessionPartition, fetched: Fetched) -> None:
    # An error is returned again until it is over: no value counts as returned with it.
    partition.high_watermark = -1 if fetched.error_code != ErrorCode.NONE else fetched.high_watermark
    partition.log_start_offset = fetched.log_start_offset
