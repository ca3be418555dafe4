"""A member of a share group on the event loop, as its users see it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import warnings
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice
from operator import attrgetter
from types import TracebackType
from typing import Final, Literal, Self

from shareq.client.aio.consumer.ack_batches import Answered, Waiting
from shareq.client.aio.consumer.leader import SessionTask
from shareq.client.aio.consumer.lock_renewal import RENEW_AT
from shareq.client.aio.consumer.membership import Membership
from shareq.client.aio.consumer.records import (
    ACCEPT,
    RELEASE,
    RENEW,
    LockLost,
    Piece,
    ShareBatch,
    ShareRecord,
    State,
)
from shareq.client.aio.network import Network
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError, ConfigError, UnsupportedApi
from shareq.client.share.core import ShareCore
from shareq.client.share.leaders import Leader, ShareLeaders
from shareq.client.share.member import ShareMember
from shareq.client.share.range_consumer import new_member_id
from shareq.client.share.session import TopicIdPartition
from shareq.protocol.share import AcknowledgeType

logger = logging.getLogger(__name__)

Acknowledgement = Literal["implicit", "explicit"]
AcquireMode = Literal["batch_optimized", "record_limit"]
DEFAULT_PREFETCH: Final = 100
DEFAULT_MAX_BYTES: Final = 8 << 20
DEFAULT_RENEW_S: Final = 600.0
PATIENCE_S: Final = 60.0
"""The longest wait for records in one call, in seconds; callers without a timeout repeat it."""
SESSION_OF: Final[Callable[[ShareRecord], SessionTask]] = attrgetter("session")
TURN_S: Final = 0.01
"""The seconds after which a loop over buffered records yields to other tasks on the event loop."""
GROUP: Final = "group"
SHARE: Final = "share"
"""The purpose of connections for fetches: a waiting fetch holds up every other request."""


@dataclass(slots=True)
class ShareMetrics:
    """Counters of a consumer since its creation, and numbers of records that it holds now (`buffered`, `in_hand`)."""

    received: int = 0
    accepted: int = 0
    released: int = 0
    rejected: int = 0
    renewed: int = 0
    lost: int = 0
    """Records whose lock ended before they were acknowledged."""
    refused: int = 0
    """Acknowledgements that the broker refused."""
    fetches: int = 0
    buffered: int = 0
    in_hand: int = 0


class ShareConsumer:
    """One member of a share group. Use it as an asynchronous context manager, and iterate over it:

        async with ShareConsumer("localhost:9092", "packers", ["orders"]) as consumer:
            async for record in consumer:
                await pack(record.value)

    or over `batches()`, which costs less. With `acknowledgement="implicit"`, the default as in Kafka's clients, a
    record is accepted when the next one is requested, unless it was acknowledged before; a record with which the loop
    was left is released. With "explicit" each record is acknowledged by its `accept`, `release` or `reject`, by any
    task, in any order.

    `prefetch` is how many records are acquired ahead; 0: only the requested ones. With `acquire_mode="batch_optimized"`
    brokers round up to whole batches; with "record_limit" they do not (Apache Kafka 4.2 and later). Locks are renewed
    after half their time until a record was held for `renew_s` seconds; 0: never. `properties` are the client's by
    Kafka's names, for TLS, SASL and timeouts. Methods raise AuthenticationFailed, BrokerError when the group or a topic
    is refused for good, UnsupportedApi when a broker is too old, and ClientError after `close`, without a topic, or
    outside the event loop that the consumer was started on. A cluster that is away is waited for.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        group_id: str,
        topics: Iterable[str] = (),
        *,
        acknowledgement: Acknowledgement = "implicit",
        acquire_mode: AcquireMode = "batch_optimized",
        prefetch: int = DEFAULT_PREFETCH,
        max_bytes: int = DEFAULT_MAX_BYTES,
        renew_s: float = DEFAULT_RENEW_S,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        servers = bootstrap_servers if isinstance(bootstrap_servers, str) else ",".join(bootstrap_servers)
        self._config = ClientConfig.from_properties({**(properties or {}), "bootstrap.servers": servers})
        if acknowledgement not in ("implicit", "explicit"):
            raise ConfigError(f"acknowledgement: {acknowledgement!r}: must be implicit or explicit")
        if acquire_mode not in ("batch_optimized", "record_limit"):
            raise ConfigError(f"acquire_mode: {acquire_mode!r}: must be batch_optimized or record_limit")
        if prefetch < 0 or max_bytes < 1 or renew_s < 0:
            raise ConfigError("prefetch and renew_s must be 0 or more, max_bytes 1 or more")
        if not group_id:
            raise ConfigError("group_id: must not be empty")
        self.exact = acquire_mode == "record_limit"
        self.max_bytes = max_bytes
        self.renew_s = renew_s
        self._implicit = acknowledgement == "implicit"
        self._prefetch = prefetch
        self._member = ShareMember(group_id, new_member_id(), list(topics), self._config.client_rack or None)
        self._network = Network(self._config)
        self._core = ShareCore(
            self._network,
            self._member,
            ShareLeaders(group_id, self._member.member_id),
            look_again=self._look_again,
            lost=self._locks_lost,
            group_purpose=GROUP,
            share_purpose=SHARE,
        )
        self._membership = Membership(self._core, self._spread, self._refuse)
        self._sessions: dict[int, SessionTask] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._buffer: deque[ShareRecord] = deque()
        self._handed: list[ShareRecord] = []  # implicit: what the next call accepts
        self._passed: list[ShareRecord] = []  # implicit: what it accepted, which is queued when the loop has its turn
        self._wanted = 0  # by calls that wait
        self._waiters: set[asyncio.Future[None]] = set()
        self.polled_at = 0.0
        self._gave_way_at = 0.0
        self._unanswered = 0
        self._noted: dict[AcknowledgeType, tuple[Answered, ...]] = {
            kind: (partial(self._note, kind),) for kind in _COUNTED
        }
        self._failed: list[tuple[ShareRecord, ClientError]] = []
        self._refusal: ClientError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._closing = False
        self._gone = asyncio.Event()
        self._counts: Counter[str] = Counter()

    # -- life

    @property
    def group_id(self) -> str:
        return self._member.group_id

    @property
    def member_id(self) -> str:
        """The id that this member chose."""
        return self._member.member_id

    @property
    def subscription(self) -> frozenset[str]:
        return frozenset(self._member.topics)

    @property
    def assignment(self) -> frozenset[tuple[str, int]]:
        """The topics and partitions that are assigned now."""
        return frozenset((self._core.name_of(tp[0]), tp[1]) for tp in self._member.assignment or ())

    @property
    def metrics(self) -> ShareMetrics:
        """The current values of the metrics."""
        in_hand = sum(record.state in (State.IN_HAND, State.SETTLING) for record in self._held())
        fetches = sum(session.fetches for session in self._sessions.values())
        return ShareMetrics(**self._counts, fetches=fetches, buffered=len(self._buffer), in_hand=in_hand)

    async def start(self) -> None:
        """Join the group in the background. A second call is harmless; every call that needs it makes it."""
        self._check_open()
        self._running_loop()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of the consumer; the first call binds it to the running one."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.get_ident()
            self.polled_at = self._loop.time()
            self._membership.start()
        return self._loop

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Subscribe to these topics instead of earlier ones; without topics, acquire no more records. Records of the
        old ones that were acquired ahead are released; those in hand may still be acknowledged.
        """
        self._check_open()
        self._membership.subscribe(list(topics))
        dropped = [record for record in self._buffer if record.topic not in self._member.topics]
        self._buffer = deque(record for record in self._buffer if record.topic in self._member.topics)
        self._give_back(dropped)

    async def close(self, *, drain_s: float = 0.0) -> None:
        """Stop acquiring, wait up to `drain_s` seconds until the records in hand are acknowledged, release the rest and
        leave the group. The second time: wait for the end of the first.
        """
        if self._closing:
            await self._gone.wait()
            return
        self._check_loop()
        self._closing = True
        self._queue_passed()
        self._tell()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(drain_s):
                    await self._until(lambda: not any(record.state is State.IN_HAND for record in self._held()))
            for session in self._sessions.values():
                session.end()
            if self._tasks:
                await asyncio.wait(self._tasks.values())
            await self._membership.leave()
        finally:
            for task in self._tasks.values():
                task.cancel()
            self._membership.cancel()
            self._network.close()
            try:
                await asyncio.gather(*self._tasks.values(), self._membership.wait(), return_exceptions=True)
                await self._network.wait_closed()
            finally:
                self._gone.set()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        if getattr(self, "_loop", None) is not None and not self._closing:
            warnings.warn(
                f"the consumer of share group {self.group_id} was never closed: what it held waits for the end of its"
                " connections or locks, its partitions for the end of its session",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    # -- records

    async def poll(self, *, timeout_s: float = 1.0, max_records: int = 500) -> list[ShareRecord]:
        """Return up to `max_records` records, as soon as there are any; [] if none came within `timeout_s`.

        With implicit acknowledgement, the records returned before are accepted.
        """
        if max_records < 1:
            raise ValueError(f"max_records is {max_records}: must be 1 or more")
        if not self.records_are_there():
            await self._wait_for_records(timeout_s, max_records)
        return self._hand_out(max_records)

    def __aiter__(self) -> AsyncIterator[ShareRecord]:
        """Iterate over records one by one, until the consumer is closed. A step that is cancelled loses none."""
        return _Records(self)

    def batches(self, *, max_records: int = 500) -> AsyncIterator[ShareBatch]:
        """Iterate over batches of up to `max_records` of one partition, until the consumer is closed.

        A batch comes as soon as there are records. With implicit acknowledgement, it is accepted when the next one is
        requested. A cancelled step loses no records.
        """
        if max_records < 1:
            raise ValueError(f"max_records is {max_records}: must be 1 or more")
        return _Batches(self, max_records)

    async def getone(self, *, timeout_s: float | None = None) -> ShareRecord:
        """Return the next record. Raises TimeoutError if none came in time; None waits forever."""
        async with asyncio.timeout(timeout_s):
            while True:
                if found := await self.poll(timeout_s=PATIENCE_S, max_records=1):
                    return found[0]

    def records_are_there(self) -> bool:
        """Begin a call for records, which accepts those handed out before. Return True if the call need not wait."""
        if not self._member.topics and not self._closing:
            raise ClientError(f"the consumer of share group {self.group_id} has no topics: subscribe first")
        self._check_loop()
        if self._handed:
            self._accept_handed()
        self._check_usable()
        self.polled_at = self._running_loop().time()
        return bool(self._buffer)

    def goes_on(self) -> bool:
        """Begin a step of a loop over records. Return True if it may take buffered records at once.

        After `TURN_S` seconds of such steps, other tasks on the event loop run first.
        """
        return not self._closing and self.records_are_there() and self.polled_at - self._gave_way_at <= TURN_S

    async def next_records(self, wanted: int) -> None:
        """Let other tasks run, and return when there are records. Raises StopAsyncIteration after the end."""
        while not self._closing:
            try:
                if not self.records_are_there():
                    await self._wait_for_records(PATIENCE_S, wanted)
            except ClientError:
                if self._closing and self._refusal is None:
                    break
                raise
            if self.polled_at - self._gave_way_at > TURN_S:
                self._gave_way_at = self.polled_at
                await asyncio.sleep(0)
            if self._buffer:
                return
        raise StopAsyncIteration

    async def _wait_for_records(self, timeout_s: float, wanted: int) -> None:
        """Return when there are records, or after `timeout_s`."""
        self._want(wanted)
        try:
            async with asyncio.timeout(timeout_s):
                await self._until(lambda: bool(self._buffer) or self._closing)
        except TimeoutError:
            pass
        finally:
            self._want(-wanted)
        self._check_usable()
        self._gave_way_at = self.polled_at = self._running_loop().time()

    # -- acknowledgements

    def acknowledge(self, records: ShareRecord | Iterable[ShareRecord], kind: AcknowledgeType = ACCEPT) -> None:
        """Acknowledge one record or several with the next request to their broker; `commit` waits for the answer, and
        `record.accept` and the like do both. Raises LockLost if it is too late for one of them, ClientError for one
        that was acknowledged before or belongs to another consumer; then none of them is acknowledged.
        """
        if kind not in _COUNTED:
            raise ValueError(f"kind is {kind!r}: must be ACCEPT, RELEASE, REJECT or RENEW")
        chosen = [records] if isinstance(records, ShareRecord) else list(dict.fromkeys(records))
        for record in chosen:
            self._check_held(record, kind)
        self._send(chosen, kind, self._noted[kind])

    async def settle(self, record: ShareRecord, kind: AcknowledgeType, reason: str = "") -> None:
        """Acknowledge a record, and wait until the broker has stored that. Raise LockLost, BrokerError.

        `reason` is for the record's dead letter, if it gets one.
        """
        self._check_held(record, kind)
        await self._settle([record], kind, reason)

    async def settle_all(self, records: Sequence[ShareRecord], kind: AcknowledgeType, reason: str = "") -> None:
        """Settle the records in hand. Once all are answered, raise LockLost if one was lost, or BrokerError."""
        chosen = [record for record in records if record.state is State.IN_HAND]
        lost = next((record for record in records if record.state is State.LOST), None)
        for record in chosen:
            self._check_held(record, kind)
        if chosen:
            await self._settle(chosen, kind, reason)
        if lost is not None:
            raise _lock_lost(lost)

    async def _settle(self, records: Sequence[ShareRecord], kind: AcknowledgeType, reason: str) -> None:
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left = len(records)
        errors: list[ClientError] = []

        def note(waiting: Waiting, error: ClientError | None) -> None:
            nonlocal left
            self._count(waiting, kind, error)
            left -= len(waiting.records)
            if error is not None:
                errors.append(error)
            if not left and not answered.done():
                answered.set_result(None)
            self._tell()

        self._send(records, kind, (note,), reason)
        await asyncio.shield(answered)
        if errors:
            raise errors[0]

    async def commit(self) -> list[tuple[ShareRecord, ClientError]]:
        """Wait for the answers to all acknowledgements so far. Return those that failed since the last call.

        After LockLost, or an unknown outcome, the record may be delivered again; after other errors it may be
        acknowledged once more. Errors that `record.accept` and its siblings raised are not included. After `close`: the
        failures during the close.
        """
        self._check_loop()
        self._accept_handed()
        self._queue_passed()
        await self._until(lambda: not self._unanswered)
        failed, self._failed = self._failed, []
        return failed

    def _check_held(self, record: ShareRecord, kind: AcknowledgeType) -> None:
        if not isinstance(record, ShareRecord):
            raise TypeError(f"{record!r} is no ShareRecord")
        self._check_loop()
        if not record.is_of(self):
            raise ClientError(f"{record!r}: another consumer handed it out")
        if record.state is State.LOST:
            raise _lock_lost(record)
        if record.state is not State.IN_HAND:
            raise ClientError(f"{record!r}: it was acknowledged before")
        if kind is RENEW and not SESSION_OF(record).renews:
            raise UnsupportedApi("renewing acquisition locks needs Apache Kafka 4.2 or later")

    def _send(
        self, records: Sequence[ShareRecord], kind: AcknowledgeType, answered: tuple[Answered, ...], reason: str = ""
    ) -> None:
        if not records:
            return
        self._unanswered += len(records)
        parts = groupby(records, SESSION_OF) if len(self._sessions) > 1 else [(SESSION_OF(records[0]), records)]
        for session, of_session in parts:
            session.held.acknowledge(of_session, kind, answered, reason)
            session.wake()

    def _note(self, kind: AcknowledgeType, waiting: Waiting, error: ClientError | None) -> None:
        """Note the answer to acknowledgements for which only `commit` waits."""
        self._count(waiting, kind, error)
        if error is not None:
            self._failed += [(record, error) for record in waiting.records]
        self._tell()

    def _count(self, waiting: Waiting, kind: AcknowledgeType, error: ClientError | None) -> None:
        self._unanswered -= len(waiting.records)
        self._counts["refused" if error is not None else _COUNTED[kind]] += len(waiting.records)

    def _accept_handed(self) -> None:
        """Accept the records returned before. Acknowledgements of one turn of the loop are queued at its end."""
        handed, self._handed = self._handed, []
        waits = bool(self._passed)
        for record in handed:
            if record.state is State.IN_HAND:
                record.state = State.SETTLING
                self._passed.append(record)
        if self._passed and not waits:
            self._running_loop().call_soon(self._queue_passed)

    def _queue_passed(self) -> None:
        passed, self._passed = self._passed, []
        if lost := [record for record in passed if record.state is State.LOST]:
            self._counts["refused"] += len(lost)
            self._failed += [(record, _lock_lost(record)) for record in lost]
            passed = [record for record in passed if record.state is not State.LOST]
        self._send(passed, ACCEPT, self._noted[ACCEPT])

    def _give_back(self, records: Sequence[ShareRecord]) -> None:
        """Release records that were not handed out. Nobody waits for the answers, and `commit` does not return them."""

        def note(waiting: Waiting, error: ClientError | None) -> None:
            self._count(waiting, RELEASE, error)
            self._tell()

        self._send(records, RELEASE, (note,))

    # -- what a worker needs beside

    @property
    def lock_s(self) -> float:
        """The duration of locks according to the last answer, in seconds; 0 before the first."""
        return min((each.held.lock_s for each in self._sessions.values() if each.held.lock_s), default=0.0)

    def acquire_ahead(self, records: int) -> None:
        """Acquire this many records ahead from now on, in place of `prefetch`."""
        if records != self._prefetch:
            self._prefetch = records
            self._wake_for_more()

    def take_ready(self, most: int) -> list[ShareRecord]:
        """Return available records, as `poll` does."""
        return self._hand_out(most) if self.records_are_there() else []

    def give_back(self, keep: int) -> int:
        """Release records acquired ahead except the first `keep`, and return the number released.

        Only records at their first delivery: others are nearer to their limit.
        """
        kept, rest = list(islice(self._buffer, keep)), list(islice(self._buffer, keep, None))
        given = [record for record in rest if record.delivery_count == 1]
        self._buffer = deque([*kept, *(record for record in rest if record.delivery_count != 1)])
        self._give_back(given)
        return len(given)

    # -- what the sessions ask

    def room(self) -> int:
        if self._closing:
            return 0
        ahead = self._prefetch if self._looks_ahead() else 0
        there = len(self._buffer)
        if self._wanted <= there and ahead < 2 * there:
            return 0  # half of it is there still: a request for each record would cost more than the records
        missing = max(ahead, self._wanted) - there
        return max(0, -(-missing // max(1, len(self._sessions))))

    def _looks_ahead(self) -> bool:
        """Return True if records may be acquired before anybody waits for them.

        False if the application no longer asks for records: their locks would end, and they would be acquired again,
        until the broker gave them up.
        """
        sessions = self._sessions.values()
        longest_s = max([self.renew_s, *(session.held.lock_s * RENEW_AT for session in sessions)])
        idle_s = asyncio.get_running_loop().time() - self.polled_at
        return all(session.renews for session in sessions) and (self._wanted > 0 or idle_s < longest_s)

    def arrived(self, session: SessionTask, tp: TopicIdPartition, piece: Piece, deadline: float) -> None:
        name = self._core.name_of(tp[0])
        arrived = [
            ShareRecord(self, name, *tp, offset, timestamp, key, value, headers, count, deadline)
            for offset, timestamp, key, value, headers, count in zip(*piece.records, piece.counts, strict=True)
        ]
        for record in arrived:
            record.session = session
        if before := session.held.add(arrived):
            self.lost(before)
        self._counts["received"] += len(arrived)
        if name not in self._member.topics:
            self._give_back(arrived)
        elif arrived:
            self._buffer += arrived
            self._tell()

    def lost(self, records: Sequence[ShareRecord]) -> None:
        self._counts["lost"] += len(records)
        gone = [record for record in records if not record.held_since]
        if gone:
            self._buffer = deque(record for record in self._buffer if record.state is State.BUFFERED)
        self._tell()

    def renewed(self) -> None:
        self._counts["renewed"] += 1

    def refused(self, error: ClientError) -> None:
        self._refuse(error)

    def _locks_lost(self, leader: Leader, why: str, partitions: Collection[TopicIdPartition] | None) -> None:
        self._sessions[leader.node].lose(why, partitions)

    def _look_again(self) -> None:
        self._membership.look_again()

    # -- inside

    def next_record(self) -> ShareRecord:
        """Return an available record."""
        record = self._buffer.popleft()
        record.state = State.IN_HAND
        record.held_since = self.polled_at
        if self._implicit:
            self._handed.append(record)
        self._wake_for_more()
        return record

    def next_batch(self, most: int) -> ShareBatch:
        """Return available records of one partition."""
        first, count = self._buffer[0], 0
        partition, topic_id = first.partition, first.topic_id
        for each in self._buffer:
            if count == most or each.partition != partition or each.topic_id != topic_id:
                break
            count += 1
        return ShareBatch(self, self._hand_out(count))

    def _hand_out(self, most: int) -> list[ShareRecord]:
        buffer, now = self._buffer, self.polled_at
        found = [buffer.popleft() for _ in range(min(most, len(buffer)))]
        for record in found:
            record.state = State.IN_HAND
            record.held_since = now
        if self._implicit:
            self._handed += found
        self._wake_for_more()
        return found

    def _wake_for_more(self) -> None:
        if 2 * len(self._buffer) <= self._prefetch:
            self._wake_sessions()

    def _held(self) -> Iterator[ShareRecord]:
        return chain.from_iterable(session.held for session in self._sessions.values())

    def _want(self, more: int) -> None:
        self._wanted += more
        if more > 0:
            self._wake_sessions()

    def _wake_sessions(self) -> None:
        for session in self._sessions.values():
            session.wake()

    def _spread(self) -> None:
        """Start a session and its task for each leader that has none yet."""
        for leader in self._core.leaders:
            if leader.node not in self._sessions and not self._closing:
                session = SessionTask(self, self._core, leader)
                self._sessions[leader.node] = session
                task = asyncio.create_task(session.run(), name=f"share session with broker {leader.node}")
                task.add_done_callback(self._ended)
                self._tasks[leader.node] = task
        self._wake_sessions()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s failed", task.get_name(), exc_info=error)
            self._refuse(ClientError(f"{task.get_name()} failed: {error!r}"))

    def _refuse(self, error: ClientError) -> None:
        self._refusal = self._refusal or error
        self._tell()

    def _check_loop(self) -> None:
        if self._loop is not None and (threading.get_ident() != self._thread or not self._loop.is_running()):
            try:
                here = asyncio.get_running_loop()
            except RuntimeError:
                here = None
            if here is not self._loop:
                raise ClientError(
                    f"the consumer of share group {self.group_id} was started on another event loop; from another"
                    " thread use loop.call_soon_threadsafe or asyncio.run_coroutine_threadsafe"
                )

    def _check_open(self) -> None:
        self._check_loop()
        self._check_usable()

    def _check_usable(self) -> None:
        if self._refusal is not None and not self._buffer:
            raise self._refusal
        if self._closing:
            raise ClientError(f"the consumer of share group {self.group_id} is closed")

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition` holds. Raises the error with which the consumer was refused meanwhile."""
        while not condition():
            if self._refusal is not None:
                raise self._refusal
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)

    def _tell(self) -> None:
        """Wake all waiting calls, which check for records again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


def _lock_lost(record: ShareRecord) -> LockLost:
    return LockLost(f"{record!r}: the lock is no longer this member's")


class _Records(AsyncIterator[ShareRecord]):
    __slots__ = ("_consumer",)

    def __init__(self, consumer: ShareConsumer) -> None:
        self._consumer = consumer

    async def __anext__(self) -> ShareRecord:
        consumer = self._consumer
        if not consumer.goes_on():
            await consumer.next_records(1)
        return consumer.next_record()


class _Batches(AsyncIterator[ShareBatch]):
    __slots__ = ("_consumer", "_most")

    def __init__(self, consumer: ShareConsumer, most: int) -> None:
        self._consumer = consumer
        self._most = most

    async def __anext__(self) -> ShareBatch:
        consumer = self._consumer
        if not consumer.goes_on():
            await consumer.next_records(self._most)
        return consumer.next_batch(self._most)


_COUNTED: Final = {
    AcknowledgeType.ACCEPT: "accepted",
    AcknowledgeType.RELEASE: "released",
    AcknowledgeType.REJECT: "rejected",
    AcknowledgeType.RENEW: "renewed",
}
