"""JoinGroup: the conditions for a client to join, the member id that it gets, and the rebalance that may follow.

A client without a member id gets one and has to repeat its request (MEMBER_ID_REQUIRED, from version 4, KIP-394), so
that no member stays behind if an answer to JoinGroup is lost. A static member (KIP-345) that joins without its id
replaces itself: the old id is fenced, and a Stable group does not rebalance unless the selected protocol changes.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from shareq.coordinator.group.classic import rebalance
from shareq.coordinator.group.classic.group import ClassicGroup, ClassicMember, ClassicState, Protocols
from shareq.coordinator.group.classic.record_room import check_room
from shareq.coordinator.group.classic.records import group_record
from shareq.coordinator.group.classic.turn import (
    HEARTBEAT,
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    ClassicGroupSettings,
    Turn,
    join_refusal,
    loggable_reason,
    member_error,
    sync_refusal,
)
from shareq.coordinator.group.groups import Client
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.join_group import JoinGroupRequest

logger = logging.getLogger(__name__)

MEMBER_ID_FROM_VERSION: Final = 4
SKIP_ASSIGNMENT_FROM_VERSION: Final = 9

LONGEST_NAME: Final = 8_000
"""The most characters of the instance id or client id in a new member id; a string may have 32,767 bytes."""


@dataclass(frozen=True, slots=True)
class Joining:
    """One JoinGroup with its context.

    `new_id` is unique; a member without an id gets its instance id or client id, followed by `new_id`.
    """

    request: JoinGroupRequest
    version: int
    client: Client
    token: int
    new_id: str

    @property
    def protocols(self) -> Protocols:
        return tuple((protocol.name, protocol.metadata) for protocol in self.request.protocols)

    @property
    def new_member_id(self) -> str:
        name = self.request.group_instance_id or self.client.client_id
        return f"{name[:LONGEST_NAME]}-{self.new_id}"

    @property
    def reason(self) -> str:
        return loggable_reason(self.request.reason)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The member's rebalance timeout: the session timeout in version 0, which has no other; a negative one counts
        as 0.
        """
        return max(self.request.rebalance_timeout_ms, 0) if self.version else self.request.session_timeout_ms


def request_error(request: JoinGroupRequest, settings: ClassicGroupSettings) -> ErrorCode:
    """Return the error of a request that does not depend on its sender: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, or
    NONE.
    """
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    return ErrorCode.NONE


def join(group: ClassicGroup, joining: Joining, turn: Turn) -> None:
    """Handle one JoinGroup. Errors: GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL, MEMBER_ID_REQUIRED,
    UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID. A waiting request is answered REBALANCE_IN_PROGRESS if the member sends
    another one. Raises RecordsTooLarge, see `check_room`.
    """
    request = joining.request
    if not _has_room(group, request.member_id, turn.settings.max_size):
        if request.member_id:
            turn.remove_member(group, request.member_id)
        turn.answer(joining.token, join_refusal(ErrorCode.GROUP_MAX_SIZE_REACHED))
    elif not group.supports(request.protocol_type, [name for name, _ in joining.protocols]):
        turn.answer(joining.token, join_refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id))
    elif request.member_id:
        _join_known(group, joining, turn)
    elif request.group_instance_id is not None:
        _join_static(group, joining, turn)
    elif joining.version >= MEMBER_ID_FROM_VERSION:
        _give_member_id(group, joining, turn)
    else:
        _add(group, joining, joining.new_member_id, turn)


def _has_room(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    """Return True if the member may join. In a rebalance the first `max_size` members that join stay, because
    `group.max.size` may have been lowered.
    """
    if group.state is ClassicState.EMPTY:
        return True
    if group.state is ClassicState.PREPARING_REBALANCE:
        return member_id in group.joining or len(group.joining) < max_size
    return member_id in group.members or len(group.members) < max_size


def _give_member_id(group: ClassicGroup, joining: Joining, turn: Turn) -> None:
    member_id = joining.new_member_id
    group.pending_joins.add(member_id)
    turn.timers.set((HEARTBEAT, group.group_id, member_id), turn.now_ms + joining.request.session_timeout_ms)
    turn.answer(joining.token, join_refusal(ErrorCode.MEMBER_ID_REQUIRED, member_id))


def _join_known(group: ClassicGroup, joining: Joining, turn: Turn) -> None:
    request = joining.request
    if request.member_id in group.pending_joins and request.group_instance_id is None:
        _add(group, joining, request.member_id, turn)
        return
    error = member_error(group, request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        turn.answer(joining.token, join_refusal(error, request.member_id))
        return
    member = group.members[request.member_id]
    unchanged = member.protocols == joining.protocols
    if group.state is ClassicState.COMPLETING_REBALANCE and unchanged:
        # it did not get the answer to the last one
        turn.answer(joining.token, rebalance.joined(group, member.member_id))
    elif group.state is ClassicState.STABLE and unchanged and group.leader_id != member.member_id:
        turn.answer(joining.token, rebalance.joined(group, member.member_id))
    else:  # the leader joins again to have an assignment rebuilt, for topics that have changed
        check_room(group, _member(joining, member.member_id), turn.room)
        _update(group, member, joining, turn)
        what = "the leader" if group.leader_id == member.member_id else "member"
        rebalance.prepare_or_complete(
            group, turn, f"{what} {member.member_id} joins again, client's reason: {joining.reason}"
        )


def _join_static(group: ClassicGroup, joining: Joining, turn: Turn) -> None:
    if joining.request.group_instance_id in group.static_members:
        _replace(group, joining, turn)
    else:
        _add(group, joining, joining.new_member_id, turn)


def _add(group: ClassicGroup, joining: Joining, member_id: str, turn: Turn) -> None:
    request = joining.request
    member = _member(joining, member_id)
    check_room(group, member, turn.room)
    member.is_new = True
    if group.state is ClassicState.PREPARING_REBALANCE and group.previous_state is ClassicState.EMPTY:
        group.member_added = True
    group.add(member, request.protocol_type)
    turn.await_join(group, member_id, joining.token)
    # It cannot send heartbeats, and a connection that is lost while it waits goes unnoticed: a limit of its own.
    turn.expect_heartbeat(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
    rebalance.prepare_or_complete(group, turn, f"member {member_id} joins, client's reason: {joining.reason}")


def _member(joining: Joining, member_id: str) -> ClassicMember:
    """Build the member from its request."""
    request = joining.request
    return ClassicMember(
        member_id=member_id,
        instance_id=request.group_instance_id,
        client_id=joining.client.client_id,
        client_host=joining.client.host,
        rebalance_timeout_ms=joining.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocols=joining.protocols,
    )


def _update(group: ClassicGroup, member: ClassicMember, joining: Joining, turn: Turn) -> None:
    group.update(member, joining.protocols, joining.rebalance_timeout_ms, joining.request.session_timeout_ms)
    turn.await_join(group, member.member_id, joining.token)


def _replace(group: ClassicGroup, joining: Joining, turn: Turn) -> None:
    """Replace a static member that has joined without its old id, which is fenced."""
    instance_id = joining.request.group_instance_id or ""
    old_id, leader_before = group.static_members[instance_id], group.leader_id
    comer = _member(joining, joining.new_member_id)
    comer.assignment = group.members[old_id].assignment
    check_room(group, comer, turn.room)
    turn.answer_join(group, old_id, join_refusal(ErrorCode.FENCED_INSTANCE_ID, old_id))
    turn.answer_sync(group, old_id, sync_refusal(ErrorCode.FENCED_INSTANCE_ID))
    turn.forget_heartbeat(group, old_id)
    member = group.rename(instance_id, joining.new_member_id)
    logger.info("classic group %s: %s takes the place of %s", group.group_id, member.member_id, old_id)
    turn.expect_heartbeat(group, member)
    _update(group, member, joining, turn)
    reason = f"static member {instance_id} has changed, client's reason: {joining.reason}"
    if group.state is ClassicState.COMPLETING_REBALANCE:
        # the leader may be assigning to the old id just now
        rebalance.prepare(group, turn, reason)
    elif group.state is ClassicState.STABLE and group.selected_protocol() == group.protocol_name:
        _stay_stable(group, member, leader_before, joining, turn)
    else:
        rebalance.prepare_or_complete(group, turn, reason)


def _stay_stable(
    group: ClassicGroup, member: ClassicMember, leader_before: str | None, joining: Joining, turn: Turn
) -> None:
    """Let the member continue with the assignment of its old id.

    If it is the leader, it must not send an assignment, because no member waits for one. From version 9 on the answer
    says so (KIP-814); before, it names another leader.
    """
    assignments = {each.member_id: each.assignment for each in group.members.values()}
    turn.records.append(group_record(group, assignments))
    leads = group.leader_id == member.member_id
    if joining.version >= SKIP_ASSIGNMENT_FROM_VERSION:
        response = rebalance.joined(group, member.member_id, skip_assignment=leads)
    else:
        response = rebalance.joined(group, member.member_id)
        response.members = []
        response.leader = leader_before or ""
    turn.answer_join(group, member.member_id, response)
