"""LeaveGroup: members leave, or an administrator removes them (KIP-345)."""

from __future__ import annotations

import logging

from shareq.coordinator.group.classic import rebalance
from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.classic.turn import Turn, loggable_reason, member_error
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse

logger = logging.getLogger(__name__)


def leave(group: ClassicGroup, members: list[MemberIdentity], turn: Turn) -> LeaveGroupResponse:
    """Remove each named member; the remaining members rebalance once. Errors of a member: UNKNOWN_MEMBER_ID,
    FENCED_INSTANCE_ID.
    """
    results = [_leave(group, member, turn) for member in members]
    if any(result.error_code == ErrorCode.NONE for result in results):
        if group.has_generation:
            rebalance.prepare(group, turn, "members left")
        else:
            rebalance.complete_if_all_joined(group, turn)
    return LeaveGroupResponse(members=results)


def _leave(group: ClassicGroup, member: MemberIdentity, turn: Turn) -> MemberResponse:
    error, member_id = _whom(group, member)
    if error is ErrorCode.NONE:
        logger.info(
            "classic group %s: member %s leaves, client's reason: %s",
            group.group_id,
            member_id,
            loggable_reason(member.reason),
        )
        turn.remove_member(group, member_id)
    return MemberResponse(member.member_id, member.group_instance_id, error)


def _whom(group: ClassicGroup, member: MemberIdentity) -> tuple[ErrorCode, str]:
    """Return NONE and the id of the named member, or an error. Administrators may name a static member by its instance
    id only.
    """
    if not member.member_id:
        known = group.static_members.get(member.group_instance_id or "")
        return (ErrorCode.UNKNOWN_MEMBER_ID, "") if known is None else (ErrorCode.NONE, known)
    if member.member_id in group.pending_joins:
        return ErrorCode.NONE, member.member_id
    return member_error(group, member.member_id, member.group_instance_id), member.member_id
