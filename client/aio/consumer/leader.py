"""The share session with one broker as a task: it sends acknowledgements and renewals first, and fetches then.

A session takes one request at a time, so a fetch that waits for records holds acknowledgements up. While records are
in hand, fetches wait for `SHORT_WAIT_MS` only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Sequence
from typing import Final, Protocol

from shareq.client.aio.consumer.held import HeldRecords, Portion, Waiting, batches_of, reasons_of
from shareq.client.aio.consumer.records import (
    REJECT,
    RELEASE,
    RENEW,
    Acquired,
    LockLost,
    Piece,
    ShareRecord,
    read_acquired,
)
from shareq.client.aio.network import Network
from shareq.client.core.ports import Connection
from shareq.client.errors import BrokerError, ClientError, Unreachable, UnsupportedApi, understood
from shareq.client.share.driver import MOVED, UNKNOWN, passes
from shareq.client.share.leaders import Leader, ShareLeaders
from shareq.client.share.session import FetchLimits, TopicIdPartition
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchResponse
from shareq.protocol.primitives import Message
from shareq.protocol.share import AcknowledgeType

logger = logging.getLogger(__name__)

PURPOSE: Final = "share"
"""What the session's connection is for: a fetch that waits would hold everything else up."""
CLOSE_MS: Final = 5_000
LONG_WAIT_MS: Final = 500
SHORT_WAIT_MS: Final = 50
SPLITS: Final = 64
"""How often acknowledgements that were refused for one of them are halved, at most, until some are taken again."""
AT_ONCE: Final = 1_000
"""Records that are handed over in one turn of the loop."""
EXACT_FROM: Final = 2
RENEW_FROM: Final = 2
"""Versions of ShareFetch and ShareAcknowledge (Apache Kafka 4.2)."""


class Ground(Protocol):
    """What a session's task asks of the consumer that it works for."""

    exact: bool
    max_bytes: int
    renew_s: float
    polled_at: float
    """When records were asked for last, on the loop's clock."""

    def name_of(self, topic_id: bytes) -> str: ...

    def room(self) -> int:
        """How many records this leader may be asked for now."""

    def arrived(self, session: SessionTask, tp: TopicIdPartition, piece: Piece, deadline: float) -> None:
        """Records that were acquired; their locks end at `deadline`, on the loop's clock."""

    def lost(self, records: Sequence[ShareRecord]) -> None:
        """Records whose locks are gone."""

    def renewed(self) -> None:
        """A lock began again."""

    def moved(self) -> None:
        """A leader is not where it was."""

    def refused(self, error: ClientError) -> None:
        """Trying again would not help."""


class SessionTask:
    """Owns one `Leader`. `wake` after anything that it may have to look at: acknowledgements, room, an assignment."""

    def __init__(self, ground: Ground, network: Network, leader: Leader, leaders: ShareLeaders) -> None:
        self._ground = ground
        self._network = network
        self._leader = leader
        self._leaders = leaders
        self._connection: Connection | None = None
        self._woken = asyncio.Event()
        self._ready_at = 0.0
        self._splits = SPLITS
        self._renews = True
        self._ending = False
        self.held = HeldRecords()
        self.fetches = 0

    @property
    def node(self) -> int:
        return self._leader.node

    @property
    def renews(self) -> bool:
        """Whether the broker knows renewals, as far as is known."""
        return self._renews

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Until `end`; then what waits to be sent is sent, and the session is closed."""
        loop = asyncio.get_running_loop()
        while True:
            self._woken.clear()
            now = loop.time()
            self._look_after_locks(now)
            if self._leader.opened and self._connection is not None and not self._connection.alive():
                self._session_lost("the connection was lost")
            if now >= self._ready_at and self.held.has_waiting:
                await self._acknowledge(self.held.take())
            elif self._ending:
                await self._close()
                return
            elif now >= self._ready_at and self._leader.session.needs_fetch and (room := self._ground.room()) > 0:
                await self._fetch(room)
            else:
                await self._pause(now)

    def end(self) -> None:
        """Send what waits, then close the session."""
        self._ending = True
        self.wake()

    async def _pause(self, now: float) -> None:
        times = [self._ready_at] if self._ready_at > now else []
        if (renewal := self.held.next_renewal(now)) is not None:
            times.append(max(renewal, now + 0.01))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(min(times) if times else None):
                await self._woken.wait()

    def _look_after_locks(self, now: float) -> None:
        if gone := self.held.lapsed(now):
            self._ground.lost(gone)
        if self._renews and self._ground.renew_s > 0:
            for record in self.held.to_renew(now, self._ground.renew_s, self._ground.polled_at):
                self.held.acknowledge(record, RENEW, self._renewed)

    def _renewed(self, error: ClientError | None) -> None:
        """When it fails, the acknowledgement of the record shows that."""
        if error is None:
            self._ground.renewed()

    # -- fetches

    async def _fetch(self, room: int) -> None:
        wait_ms = SHORT_WAIT_MS if self.held else LONG_WAIT_MS
        limits = FetchLimits(room, wait_ms, self._ground.max_bytes, self._ground.exact)
        try:
            if not self._leader.opened:
                self._connection = await self._network.connection(self.node, PURPOSE)
            connection = self._connection
            assert connection is not None
            if connection.version(ApiKey.SHARE_ACKNOWLEDGE) < RENEW_FROM:
                self._renews = False
            request = self._leader.session.fetch_request(limits)
            answer = await self._ask(connection, request, EXACT_FROM if limits.strict else 0)
        except Unreachable as error:
            self._away(error)
            return
        except ClientError as error:
            self._ground.refused(error)
            self._ready_at = math.inf
            return
        assert isinstance(answer, ShareFetchResponse)
        self.fetches += 1
        await self._take_in(answer)

    async def _take_in(self, answer: ShareFetchResponse) -> None:
        with understood(f"an answer to ShareFetch of broker {self.node}"):
            outcome = self._leader.session.fetched(answer)
        if outcome.error is not ErrorCode.NONE:
            self._check(outcome.error, f"share session with broker {self.node}")
            await self._session_refused(outcome.error)
            return
        self._leader.opened = True
        now = asyncio.get_running_loop().time()
        if outcome.lock_timeout_ms:
            self.held.lock_s = outcome.lock_timeout_ms / 1000
        for tp, error in outcome.errors.items():
            self._partition_failed(tp, error)
            self._check(error, f"partition {self._ground.name_of(tp[0])}-{tp[1]}")
        if outcome.errors and not outcome.acquired:
            self._back_off()
        acquired: dict[TopicIdPartition, list[Acquired]] = {}
        for one in outcome.acquired:
            acquired.setdefault(one.topic_partition, []).append(Acquired(*one[1:]))
        for topic in answer.responses:
            for partition in topic.partitions:
                tp = topic.topic_id, partition.partition_index
                if wanted := acquired.get(tp):
                    pieces = read_acquired(partition.records or b"", wanted)
                    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                        # Neither is a batch opened on the loop, which may take as long as 64 MB do, nor handed over in
                        # one turn.
                        for part in piece.parts(AT_ONCE):
                            self._take_piece(tp, part, now + self.held.lock_s)
                            await asyncio.sleep(0)

    def _take_piece(self, tp: TopicIdPartition, piece: Piece, deadline: float) -> None:
        name = f"{self._ground.name_of(tp[0])}-{tp[1]}"
        for kind, ranges, why in (
            (AcknowledgeType.GAP, piece.missing, None),
            (REJECT, piece.corrupt, "cannot be read: rejected"),
            (RELEASE, piece.beyond, "did not come with the answer: released"),
        ):
            for first, last in ranges:
                if why is not None:
                    logger.error("%s: records %d to %d %s", name, first, last, why)
                self.held.acknowledge_range(tp, first, last, kind)
        self._ground.arrived(self, tp, piece, deadline)

    # -- acknowledgements

    async def _acknowledge(self, portion: Portion) -> None:
        if not portion:
            return
        connection = self._connection
        if not self._leader.opened or connection is None:
            for tp, waiting in portion.items():
                self.held.failed(tp, waiting, LockLost("the share session was lost before the acknowledgement"))
            return
        renews = any(one.kind is RENEW for waiting in portion.values() for one in waiting)
        reasons = reasons_of(portion) if connection.offers(ApiKey.START_REDRIVE) else {}  # the broker is one of ours
        request = self._leader.session.batches_request(batches_of(portion), renews, reasons)
        try:
            answer = await self._ask(connection, request, RENEW_FROM if renews else 0)
        except Unreachable as error:
            lost = LockLost(f"whether the acknowledgement counted is not known: {error}")
            for tp, waiting in portion.items():
                self.held.failed(tp, waiting, lost)
            self._away(error)
            return
        except UnsupportedApi as error:
            self._renews = False
            for tp, waiting in portion.items():
                refused = [one for one in waiting if one.kind is RENEW]
                self.held.failed(tp, refused, error)
                if rest := [one for one in waiting if one.kind is not RENEW]:
                    self.held.put_back({tp: rest})
            return
        except ClientError as error:
            for tp, waiting in portion.items():
                self.held.failed(tp, waiting, error)
            self._ground.refused(error)
            return
        assert isinstance(answer, ShareAcknowledgeResponse)
        await self._take_outcome(portion, answer)

    async def _take_outcome(self, portion: Portion, answer: ShareAcknowledgeResponse) -> None:
        outcome = self._leader.session.acknowledged(answer)
        if outcome.error is not ErrorCode.NONE:
            failure = BrokerError(outcome.error, f"share session with broker {self.node}")
            for tp, waiting in portion.items():
                self.held.failed(tp, waiting, LockLost(str(failure)))
            await self._session_refused(outcome.error)
            return
        now = asyncio.get_running_loop().time()
        for tp, waiting in portion.items():
            error = outcome.errors.get(tp, ErrorCode.NONE)
            if error is ErrorCode.NONE:
                self.held.done(tp, waiting, now)
                self._splits = SPLITS
            else:
                self._ack_failed(tp, waiting, error)

    def _ack_failed(self, tp: TopicIdPartition, waiting: list[Waiting], error: ErrorCode) -> None:
        what = f"{self._ground.name_of(tp[0])}-{tp[1]}, records {waiting[0].first} to {waiting[-1].last}"
        if error is ErrorCode.INVALID_RECORD_STATE:
            if len(waiting) > 1 and self._splits > 0:
                self._splits -= 1
                self.held.halve(tp, waiting)
            else:
                self.held.failed(tp, waiting, LockLost(f"{what}: the lock is no longer this member's"))
        elif error in MOVED:
            self.held.failed(tp, waiting, LockLost(f"{what}: the partition has another leader ({error.name})"))
            self._partition_failed(tp, error)
        elif is_retriable(error) and any(_still_locked(one) for one in waiting):
            self.held.put_back({tp: waiting})
            self._back_off()
        else:
            self.held.failed(tp, waiting, BrokerError(error, what))

    # -- what is lost

    def _check(self, error: ErrorCode, what: str) -> None:
        if not passes(error):
            self._ground.refused(BrokerError(error, f"{what}: ShareFetch"))

    def _partition_failed(self, tp: TopicIdPartition, error: ErrorCode) -> None:
        if error in MOVED:
            self._leaders.invalidate(tp)
            self._ground.lost(self.held.lose(LockLost(f"the partition has another leader ({error.name})"), [tp]))
            self._ground.moved()
        if error in UNKNOWN:
            self._leader.session.renew_entry(tp)

    def _away(self, error: ClientError) -> None:
        self._session_lost(str(error))
        self._back_off()
        self._ground.moved()

    def _session_lost(self, why: str) -> None:
        self._leaders.session_lost(self._leader)
        self._connection = None
        self._ground.lost(self.held.lose(LockLost(f"the share session with broker {self.node} ended: {why}")))

    async def _session_refused(self, error: ErrorCode) -> None:
        """The next fetch opens a session. Replacing one releases nothing, so an open one is closed first."""
        connection = self._connection
        self._session_lost(error.name)
        self._back_off()
        if error is ErrorCode.INVALID_SHARE_SESSION_EPOCH and connection is not None:
            with contextlib.suppress(ClientError):
                await self._ask(connection, self._leader.session.close_request(), timeout_ms=CLOSE_MS)

    async def _ask(
        self, connection: Connection, request: Message, lowest: int = 0, timeout_ms: int | None = None
    ) -> Message:
        return await (await connection.send(request, self._network.deadline(timeout_ms), lowest)).answer()

    def _back_off(self) -> None:
        self._ready_at = asyncio.get_running_loop().time() + self._network.config.retry_backoff_ms / 1000

    async def _close(self) -> None:
        if self._leader.opened and self._connection is not None:
            with contextlib.suppress(ClientError):
                await self._ask(self._connection, self._leader.session.close_request(), timeout_ms=CLOSE_MS)
        self._session_lost("the consumer was closed")


def _still_locked(one: Waiting) -> bool:
    return one.record is not None and one.record.deadline > asyncio.get_running_loop().time()
