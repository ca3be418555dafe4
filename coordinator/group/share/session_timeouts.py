"""When a member of a share group that sends no heartbeats is removed (`group.share.session.timeout.ms`, KIP-932)."""

from __future__ import annotations

from collections.abc import Sequence

from shareq.coordinator.group.deadlines import Deadlines, take_due
from shareq.coordinator.group.share import heartbeat
from shareq.coordinator.group.share.group import ShareGroup
from shareq.coordinator.ports import MetadataImage, ShareGroupSettings
from shareq.coordinator.shard import CoordinatorRecord

MemberKey = tuple[str, str]
"""Group id and member id."""


class SessionTimeouts:
    """The deadlines of members, in monotonic milliseconds, for all share groups of a shard."""

    __slots__ = ("_deadlines",)

    def __init__(self) -> None:
        self._deadlines: Deadlines[MemberKey] = Deadlines()

    def heard_of(self, group_id: str, member_id: str, settings: ShareGroupSettings, now_ms: int) -> None:
        """The member's session timeout of its group starts over."""
        self._deadlines.set((group_id, member_id), now_ms + settings.session_timeout_ms)

    def clear(self, group_id: str, member_id: str) -> None:
        """The member has left; harmless when it was never heard of."""
        self._deadlines.clear((group_id, member_id))

    def next_ms(self) -> int | None:
        """When a member may be due; None without members."""
        return self._deadlines.next_ms()

    def take_silent(self, now_ms: int, room_bytes: int) -> dict[str, list[str]]:
        """Take out the members, by group, whose timeout has passed: at least one if any, and as many as one append of
        `room_bytes` has room for.
        """
        by_group: dict[str, list[str]] = {}
        for group_id, member_id in take_due(self._deadlines, now_ms, room_bytes):
            by_group.setdefault(group_id, []).append(member_id)
        return by_group


def silent_members_leave(
    group: ShareGroup, member_ids: Sequence[str], metadata: MetadataImage
) -> tuple[CoordinatorRecord, ...]:
    """The records that remove from the group those of `member_ids` that are still in it; none when nobody is."""
    gone = [member_id for member_id in member_ids if member_id in group.members]
    return tuple(heartbeat.fence(group, gone, metadata)) if gone else ()
