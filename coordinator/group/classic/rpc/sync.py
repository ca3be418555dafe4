"""SyncGroup: the leader sends the assignment, for which all other members wait."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from shareq.coordinator.group.classic import rebalance
from shareq.coordinator.group.classic.group import NO_ASSIGNMENT, ClassicGroup, ClassicState
from shareq.coordinator.group.classic.records import group_record
from shareq.coordinator.group.classic.turn import Turn, member_error, sync_refusal
from shareq.coordinator.shard import CoordinatorRecord, RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse

logger = logging.getLogger(__name__)


def sync(group: ClassicGroup, request: SyncGroupRequest, token: int, turn: Turn) -> None:
    """Handle one SyncGroup. Errors: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS. Raises RecordsTooLarge.
    """
    error = _error(group, request)
    if error is not ErrorCode.NONE:
        turn.answer(token, sync_refusal(error))
        return
    member_id = request.member_id
    if group.state is ClassicState.COMPLETING_REBALANCE:
        assignment = _assignment(group, request, turn) if group.leader_id == member_id else None
        turn.await_sync(group, member_id, token)
        _has_synced(group, member_id, turn)
        if assignment is not None:
            _assign(group, assignment, turn)
    else:
        _has_synced(group, member_id, turn)
        turn.answer(token, _assigned(group, member_id))


def _error(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    error = member_error(group, request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if _differs(request.protocol_type, group.type) or _differs(request.protocol_name, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is ClassicState.PREPARING_REBALANCE else ErrorCode.NONE


def _differs(named: str | None, known: str | None) -> bool:
    return named is not None and known is not None and named != known


def _has_synced(group: ClassicGroup, member_id: str, turn: Turn) -> None:
    group.pending_syncs.discard(member_id)
    if not group.pending_syncs:
        rebalance.end_sync_phase(group, turn)


@dataclass(frozen=True, slots=True)
class _Assignment:
    """The leader's assignment by member id, and the group's record with it."""

    by_member: Mapping[str, bytes]
    record: CoordinatorRecord


def _assignment(group: ClassicGroup, request: SyncGroupRequest, turn: Turn) -> _Assignment:
    by_member = {each.member_id: each.assignment for each in request.assignments}
    record = group_record(group, by_member)
    if not turn.room.fits((record,)):
        raise RecordsTooLarge
    return _Assignment(by_member, record)


def _assign(group: ClassicGroup, assignment: _Assignment, turn: Turn) -> None:
    """Make the group Stable, and answer its members once the record is written; until then no member learns its
    assignment.
    """
    assignments = assignment.by_member
    without = [member_id for member_id in group.members if not assignments.get(member_id)]
    if without:
        logger.info(
            "classic group %s: generation %d leaves %s without assignment", group.group_id, group.generation, without
        )
    turn.records.append(assignment.record)
    group.move_to(ClassicState.STABLE, turn.wall_ms)
    turn.counters.classic_rebalances += 1
    for member in list(group.members.values()):
        member.assignment = assignments.get(member.member_id, NO_ASSIGNMENT)
        if turn.answer_sync(group, member.member_id, _assigned(group, member.member_id)):
            turn.expect_heartbeat(group, member)


def _assigned(group: ClassicGroup, member_id: str) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.type,
        protocol_name=group.protocol_name,
        assignment=group.members[member_id].assignment,
    )
