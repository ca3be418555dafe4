"""The states of share partitions if several nodes own slots: own slots are used directly, those of other nodes by
KIP-932's RPCs.

    read, write, replace             by the leader of the topic, which owns the slot of its states: always this node
    initialize, delete, summaries    by the coordinator of the group: on this node, or by a request to the slot's owner

Calls to one node in one turn of the loop are sent in as few requests as their order allows. Nothing is retried here:
the coordinator's callers do that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.coroutines import Begin
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import Breathe
from shareq.broker.ground import ShareStateStore
from shareq.broker.share.core.effects import StateBatch, WriteState
from shareq.broker.share.persister import PersistedState
from shareq.broker.topics.leaders import Leader
from shareq.cluster.forward.state_changes import Asked, How, reach_in
from shareq.cluster.link.ports import LinkFailure, NodeLink
from shareq.coordinator.share.delays import NO_DELAYS, Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.share_state import UNSET
from shareq.coordinator.share.staged import NONE_STAGED, Staged
from shareq.protocol.errors import ApiError, ErrorCode, error_of, text_of
from shareq.protocol.generated import delete_share_group_state as deletion
from shareq.protocol.generated import initialize_share_group_state as initialization
from shareq.protocol.generated import read_share_group_state_summary as summary
from shareq.protocol.primitives import Message

logger = logging.getLogger(__name__)

MOST_TOGETHER: Final = 1_000
"""The most share partitions in one request."""
TIMEOUT_MS: Final = 10_000
"""The timeout of a request to the owner of a state: longer than it takes to notice that the owner has ended."""
SUMMARY_TIMEOUT_MS: Final = 2_000
"""The timeout of a request for summaries, so that an answer about many owners need not wait for a silent one."""
SUMMARY_LANE: Final = 2
"""The lane of these requests: a late answer ends their connection, and the changes of states have another one."""


class Initialize(NamedTuple):
    """A state to be initialized."""

    how: How
    state_epoch: int
    start_offset: int


class Delete(NamedTuple):
    """A state to be deleted."""


class Summarize(NamedTuple):
    """A state whose summary is requested."""


Operation: TypeAlias = Initialize | Delete | Summarize


class _Call(NamedTuple):
    """An operation on a state of another node, and the `Pending` for its outcome."""

    key: SharePartitionKey
    operation: Operation
    node_id: int
    outcome: Pending[SummaryResult]

    @property
    def request(self) -> tuple[object, ...]:
        """The key of a request: calls with equal keys may share one."""
        how = self.operation.how if isinstance(self.operation, Initialize) else None
        return self.node_id, self.key.group_id, type(self.operation), how


class OwnGroup(NamedTuple):
    """This node as the coordinator of a group, and the generation in which it owns the group's slot."""

    node_id: int
    generation: int


class SpreadStates:
    """`ShareStateStore` of a node. `own` returns the store of the slots that it owns. `elsewhere` returns the owner of
    the slot of a topic's states, by topic id; None if this node owns it. `coordinated` returns this node as a group's
    coordinator; None if it is not.
    """

    def __init__(
        self,
        clock: Clock,
        begin: Begin,
        breathe: Breathe,
        *,
        link: NodeLink,
        own: Callable[[], ShareStateStore],
        elsewhere: Callable[[bytes], Leader | None],
        coordinated: Callable[[str], OwnGroup | None],
    ) -> None:
        self._clock: Final = clock
        self._begin: Final = begin
        self._breathe: Final = breathe
        self._link: Final = link
        self._own: Final = own
        self._elsewhere: Final = elsewhere
        self._coordinated: Final = coordinated
        self._calls: list[_Call] = []
        self._number = 0
        self._refusals: set[tuple[int, int]] = set()

    # -- of the leader, which owns the slot

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> Pending[PersistedState]:
        return self._own().read_state(key, leader_epoch)

    def write_state(self, key: SharePartitionKey, write: WriteState) -> Pending[ErrorCode]:
        return self._own().write_state(key, write)

    def replace_state(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        batches: Sequence[StateBatch],
        delays: Sequence[Delay] = NO_DELAYS,
        staged: Sequence[Staged] = NONE_STAGED,
    ) -> Pending[ErrorCode]:
        return self._own().replace_state(key, state_epoch, start_offset, batches, delays, staged)

    def owes_letters(self, key: SharePartitionKey) -> Pending[bool]:
        """Return True if the state owes dead letters; False for another node's state, whose owner waits for them by
        itself.
        """
        return self._own().owes_letters(key) if self._elsewhere(key.topic_id) is None else completed(False)

    # -- of the group's coordinator

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Pending[ApiError]:
        owner = self._elsewhere(key.topic_id)
        if owner is None:
            return self._own().initialize(key, state_epoch, start_offset)
        return self._change(key, owner, Initialize(How.WIPE, state_epoch, start_offset))

    def initialize_once(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        replaced: Callable[[Iterable[SharePartitionKey]], None],
        *,
        again: bool = False,
    ) -> Pending[ApiError]:
        owner = self._elsewhere(key.topic_id)
        if owner is None:
            return self._own().initialize_once(key, state_epoch, start_offset, replaced, again=again)
        how = How.ONCE_OR_OLDER if again else How.ONCE
        return self._change(key, owner, Initialize(how, state_epoch, start_offset))

    def read_summary(self, key: SharePartitionKey) -> Pending[SummaryResult]:
        owner = self._elsewhere(key.topic_id)
        return self._own().read_summary(key) if owner is None else self._ask(key, owner, Summarize())

    def delete(self, key: SharePartitionKey) -> Pending[ApiError]:
        owner = self._elsewhere(key.topic_id)
        return self._own().delete(key) if owner is None else self._change(key, owner, Delete())

    # -- asking

    def _change(self, key: SharePartitionKey, owner: Leader, operation: Initialize | Delete) -> Pending[ApiError]:
        return self._ask(key, owner, operation).then(lambda result: ApiError(result.error, result.message))

    def _ask(self, key: SharePartitionKey, owner: Leader, operation: Operation) -> Pending[SummaryResult]:
        if owner.node is None:
            return completed(_unavailable("No node owns the slot of the states now."))
        call = _Call(key, operation, owner.node.node_id, Pending())
        if not self._calls:
            self._clock.call_soon(self._send_calls)
        self._calls.append(call)
        return call.outcome

    def _send_calls(self) -> None:
        calls, self._calls = self._calls, []
        for _, group in groupby(calls, key=lambda call: call.request):
            same = list(group)
            for at in range(0, len(same), MOST_TOGETHER):
                self._send(same[at : at + MOST_TOGETHER])

    def _send(self, calls: list[_Call]) -> None:
        """Send one request for calls that share it."""
        group_id, node_id, operation = calls[0].key.group_id, calls[0].node_id, calls[0].operation
        if isinstance(operation, Summarize):
            request: Message = _summaries(calls)
            least, timeout_ms, lane = 1, SUMMARY_TIMEOUT_MS, SUMMARY_LANE
        else:
            own = self._coordinated(group_id)
            if own is None:
                _end(calls, _unavailable("This node coordinates the group no more."))
                return
            self._number += 1
            how = operation.how if isinstance(operation, Initialize) else How.WIPE
            asked = Asked(how, own.node_id, own.generation, self._number)
            request = _initializations(calls, asked) if isinstance(operation, Initialize) else _deletions(calls, asked)
            least, timeout_ms, lane = 0, TIMEOUT_MS, 0
        sent = self._link.send(node_id, request, timeout_ms=timeout_ms, min_version=least, lane=lane)
        sent.on_complete(lambda answer: self._heard(calls, answer))

    def _heard(self, calls: list[_Call], answer: Message | LinkFailure) -> None:
        if isinstance(answer, LinkFailure):
            _end(calls, _unavailable(answer.text))
        else:
            self._begin(self._take(calls, answer))

    async def _take(self, calls: list[_Call], answer: Message) -> None:
        """Complete each call with its row of the answer."""
        rows: dict[tuple[bytes, int], SummaryResult] = {}
        if isinstance(
            answer,
            initialization.InitializeShareGroupStateResponse
            | deletion.DeleteShareGroupStateResponse
            | summary.ReadShareGroupStateSummaryResponse,
        ):
            for topic in answer.results:
                for row in topic.partitions:
                    rows[topic.topic_id, row.partition] = _result_of(row)
                    await self._breathe()
        for call in calls:
            result = rows.get((call.key.topic_id, call.key.partition))
            if result is None:
                result = _unavailable("The owner of the state did not answer.")
            self._warn(call, result.error)
            call.outcome.complete(result)
            await self._breathe()

    def _warn(self, call: _Call, error: ErrorCode) -> None:
        """Log once that this node lacks a right on another one, though each answer reports it."""
        if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED and (call.node_id, error) not in self._refusals:
            self._refusals.add((call.node_id, error))
            logger.warning(
                "node %d refuses what this node asks as the coordinator of groups: its user needs ClusterAction there",
                call.node_id,
            )


def _end(calls: Iterable[_Call], result: SummaryResult) -> None:
    for call in calls:
        call.outcome.complete(result)


def _unavailable(why: str) -> SummaryResult:
    return SummaryResult(ErrorCode.COORDINATOR_NOT_AVAILABLE, why)


def _result_of(
    row: initialization.PartitionResult | deletion.PartitionResult | summary.PartitionResult,
) -> SummaryResult:
    error = error_of(row.error_code)
    if error is ErrorCode.NOT_COORDINATOR:  # of the states; the group's client is where it should be
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if error:
        return SummaryResult(error, row.error_message or text_of(error))
    if not isinstance(row, summary.PartitionResult):
        return SummaryResult()
    reach = reach_in(row.unknown_tags)
    return SummaryResult(
        error,
        None,
        row.state_epoch,
        row.leader_epoch,
        row.start_offset,
        row.delivery_complete_count,
        first_offset=UNSET if reach is None else reach.first_offset,
        end=UNSET if reach is None else reach.end,
    )


def _by_topic(calls: Iterable[_Call]) -> dict[bytes, list[_Call]]:
    found: dict[bytes, list[_Call]] = {}
    for call in calls:
        found.setdefault(call.key.topic_id, []).append(call)
    return found


def _initializations(calls: list[_Call], asked: Asked) -> initialization.InitializeShareGroupStateRequest:
    topics = []
    for topic_id, of_topic in _by_topic(calls).items():
        rows = []
        for call in of_topic:
            assert isinstance(call.operation, Initialize)
            rows.append(
                initialization.PartitionData(
                    call.key.partition, call.operation.state_epoch, call.operation.start_offset
                )
            )
        topics.append(initialization.InitializeStateData(topic_id, rows))
    return initialization.InitializeShareGroupStateRequest(calls[0].key.group_id, topics, asked.tags())


def _deletions(calls: list[_Call], asked: Asked) -> deletion.DeleteShareGroupStateRequest:
    topics = [
        deletion.DeleteStateData(topic_id, [deletion.PartitionData(call.key.partition) for call in of_topic])
        for topic_id, of_topic in _by_topic(calls).items()
    ]
    return deletion.DeleteShareGroupStateRequest(calls[0].key.group_id, topics, asked.tags())


def _summaries(calls: list[_Call]) -> summary.ReadShareGroupStateSummaryRequest:
    topics = [
        summary.ReadStateSummaryData(topic_id, [summary.PartitionData(call.key.partition, -1) for call in of_topic])
        for topic_id, of_topic in _by_topic(calls).items()
    ]
    return summary.ReadShareGroupStateSummaryRequest(calls[0].key.group_id, topics)
