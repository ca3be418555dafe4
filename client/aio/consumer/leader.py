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

from shareq.client.aio.consumer.ack_batches import Portion, Waiting, batches_of, delay_tags, delays_of, reasons_of
from shareq.client.aio.consumer.held import HeldRecords
from shareq.client.aio.consumer.records import (
    REJECT,
    RELEASE,
    RENEW,
    Acquired,
    LockLost,
    Piece,
    ShareRecord,
    unread,
)
from shareq.client.errors import BrokerError, ClientError, Unreachable, UnsupportedApi
from shareq.client.share.core import RENEW_FROM, Fetched, ShareCore
from shareq.client.share.leaders import Leader
from shareq.client.share.session import AckOutcome, FetchLimits, TopicIdPartition
from shareq.client.share.session_errors import Meaning, meaning_of
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.share import AcknowledgeType

logger = logging.getLogger(__name__)

LONG_WAIT_MS: Final = 500
SHORT_WAIT_MS: Final = 50
SPLITS: Final = 64
"""The most times that refused acknowledgements are halved to find the one at fault; accepted ones reset the count."""
AT_ONCE: Final = 1_000
"""The number of records that are handed over in one turn of the loop."""
ON_LOOP_BYTES: Final = 256 << 10
"""The size up to which a batch is opened on the loop, in about a millisecond; larger ones, which may take as long as
64 MB do, in a thread. The way there and back costs as much as opening 10 KB.
"""


class Ground(Protocol):
    """The consumer as its sessions' tasks see it."""

    exact: bool
    max_bytes: int
    renew_s: float
    polled_at: float
    """The time of the last request for records, on the loop's clock."""

    def room(self) -> int:
        """Return how many records this leader may be asked for now."""

    def arrived(self, session: SessionTask, tp: TopicIdPartition, piece: Piece, deadline: float) -> None:
        """Take acquired records; their locks end at `deadline`, on the loop's clock."""

    def lost(self, records: Sequence[ShareRecord]) -> None:
        """Note records whose locks were lost."""

    def renewed(self) -> None:
        """Note that a lock began again."""

    def refused(self, error: ClientError) -> None:
        """Note an error that a retry would not resolve."""


class SessionTask:
    """The task that owns one `Leader`. Call `wake` after any change that concerns it: acknowledgements, room, an
    assignment.
    """

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
        """True unless the broker is known not to support renewals."""
        return self._renews

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Run until `end` is called; then send the waiting acknowledgements, and close the session."""
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
        """Send the waiting acknowledgements, then close the session."""
        self._ending = True
        self.wake()

    def lose(self, why: str, partitions: Collection[TopicIdPartition] | None) -> None:
        """Note that locks were lost: on these partitions, or on all if None."""
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
                self.held.acknowledge([record], RENEW, (self._renewed,))

    def _renewed(self, _: Waiting, error: ClientError | None) -> None:
        """Count a renewal. The record's own acknowledgement shows a failed one."""
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
        deadline = now + self.held.lock_s
        taken = 0
        for topic in fetched.answer.responses if fetched.answer is not None else ():
            for partition in topic.partitions:
                tp = topic.topic_id, partition.partition_index
                wanted = acquired.get(tp)
                for each in unread(partition.records or b"", wanted) if wanted else ():
                    small = each.most_bytes <= ON_LOOP_BYTES
                    piece = each.piece() if small else await asyncio.to_thread(each.piece)
                    for part in piece.parts(AT_ONCE):
                        self._take_piece(tp, part, deadline)
                        taken += len(part.counts) + 1
                        if taken >= AT_ONCE:
                            taken = 0
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
                if ended := self.held.acknowledge_range(tp, first, last, kind):
                    self._ground.lost(ended)
        self._ground.arrived(self, tp, piece, deadline)

    # -- acknowledgements

    async def _acknowledge(self, portion: Portion) -> None:
        if not portion:
            return
        connection = self._leader.connection
        if not self._leader.opened or connection is None:
            self._fail(portion, LockLost("the share session was lost before the acknowledgement"))
            return
        ours = connection.offers(ApiKey.START_REDRIVE)
        delayed = delays_of(portion)
        if delayed and not ours:
            portion = self._without(portion, delayed)
            if not portion:
                return
        renews = any(one.kind is RENEW for waiting in portion.values() for one in waiting)
        tags = reasons_of(portion) if ours else {}
        for tp, more in delay_tags(delayed).items() if ours else ():
            tags[tp] = (*tags.get(tp, ()), *more)
        sent = await self._core.send_acknowledge(self._leader, batches_of(portion), renews, tags)
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

    def _without(self, portion: Portion, delayed: Portion) -> Portion:
        """Refuse releases with a delay, which this broker would ignore. Return the other acknowledgements."""
        for tp, refused in delayed.items():
            self.held.failed(tp, refused, UnsupportedApi("release with a delay: the broker is not shareq"))
        left = {tp: [one for one in waiting if one not in delayed.get(tp, ())] for tp, waiting in portion.items()}
        return {tp: waiting for tp, waiting in left.items() if waiting}

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
            if self._splits > 0 and self.held.halve(tp, waiting):
                self._splits -= 1
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
    now = asyncio.get_running_loop().time()
    return any(record.deadline > now for record in one.records)
