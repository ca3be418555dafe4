"""The trial of a cluster on temporary topics, `shareq check --cluster`: what it can do, and what that means for nodes.

    what it serves   by the checks of a node's start, with topics of other names
    the log          appends get the expected offsets, are read back as written, can be pruned: a node's safety needs it
    fencing          a producer whose transactional id another producer has taken
    a group          with the protocol by which nodes share the work

All topics and groups that the trial has created are deleted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from statistics import median
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import sleep
from shareq.broker.foundation.pending import Pending
from shareq.cluster.forward.coordinators import Coordinators, Kind
from shareq.cluster.link.ports import Link
from shareq.cluster.membership.group import PROTOCOL, WITH_INSTANCE_ID
from shareq.cluster.node.checks import Reached, Wanted, check_cluster
from shareq.cluster.node.options import Replication
from shareq.cluster.state.fencing import Producer, alive_batch
from shareq.cluster.state.slot import Fetched, Produced, Refused, Slot, StateTopic
from shareq.cluster.state.topics import WantedTopic
from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from shareq.protocol.records.batch import batch_headers

APPENDS: Final = 20
"""The number of batches that are appended one after the other; as many are then appended in pairs."""
PATIENCE_MS: Final = 10_000
JOIN_MS: Final = 20_000
SESSION_MS: Final = 10_000
AGAIN_MS: Final = 200
_JOIN_UPTO, _LEAVE_UPTO, _DELETE_UPTO, _NAMED_UPTO = 9, 5, 2, 5  # versions; the last of DeleteTopics with names
_SOON: Final = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)
_NOT_FENCED: Final = "brokers do not refuse what a deposed node writes; readers skip it all the same"


class Verdict(StrEnum):
    """The judgements on a finding."""

    GOOD = "ok"
    LESS = "less"  # nodes work, and lack something
    BAD = "no"  # nodes cannot work, or would lose what is confirmed


class Finding(NamedTuple):
    """A finding, and its verdict."""

    verdict: Verdict
    text: str


async def try_cluster(
    env: Environment, link: Link, cluster: Reached, replication: Replication, mark: str
) -> list[Finding]:
    """Try a cluster that was reached. `mark` is the suffix of the names of the topics and groups that are created."""
    state, groups = f"shareq-check-{mark}", f"shareq-check-{mark}-compacted"
    topics = (WantedTopic(state, 1, compacted=False), WantedTopic(groups, 1, compacted=True))
    try:
        checked = await check_cluster(env, link, Wanted(topics, replication, state, f"{state}-"), cluster)
        found = [Finding(Verdict.GOOD, f"{cluster.brokers} broker(s) reached")]
        found += [Finding(Verdict.BAD, text) for text in checked.refusals]
        found += [Finding(Verdict.LESS, text) for text in checked.warnings]
        if state in checked.topics:
            found += await _Trial(env, link, checked.topics[state]).all()
        found.append(await _group(env, link, state))
        return found
    finally:
        await _delete(link, [state, groups])


class _Trial:
    """The trial of one partition."""

    def __init__(self, env: Environment, link: Link, topic: StateTopic) -> None:
        self._env = env
        self._slot = Slot(link, topic, 0)
        self._next = 0  # the offset that is due
        self._took_ms: list[float] = []

    async def all(self) -> list[Finding]:
        found: list[Finding] = []
        steps: Sequence[Callable[[], Awaitable[Finding]]] = (self._appends, self._reads, self._fences, self._prunes)
        leader = await self._slot.find_leader()
        if isinstance(leader, Refused):
            return [Finding(Verdict.BAD, leader.text)]
        for step in steps:
            found.append(await step())
            if found[-1].verdict is Verdict.BAD:
                break
        return found

    async def _appends(self) -> Finding:
        """Append batches as a slot's owner does, first one at a time and then two at a time."""
        producer = await self._producer(None)
        if isinstance(producer, Refused):
            return Finding(Verdict.BAD, f"no producer id: {producer.text}")
        for sequence in range(APPENDS):
            began_ns = self._env.clock.now_ns()
            problem = self._problem(await self._append(producer, sequence))
            if problem is not None:
                return problem
            self._took_ms.append((self._env.clock.now_ns() - began_ns) / 1_000_000)
        for sequence in range(APPENDS, 2 * APPENDS, 2):
            pair = [self._append(producer, each) for each in (sequence, sequence + 1)]
            for each in pair:
                problem = self._problem(await each)
                if problem is not None:
                    return problem
        times = f"{median(self._took_ms):.1f} ms, longest {max(self._took_ms):.1f} ms"
        text = f"each append gets the offset that is due: {times}"
        return Finding(Verdict.GOOD, text)

    async def _reads(self) -> Finding:
        """Read back the appended batches."""
        fetched = await self._slot.fetch(0, 0)
        if not isinstance(fetched, Fetched):
            return Finding(Verdict.BAD, fetched.text)
        offsets = [header.base_offset for _, header in batch_headers(fetched.records)]
        if offsets != list(range(self._next)):
            return Finding(Verdict.BAD, f"of {self._next} batches these are read back: offsets {offsets[:10]} ...")
        return Finding(Verdict.GOOD, "what was appended is read back as it was written")

    async def _fences(self) -> Finding:
        """Append as an owner that another one has deposed. The brokers should refuse it; readers skip it in any
        case.
        """
        name = self._slot.name
        deposed, heir = await self._producer(name), await self._producer(name)
        for each in (deposed, heir):
            if isinstance(each, Refused):
                return Finding(Verdict.LESS, f"{_NOT_FENCED}: {each.text}")
        assert isinstance(deposed, Producer)
        assert isinstance(heir, Producer)
        problem = self._problem(await self._append(heir, 0))
        if problem is not None:
            return problem
        late = await self._append(deposed, 0)
        if isinstance(late, Produced):
            self._next += 1
            return Finding(Verdict.LESS, _NOT_FENCED)
        return Finding(Verdict.GOOD, f"what a deposed node writes is refused: {late.text}")

    async def _prunes(self) -> Finding:
        start = await self._slot.delete_records(APPENDS)
        if start != APPENDS:
            why = (
                start.text
                if isinstance(start, Refused)
                else f"the log begins at {start}, where {APPENDS} was asked for"
            )
            return Finding(Verdict.LESS, f"state topics cannot be pruned, and grow: {why}")
        return Finding(Verdict.GOOD, "state topics can be pruned")

    async def _producer(self, transactional_id: str | None) -> Producer | Refused:
        """Return a new producer, with or without a transactional id. Retries for a while, since a young cluster may not
        be ready.
        """
        give_up_ms = self._env.clock.now_ms() + PATIENCE_MS
        node: int | Refused | None = None
        while True:
            if transactional_id is not None:
                node = await self._slot.find_transaction_coordinator(transactional_id)
            found = node if isinstance(node, Refused) else await self._slot.init_producer_id(node, transactional_id)
            is_over = self._env.clock.now_ms() >= give_up_ms
            if isinstance(found, Producer) or is_over or found.error not in _SOON:
                return found
            await sleep(self._env.clock, AGAIN_MS)

    def _append(self, producer: Producer, sequence: int) -> Pending[Produced | Refused]:
        batch = alive_batch(producer, sequence=sequence, now_wall_ms=self._env.clock.wall_ms())
        return self._slot.produce(batch, PATIENCE_MS)

    def _problem(self, outcome: Produced | Refused) -> Finding | None:
        """Return what is wrong with the outcome of the next append; None if it got the expected offset."""
        if isinstance(outcome, Refused):
            return Finding(Verdict.BAD, outcome.text)
        if outcome.base_offset != self._next:
            text = f"an append got offset {outcome.base_offset}, {self._next} was due: owners would look alike"
            return Finding(Verdict.BAD, text)
        self._next += 1
        return None


async def _group(env: Environment, link: Link, name: str) -> Finding:
    """Join a group as a node does."""
    coordinators = Coordinators(link)
    request = JoinGroupRequest(
        name, SESSION_MS, SESSION_MS, "", None, PROTOCOL, protocols=[JoinGroupRequestProtocol(PROTOCOL)]
    )
    give_up_ms = env.clock.now_ms() + PATIENCE_MS
    while True:
        answer = await coordinators.ask(
            Kind.GROUP, name, request, version=_JOIN_UPTO, lowest=WITH_INSTANCE_ID, timeout_ms=JOIN_MS
        )
        assert isinstance(answer, (JoinGroupResponse, ErrorCode))
        error = answer if isinstance(answer, ErrorCode) else error_of(answer.error_code)
        if error is ErrorCode.MEMBER_ID_REQUIRED and isinstance(answer, JoinGroupResponse):
            request.member_id = answer.member_id
        elif error in _SOON and env.clock.now_ms() < give_up_ms:
            await sleep(env.clock, AGAIN_MS)
        elif error:
            return Finding(Verdict.BAD, f"the nodes could not share the work: JoinGroup: {error.name}")
        else:
            break
    members = [MemberIdentity(request.member_id)]
    await coordinators.ask(Kind.GROUP, name, LeaveGroupRequest(name, members=members), version=_LEAVE_UPTO, lowest=3)
    await coordinators.ask(Kind.GROUP, name, DeleteGroupsRequest([name]), version=_DELETE_UPTO, lowest=0)
    return Finding(Verdict.GOOD, "the nodes can share the work, as a group of their own protocol")


async def _delete(link: Link, names: list[str]) -> None:
    """Delete the topics; a failure is ignored."""
    await link.send(None, DeleteTopicsRequest(topic_names=names, timeout_ms=PATIENCE_MS), max_version=_NAMED_UPTO)
