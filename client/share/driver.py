"""What a member of a share group does on the network: heartbeats, rounds of ShareFetch and ShareAcknowledge, the end.

Owned by one thread at a time. All leaders are asked before the first answer is waited for.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.client.errors import BrokerError, ClientError, Disconnected, Unreachable
from shareq.client.network import Exchange, Network
from shareq.client.share.leaders import Leader, ShareLeaders
from shareq.client.share.member import ShareMember, Verdict
from shareq.client.share.session import AckOutcome, AckRange, AcquiredRange, FetchLimits, FetchOutcome, TopicIdPartition
from shareq.protocol.errors import ErrorCode, is_retriable
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message
from shareq.protocol.share import JOIN_EPOCH, AcknowledgeType

SEVERAL_LEADERS_WAIT_MS: Final = 100
"""How long each may wait for a record, so that one without records does not delay one that has some."""

LONGEST_PAUSE_MS: Final = 1000
ABSENT_MS: Final = 1000
"""How long a coordinator that could not be reached is let be, while leaders are asked."""

STRICT_FROM: Final = 2
RENEW_FROM: Final = 2
"""Versions of ShareFetch and ShareAcknowledge."""

# The partition is to be looked for elsewhere; what was acquired on it is released there.
MOVED: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
# Of these a broker keeps in the session what it found when the partition entered it.
UNKNOWN: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
# They pass, though clients in general are not to try again after them.
_PASSING: Final = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    }
)


def now_ms() -> int:
    """Monotonic time."""
    return time.monotonic_ns() // 1_000_000


class FetchRound(NamedTuple):
    """What all leaders had. `acquired` is None when there was no leader to ask.

    `trouble`: all that were asked failed, for reasons that may pass, and one of these. `absence`: why not every
    assigned partition was asked for with success, None if each was.
    """

    acquired: list[AcquiredRange] | None
    trouble: ClientError | None = None
    absence: ClientError | None = None


class ShareDriver:
    """Drives one member over `network`, which serves no other: a connection stands for one session.

    Any call may raise what says that trying again would not help: BrokerError, UnsupportedApi, AuthenticationFailed.
    """

    def __init__(self, network: Network, member: ShareMember, leaders: ShareLeaders, *, backoff_ms: int) -> None:
        self._network = network
        self._member = member
        self._leaders = leaders
        self._backoff_ms = backoff_ms
        self._names: dict[bytes, str] = {}
        self._stale = True  # whether ids and leaders are to be looked up
        self._look_up_after_ms = 0
        self._look_up_pause_ms = backoff_ms
        self._beat_after_ms = 0
        self._rounds = 0
        self._refusal: ClientError | None = None  # came together with records, which go first
        self._absence: ClientError | None = None  # the last reason for one, while there is one
        self.lock_timeout_ms = 0

    # -- membership

    def beat_if_due(self) -> bool:
        """Send a heartbeat when it is time, and say whether that was so.

        Raises Unreachable, and BrokerError when the group refuses the member.
        """
        now = now_ms()
        if now < max(self._member.due_ms, self._beat_after_ms):
            return False
        self._beat_after_ms = now + self._backoff_ms
        group_id = self._member.group_id
        try:
            verdict = self._beat()
            if verdict is Verdict.AGAIN:
                verdict = self._beat()
        except ClientError:
            self._network.forget_coordinator(group_id)
            self._beat_after_ms = now_ms() + ABSENT_MS
            raise
        if verdict is Verdict.MOVED:
            self._network.forget_coordinator(group_id)
        return True

    def _beat(self) -> Verdict:
        node = self._network.coordinator(self._member.group_id)
        answer = self._network.submit(node, self._member.request()).result()
        assert isinstance(answer, ShareGroupHeartbeatResponse)
        before = self._member.assignment
        verdict = self._member.answered(answer, now_ms())
        if verdict is Verdict.REFUSED:
            raise BrokerError(answer.error_code, f"share group {self._member.group_id}", answer.error_message)
        self._stale = self._stale or self._member.assignment != before
        return verdict

    # -- acquisition

    def fetch(self, limits: FetchLimits) -> FetchRound:
        """One ShareFetch to every leader that may be asked now."""
        if self._refusal is not None:
            raise self._refusal
        self._spread()
        now = now_ms()
        waiting = [leader for leader in self._leaders if leader.session.needs_fetch]
        ready = [leader for leader in waiting if leader.ready_ms <= now]
        if len(ready) == len(waiting) and not self._stale:
            self._absence = None
        elif self._absence is None:
            self._absence = Unreachable(f"share group {self._member.group_id}: a partition has no known leader")
        if not ready:
            return FetchRound(None, absence=self._absence)
        if len(ready) > 1:
            limits = limits._replace(max_wait_ms=min(limits.max_wait_ms, SEVERAL_LEADERS_WAIT_MS))
        sent = [
            (leader, self._send_fetch(leader, limits._replace(max_records=records)))
            for leader, records in self._shares(ready, limits.max_records)
        ]
        self._network.collect([exchange for _, exchange in sent if isinstance(exchange, Exchange)])
        acquired: list[AcquiredRange] = []
        troubles: list[ClientError] = []
        for leader, exchange in sent:
            found, trouble = self._take_answer(leader, self._answer(leader, exchange))
            acquired += found
            self._absence = trouble or self._absence
            if trouble is not None and not found:
                troubles.append(trouble)
        if self._refusal is not None and not acquired:
            raise self._refusal
        return FetchRound(acquired, troubles[0] if troubles and len(troubles) == len(sent) else None, self._absence)

    def _take_answer(
        self, leader: Leader, answer: Message | ClientError
    ) -> tuple[list[AcquiredRange], ClientError | None]:
        """What a leader handed out, and what kept a partition from it. What does not pass is kept in `_refusal`."""
        if isinstance(answer, ClientError):
            if not isinstance(answer, Unreachable):
                self._refusal = answer
            return [], answer
        assert isinstance(answer, ShareFetchResponse)
        outcome = leader.session.fetched(answer)
        return self._take_in(leader, outcome), self._trouble(outcome)

    def _shares(self, ready: Sequence[Leader], max_records: int) -> list[tuple[Leader, int]]:
        """How much each leader may give, so that all together stay within the limit; in turns where it is small."""
        self._rounds += 1
        start = self._rounds % len(ready)
        each, rest = divmod(max_records, len(ready))
        turned = [*ready[start:], *ready[:start]]
        return [(leader, each + (n < rest)) for n, leader in enumerate(turned) if each + (n < rest)]

    def _send_fetch(self, leader: Leader, limits: FetchLimits) -> Exchange | ClientError:
        try:
            if not leader.opened:
                leader.connection = self._network.connection(leader.node)
            return self._network.submit(
                leader.node,
                leader.session.fetch_request(limits),
                min_version=STRICT_FROM if limits.strict else 0,
                on=leader.connection,
            )
        except ClientError as error:
            return error

    def _take_in(self, leader: Leader, outcome: FetchOutcome) -> list[AcquiredRange]:
        if outcome.error is not ErrorCode.NONE:
            self._session_refused(leader, outcome.error)
            return []
        leader.opened = True
        self.lock_timeout_ms = outcome.lock_timeout_ms or self.lock_timeout_ms
        for tp, error in outcome.errors.items():
            self._partition_failed(leader, tp, error)
        if outcome.errors and not outcome.acquired:
            leader.ready_ms = now_ms() + self._backoff_ms
        names = self._names
        return [
            AcquiredRange(names[one.topic_partition[0]], *one.topic_partition, *one[1:]) for one in outcome.acquired
        ]

    def _trouble(self, outcome: FetchOutcome) -> ClientError | None:
        """Why a partition had nothing, if not for want of records. What does not pass is kept in `_refusal`."""
        failed = [(outcome.error, f"share group {self._member.group_id}")] if outcome.error else []
        failed += [(error, f"partition {self._names[tp[0]]}-{tp[1]}") for tp, error in outcome.errors.items()]
        errors = [BrokerError(error, f"{what}: ShareFetch") for error, what in failed]
        self._refusal = next((error for error in errors if not passes(error.code)), self._refusal)
        return errors[0] if errors else None

    # -- acknowledgements

    def session_leader(self, topic_partition: TopicIdPartition) -> Leader | None:
        """The leader to acknowledge to, if there is a session with it."""
        leader = self._leaders.session_leader(topic_partition)
        return leader if leader is not None and leader.opened else None

    def acknowledge(self, portions: Sequence[tuple[Leader, list[AckRange]]], kind: AcknowledgeType) -> list[AckOutcome]:
        """One ShareAcknowledge to each of these leaders; the outcomes in the same order."""
        sent = [(leader, self._send_acknowledge(leader, ranges, kind)) for leader, ranges in portions]
        self._network.collect([exchange for _, exchange in sent if isinstance(exchange, Exchange)])
        outcomes: list[AckOutcome] = []
        refused: ClientError | None = None
        for leader, exchange in sent:
            answer = self._answer(leader, exchange)
            if isinstance(answer, ClientError):
                outcomes.append(AckOutcome(ErrorCode.NETWORK_EXCEPTION))
                refused = refused if isinstance(answer, Unreachable) else answer
                continue
            assert isinstance(answer, ShareAcknowledgeResponse)
            outcome = leader.session.acknowledged(answer)
            if outcome.error is not ErrorCode.NONE:
                self._session_refused(leader, outcome.error)
            for tp, error in outcome.errors.items():
                self._partition_failed(leader, tp, error)
            outcomes.append(outcome)
        if refused is not None:
            raise refused
        return outcomes

    def _send_acknowledge(
        self, leader: Leader, ranges: Sequence[AckRange], kind: AcknowledgeType
    ) -> Exchange | ClientError:
        if not leader.opened:
            return Disconnected(f"broker {leader.node}: the share session was lost")
        try:
            return self._network.submit(
                leader.node,
                leader.session.acknowledge_request(ranges, kind),
                min_version=RENEW_FROM if kind is AcknowledgeType.RENEW else 0,
                on=leader.connection,
            )
        except ClientError as error:
            return error

    # -- the end

    def say_goodbye(self, deadline_ms: int) -> None:
        """Close the sessions and leave the group, as far as brokers answer until then."""
        closing: list[Exchange] = []
        for leader in self._leaders:
            if leader.opened:
                with contextlib.suppress(ClientError):
                    closing.append(
                        self._network.submit(
                            leader.node,
                            leader.session.close_request(),
                            timeout_ms=_left(deadline_ms),
                            on=leader.connection,
                        )
                    )
            self._leaders.session_lost(leader)
        for exchange in closing:
            with contextlib.suppress(ClientError):
                exchange.result()
        if self._member.epoch != JOIN_EPOCH:
            with contextlib.suppress(ClientError):
                node = self._network.coordinator(self._member.group_id, timeout_ms=_left(deadline_ms))
                self._network.submit(node, self._member.leave_request(), timeout_ms=_left(deadline_ms)).result()

    # -- sessions, leaders, names

    def _answer(self, leader: Leader, exchange: Exchange | ClientError) -> Message | ClientError:
        """The answer, or why there is none; the session is lost with its connection."""
        if not isinstance(exchange, ClientError):
            try:
                return exchange.result()
            except ClientError as error:
                exchange = error
        if isinstance(exchange, Unreachable):
            self._leaders.session_lost(leader)
            leader.ready_ms = now_ms() + self._backoff_ms
            self._stale = True
        return exchange

    def _session_refused(self, leader: Leader, error: ErrorCode) -> None:
        """The next fetch opens a session. Replacing one releases nothing, so an open one is closed first."""
        self._leaders.session_lost(leader)
        leader.ready_ms = now_ms() + self._backoff_ms
        if error is ErrorCode.INVALID_SHARE_SESSION_EPOCH:
            with contextlib.suppress(ClientError):
                self._network.submit(leader.node, leader.session.close_request()).result()

    def _partition_failed(self, leader: Leader, topic_partition: TopicIdPartition, error: ErrorCode) -> None:
        if error in MOVED:
            self._leaders.invalidate(topic_partition)
            self._stale = True
        if error in UNKNOWN:
            leader.session.renew_entry(topic_partition)

    def _spread(self) -> None:
        """Give every assigned partition to its leader, looking up what is not known."""
        now = now_ms()
        if not self._stale:
            self._look_up_pause_ms = self._backoff_ms
        elif now >= self._look_up_after_ms:
            self._look_up_after_ms = now + self._look_up_pause_ms
            self._look_up_pause_ms = min(2 * self._look_up_pause_ms, LONGEST_PAUSE_MS)
            self._network.refresh(self._member.topics)
            self._names |= {topic_id: name for name, topic_id in self._network.topic_ids(self._member.topics).items()}
            self._stale = False
        assigned = self._member.assignment or frozenset()
        nodes = {tp: self._network.leader(*tp) for tp in assigned if tp[0] in self._names}
        self._stale = self._stale or len(nodes) < len(assigned) or None in nodes.values()
        self._leaders.assign(nodes)


def _left(deadline_ms: int) -> int:
    return max(1, deadline_ms - now_ms())


def passes(error: int) -> bool:
    """Whether a share fetch may succeed later, after this error."""
    return error in _PASSING or error in MOVED or is_retriable(error)
