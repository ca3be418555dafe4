"""Heartbeat: a member shows that it is alive, and learns of a rebalance."""

from __future__ import annotations

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicState
from shareq.coordinator.group.classic.turn import Turn, member_error
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatRequest


def heartbeat(group: ClassicGroup, request: HeartbeatRequest, turn: Turn) -> ErrorCode:
    """Prolong the member's session. Errors: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION. On
    REBALANCE_IN_PROGRESS the member has to join again; its session is prolonged then, too.
    """
    error = member_error(group, request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    turn.expect_heartbeat(group, group.members[request.member_id])
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is ClassicState.PREPARING_REBALANCE else ErrorCode.NONE
