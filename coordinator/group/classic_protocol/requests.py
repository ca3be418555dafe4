"""The classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, by the kind of the named group.

A consumer group with members may have members of both protocols; one without members is replaced by a classic group.
"""

from __future__ import annotations

from collections.abc import Mapping

from shareq.coordinator.group.classic.rpc.join import Joining, request_error
from shareq.coordinator.group.classic_groups import ClassicGroups
from shareq.coordinator.group.classic_protocol.members import ClassicMembers
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.groups import Group
from shareq.coordinator.shard import CoordinatorResult, Steps
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest


class ClassicProtocol:
    """The requests of the classic protocol to one shard; each is handed to the part of the shard that has the group."""

    def __init__(self, groups: Mapping[str, Group], classic: ClassicGroups, members: ClassicMembers) -> None:
        self._groups = groups
        self._classic = classic
        self._members = members

    def join(self, joining: Joining, now_ms: int) -> Steps[CoordinatorResult[None]]:
        """Handle one JoinGroup. Errors: see `ClassicGroups.join`, `ClassicMembers.join`."""
        group = self._consumer_group(joining.request.group_id)
        if group is None or request_error(joining.request, self._classic.settings) is not ErrorCode.NONE:
            return self._classic.join(joining, now_ms)
        return (yield from self._members.join(group, joining, now_ms))

    def sync(self, request: SyncGroupRequest, token: int, now_ms: int) -> CoordinatorResult[None]:
        """Handle one SyncGroup. Errors: see `ClassicGroups.sync`, `ClassicMembers.sync`."""
        group = self._consumer_group(request.group_id)
        if group is None:
            return self._classic.sync(request, token, now_ms)
        return self._members.sync(group, request, token, now_ms)

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> CoordinatorResult[HeartbeatResponse]:
        """Handle one Heartbeat. Errors: see `ClassicGroups.heartbeat`, `ClassicMembers.heartbeat`."""
        group = self._consumer_group(request.group_id)
        if group is None:
            return self._classic.heartbeat(request, now_ms)
        error = self._members.heartbeat(group, request, now_ms)
        return CoordinatorResult(HeartbeatResponse(error_code=error))

    def leave(self, request: LeaveGroupRequest, now_ms: int) -> CoordinatorResult[LeaveGroupResponse]:
        """Handle one LeaveGroup, whose members are in `request.members` in every version. Errors: see
        `ClassicGroups.leave`, `ClassicMembers.leave`.
        """
        group = self._consumer_group(request.group_id)
        if group is None:
            return self._classic.leave(request, now_ms)
        return self._members.leave(group, request.members, now_ms)

    def _consumer_group(self, group_id: str) -> ConsumerGroup | None:
        group = self._groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) and group.members else None
