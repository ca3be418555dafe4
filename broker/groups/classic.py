"""Classic groups: requests passed to the group coordinator's shards, and their answers."""

from __future__ import annotations

from uuid import UUID

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.topics.ports import CoordinatorTopics
from shareq.coordinator.group.classic.describe import classic_group_error_entry, no_classic_group
from shareq.coordinator.group.classic.rpc.join import Joining
from shareq.coordinator.group.classic.turn import join_refusal, sync_refusal
from shareq.coordinator.group.groups import Client
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import DescribedGroup
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse
from shareq.protocol.names import CONSUMER_OFFSETS


class ClassicGroupService:
    """Members' and administrators' operations on classic groups. Answers come once their outcome is durable."""

    def __init__(self, groups: GroupCoordinatorService, internal_topics: CoordinatorTopics, env: Environment) -> None:
        self._groups = groups
        self._internal_topics = internal_topics
        self._env = env
        self._now = env.clock.now_ms

    async def join(self, request: JoinGroupRequest, version: int, client: Client) -> JoinGroupResponse:
        """Answer a JoinGroup when the rebalance is complete. The internal topic is created if it is missing."""
        if await self._internal_topics.made(CONSUMER_OFFSETS):
            return join_refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, request.member_id)
        partition = self._groups.partition(request.group_id)
        new_id = "" if request.member_id else str(UUID(bytes=self._env.random_uuid()))
        return await partition.schedule_waiting(
            lambda token: partition.shard.classic_protocol.join(
                Joining(request, version, client, token, new_id), self._now()
            ),
            lambda error: join_refusal(error, request.member_id),
        )

    def sync(self, request: SyncGroupRequest) -> Pending[SyncGroupResponse]:
        """Answer a SyncGroup when the leader's assignment has arrived."""
        if not self._groups.partitions.count:
            return completed(sync_refusal(_unknown(request.group_id)))
        partition = self._groups.partition(request.group_id)
        return partition.schedule_waiting(
            lambda token: partition.shard.classic_protocol.sync(request, token, self._now()), sync_refusal
        )

    def heartbeat(self, request: HeartbeatRequest) -> Pending[HeartbeatResponse]:
        if not self._groups.partitions.count:
            return completed(HeartbeatResponse(error_code=_unknown(request.group_id)))
        return self._groups.schedule(
            request.group_id,
            lambda shard: shard.classic_protocol.heartbeat(request, self._now()),
            lambda error: HeartbeatResponse(error_code=error),
        )

    def leave(self, request: LeaveGroupRequest) -> Pending[LeaveGroupResponse]:
        """Answer a LeaveGroup, which has its members in `members` in every version."""
        if not self._groups.partitions.count:
            return completed(_nobody_left(request))
        return self._groups.schedule(
            request.group_id,
            lambda shard: shard.classic_protocol.leave(request, self._now()),
            lambda error: LeaveGroupResponse(error_code=error),
        )

    def describe(self, group_id: str, version: int) -> Pending[DescribedGroup]:
        """Return the entry of one group for DescribeGroups."""
        if not self._groups.partitions.count:
            return completed(no_classic_group(group_id, None, version))
        return self._groups.schedule(
            group_id,
            lambda shard: shard.classic.describe(group_id, version),
            lambda error: classic_group_error_entry(group_id, error),
        )


def _unknown(group_id: str) -> ErrorCode:
    return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID


def _nobody_left(request: LeaveGroupRequest) -> LeaveGroupResponse:
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    members = [MemberResponse(member.member_id, member.group_instance_id, unknown) for member in request.members]
    return LeaveGroupResponse(members=members)
