"""The rules of a classic group on offsets: when they may be committed and deleted, and when they expire. A group that
never had members is *simple*: it only keeps offsets, and any client may commit them.
"""

from __future__ import annotations

from shareq.coordinator.group.classic.group import CONSUMER_PROTOCOL_TYPE, ClassicGroup, ClassicState
from shareq.coordinator.group.classic.turn import member_error
from shareq.protocol.errors import ErrorCode


def commit_error(
    group: ClassicGroup, member_id: str, instance_id: str | None, generation: int, *, transactional: bool
) -> ErrorCode:
    """Return the error for which a commit is refused, or NONE.

    A commit with `generation` -1, an empty member id and no instance id is not a member's. Errors: UNKNOWN_MEMBER_ID,
    FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS. A transactional commit need not name the member, and
    is not refused during a rebalance.
    """
    if generation < 0 and group.state is ClassicState.EMPTY:
        return ErrorCode.NONE
    if generation >= 0 or member_id or instance_id is not None:
        error = member_error(group, member_id, instance_id)
        if error is not ErrorCode.NONE:
            return error
        if generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
    elif not transactional and group.state is not ClassicState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not transactional and group.state is ClassicState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def delete_error(group: ClassicGroup) -> ErrorCode:
    """Return the error for which the deletion of offsets is refused, or NONE. Offsets of `read_topics` may not be
    deleted either.

    Error: NON_EMPTY_GROUP, if there are members whose subscriptions the broker cannot read.
    """
    if group.state is ClassicState.EMPTY or group.type == CONSUMER_PROTOCOL_TYPE:
        return ErrorCode.NONE
    return ErrorCode.NON_EMPTY_GROUP


def read_topics(group: ClassicGroup) -> frozenset[str] | None:
    """Return the topics that consumers of the group subscribe to; None if unknown: all topics count as read."""
    if group.subscribed_topics is None:
        return None if group.type == CONSUMER_PROTOCOL_TYPE else frozenset()
    return group.subscribed_topics


def expires_from_ms(group: ClassicGroup, committed_ms: int) -> int | None:
    """Return when the retention begins of an offset committed at `committed_ms` (times of day); None: it does not
    expire now.

    If the group has lost its members, it begins at that moment. It begins with the commit if the group never had
    members, or if it is Stable and its consumers do not subscribe to the topic.
    """
    if group.type is None:
        return committed_ms
    if group.state is ClassicState.EMPTY:
        return committed_ms if group.state_since_ms is None else group.state_since_ms
    consumers = group.type == CONSUMER_PROTOCOL_TYPE and group.subscribed_topics is not None
    return committed_ms if consumers and group.state is ClassicState.STABLE else None
