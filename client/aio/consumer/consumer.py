"""A member of a share group on the event loop, as its users see it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self

from shareq.client.aio.consumer.held import RENEW_AT
from shareq.client.aio.consumer.leader import SessionTask
from shareq.client.aio.consumer.membership import Membership
from shareq.client.aio.consumer.records import ACCEPT, RELEASE, RENEW, LockLost, Piece, ShareRecord, State
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
GROUP: Final = "group"
SHARE: Final = "share"
"""The purposes of connections: a fetch that waits would hold everything else up."""


@dataclass(slots=True)
class ShareMetrics:
    """Counters of a consumer since it was made, and what it holds now (`buffered`, `in_hand`)."""

    received: int = 0
    accepted: int = 0
    released: int = 0
    rejected: int = 0
    renewed: int = 0
    lost: int = 0
    """Records whose lock ended before they were acknowledged."""
    refused: int = 0
    """Acknowledgements that were not taken."""
    fetches: int = 0
    buffered: int = 0
    in_hand: int = 0


class ShareConsumer:
    """One member of a share group. Use it as an asynchronous context manager, and iterate over it:

        async with ShareConsumer("localhost:9092", "packers", ["orders"]) as consumer:
            async for record in consumer:
                await pack(record.value)

    With `acknowledgement="implicit"`, the default as in Kafka's clients, a record is accepted when the next one is
    asked for, unless it was acknowledged before; one that the loop was left with is released. With "explicit" each
    record is acknowledged by its `accept`, `release` or `reject`, by any task, in any order.

    `prefetch` is how many records are acquired ahead; 0: only what is waited for. With `acquire_mode="batch_optimized"`
    brokers round up to whole batches; with "record_limit" they do not (Apache Kafka 4.2 and later). Locks are renewed
    half way until a record was held for `renew_s` seconds; 0: never. `properties` are the client's by Kafka's names,
    for TLS, SASL and timeouts. Methods raise AuthenticationFailed, BrokerError when the group or a topic is refused for
    good, UnsupportedApi when a broker is too old, and ClientError after `close`, without a topic, or outside the event
    loop that the consumer was started on. A cluster that is away is waited for.
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
        self._holders: dict[ShareRecord, SessionTask] = {}
        self._buffer: deque[ShareRecord] = deque()
        self._handed: list[ShareRecord] = []  # implicit: what the next call accepts
        self._wanted = 0  # by calls that wait
        self._waiters: set[asyncio.Future[None]] = set()
        self.polled_at = 0.0
        self._unanswered = 0
        self._failed: list[tuple[ShareRecord, ClientError]] = []
        self._refusal: ClientError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
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
        """Topics and partitions that are assigned now."""
        return frozenset((self._core.name_of(tp[0]), tp[1]) for tp in self._member.assignment or ())

    @property
    def metrics(self) -> ShareMetrics:
        """The current metrics."""
        in_hand = sum(record.state in (State.IN_HAND, State.SETTLING) for record in self._holders)
        fetches = sum(session.fetches for session in self._sessions.values())
        return ShareMetrics(**self._counts, fetches=fetches, buffered=len(self._buffer), in_hand=in_hand)

    async def start(self) -> None:
        """Join the group in the background. Harmless the second time; every call that needs it does so."""
        self._check_open()
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self.polled_at = self._loop.time()
            self._membership.start()

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Other topics than before; none of them: acquire nothing more. Records of the old ones that were acquired
        ahead are released; those in hand may still be acknowledged.
        """
        self._check_open()
        self._membership.subscribe(list(topics))
        dropped = [record for record in self._buffer if record.topic not in self._member.topics]
        self._buffer = deque(record for record in self._buffer if record.topic in self._member.topics)
        self._give_back(dropped)

    async def close(self, *, drain_s: float = 0.0) -> None:
        """Acquire nothing more, wait up to `drain_s` seconds until what is in hand is acknowledged, release the rest
        and leave the group. The second time: wait for the end of the first.
        """
        if self._closing:
            await self._gone.wait()
            return
        self._check_loop()
        self._closing = True
        self._tell()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(drain_s):
                    await self._until(lambda: not any(record.state is State.IN_HAND for record in self._holders))
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
        """Up to `max_records` records, as soon as there is any; [] when none came within `timeout_s`.

        With implicit acknowledgement, what was handed out before is accepted.
        """
        if max_records < 1:
            raise ValueError(f"max_records is {max_records}: must be 1 or more")
        if not self._member.topics and not self._closing:
            raise ClientError(f"the consumer of share group {self.group_id} has no topics: subscribe first")
        self._accept_handed()
        await self.start()
        self.polled_at = asyncio.get_running_loop().time()
        self._want(max_records)
        try:
            async with asyncio.timeout(timeout_s):
                await self._until(lambda: bool(self._buffer) or self._closing)
        except TimeoutError:
            pass
        finally:
            self._want(-max_records)
        self._check_open()
        return self._hand_out(max_records)

    async def __aiter__(self) -> AsyncIterator[ShareRecord]:
        """Yield records one by one, until the consumer is closed."""
        while not self._closing:
            try:
                found = await self.poll(timeout_s=60, max_records=1)
            except ClientError:
                if self._closing and self._refusal is None:
                    return
                raise
            for record in found:
                yield record

    async def getone(self, *, timeout_s: float | None = None) -> ShareRecord:
        """Return the next record. TimeoutError when none came in time; None: wait for ever."""
        async with asyncio.timeout(timeout_s):
            while True:
                if found := await self.poll(timeout_s=60, max_records=1):
                    return found[0]

    # -- acknowledgements

    def acknowledge(self, records: ShareRecord | Iterable[ShareRecord], kind: AcknowledgeType = ACCEPT) -> None:
        """Acknowledge one record or several with the next request to their broker; `commit` waits for the answer, and
        `record.accept` and the like do both. Raises LockLost when it is too late already for one of them, ClientError
        for one that was acknowledged before or is another consumer's; then none of them is acknowledged.
        """
        if kind not in _COUNTED:
            raise ValueError(f"kind is {kind!r}: must be ACCEPT, RELEASE, REJECT or RENEW")
        chosen = [records] if isinstance(records, ShareRecord) else list(dict.fromkeys(records))
        for record in chosen:
            self._check_held(record, kind)
        for record in chosen:
            self._send(record, kind, None)

    async def settle(self, record: ShareRecord, kind: AcknowledgeType, reason: str = "") -> None:
        """Acknowledge, and wait until the broker has written it down. Raise LockLost, BrokerError.

        `reason` is for the record's dead letter, if it gets one.
        """
        self._check_held(record, kind)
        answered: asyncio.Future[ClientError | None] = asyncio.get_running_loop().create_future()
        self._send(record, kind, answered, reason)
        if (error := await asyncio.shield(answered)) is not None:
            raise error

    async def commit(self) -> list[tuple[ShareRecord, ClientError]]:
        """Wait for the answers to all acknowledgements until now. Returns those since the last call that failed.

        Where the error is LockLost, or the answer is not known, the record may come again; else it may be acknowledged
        once more. What `record.accept` and the like raised is not among them. After `close`: what failed in its course.
        """
        self._check_loop()
        self._accept_handed()
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
            raise LockLost(f"{record!r}: the lock is no longer this member's")
        if record not in self._holders or record.state is not State.IN_HAND:
            raise ClientError(f"{record!r}: it was acknowledged before")
        if kind is RENEW and not self._holders[record].renews:
            raise UnsupportedApi("renewing acquisition locks needs Apache Kafka 4.2 or later")

    def _send(
        self,
        record: ShareRecord,
        kind: AcknowledgeType,
        answered: asyncio.Future[ClientError | None] | None,
        reason: str = "",
    ) -> None:
        session = self._holders[record]
        self._unanswered += 1

        def note(error: ClientError | None) -> None:
            self._unanswered -= 1
            self._counts["refused" if error is not None else _COUNTED[kind]] += 1
            if record.state is not State.IN_HAND:
                self._holders.pop(record, None)
            if answered is not None and not answered.done():
                answered.set_result(error)
            elif error is not None and answered is None:
                self._failed.append((record, error))
            self._tell()

        session.held.acknowledge(record, kind, note, reason)
        session.wake()

    def _accept_handed(self) -> None:
        handed, self._handed = self._handed, []
        self.acknowledge(record for record in handed if record.state is State.IN_HAND)

    def _give_back(self, records: Sequence[ShareRecord]) -> None:
        """Release what nobody was handed out. Nobody waits for the answers, and `commit` does not return them."""
        for record in records:
            record.state = State.IN_HAND
            self._send(record, RELEASE, asyncio.get_running_loop().create_future())

    # -- what the sessions ask

    def room(self) -> int:
        if self._closing:
            return 0
        ahead = self._prefetch if self._looks_ahead() else 0
        missing = max(ahead, self._wanted) - len(self._buffer)
        return max(0, -(-missing // max(1, len(self._sessions))))

    def _looks_ahead(self) -> bool:
        """Return True if records may be acquired before anybody waits for them.

        Not if the application asks for none any more: their locks would end, and they would be acquired again, until
        the broker gave them up.
        """
        sessions = self._sessions.values()
        longest_s = max([self.renew_s, *(session.held.lock_s * RENEW_AT for session in sessions)])
        idle_s = asyncio.get_running_loop().time() - self.polled_at
        return all(session.renews for session in sessions) and (self._wanted > 0 or idle_s < longest_s)

    def arrived(self, session: SessionTask, tp: TopicIdPartition, piece: Piece, deadline: float) -> None:
        name = self._core.name_of(tp[0])
        arrived: list[ShareRecord] = []
        for offset, timestamp, key, value, headers, count in piece.records:
            record = ShareRecord(self, name, *tp, offset, timestamp, key, value, headers, count, deadline)
            if (before := session.held.add(record)) is not None:
                self.lost([before])
            self._holders[record] = session
            arrived.append(record)
        self._counts["received"] += len(arrived)
        if name not in self._member.topics:
            self._give_back(arrived)
        elif arrived:
            self._buffer += arrived
            self._tell()

    def lost(self, records: Sequence[ShareRecord]) -> None:
        for record in records:
            self._holders.pop(record, None)
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

    def _hand_out(self, most: int) -> list[ShareRecord]:
        now = asyncio.get_running_loop().time()
        found: list[ShareRecord] = []
        while self._buffer and len(found) < most:
            record = self._buffer.popleft()
            record.state = State.IN_HAND
            record.held_since = now
            found.append(record)
        if self._implicit:
            self._handed += found
        self._wake_sessions()
        return found

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
        if self._loop is not None:
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
        if self._refusal is not None and not self._buffer:
            raise self._refusal
        if self._closing:
            raise ClientError(f"the consumer of share group {self.group_id} is closed")

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait. Raises what the consumer was refused with meanwhile."""
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
        """Let all that wait look again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


_COUNTED: Final = {
    AcknowledgeType.ACCEPT: "accepted",
    AcknowledgeType.RELEASE: "released",
    AcknowledgeType.REJECT: "rejected",
    AcknowledgeType.RENEW: "renewed",
}
