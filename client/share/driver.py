"""Rounds of a blocking member, which asks all leaders before it waits for the first answer. One thread at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.client.core.connection import Exchange
from shareq.client.core.network import NetworkCore
from shareq.client.errors import ClientError, Unreachable
from shareq.client.share.core import ABSENT_MS, LONGEST_PAUSE_MS, Fetched, ShareCore
from shareq.client.share.leaders import Leader, ShareLeaders
from shareq.client.share.member import ShareMember
from shareq.client.share.session import AckOutcome, AckRange, AcquiredRange, FetchLimits, TopicIdPartition, batches_of
from shareq.client.sockets import run_now
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType

SEVERAL_LEADERS_WAIT_MS: Final = 100
"""The time that each may wait for a record, so that one without records does not delay one that has some."""


def now_ms() -> int:
    """Monotonic time."""
    return time.monotonic_ns() // 1_000_000


class FetchRound(NamedTuple):
    """The records of all leaders in one round. `acquired` is None if there was no leader to ask.

    `trouble`: one of the errors if all leaders failed for reasons that may pass. `absence`: why not every assigned
    partition was requested successfully, None if each was.
    """

    acquired: list[AcquiredRange] | None
    trouble: ClientError | None = None
    absence: ClientError | None = None


class ShareDriver:
    """The driver of one member over `network`, which serves no other member: a connection stands for one session.

    Any call may raise BrokerError, UnsupportedApi or AuthenticationFailed, after which another try would not help.
    """

    def __init__(self, network: NetworkCore, member: ShareMember, leaders: ShareLeaders, *, backoff_ms: int) -> None:
        self._core = ShareCore(network, member, leaders, look_again=self._look_again)
        self._member = member
        self._leaders = leaders
        self._backoff_ms = backoff_ms
        self._stale = True  # whether ids and leaders are to be looked up
        self._look_up_after_ms = 0
        self._look_up_pause_ms = backoff_ms
        self._beat_after_ms = 0
        self._rounds = 0
        self._refusal: ClientError | None = None  # came together with records, which go first
        self._absence: ClientError | None = None  # the last reason for one, while there is one
        self.lock_timeout_ms = 0

    def beat_if_due(self) -> bool:
        """Send a heartbeat if it is due; return True if it was.

        Raises Unreachable, and BrokerError when the group refuses the member.
        """
        now = now_ms()
        if now < self._beat_after_ms:
            return False
        try:
            self._beat_after_ms = now_ms() + round(run_now(self._core.beat()) * 1000)
        except ClientError:
            self._beat_after_ms = now_ms() + ABSENT_MS
            raise
        return True

    # -- acquisition

    def fetch(self, limits: FetchLimits) -> FetchRound:
        """Send one ShareFetch to every leader that may be asked now."""
        if self._refusal is not None:
            raise self._refusal
        self._spread()
        now = time.monotonic()
        waiting = [leader for leader in self._leaders if leader.session.needs_fetch]
        ready = [leader for leader in waiting if leader.ready_at <= now]
        if len(ready) == len(waiting) and not self._stale:
            self._absence = None
        elif self._absence is None:
            self._absence = Unreachable(f"share group {self._member.group_id}: a partition has no known leader")
        if not ready:
            return FetchRound(None, absence=self._absence)
        if len(ready) > 1:
            limits = limits._replace(max_wait_ms=min(limits.max_wait_ms, SEVERAL_LEADERS_WAIT_MS))
        found = run_now(self._fetch_from(self._shares(ready, limits.max_records), limits))
        acquired: list[AcquiredRange] = []
        troubles: list[ClientError] = []
        for fetched in found:
            outcome = fetched.outcome
            self._refusal = fetched.refusal or self._refusal
            self._absence = fetched.trouble or self._absence
            self.lock_timeout_ms = outcome.lock_timeout_ms or self.lock_timeout_ms
            acquired += [
                AcquiredRange(self._core.name_of(one.topic_partition[0]), *one.topic_partition, *one[1:])
                for one in outcome.acquired
            ]
            if fetched.trouble is not None and not outcome.acquired:
                troubles.append(fetched.trouble)
        if self._refusal is not None and not acquired:
            raise self._refusal
        return FetchRound(acquired, troubles[0] if troubles and len(troubles) == len(found) else None, self._absence)

    def _shares(self, ready: Sequence[Leader], max_records: int) -> list[tuple[Leader, int]]:
        """Divide the limit among the leaders; if it is too small for all, they get it in turn."""
        self._rounds += 1
        start = self._rounds % len(ready)
        each, rest = divmod(max_records, len(ready))
        turned = [*ready[start:], *ready[:start]]
        return [(leader, each + (n < rest)) for n, leader in enumerate(turned) if each + (n < rest)]

    async def _fetch_from(self, shares: Sequence[tuple[Leader, int]], limits: FetchLimits) -> list[Fetched]:
        sent = [
            (leader, await self._core.send_fetch(leader, limits._replace(max_records=records)))
            for leader, records in shares
        ]
        await self._collect([exchange for _, exchange in sent])
        return [await self._core.take_fetch(leader, exchange) for leader, exchange in sent]

    # -- acknowledgements

    def session_leader(self, topic_partition: TopicIdPartition) -> Leader | None:
        """Return the leader to acknowledge to, if there is a session with it."""
        leader = self._leaders.session_leader(topic_partition)
        return leader if leader is not None and leader.opened else None

    def acknowledge(self, portions: Sequence[tuple[Leader, list[AckRange]]], kind: AcknowledgeType) -> list[AckOutcome]:
        """Send one ShareAcknowledge to each of these leaders; return the outcomes in the same order."""
        return run_now(self._acknowledge(portions, kind))

    async def _acknowledge(
        self, portions: Sequence[tuple[Leader, list[AckRange]]], kind: AcknowledgeType
    ) -> list[AckOutcome]:
        renews = kind is AcknowledgeType.RENEW
        sent = [
            (leader, await self._core.send_acknowledge(leader, batches_of(ranges, kind), renews))
            for leader, ranges in portions
        ]
        await self._collect([exchange for _, exchange in sent])
        outcomes: list[AckOutcome] = []
        refused: ClientError | None = None
        for leader, exchange in sent:
            outcome = await self._core.ack_outcome(leader, exchange)
            await self._core.ack_consequences(leader, outcome)
            if isinstance(outcome, ClientError):
                refused = refused if isinstance(outcome, Unreachable) else outcome
                outcome = AckOutcome(ErrorCode.NETWORK_EXCEPTION)
            outcomes.append(outcome)
        if refused is not None:
            raise refused
        return outcomes

    # -- the end

    def say_goodbye(self, deadline_ms: int) -> None:
        """Close the sessions and leave the group, as far as brokers answer until then."""
        run_now(self._core.end(self._leaders, "the member was closed", _left(deadline_ms)))
        run_now(self._core.leave(_left(deadline_ms)))

    # -- inside

    def _look_again(self) -> None:
        self._stale = True

    async def _collect(self, sent: Sequence[Exchange | ClientError]) -> None:
        await self._core.network.collect([one for one in sent if not isinstance(one, ClientError)])

    def _spread(self) -> None:
        """Give every assigned partition to its leader, looking up unknown ones, with pauses in between."""
        now = now_ms()
        ask = self._stale and now >= self._look_up_after_ms
        if not self._stale:
            self._look_up_pause_ms = self._backoff_ms
        elif ask:
            self._look_up_after_ms = now + self._look_up_pause_ms
            self._look_up_pause_ms = min(2 * self._look_up_pause_ms, LONGEST_PAUSE_MS)
        settled = run_now(self._core.look(ask=ask))
        self._stale = not settled or (self._stale and not ask)


def _left(deadline_ms: int) -> int:
    return max(1, deadline_ms - now_ms())
