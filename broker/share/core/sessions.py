"""Share sessions: the partitions a member fetches, which its requests name once, and again only when they change
(KIP-932).

    request epoch   0      opens a session; an existing one of the same member is replaced
                   -1      ends it after the request's acknowledgements
                    n > 0  must be the session's next epoch; ShareFetch and ShareAcknowledge share one count

A session belongs to a member of a group; requests and responses have no session id. It ends with epoch -1, with epoch
0, or with the connection that opened it, never by age. When the limit is reached, a session of the client with the most
is ended for a client with fewer (`_giving_way`). Locks of records are stored elsewhere: replacing a session or
forgetting a partition releases nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import FINAL_EPOCH, INITIAL_EPOCH, MAX_EPOCH

MOST_OF_A_CONNECTION: Final = 100
"""The most sessions that one connection may open. A client opens one."""

MOST_PARTITIONS: Final = 10_000
"""The most partitions of one session: as many as the largest topic has."""

LOOKED_AT: Final = 200
"""The most partitions of a session that one ShareFetch looks at, 10 µs each. In a larger session each ShareFetch looks
at the next ones, and at other partitions that have news.
"""

PartitionId = tuple[bytes, int]  # topic id, partition
_SessionKey = tuple[str, str]  # group id, member id


def names_too_many(listed: int, forgotten: int) -> bool:
    """Return True if a request lists or forgets more partitions than a session may have; a repeated partition counts
    each time.
    """
    return max(listed, forgotten) > MOST_PARTITIONS


def next_epoch(epoch: int) -> int:
    """Return the epoch after `epoch` >= 0. After the largest one it is 1, since 0 would open a new session."""
    return 1 if epoch == MAX_EPOCH else epoch + 1


class InMemory(NamedTuple):
    """The partitions of a session that are in memory, as found in `known` when its count of changes was `changes`."""

    known: object
    changes: int
    found: Sequence[Any]


class ListedPartition(NamedTuple):
    """A partition that a ShareFetch names. `topic` is the current name of the topic id, None if the topic does not
    exist.
    """

    topic_id: bytes
    partition: int
    topic: str | None


@dataclass(slots=True)
class SessionPartition:
    """A partition of a session. `topic` is the first known name of its topic id, None until one is known.

    `must_answer`: the next response names the partition even without any change.
    """

    topic_id: bytes
    partition: int
    topic: str | None
    must_answer: bool


@dataclass(slots=True)
class ShareSession:
    """One member's session. Owned by `ShareSessions`. `owner` is the user, or the machine, that opened it.

    `partitions` are in the order in which they are fetched, `next_epoch` is the one epoch that will be accepted.
    `in_memory` is set by the caller, and `listed` has the partitions in order; both are reset when the partitions or
    their order change.
    """

    group_id: str
    member_id: str
    connection_id: Hashable
    owner: Hashable = None
    next_epoch: int = 1
    partitions: dict[PartitionId, SessionPartition] = field(default_factory=dict)
    in_memory: InMemory | None = None
    listed: tuple[SessionPartition, ...] | None = None

    def in_order(self) -> tuple[SessionPartition, ...]:
        """Return the partitions in the order in which they are fetched."""
        listed = self.listed
        if listed is None:
            listed = self.listed = tuple(self.partitions.values())
        return listed

    def others(self) -> None:
        """Note that the partitions, or their order, have changed."""
        self.in_memory = self.listed = None


@dataclass(frozen=True, slots=True)
class ClosedSession:
    """A session that has ended, with its partitions. The caller releases the records that the member holds on them."""

    group_id: str
    member_id: str
    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The consequences of a lost connection: sessions to release, and groups that have no session left here."""

    closed: tuple[ClosedSession, ...] = ()
    empty_groups: tuple[str, ...] = ()


class FetchResult(Protocol):
    """The fields of one partition's result that matter to the session."""

    @property
    def topic_id(self) -> bytes: ...
    @property
    def partition(self) -> int: ...
    @property
    def error(self) -> ErrorCode: ...
    @property
    def records(self) -> bytes | memoryview: ...


T = TypeVar("T", bound=FetchResult)


class ShareFetchContext(NamedTuple):
    """One ShareFetch within its session. `epoch` is the request's; `partitions` are those to fetch, in the session's
    order.

    `gave_way` is the session that was ended to make room for this one; None if there was room.
    """

    session: ShareSession
    epoch: int
    partitions: tuple[SessionPartition, ...]
    gave_way: ClosedSession | None = None

    @property
    def is_final(self) -> bool:
        """True if the request ends the session: nothing is fetched, and the caller calls `ShareSessions.close` after
        the acknowledgements.
        """
        return self.epoch == FINAL_EPOCH

    @property
    def rounds(self) -> int:
        """The number of requests needed to look at all partitions of the session, at least one."""
        count = len(self.partitions)
        return 1 if count <= LOOKED_AT else -(-count // LOOKED_AT)

    def select(self, results: Sequence[T], *, preview: bool = False) -> list[T] | ErrorCode:
        """Return the results that the response carries, in the same order.

        If this request opened or ended the session, return all. Otherwise return the results with records, with an
        error, and those of partitions that must be answered: newly added ones, and ones whose last result was an error.
        Partitions with records move to the end of the session's order. Return INVALID_SHARE_SESSION_EPOCH if another
        request has changed the session's epoch meanwhile. `preview` leaves the session unchanged.
        """
        if self.epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            return list(results)
        if self.session.next_epoch != next_epoch(self.epoch):
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        return [result for result in results if self._is_due(result, preview)]

    def _is_due(self, result: FetchResult, preview: bool) -> bool:
        key = (result.topic_id, result.partition)
        failed, filled = result.error is not ErrorCode.NONE, len(result.records) > 0
        partition = self.session.partitions.get(key)
        if partition is None:  # forgotten by a request that came between
            return failed or filled
        due = failed or filled or partition.must_answer
        if not preview:
            partition.must_answer = failed
            if filled and 1 < len(self.session.partitions) <= LOOKED_AT:  # of more, it is not their turn next anyway
                self.session.partitions[key] = self.session.partitions.pop(key)
                self.session.others()
        return due


@dataclass(slots=True)
class _Connection:
    """The sessions that a connection has opened and that have neither ended nor been replaced.

    `last_group`: the group of the session opened last.
    """

    last_group: str
    keys: dict[_SessionKey, None] = field(default_factory=dict)


class ShareSessions:
    """All share sessions of a broker. `limit` is `group.share.max.share.sessions`; it may be replaced at any time.

    Sessions end with the connection that opened them.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._sessions: dict[_SessionKey, ShareSession] = {}
        self._connections: dict[Hashable, _Connection] = {}
        self._members: dict[str, int] = {}  # sessions by group
        self.evicted = 0  # sessions that ended with their connection, or gave way

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partitions(self) -> int:
        """The number of partitions in all sessions together."""
        return sum(len(session.partitions) for session in self._sessions.values())

    def get(self, group_id: str, member_id: str) -> ShareSession | None:
        """Return the member's session, if it has one."""
        return self._sessions.get((group_id, member_id))

    # -- requests

    def open_or_update(
        self,
        group_id: str,
        member_id: str,
        epoch: int,
        listed: Sequence[ListedPartition],
        forgotten: Iterable[PartitionId],
        *,
        has_acks: bool,
        connection_id: Hashable,
        owner: Hashable = None,
    ) -> ShareFetchContext | ErrorCode:
        """Begin a ShareFetch, which must not name too many partitions (`names_too_many`): open its session, or update
        it and advance its epoch. An error changes no session.

        INVALID_REQUEST: acknowledgements (`has_acks`) while opening, or more than `MOST_PARTITIONS` partitions in the
        session. SHARE_SESSION_LIMIT_REACHED: the limit is reached and no other client has more sessions, or the
        connection has too many. The caller delays that answer by MaxWaitMs, so that clients do not try again at once.
        SHARE_SESSION_NOT_FOUND and INVALID_SHARE_SESSION_EPOCH as for `update`.
        """
        if epoch == INITIAL_EPOCH:
            if has_acks:
                return ErrorCode.INVALID_REQUEST
            return self._open(ShareSession(group_id, member_id, connection_id, owner), listed)
        known = self._sessions.get((group_id, member_id))
        if known is not None and listed and _outgrows(known.partitions, listed):
            return ErrorCode.INVALID_REQUEST
        session = self.update(group_id, member_id, epoch)
        if isinstance(session, ErrorCode):
            return session
        if epoch == FINAL_EPOCH:
            return ShareFetchContext(session, epoch, ())
        for partition in listed:
            if partition[:2] not in session.partitions:
                session.partitions[partition[:2]] = SessionPartition(*partition, must_answer=True)
                session.others()
        for key in forgotten:  # after adding: a partition that is listed only to carry acknowledgements is not fetched
            session.partitions.pop(key, None)
            session.others()
        return ShareFetchContext(session, epoch, session.in_order())

    def update(self, group_id: str, member_id: str, epoch: int) -> ShareSession | ErrorCode:
        """Begin a ShareAcknowledge: check the epoch and advance it, unless it is final.

        SHARE_SESSION_NOT_FOUND: there is no session. INVALID_SHARE_SESSION_EPOCH: not the expected epoch, or 0 (only a
        ShareFetch may open a session). The final epoch (-1) is always accepted.
        """
        if epoch == INITIAL_EPOCH:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session = self._sessions.get((group_id, member_id))
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.next_epoch:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session.next_epoch = next_epoch(epoch)
        return session

    def repeat(self, session: ShareSession, epoch: int) -> bool:
        """Begin a ShareFetch of the session that names no partition: advance the epoch.

        Return False, and change nothing, if its epoch is not the expected one, or if a partition must be answered.
        """
        if epoch != session.next_epoch:
            return False
        for partition in session.partitions.values():
            if partition.must_answer:
                return False
        session.next_epoch = next_epoch(epoch)
        return True

    def _open(self, session: ShareSession, listed: Sequence[ListedPartition]) -> ShareFetchContext | ErrorCode:
        group_id = session.group_id
        key = (group_id, session.member_id)
        connection = self._connections.get(session.connection_id) or _Connection(group_id)
        gave_way: ClosedSession | None = None
        if key not in connection.keys and len(connection.keys) >= MOST_OF_A_CONNECTION:
            return ErrorCode.SHARE_SESSION_LIMIT_REACHED
        if key not in self._sessions and len(self._sessions) >= self.limit:
            greedy = _giving_way(self._sessions.values(), session)
            if greedy is None:
                return ErrorCode.SHARE_SESSION_LIMIT_REACHED
            gave_way = self._remove((greedy.group_id, greedy.member_id))
            self.evicted += 1
        self._remove(key)
        for partition in listed:
            session.partitions[partition[:2]] = SessionPartition(*partition, must_answer=False)
        self._sessions[key] = session
        self._members[group_id] = self._members.get(group_id, 0) + 1
        connection.last_group = group_id
        connection.keys[key] = None
        self._connections[session.connection_id] = connection
        return ShareFetchContext(session, INITIAL_EPOCH, session.in_order(), gave_way)

    # -- ends

    def close(self, group_id: str, member_id: str) -> ClosedSession | None:
        """End the member's session, after a request with the final epoch. Return None if it has none.

        Even if the group has no sessions afterwards, its state stays in memory until the connection ends.
        """
        return self._remove((group_id, member_id))

    def on_disconnect(self, connection_id: Hashable) -> Disconnected:
        """End the sessions that the connection opened, except for members who have opened a newer one on another
        connection.
        """
        connection = self._connections.pop(connection_id, None)
        if connection is None:
            return Disconnected()
        closed = [ended for key in connection.keys if (ended := self._remove(key)) is not None]
        self.evicted += len(closed)
        groups = dict.fromkeys([*(each.group_id for each in closed), connection.last_group])
        return Disconnected(tuple(closed), tuple(group_id for group_id in groups if group_id not in self._members))

    def clear(self) -> None:
        """Forget every session: share groups have been switched off."""
        self._sessions.clear()
        self._connections.clear()
        self._members.clear()

    def _remove(self, key: _SessionKey) -> ClosedSession | None:
        session = self._sessions.pop(key, None)
        if session is None:
            return None
        left = self._members[key[0]] - 1
        if left:
            self._members[key[0]] = left
        else:
            del self._members[key[0]]
        connection = self._connections.get(session.connection_id)
        if connection is not None:
            connection.keys.pop(key, None)
        return ClosedSession(session.group_id, session.member_id, tuple(session.partitions))


def _outgrows(known: Mapping[PartitionId, SessionPartition], listed: Sequence[ListedPartition]) -> bool:
    if len(known) + len(listed) <= MOST_PARTITIONS:
        return False
    return len(known.keys() | {(each.topic_id, each.partition) for each in listed}) > MOST_PARTITIONS


_LEVELS: Final[tuple[Callable[[ShareSession], Hashable], ...]] = (
    attrgetter("owner"),
    attrgetter("group_id"),
    attrgetter("connection_id"),
)


def _giving_way(sessions: Iterable[ShareSession], newcomer: ShareSession) -> ShareSession | None:
    """Return the session to end for the newcomer: the newest one of the holder with the most. Return None to refuse the
    newcomer.

    Holders are compared on three levels: users (machines, without authentication), a user's groups, and a group's
    connections. A newcomer whose user has fewer sessions than another user replaces a session of that user; a newcomer
    whose user has the most can only replace one of the same user, in a group with more; likewise for connections. If
    all have equally many, the newcomer is refused. `sessions` are all existing ones, oldest first.
    """
    left = list(sessions)
    taken = False
    for holder_of in _LEVELS:
        counts = Counter(map(holder_of, left))
        if not counts:
            return None
        holder, most = counts.most_common(1)[0]
        own = holder_of(newcomer)
        if not taken and counts[own] + 1 >= most:
            holder = own
        else:
            taken = True
        left = [session for session in left if holder_of(session) == holder]
    return left[-1] if taken else None
