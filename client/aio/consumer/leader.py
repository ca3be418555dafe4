"""The share session with one broker as a task: it sends acknowledgements and renewals first, and fetches then.

A session takes one request at a time, so a fetch that waits for records holds acknowledgements up. While records are
in hand, fetches wait for `SHORT_WAIT_MS` only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Collection, Sequence
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
from shareq.client.errors import BrokerError, ClientError, Unreachable, UnsupportedApi
from shareq.client.share.core import RENEW_FROM, Fetched, ShareCore
from shareq.client.share.leaders import Leader
from shareq.client.share.meanings import Meaning, meaning_of
from shareq.client.share.session import AckOutcome, FetchLimits, TopicIdPartition
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.share import AcknowledgeType

logger = logging.getLogger(__name__)

LONG_WAIT_MS: Final = 500
SHORT_WAIT_MS: Final = 50
SPLITS: Final = 64
"""The most times that acknowledgements which were refused for one of them are halved, until some are taken again."""
AT_ONCE: Final = 1_000
"""Records that are handed over in one turn of the loop."""


class Ground(Protocol):
    """The consumer as its session's task sees it."""

    exact: bool
    max_bytes: int
    renew_s: float
    polled_at: float
    """The time at which records were asked for last, on the loop's clock."""

    def room(self) -> int:
        """Return how many records this leader may be asked for now."""

    def arrived(self, session: SessionTask, tp: TopicIdPartition, piece: Piece, deadline: float) -> None:
        """Take records that were acquired; their locks end at `deadline`, on the loop's clock."""

    def lost(self, records: Sequence[ShareRecord]) -> None:
        """Take note of records whose locks are gone."""

    def renewed(self) -> None:
        """Take note that a lock began again."""

    def refused(self, error: ClientError) -> None:
        """Take an error for which trying again would not help."""


class SessionTask:
    """Owns one `Leader`. `wake` after anything that it may have to look at: acknowledgements, room, an assignment."""

    def __init__(self, ground: Ground, core: ShareCore, leader: Leader) -> None:
        self._ground = ground
        self._core = core
        self._leader = leader
        self._woken = asyncio.Event()
        self._splits = SPLITS
        self._renews = True
        self._ending = False
        self.held = HeldRecords()
        self.fetches = 0

    @property
    def renews(self) -> bool:
        """True if the broker knows renewals, as far as is known."""
        return self._renews

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Run until `end`; then send what waits to be sent, and close the session."""
        loop, leader = asyncio.get_running_loop(), self._leader
        while True:
            self._woken.clear()
            now = loop.time()
            self._look_after_locks(now)
            if leader.opened and leader.connection is not None and not leader.connection.alive():
                self._core.session_lost(leader, "the connection was lost")
            if now >= leader.ready_at and self.held.has_waiting:
                await self._acknowledge(self.held.take())
            elif self._ending:
                await self._core.end([leader], "the consumer was closed")
                return
            elif now >= leader.ready_at and leader.session.needs_fetch and (room := self._ground.room()) > 0:
                await self._fetch(room)
            else:
                await self._pause(now)

    def end(self) -> None:
        """Send what waits, then close the session."""
        self._ending = True
        self.wake()

    def lose(self, why: str, partitions: Collection[TopicIdPartition] | None) -> None:
        """Note that locks are gone: on these partitions, None: on all."""
        self._ground.lost(self.held.lose(LockLost(why), partitions))

    async def _pause(self, now: float) -> None:
        times = [self._leader.ready_at] if now < self._leader.ready_at < math.inf else []
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
        """Count a renewal. A failed one shows in the record's acknowledgement."""
        if error is None:
            self._ground.renewed()

    # -- fetches

    async def _fetch(self, room: int) -> None:
        wait_ms = SHORT_WAIT_MS if self.held else LONG_WAIT_MS
        limits = FetchLimits(room, wait_ms, self._ground.max_bytes, self._ground.exact)
        fetched = await self._core.take_fetch(self._leader, await self._core.send_fetch(self._leader, limits))
        if fetched.answer is not None:
            self.fetches += 1
        if fetched.refusal is not None:
            self._ground.refused(fetched.refusal)
        if self._leader.opened:
            await self._take_in(fetched)

    async def _take_in(self, fetched: Fetched) -> None:
        connection, outcome = self._leader.connection, fetched.outcome
        if connection is not None and connection.version(ApiKey.SHARE_ACKNOWLEDGE) < RENEW_FROM:
            self._renews = False
        now = asyncio.get_running_loop().time()
        if outcome.lock_timeout_ms:
            self.held.lock_s = outcome.lock_timeout_ms / 1000
        acquired: dict[TopicIdPartition, list[Acquired]] = {}
        for one in outcome.acquired:
            acquired.setdefault(one.topic_partition, []).append(Acquired(*one[1:]))
        for topic in fetched.answer.responses if fetched.answer is not None else ():
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
        name = f"{self._core.name_of(tp[0])}-{tp[1]}"
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
        connection = self._leader.connection
        if not self._leader.opened or connection is None:
            self._fail(portion, LockLost("the share session was lost before the acknowledgement"))
            return
        renews = any(one.kind is RENEW for waiting in portion.values() for one in waiting)
        reasons = reasons_of(portion) if connection.offers(ApiKey.START_REDRIVE) else {}  # the broker is one of ours
        sent = await self._core.send_acknowledge(self._leader, batches_of(portion), renews, reasons)
        outcome = await self._core.ack_outcome(self._leader, sent)
        if isinstance(outcome, UnsupportedApi):
            self._renews = False
            for tp, waiting in portion.items():
                refused = [one for one in waiting if one.kind is RENEW]
                self.held.failed(tp, refused, outcome)
                if rest := [one for one in waiting if one.kind is not RENEW]:
                    self.held.put_back({tp: rest})
            return
        if isinstance(outcome, Unreachable):
            self._fail(portion, LockLost(f"whether the acknowledgement counted is not known: {outcome}"))
        elif isinstance(outcome, ClientError):
            self._fail(portion, outcome)
            self._ground.refused(outcome)
        elif outcome.error is not ErrorCode.NONE:
            failure = BrokerError(outcome.error, f"share session with broker {self._leader.node}")
            self._fail(portion, LockLost(str(failure)))
        else:
            self._take_outcome(portion, outcome)
        await self._core.ack_consequences(self._leader, outcome)

    def _fail(self, portion: Portion, error: ClientError) -> None:
        for tp, waiting in portion.items():
            self.held.failed(tp, waiting, error)

    def _take_outcome(self, portion: Portion, outcome: AckOutcome) -> None:
        now = asyncio.get_running_loop().time()
        for tp, waiting in portion.items():
            error = outcome.errors.get(tp, ErrorCode.NONE)
            if error is ErrorCode.NONE:
                self.held.done(tp, waiting, now)
                self._splits = SPLITS
            else:
                self._ack_failed(tp, waiting, error)

    def _ack_failed(self, tp: TopicIdPartition, waiting: list[Waiting], error: ErrorCode) -> None:
        what = f"{self._core.name_of(tp[0])}-{tp[1]}, records {waiting[0].first} to {waiting[-1].last}"
        meaning = meaning_of(error)
        if Meaning.LOCK_GONE in meaning:
            if len(waiting) > 1 and self._splits > 0:
                self._splits -= 1
                self.held.halve(tp, waiting)
            else:
                self.held.failed(tp, waiting, LockLost(f"{what}: the lock is no longer this member's"))
        elif Meaning.MOVED in meaning:
            self.held.failed(tp, waiting, LockLost(f"{what}: the partition has another leader ({error.name})"))
        elif is_retriable(error) and any(_still_locked(one) for one in waiting):
            self.held.put_back({tp: waiting})
            self._core.back_off(self._leader)
        else:
            self.held.failed(tp, waiting, BrokerError(error, what))


def _still_locked(one: Waiting) -> bool:
    return one.record is not None and one.record.deadline > asyncio.get_running_loop().time()
