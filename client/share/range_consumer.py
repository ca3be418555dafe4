"""A member of a share group that is handed ranges of offsets, never records (KIP-932).

Locks belong to the session with a leader, and the session to the connection that opened it. When a connection, a leader
or a session is lost, so are the locks: `ShareRangeConsumer.generation` shows it. The bytes of records that come with
every acquisition are dropped unread.
"""

from __future__ import annotations

import base64
import dataclasses
import threading
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from shareq.client.config import ClientConfig
from shareq.client.core.network import NetworkCore
from shareq.client.errors import ClientError, is_transient
from shareq.client.share.driver import ShareDriver, now_ms
from shareq.client.share.leaders import Leader, ShareLeaders
from shareq.client.share.member import ShareGroupMetadata, ShareMember
from shareq.client.share.session import AckRange, AcquiredRange, FetchLimits, TopicIdPartition, portions
from shareq.client.share.session_errors import Meaning, meaning_of
from shareq.client.sockets import SocketDriver
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType

__all__ = ["AckRange", "AcknowledgeType", "AcquiredRange", "ShareRangeConsumer"]

DEFAULT_MAX_BYTES: Final = 8 << 20
"""Bytes of one answer. Larger ones cost the broker twice the CPU: their memory is fresh from the system each time."""
TURN_MS: Final = 1000
"""The time for which one turn of `poll` may keep the other methods waiting."""
ANSWER_MS: Final = 10_000
"""The time for which one broker may keep a turn waiting, whatever `request.timeout.ms` says: a third of Kafka's default
lock. One that hangs must not cost the locks at the others: their renewals wait for the turn.
"""
SETUP_MS: Final = 5_000
"""The same as `ANSWER_MS`, for a new connection."""
SPLITS: Final = 64
"""The number of times that `acknowledge` may halve what a broker refused because of one range in it."""

_Queues = dict[Leader, deque[list[AckRange]]]
_Results = list[tuple[AckRange, ErrorCode]]


class ShareRangeConsumer:
    """One member of a share group. Nothing is opened before the first call; any thread may call any method.

    `generation` changes for a partition when everything acquired on it before can no longer be relied on. A broker that
    is away is waited for: calls raise Unreachable only after `default.api.timeout.ms` without any answer. They raise
    BrokerError when the group, a topic or a request is refused for good, UnsupportedApi when a broker is too old,
    AuthenticationFailed, and ClientError after `close`.
    """

    def __init__(self, config: ClientConfig, group_id: str, topics: Sequence[str], *, rack: str | None = None) -> None:
        self._backoff_ms = config.retry_backoff_ms
        self._member = ShareMember(group_id, new_member_id(), topics, rack or config.client_rack or None)
        self._leaders = ShareLeaders(group_id, self._member.member_id)
        quick = _quick(config)
        driver = SocketDriver(quick, time.monotonic, time.sleep)
        self._network = NetworkCore(quick, driver, once=True)  # a poll ends in time; the next one goes on
        self._driver = ShareDriver(self._network, self._member, self._leaders, backoff_ms=self._backoff_ms)
        self._lock = _FairLock()
        self._closing = threading.Event()
        self._closed = False
        self._absence: ClientError | None = None
        self._coordinator = _FailureLimit(config.default_api_timeout_ms)
        self._all_leaders = _FailureLimit(config.default_api_timeout_ms)

    @property
    def member_id(self) -> str:
        """The id that this member chose."""
        return self._member.member_id

    @property
    def group_metadata(self) -> ShareGroupMetadata:
        """The member as it is now, for `share_transactions`."""
        return ShareGroupMetadata(self._member.group_id, self._member.member_id, self._member.epoch)

    @property
    def generation(self) -> Mapping[TopicIdPartition, int]:
        """The generations by topic id and partition; see above. Partitions that were never assigned are missing."""
        return self._leaders.generation

    @property
    def assignment(self) -> frozenset[TopicIdPartition]:
        """The partitions assigned now."""
        return self._member.assignment or frozenset()

    @property
    def has_assignment(self) -> bool:
        """True if partitions are assigned. On Apache Kafka that takes a new member a few heartbeats."""
        return bool(self._member.assignment)

    @property
    def absence(self) -> ClientError | None:
        """The reason why some assigned partitions could not be asked for when the last `poll` ended; None if all could.

        Only then does an empty poll mean that there were no records.
        """
        return self._absence

    @property
    def lock_timeout_ms(self) -> int:
        """The duration of locks, by the last answer; 0 before the first."""
        return self._driver.lock_timeout_ms

    # -- calls

    def poll(
        self, *, max_records: int, max_wait_ms: int, strict: bool = False, max_bytes: int = DEFAULT_MAX_BYTES
    ) -> list[AcquiredRange]:
        """Acquire up to `max_records` from all leaders, waiting up to `max_wait_ms` for the first record.

        Joins the group and sends heartbeats when they are due. Returns as soon as there are records, [] if there were
        none or nothing is assigned. Without `strict`, brokers round up to whole batches; with it they must be of Kafka
        4.2 or newer. `max_bytes` bounds the answer of each leader.
        """
        if max_records < 1:
            raise ValueError(f"max_records is {max_records}; at least one record can be asked for")
        deadline_ms = now_ms() + max_wait_ms
        while True:
            with self._lock:
                self._check_open()
                wait_ms = max(0, min(deadline_ms - now_ms(), TURN_MS))
                acquired = self._attempt(FetchLimits(max_records, wait_ms, max_bytes, strict))
            left_ms = deadline_ms - now_ms()
            if acquired or left_ms <= 0:
                return acquired or []
            if acquired is None:
                self._closing.wait(min(self._backoff_ms, left_ms) / 1000)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Take other topics, at least one, from the next heartbeat on, which `poll` sends at once."""
        with self._lock:
            self._check_open()
            self._member.subscribe(topics)

    def acknowledge(self, ranges: Sequence[AckRange], kind: AcknowledgeType) -> list[tuple[AckRange, ErrorCode]]:
        """Acknowledge ranges that this member holds; what became of each, in no particular order.

        INVALID_RECORD_STATE: the lock is no longer ours. NETWORK_EXCEPTION: the connection was lost, and whether the
        acknowledgement counted is not known. SHARE_SESSION_NOT_FOUND: the session, and with it the lock, was lost
        before. Any other error: the broker could not do it, and the lock may still be ours. Ranges of one partition may
        not overlap. RENEW needs brokers of Kafka 4.2 or newer.
        """
        results: _Results = []
        queues: _Queues = {}
        with self._lock:
            self._check_open()
            by_leader: dict[Leader, list[AckRange]] = {}
            for one in ranges:
                leader = self._driver.session_leader((one.topic_id, one.partition))
                if leader is None:
                    results.append((one, ErrorCode.SHARE_SESSION_NOT_FOUND))
                else:
                    by_leader.setdefault(leader, []).append(one)
        for leader, of_leader in by_leader.items():
            queues[leader] = deque(portions(of_leader))
        splits = SPLITS
        while queues:
            splits -= self._acknowledge_one_each(queues, kind, results, splits)
            queues = {leader: queue for leader, queue in queues.items() if queue}
        return results

    def heartbeat_if_due(self) -> None:
        """Send a heartbeat when it is time: for a thread of the caller that keeps the membership between polls."""
        with self._lock:
            self._check_open()
            try:
                self._beat()
            except ClientError as error:
                if not is_transient(error):
                    raise
                self._coordinator.failed(error)

    def close(self, timeout_ms: int = 5000) -> None:
        """End the sessions, which releases the records still held, and leave the group. Harmless when done twice.

        Unreachable brokers are skipped; a running call in another thread ends first, and is not counted in
        `timeout_ms`.
        """
        self._closing.set()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._driver.say_goodbye(now_ms() + timeout_ms)
            finally:
                self._network.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- their steps, with the lock held

    def _attempt(self, limits: FetchLimits) -> list[AcquiredRange] | None:
        """Make one turn of `poll`; return None without a leader to ask. Leaders are asked even while the coordinator is
        away.
        """
        absence: ClientError | None = None
        try:
            self._beat()
        except ClientError as error:
            if not is_transient(error):
                raise
            absence = error
        try:
            acquired, trouble, self._absence = self._driver.fetch(limits)
        except ClientError as error:
            if not is_transient(error):
                raise
            acquired, trouble, self._absence = None, error, error
        if trouble is not None:
            self._all_leaders.failed(trouble)
        elif acquired is not None:
            self._all_leaders.answered()
            self._coordinator.answered()  # it need not be there for that
        elif absence is not None:
            self._coordinator.failed(absence)
        return acquired

    def _beat(self) -> None:
        if self._driver.beat_if_due():
            self._coordinator.answered()

    def _acknowledge_one_each(self, queues: _Queues, kind: AcknowledgeType, results: _Results, splits: int) -> int:
        """Acknowledge the next portion of every leader. Return how many were halved to be tried again."""
        portions_now = [(leader, queue.popleft()) for leader, queue in queues.items()]
        with self._lock:
            self._check_open()
            outcomes = self._driver.acknowledge(portions_now, kind)
        halved = 0
        for (leader, portion), outcome in zip(portions_now, outcomes, strict=True):
            queue = queues[leader]
            if outcome.error is not ErrorCode.NONE:
                results += [(one, outcome.error) for ranges in (portion, *queue) for one in ranges]
                queue.clear()
                continue
            for tp, of_partition in _by_partition(portion).items():
                error = outcome.errors.get(tp, ErrorCode.NONE)
                if Meaning.LOCK_GONE in meaning_of(error) and len(of_partition) > 1 and halved < splits:
                    half = len(of_partition) // 2
                    queue.extend((of_partition[:half], of_partition[half:]))
                    halved += 1
                else:
                    results += [(one, error) for one in of_partition]
        return halved

    def _check_open(self) -> None:
        if self._closed:
            raise ClientError(f"the member of share group {self._member.group_id} is closed")


class _FailureLimit:
    """A limit on the duration of transient failures."""

    def __init__(self, limit_ms: int) -> None:
        self._limit_ms = limit_ms
        self._since_ms: int | None = None

    def answered(self) -> None:
        self._since_ms = None

    def failed(self, error: ClientError) -> None:
        """Raise the error after nothing but failures for too long."""
        now = now_ms()
        if self._since_ms is None:
            self._since_ms = now
        elif now - self._since_ms >= self._limit_ms:
            raise error


class _FairLock:
    """A lock that waiting threads get before the last holder."""

    def __init__(self) -> None:
        self._next = threading.Lock()
        self._taken = threading.Lock()

    def __enter__(self) -> None:
        with self._next:
            self._taken.acquire()

    def __exit__(self, *_: object) -> None:
        self._taken.release()


def _quick(config: ClientConfig) -> ClientConfig:
    return dataclasses.replace(
        config,
        request_timeout_ms=min(config.request_timeout_ms, ANSWER_MS),
        connection_setup_timeout_ms=min(config.connection_setup_timeout_ms, SETUP_MS),
    )


def _by_partition(ranges: Sequence[AckRange]) -> dict[TopicIdPartition, list[AckRange]]:
    found: dict[TopicIdPartition, list[AckRange]] = {}
    for one in ranges:
        found.setdefault((one.topic_id, one.partition), []).append(one)
    return found


def new_member_id() -> str:
    """Return a random id in the form of Kafka's clients: a UUID in URL-safe base64.

    Like theirs it begins with no dash.
    """
    while True:
        member_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not member_id.startswith("-"):
            return member_id
