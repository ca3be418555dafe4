"""The timers of a classic group: for members that are silent, do not join, or do not ask for their assignment."""

from __future__ import annotations

import logging

from shareq.coordinator.group.classic import rebalance
from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.classic.turn import HEARTBEAT, JOIN, Turn

logger = logging.getLogger(__name__)


def timer_is_due(group: ClassicGroup, what: str, member_id: str, turn: Turn) -> None:
    """Act on a timer that is due: HEARTBEAT of a member, JOIN or SYNC of the group."""
    if what == HEARTBEAT:
        _member_was_silent(group, member_id, turn)
    elif what == JOIN:
        rebalance.join_time_is_over(group, turn)
    else:
        _sync_time_is_over(group, turn)


def _member_was_silent(group: ClassicGroup, member_id: str, turn: Turn) -> None:
    member = group.members.get(member_id)
    if member is None and member_id not in group.pending_joins:
        return
    waits = member_id in group.joining or member_id in group.syncing
    if member is not None and waits and not member.is_new:
        return  # it waits for us; its session starts over with the answer
    logger.info("classic group %s: member %s was not heard of in time", group.group_id, member_id)
    turn.remove_member(group, member_id)
    if member is not None and group.has_generation:
        rebalance.prepare(group, turn, f"member {member_id} was not heard of in time")
    else:
        rebalance.complete_if_last_was_missing(group, turn)


def _sync_time_is_over(group: ClassicGroup, turn: Turn) -> None:
    """Remove the members of the generation that have not asked for their assignment, and rebalance."""
    missing = sorted(group.pending_syncs)
    if not missing or not group.has_generation:
        return
    for member_id in missing:
        turn.remove_member(group, member_id)
    rebalance.prepare(group, turn, f"members {', '.join(missing)} have not asked for their assignment in time")
