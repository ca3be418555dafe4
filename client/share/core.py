"""The network steps of a member of a share group, whose driver says when to take them (KIP-932). Pure.

Heartbeats, the leaders of assigned partitions, and the session with each leader. A session takes one request at a time.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

from shareq.client.core.connection import Connection, Exchange
from shareq.client.core.network import GENERAL, NetworkCore
from shareq.client.errors import BrokerError, ClientError, Disconnected, Unreachable, understood
from shareq.client.share.leaders import Leader, ShareLeaders
from shareq.client.share.member import ShareMember, Verdict
from shareq.client.share.session import AckOutcome, FetchLimits, FetchOutcome, TopicIdPartition
from shareq.client.share.session_errors import Meaning, meaning_of
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_acknowledge import AcknowledgementBatch, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message, Tags
from shareq.protocol.share import JOIN_EPOCH

logger = logging.getLogger(__name__)

STRICT_FROM: Final = 2
RENEW_FROM: Final = 2
"""Versions of ShareFetch and ShareAcknowledge (Apache Kafka 4.2)."""
LONGEST_PAUSE_MS: Final = 1000
"""The longest pause between two lookups of missing leaders."""
ABSENT_MS: Final = 1000
"""The milliseconds for which an unreachable coordinator is left alone while leaders are asked."""
CLOSE_MS: Final = 5_000

Lost = Callable[[Leader, str, Collection[TopicIdPartition] | None], None]
"""A loss of locks on these partitions of a leader (None: on all), and its reason."""


class Fetched(NamedTuple):
    """The outcome of a ShareFetch. `answer` is None if none came.

    `trouble`: why a partition returned no records, unless it has none; `refusal`: an error after which a retry would
    not help.
    """

    outcome: FetchOutcome
    answer: ShareFetchResponse | None = None
    trouble: ClientError | None = None
    refusal: ClientError | None = None


class ShareCore:
    """One member over a network. `lost` and `look_again` are called when locks are lost, and when `look` should be
    called.

    `group_purpose` and `share_purpose` are what its connections are for: an answer that stays out ends its connection.
    """

    def __init__(
        self,
        network: NetworkCore,
        member: ShareMember,
        leaders: ShareLeaders,
        *,
        look_again: Callable[[], None],
        lost: Lost = lambda leader, why, partitions: None,
        group_purpose: str = GENERAL,
        share_purpose: str = GENERAL,
    ) -> None:
        self.network = network
        self.member = member
        self.leaders = leaders
        self._look_again = look_again
        self._lost = lost
        self._group_purpose = group_purpose
        self._share_purpose = share_purpose
        self._names: dict[bytes, str] = {}
        self._missing: set[str] = set()

    def name_of(self, topic_id: bytes) -> str:
        """Return a topic's name; its id in hexadecimal digits if no name is known."""
        return self._names.get(topic_id) or topic_id.hex()

    # -- membership

    async def beat(self) -> float:
        """Send a heartbeat, and return how long to wait before the next one, in seconds.

        Raises Unreachable, and BrokerError when the group refuses the member.
        """
        verdict = await self._beat()
        if verdict is Verdict.AGAIN:
            verdict = await self._beat()
        if verdict is Verdict.MOVED:
            self.network.forget_coordinator(self.member.group_id)
        if verdict is Verdict.STEADY:
            return max(0.0, (self.member.due_ms - self._now_ms()) / 1000)
        return self.network.config.retry_backoff_ms / 1000

    async def _beat(self) -> Verdict:
        group_id = self.member.group_id
        try:
            node = await self.network.coordinator(group_id)
            answer = await self.network.request_once(node, self.member.request(), purpose=self._group_purpose)
        except ClientError:
            self.member.unanswered()
            self.network.forget_coordinator(group_id)
            raise
        assert isinstance(answer, ShareGroupHeartbeatResponse)
        before = self.member.assignment
        with understood(f"an answer to a heartbeat of share group {group_id}"):
            verdict = self.member.answered(answer, self._now_ms())
        if self.member.assignment != before:
            self._look_again()
        if verdict is Verdict.REFUSED:
            raise BrokerError(answer.error_code, f"share group {group_id}", answer.error_message)
        return verdict

    async def leave(self, timeout_ms: int) -> None:
        """Send the last heartbeat, as far as the coordinator answers within the timeout."""
        if self.member.epoch == JOIN_EPOCH:
            return
        tries = self.network.tries(timeout_ms)
        with contextlib.suppress(ClientError):
            node = await self.network.coordinator(self.member.group_id, timeout_ms=tries.left_ms, once=True)
            request = self.member.leave_request()
            await self.network.request_once(node, request, purpose=self._group_purpose, timeout_ms=tries.left_ms)

    # -- leaders

    def subscribe(self, topics: list[str]) -> None:
        """Change to other topics. No more records of dropped topics are requested."""
        self.member.subscribe(topics)
        kept = [tp for tp in self.member.assignment or () if self._names.get(tp[0]) in topics]
        self.leaders.assign(dict.fromkeys(kept))

    async def look(self, *, ask: bool = True) -> bool:
        """Assign every assigned partition of the topics to its leader's session, and return whether each has a leader.

        Without `ask`, known topics and leaders are used until they are old. Raises the errors of `NetworkCore.refresh`.
        """
        topics = self.member.topics
        assigned = [tp for tp in self.member.assignment or () if self._names.get(tp[0]) in (None, *topics)]
        if not assigned or not topics:
            self.leaders.assign({})
        if ask and topics:
            await self._ask_for(topics)
        if not assigned or not topics:
            return True
        nodes = {tp: await self.network.leader(*tp) for tp in assigned if tp[0] in self._names}
        self.leaders.assign({tp: node for tp, node in nodes.items() if self._names[tp[0]] in self.member.topics})
        return len(nodes) == len(assigned) and None not in nodes.values()

    async def _ask_for(self, topics: list[str]) -> None:
        """Ask for the ids of topics. One that does not exist is logged once: nothing else would show it."""
        await self.network.refresh(topics)
        ids = await self.network.topic_ids(topics)
        self._names |= {topic_id: name for name, topic_id in ids.items()}
        missing = {name for name in topics if name not in ids}
        for name in sorted(missing - self._missing):
            logger.warning("topic %s does not exist: share group %s waits for it", name, self.member.group_id)
        self._missing = missing

    # -- acquisition

    async def send_fetch(self, leader: Leader, limits: FetchLimits) -> Exchange | ClientError:
        """Send a ShareFetch, which opens the session if need be. Return the argument for `take_fetch`."""
        try:
            if not leader.opened:
                leader.connection = await self.network.connection(leader.node, self._share_purpose)
            return await self.network.submit(
                leader.node,
                leader.session.fetch_request(limits),
                min_version=STRICT_FROM if limits.strict else 0,
                on=leader.connection,
            )
        except ClientError as error:
            return error

    async def take_fetch(self, leader: Leader, sent: Exchange | ClientError) -> Fetched:
        """Wait for the answer to `send_fetch`, and apply it."""
        answer = await self._answer(sent)
        if isinstance(answer, ClientError):
            if isinstance(answer, Unreachable):
                self._away(leader, answer)
                return Fetched(FetchOutcome(ErrorCode.NONE), trouble=answer)
            leader.ready_at = math.inf
            return Fetched(FetchOutcome(ErrorCode.NONE), trouble=answer, refusal=answer)
        assert isinstance(answer, ShareFetchResponse)
        with understood(f"an answer to ShareFetch of broker {leader.node}"):
            outcome = leader.session.fetched(answer)
        failed = [(error, f"partition {self.name_of(tp[0])}-{tp[1]}") for tp, error in outcome.errors.items()]
        if outcome.error is not ErrorCode.NONE:
            failed = [(outcome.error, f"share group {self.member.group_id}, broker {leader.node}")]
            await self._session_refused(leader, outcome.error)
        else:
            leader.opened = True
            for tp, error in outcome.errors.items():
                self._partition_failed(leader, tp, error)
            if outcome.errors and not outcome.acquired:
                self.back_off(leader)
        errors = [BrokerError(error, f"{what}: ShareFetch") for error, what in failed]
        refusal = next((error for error in errors if Meaning.PASSES not in meaning_of(error.code)), None)
        return Fetched(outcome, answer, errors[0] if errors else None, refusal)

    # -- acknowledgements

    async def send_acknowledge(
        self,
        leader: Leader,
        batches: Mapping[TopicIdPartition, list[AcknowledgementBatch]],
        renews: bool,
        tags: Mapping[TopicIdPartition, Tags] | None = None,
    ) -> Exchange | ClientError:
        """Send a ShareAcknowledge; see `ShareSession.batches_request`. Return the argument for `ack_outcome`."""
        if not leader.opened:
            return Disconnected(f"broker {leader.node}: the share session was lost")
        request = leader.session.batches_request(batches, renews, tags)
        try:
            return await self.network.submit(
                leader.node, request, min_version=RENEW_FROM if renews else 0, on=leader.connection
            )
        except ClientError as error:
            return error

    async def ack_outcome(self, leader: Leader, sent: Exchange | ClientError) -> AckOutcome | ClientError:
        """Wait for the answer to `send_acknowledge`. The caller notifies those that wait, and then calls
        `ack_consequences`.
        """
        answer = await self._answer(sent)
        if isinstance(answer, ClientError):
            return answer
        assert isinstance(answer, ShareAcknowledgeResponse)
        return leader.session.acknowledged(answer)

    async def ack_consequences(self, leader: Leader, outcome: AckOutcome | ClientError) -> None:
        """Drop the locks that an answer reports as lost, and look for partitions that have moved."""
        if isinstance(outcome, ClientError):
            if isinstance(outcome, Unreachable):
                self._away(leader, outcome)
            return
        if outcome.error is not ErrorCode.NONE:
            await self._session_refused(leader, outcome.error)
        for tp, error in outcome.errors.items():
            self._partition_failed(leader, tp, error)

    # -- the end of a session

    async def end(self, leaders: Iterable[Leader], why: str, timeout_ms: int = CLOSE_MS) -> None:
        """End the sessions of leaders, which releases their locks, as far as they answer within the timeout."""
        closing: list[Exchange] = []
        for leader in leaders:
            connection, opened = leader.connection, leader.opened
            self.session_lost(leader, why)
            if opened and connection is not None:
                with contextlib.suppress(ClientError):
                    closing.append(await self._send_close(leader, connection, timeout_ms))
        await self.network.collect(closing)

    async def _send_close(self, leader: Leader, on: Connection, timeout_ms: int) -> Exchange:
        request = leader.session.close_request()
        return await self.network.submit(leader.node, request, timeout_ms=timeout_ms, on=on)

    def session_lost(self, leader: Leader, why: str) -> None:
        """Note that the session has ended, and its locks with it. The next fetch opens another."""
        self.leaders.session_lost(leader)
        self._lost(leader, f"the share session with broker {leader.node} ended: {why}", None)

    def back_off(self, leader: Leader) -> None:
        """Do not ask this leader for a while."""
        leader.ready_at = self.network.driver.now() + self.network.config.retry_backoff_ms / 1000

    async def _session_refused(self, leader: Leader, error: ErrorCode) -> None:
        connection = leader.connection
        self.session_lost(leader, error.name)
        self.back_off(leader)
        if Meaning.STILL_OPEN in meaning_of(error) and connection is not None:
            with contextlib.suppress(ClientError):
                await (await self._send_close(leader, connection, CLOSE_MS)).answer()

    def _partition_failed(self, leader: Leader, tp: TopicIdPartition, error: ErrorCode) -> None:
        meaning = meaning_of(error)
        if Meaning.MOVED in meaning:
            self.leaders.invalidate(tp)
            self._lost(leader, f"the partition has another leader ({error.name})", [tp])
            self._look_again()
        if Meaning.KEPT_ENTRY in meaning:
            leader.session.renew_entry(tp)

    def _away(self, leader: Leader, error: ClientError) -> None:
        self.session_lost(leader, str(error))
        self.back_off(leader)
        self._look_again()

    async def _answer(self, sent: Exchange | ClientError) -> Message | ClientError:
        if isinstance(sent, ClientError):
            return sent
        try:
            return await sent.answer()
        except ClientError as error:
            return error

    def _now_ms(self) -> int:
        return round(self.network.driver.now() * 1000)
