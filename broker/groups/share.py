"""Share groups: a heartbeat is carried through its two phases, between which the states of new share partitions are
made (`shareq.coordinator.group.share.heartbeat`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.foundation.bounded_log import BoundedLog
from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.groups.member_connections import MemberConnections
from shareq.broker.groups.ports import MemberConnection, ShareLeaders, ShareStates
from shareq.broker.topics.internal import InternalTopics
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.group.share.describe import share_group_error_entry
from shareq.coordinator.group.share.heartbeat import HeartbeatPlan, refusal
from shareq.coordinator.shard import CoordinatorResult
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.share_group_describe import DescribedGroup
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.generated.share_group_metadata import ShareGroupMetadataKey
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.protocol.share import LEAVE_EPOCH

logger = logging.getLogger(__name__)

_FENCED: Final = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)
"""Errors of a member that has to join again."""

TURN_INITIALIZED: Final = 250
"""States of share partitions that one heartbeat makes in a tick of the loop, 15 µs each."""


class ShareGroupService:
    """What members and administrators ask of share groups. Answers come when what they say is durable.

    `rebalances` counts the epochs that heartbeats have raised, but for those with which members left.
    """

    def __init__(
        self,
        groups: GroupCoordinatorService,
        internal_topics: InternalTopics,
        states: ShareStates,
        leaders: ShareLeaders,
        clock: Clock,
    ) -> None:
        self._groups = groups
        self._internal_topics = internal_topics
        self._states = states
        self._leaders = leaders
        self._clock = clock
        self._now = clock.now_ms
        self._connections = MemberConnections(self._now)
        self._membership = BoundedLog(logger, clock.now_ms)
        self._fenced = BoundedLog(logger, clock.now_ms)
        self.rebalances = 0
        self._initializing: dict[str, int] = {}  # group id -> heartbeats between their two phases
        self._waiting: dict[str, list[Callable[[], None]]] = {}  # heartbeats that wait for those

    def heartbeat(
        self, request: ShareGroupHeartbeatRequest, client: Client, connection: MemberConnection
    ) -> Pending[ShareGroupHeartbeatResponse]:
        """ShareGroupHeartbeat: both phases. The internal topics are created here when they are not there yet."""
        return self._internal_topics.with_topics(
            (CONSUMER_OFFSETS, SHARE_GROUP_STATE), lambda error: self._heartbeat(request, client, connection, error)
        )

    def _heartbeat(
        self, request: ShareGroupHeartbeatRequest, client: Client, connection: MemberConnection, error: ApiError
    ) -> Pending[ShareGroupHeartbeatResponse]:
        if error:
            return completed(refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message or ""))
        partition = self._groups.partition(request.group_id)
        answer: Pending[ShareGroupHeartbeatResponse] = Pending()
        plan = partition.schedule(
            lambda: self._connections.heartbeat(partition, request, client, connection),
            lambda error: HeartbeatPlan(request.group_id, request.member_id, _failed(error)),
        )
        plan.on_complete(lambda plan: self._begun(partition, request, client, plan, answer))
        return answer

    def describe(self, group_id: str) -> Pending[DescribedGroup]:
        """One entry of ShareGroupDescribe."""
        if not self._groups.partitions.count:
            message = f"Group {group_id} not found."
            return completed(share_group_error_entry(group_id, ErrorCode.GROUP_ID_NOT_FOUND, message))
        return self._groups.schedule(
            group_id,
            lambda shard: shard.share.describe(group_id),
            lambda error: share_group_error_entry(group_id, error, "The coordinator's log could not be written."),
        )

    def stop(self) -> None:
        """Leave members alone whose connections end from now on: the broker closes them itself."""
        self._connections.stop()

    # -- the two phases

    def _begun(
        self,
        partition: CoordinatorPartition[GroupCoordinatorShard],
        request: ShareGroupHeartbeatRequest,
        client: Client,
        plan: HeartbeatPlan,
        answer: Pending[ShareGroupHeartbeatResponse],
    ) -> None:
        """The first phase is durable."""
        if plan.joined:
            self._log_member("joined", request, client)
        elif plan.response is not None:
            if plan.response.error_code in _FENCED:
                self._log_member("fenced", request, client, ErrorCode(plan.response.error_code).name)
            elif request.member_epoch == LEAVE_EPOCH and not plan.response.error_code:
                self._log_member("left", request, client)
        self._carry_on(partition, plan, answer)

    def _log_member(
        self, what: str, request: ShareGroupHeartbeatRequest, client: Client, error: str | None = None
    ) -> None:
        log = self._fenced if error else self._membership
        log.log(
            logging.INFO,
            "share group %s: member %s %s (client id %r, %s)%s",
            request.group_id,
            request.member_id,
            what,
            client.client_id,
            client.host,
            f": {error} at member epoch {request.member_epoch}" if error else "",
            event=f"member_{what}",
            group=request.group_id,
            member=request.member_id,
            client_id=client.client_id,
            client_address=client.host.removeprefix("/"),
            **({"error": error, "member_epoch": request.member_epoch} if error else {}),
        )

    def _carry_on(
        self,
        partition: CoordinatorPartition[GroupCoordinatorShard],
        plan: HeartbeatPlan,
        answer: Pending[ShareGroupHeartbeatResponse],
    ) -> None:
        self.rebalances += plan.bumped
        if plan.response is not None:
            answer.complete(plan.response)
        elif plan.initialize:
            self._initialize(partition, plan, answer)
        elif self._initializing.get(plan.group_id):
            waiting = self._waiting.setdefault(plan.group_id, [])
            waiting.append(lambda: self._finish(partition, plan, None, answer))
        else:  # those it would wait for have finished meanwhile
            self._finish(partition, plan, None, answer)

    def _initialize(
        self,
        partition: CoordinatorPartition[GroupCoordinatorShard],
        plan: HeartbeatPlan,
        answer: Pending[ShareGroupHeartbeatResponse],
    ) -> None:
        self._initializing[plan.group_id] = self._initializing.get(plan.group_id, 0) + 1

        def initialized(success: bool) -> None:
            self._finish(partition, plan, success, answer)
            left = self._initializing[plan.group_id] = self._initializing[plan.group_id] - 1
            if not left:
                del self._initializing[plan.group_id]
                for finish in self._waiting.pop(plan.group_id, ()):
                    finish()

        self._initialized(partition, plan).on_complete(initialized)

    def _initialized(
        self, partition: CoordinatorPartition[GroupCoordinatorShard], plan: HeartbeatPlan
    ) -> Pending[bool]:
        """Make the states, `TURN_INITIALIZED` in a tick; whether all were made. When the last member has left, the rest
        is not made: the group may be deleted then, and what is made later would stay.
        """
        replaced = self._leaders.state_replaced
        outcomes: list[Pending[bool]] = []
        done: Pending[bool] = Pending()

        def go_on(at: int) -> None:
            some = plan.initialize[at : at + TURN_INITIALIZED]
            made = [
                self._states.initialize_once(each.key, each.state_epoch, each.start_offset, replaced, again=each.again)
                for each in some
            ]
            outcomes.append(gather(made).then(lambda errors: not any(errors)))
            at += TURN_INITIALIZED
            if at < len(plan.initialize):
                self._clock.call_soon(lambda: go_on(at) if has_members() else end(complete=False))
            else:
                end(complete=True)

        def has_members() -> bool:
            group = partition.shard.share_group(plan.group_id)
            return group is not None and bool(group.members)

        def end(*, complete: bool) -> None:
            gather(outcomes).then(lambda made: complete and all(made)).on_complete(done.complete)

        go_on(0)
        return done

    def _finish(
        self,
        partition: CoordinatorPartition[GroupCoordinatorShard],
        plan: HeartbeatPlan,
        initialized: bool | None,
        answer: Pending[ShareGroupHeartbeatResponse],
    ) -> None:
        def operation() -> CoordinatorResult[ShareGroupHeartbeatResponse]:
            result = partition.shard.share.finish_heartbeat(plan, initialized, self._now())
            self.rebalances += any(isinstance(record.key, ShareGroupMetadataKey) for record in result.records)
            return result

        partition.schedule(operation, _failed).on_complete(answer.complete)


def _failed(error: ErrorCode) -> ShareGroupHeartbeatResponse:
    return refusal(error, "The coordinator's log could not be written.")
