"""The course of a rebalance, from its cause to the new generation.

    prepare       members learn of it from their heartbeats, and join again
    complete      all have joined, or the time is over: members that have not are removed, the others form the
                  next generation
    (sync)        the leader's assignment makes the group Stable, or the time is over and `prepare` begins again

The first rebalance of a group waits for more members for `group.initial.rebalance.delay.ms`, and again while more join,
up to the members' rebalance timeout.
"""

from __future__ import annotations

import logging
from typing import Final

from shareq.coordinator.group.classic.group import NO_ASSIGNMENT, ClassicGroup, ClassicState, InitialDelay
from shareq.coordinator.group.classic.records import group_record
from shareq.coordinator.group.classic.subscriptions import subscribed_topics
from shareq.coordinator.group.classic.turn import JOIN, SYNC, Turn, sync_refusal
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.join_group import JoinGroupResponse, JoinGroupResponseMember

logger = logging.getLogger(__name__)

LEAST_PAUSE_MS: Final = 100
"""The least time between two attempts to find a leader, since a client may give 0 as its rebalance timeout."""


def prepare_or_complete(group: ClassicGroup, turn: Turn, reason: str) -> None:
    """Start a rebalance after a change, or continue the current one."""
    if group.can_rebalance:
        prepare(group, turn, reason)
    else:
        complete_if_all_joined(group, turn)


def prepare(group: ClassicGroup, turn: Turn, reason: str) -> None:
    """Begin a rebalance. Members that wait for an assignment are answered REBALANCE_IN_PROGRESS, so they join again."""
    if group.state is ClassicState.COMPLETING_REBALANCE:
        for member in group.members.values():
            member.assignment = NO_ASSIGNMENT
            if turn.answer_sync(group, member.member_id, sync_refusal(ErrorCode.REBALANCE_IN_PROGRESS)):
                turn.expect_heartbeat(group, member)
    end_sync_phase(group, turn)
    logger.info(
        "classic group %s: rebalance from %s, generation %d: %s",
        group.group_id,
        group.state.value,
        group.generation,
        reason,
    )
    initial = group.state is ClassicState.EMPTY
    group.move_to(ClassicState.PREPARING_REBALANCE, turn.wall_ms)
    if initial:
        delay_ms = turn.settings.initial_rebalance_delay_ms
        group.initial_delay = InitialDelay(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        group.member_added = False
        turn.set_timer(JOIN, group, delay_ms)
    elif group.all_joined:
        complete(group, turn)
    else:
        turn.set_timer(JOIN, group, group.rebalance_timeout_ms)


def complete_if_all_joined(group: ClassicGroup, turn: Turn) -> None:
    """Complete the join phase if all members have joined. The initial delay is not shortened."""
    preparing = group.state is ClassicState.PREPARING_REBALANCE
    if preparing and group.previous_state is not ClassicState.EMPTY and group.all_joined:
        complete(group, turn)


def complete_if_last_was_missing(group: ClassicGroup, turn: Turn) -> None:
    """Complete the join phase if all remaining members have joined, after one has left that had not."""
    if group.state is ClassicState.PREPARING_REBALANCE and group.all_joined:
        complete(group, turn)


def join_time_is_over(group: ClassicGroup, turn: Turn) -> None:
    """Handle the JOIN timer: prolong the initial delay if more members came, otherwise complete the join phase."""
    delay = group.initial_delay
    if delay is not None and group.member_added and delay.remaining_ms:
        group.member_added = False
        next_ms = min(turn.settings.initial_rebalance_delay_ms, delay.remaining_ms)
        group.initial_delay = InitialDelay(next_ms, max(delay.remaining_ms - delay.delay_ms, 0))
        turn.set_timer(JOIN, group, next_ms)
    else:
        complete(group, turn)


def complete(group: ClassicGroup, turn: Turn) -> None:
    """End the join phase: the members that have joined form the next generation.

    Static members that have not joined stay until their session ends. If there are no others, no member can lead, and
    the join phase begins again.
    """
    turn.clear_timer(JOIN, group)
    group.initial_delay = None
    missing = [m.member_id for m in group.members.values() if m.member_id not in group.joining and not m.instance_id]
    for member_id in missing:
        turn.remove_member(group, member_id)
    if missing:
        logger.info("classic group %s: members %s have not joined in time", group.group_id, missing)
    if group.members and not group.elect_joined_leader():
        turn.set_timer(JOIN, group, max(group.rebalance_timeout_ms, LEAST_PAUSE_MS))
        return
    _next_generation(group, turn)
    if group.state is ClassicState.EMPTY:
        turn.records.append(group_record(group, {}))
        return
    for member in list(group.members.values()):
        turn.answer_join(group, member.member_id, joined(group, member.member_id))
        turn.expect_heartbeat(group, member)
        member.is_new = False
        group.pending_syncs.add(member.member_id)
    turn.set_timer(SYNC, group, group.rebalance_timeout_ms)


def _next_generation(group: ClassicGroup, turn: Turn) -> None:
    group.generation += 1
    group.protocol_name = group.selected_protocol() if group.members else None
    group.subscribed_topics = subscribed_topics(group)
    group.move_to(ClassicState.COMPLETING_REBALANCE if group.members else ClassicState.EMPTY, turn.wall_ms)
    group.pending_syncs.clear()
    logger.info(
        "classic group %s: generation %d, %d members, protocol %s",
        group.group_id,
        group.generation,
        len(group.members),
        group.protocol_name,
    )


def end_sync_phase(group: ClassicGroup, turn: Turn) -> None:
    """Stop waiting for members to ask for their assignments."""
    group.pending_syncs.clear()
    turn.clear_timer(SYNC, group)


def joined(group: ClassicGroup, member_id: str, *, skip_assignment: bool = False) -> JoinGroupResponse:
    """Return the JoinGroup answer for a member of the generation; the leader's also has all members with their
    metadata.
    """
    members = [
        JoinGroupResponseMember(each.member_id, each.instance_id, each.metadata(group.protocol_name))
        for each in (group.members.values() if group.leader_id == member_id else ())
    ]
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )
