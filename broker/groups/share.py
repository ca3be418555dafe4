"""Share groups: a heartbeat has two phases, between which the states of new share partitions are initialized
(`shareq.coordinator.group.share.heartbeat`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.foundation.bounded_log import BoundedLog
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import gathered
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.groups.ports import MemberConnection, ShareLeaders, ShareStates
from shareq.broker.topics.ports import CoordinatorTopics
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.group.share.describe import share_group_error_entry
from shareq.coordinator.group.share.heartbeat import HeartbeatPlan, refusal
from shareq.coordinator.shard import CoordinatorResult, at_once
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.share_group_describe import DescribedGroup
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.generated.share_group_metadata import ShareGroupMetadataKey
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.protocol.share import LEAVE_EPOCH

logger = logging.getLogger(__name__)

_FENCED: Final = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)
"""Errors after which a member has to join again."""


class LastHeartbeat(NamedTuple):
    """The last heartbeat of a member on a connection. It named no topics."""

    partition: CoordinatorPartition[GroupCoordinatorShard]
    group_id: str
    member_id: str
    epoch: int
    connection_id: int


class ShareGroupService:
    """Members' and administrators' operations on share groups. Answers come once their outcome is durable.

    `rebalances` counts the epochs that heartbeats have raised, except those with which members left.
    """

    def __init__(
        self,
        groups: GroupCoordinatorService,
        internal_topics: CoordinatorTopics,
        states: ShareStates,
        leaders: ShareLeaders,
        env: Environment,
    ) -> None:
        self._groups = groups
        self._internal_topics = internal_topics
        self._states = states
        self._leaders = leaders
        self._now = env.clock.now_ms
        self._breathe = env.budget.breathe
        self._connections = MemberConnections(self._now)
        self._membership = BoundedLog(logger, self._now)
        self._fenced = BoundedLog(logger, self._now)
        self.rebalances = 0
        self._initializing: dict[str, int] = {}  # group id -> heartbeats between their two phases
        self._waiting: dict[str, list[Pending[None]]] = {}  # heartbeats that wait for those

    async def heartbeat(
        self, request: ShareGroupHeartbeatRequest, client: Client, connection: MemberConnection
    ) -> ShareGroupHeartbeatResponse:
        """Answer a ShareGroupHeartbeat, in both phases. Missing internal topics are created."""
        error = await self._internal_topics.made(CONSUMER_OFFSETS, SHARE_GROUP_STATE)
        if error:
            return refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message or "")
        partition = self._groups.partition(request.group_id)
        plan = await partition.schedule(
            lambda: self._connections.heartbeat(partition, request, client, connection),
            lambda error: HeartbeatPlan(request.group_id, request.member_id, _failed(error)),
        )
        self._log_phase(request, client, plan)
        self.rebalances += plan.bumped
        if plan.response is not None:
            return plan.response
        if plan.initialize:
            return await self._initialize(partition, plan)
        if self._initializing.get(plan.group_id):  # otherwise those that it would wait for have finished meanwhile
            others: Pending[None] = Pending()
            self._waiting.setdefault(plan.group_id, []).append(others)
            await others
        return await self._finish(partition, plan, None)

    def repeat(self, last: LastHeartbeat) -> int | None:
        """Begin a heartbeat that repeats the last one of its member; return the interval to the next one, in ms.

        Return None, with nothing changed, if the heartbeat has to be passed to `heartbeat`.
        """
        partition = last.partition
        if not partition.is_at_rest:
            return None
        shares, now_ms = partition.shard.share, self._now()
        settings = shares.repeat_heartbeat(last.group_id, last.member_id, last.epoch, now_ms, last.connection_id)
        return None if settings is None else settings.heartbeat_interval_ms

    def last(self, request: ShareGroupHeartbeatRequest, connection: MemberConnection) -> LastHeartbeat:
        """Return a heartbeat that was passed to `heartbeat` in the form that `repeat` uses."""
        partition = self._groups.partition(request.group_id)
        return LastHeartbeat(partition, request.group_id, request.member_id, request.member_epoch, connection.id)

    def topics_to_look_at(self, request: ShareGroupHeartbeatRequest) -> Collection[str]:
        """Return the names of topics that the decision on the heartbeat needs, and that may not be known here yet."""
        if not self._groups.partitions.count:
            return request.subscribed_topic_names or ()
        partition = self._groups.partition(request.group_id)
        if not partition.loaded.done:
            return ()  # it is refused
        return partition.shard.share.topics_to_look_at(request.group_id, request.subscribed_topic_names or ())

    def describe(self, group_id: str) -> Pending[DescribedGroup]:
        """Return the entry of one group for ShareGroupDescribe."""
        if not self._groups.partitions.count:
            message = f"Group {group_id} not found."
            return completed(share_group_error_entry(group_id, ErrorCode.GROUP_ID_NOT_FOUND, message))
        return self._groups.schedule(
            group_id,
            lambda shard: shard.share.describe(group_id),
            lambda error: share_group_error_entry(group_id, error, "The coordinator's log could not be written."),
        )

    def member_error(self, group_id: str, member_id: str, member_epoch: int) -> Pending[ErrorCode]:
        """Return why the member is not in the group with this epoch, or the one before; NONE if it is.

        Errors: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, and those of the coordinator's partition.
        """
        if not self._groups.partitions.count:
            return completed(ErrorCode.GROUP_ID_NOT_FOUND)
        return self._groups.schedule(
            group_id,
            lambda shard: shard.share.member_error(group_id, member_id, member_epoch),
            lambda error: error,
        )

    def stop(self) -> None:
        """Keep members whose connections end from now on, because the broker itself closes them."""
        self._connections.stop()

    # -- the two phases

    def _log_phase(self, request: ShareGroupHeartbeatRequest, client: Client, plan: HeartbeatPlan) -> None:
        """Log the change of the membership in the first phase, which is durable."""
        if plan.joined:
            self._log_member("joined", request, client)
        elif plan.response is not None:
            if plan.response.error_code in _FENCED:
                self._log_member("fenced", request, client, ErrorCode(plan.response.error_code).name)
            elif request.member_epoch == LEAVE_EPOCH and not plan.response.error_code:
                self._log_member("left", request, client)

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

    async def _initialize(
        self, partition: CoordinatorPartition[GroupCoordinatorShard], plan: HeartbeatPlan
    ) -> ShareGroupHeartbeatResponse:
        """Finish a heartbeat that initialises states, and then the heartbeats that waited for it."""
        group_id = plan.group_id
        self._initializing[group_id] = self._initializing.get(group_id, 0) + 1
        finished = self._finish(partition, plan, await self._made(partition, plan))
        left = self._initializing[group_id] = self._initializing[group_id] - 1
        if not left:
            del self._initializing[group_id]
            for waiting in self._waiting.pop(group_id, ()):
                waiting.complete(None)
        return await finished

    async def _made(self, partition: CoordinatorPartition[GroupCoordinatorShard], plan: HeartbeatPlan) -> bool:
        """Initialize the states; return True if all were initialized.

        Once the last member has left, the remaining states are not initialized: the group may then be deleted, and
        later states would stay for ever.
        """
        begun: list[Pending[ApiError]] = []
        for each in plan.initialize:
            group = partition.shard.share_group(plan.group_id)
            if begun and (group is None or not group.members):
                break
            begun.append(
                self._states.initialize_once(
                    each.key, each.state_epoch, each.start_offset, self._leaders.state_replaced, again=each.again
                )
            )
            await self._breathe()
        complete = len(begun) == len(plan.initialize)
        outcomes = await gathered(begun, self._breathe)
        return complete and not any(outcomes)

    def _finish(
        self, partition: CoordinatorPartition[GroupCoordinatorShard], plan: HeartbeatPlan, initialized: bool | None
    ) -> Pending[ShareGroupHeartbeatResponse]:
        def operation() -> CoordinatorResult[ShareGroupHeartbeatResponse]:
            result = partition.shard.share.finish_heartbeat(plan, initialized, self._now())
            self.rebalances += any(isinstance(record.key, ShareGroupMetadataKey) for record in result.records)
            return result

        return partition.schedule(operation, _failed)


def _failed(error: ErrorCode) -> ShareGroupHeartbeatResponse:
    return refusal(error, "The coordinator's log could not be written.")


_Partition = CoordinatorPartition[GroupCoordinatorShard]


class MemberConnections:
    """The partitions of the groups' topic to which each connection has sent heartbeats."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._partitions: dict[int, list[_Partition]] = {}
        self._stopping = False

    def heartbeat(
        self, partition: _Partition, request: ShareGroupHeartbeatRequest, client: Client, connection: MemberConnection
    ) -> CoordinatorResult[HeartbeatPlan]:
        """Decide the first phase of a member's heartbeat; from now on the loss of its connection removes it."""
        if connection.closed:  # while the heartbeat waited for its turn
            result = partition.shard.share.begin_heartbeat(request, client, self._now_ms(), connection.id)
            at_once(partition.shard.share.connection_lost(connection.id, self._now_ms()))
            return result
        self._watch(connection, partition)
        return partition.shard.share.begin_heartbeat(request, client, self._now_ms(), connection.id)

    def stop(self) -> None:
        """Stop reporting lost connections."""
        self._stopping = True

    def _watch(self, connection: MemberConnection, partition: _Partition) -> None:
        partitions = self._partitions.get(connection.id)
        if partitions is None:
            partitions = self._partitions[connection.id] = []
            connection.on_close(lambda: self._lost(connection.id))
        if partition not in partitions:
            partitions.append(partition)

    def _lost(self, connection_id: int) -> None:
        partitions = self._partitions.pop(connection_id)
        if self._stopping:
            return
        for partition in partitions:
            self._report(partition, connection_id)

    def _report(self, partition: _Partition, connection_id: int) -> None:
        partition.schedule(
            lambda: partition.shard.share.connection_lost(connection_id, self._now_ms()), lambda _error: None
        )
