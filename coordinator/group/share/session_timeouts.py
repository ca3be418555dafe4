"""Timeouts of silent members of share groups: the end of the session, or a shorter grace.

The session is `group.share.session.timeout.ms` (KIP-932); the grace replaces it once the connection of a member's last
heartbeat is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from shareq.coordinator.group.deadlines import Deadlines, take_due
from shareq.coordinator.group.share import heartbeat
from shareq.coordinator.group.share.group import ShareGroup
from shareq.coordinator.ports import MetadataImage, ShareGroupSettings
from shareq.coordinator.shard import CoordinatorRecord, Steps

MemberKey = tuple[str, str]
"""Group id and member id."""

TURN_MEMBERS: Final = 2_000
"""The members of a lost connection that are handled between two pauses, 1.5 µs each."""


class SessionTimeouts:
    """The deadlines of members, in monotonic milliseconds, for all share groups of a shard, and the connections of
    their heartbeats. They are in memory only: after a load every member has a full session.
    """

    __slots__ = ("_connection_of", "_deadlines", "_lost", "_members_of")

    def __init__(self) -> None:
        self._deadlines: Deadlines[MemberKey] = Deadlines()
        self._connection_of: dict[MemberKey, int] = {}
        self._members_of: dict[int, set[MemberKey]] = {}
        self._lost: set[MemberKey] = set()  # their connections are, and no heartbeat has come since

    def heard_of(
        self,
        group_id: str,
        member_id: str,
        settings: ShareGroupSettings,
        now_ms: int,
        connection_id: int | None = None,
    ) -> None:
        """Restart the member's session timeout after a heartbeat over a connection.

        `connection_id` is None for a connection whose loss is not reported.
        """
        key = (group_id, member_id)
        if self._connection_of.get(key) != connection_id:
            self._unlink(key)
            if connection_id is not None:
                self._connection_of[key] = connection_id
                self._members_of.setdefault(connection_id, set()).add(key)
        self._lost.discard(key)
        self._deadlines.set(key, now_ms + settings.session_timeout_ms)

    def answered(self, group_id: str, member_id: str, settings: ShareGroupSettings, now_ms: int) -> None:
        """Restart the session timeout when a heartbeat is answered, unless its connection was lost meanwhile."""
        key = (group_id, member_id)
        if key not in self._lost:
            self._deadlines.set(key, now_ms + settings.session_timeout_ms)

    def connection_lost(
        self, connection_id: int, grace_ms: int, settings_of: Callable[[str], ShareGroupSettings], now_ms: int
    ) -> Steps[None]:
        """Give the members that sent heartbeats over the connection `grace_ms` to send one over another connection. The
        grace begins now, or when their next heartbeat is due if that is later, because a live client reconnects only
        then. A negative grace changes nothing.
        """
        settings: dict[str, ShareGroupSettings] = {}
        for number, key in enumerate(self._members_of.pop(connection_id, ()), 1):
            if not number % TURN_MEMBERS:
                yield
            del self._connection_of[key]
            deadline = self._deadlines.get(key)
            if deadline is None or grace_ms < 0:
                continue
            group_id = key[0]
            if group_id not in settings:
                settings[group_id] = settings_of(group_id)
            heard_ms = deadline - settings[group_id].session_timeout_ms
            next_heartbeat_ms = heard_ms + settings[group_id].heartbeat_interval_ms
            graced = max(next_heartbeat_ms, now_ms) + grace_ms
            if graced < deadline:
                self._lost.add(key)
                self._deadlines.set(key, graced)

    def clear(self, group_id: str, member_id: str) -> None:
        """Forget a member that has left; harmless for an unknown member."""
        key = (group_id, member_id)
        self._deadlines.clear(key)
        self._lost.discard(key)
        self._unlink(key)

    def next_ms(self) -> int | None:
        """Return when the next session may end; None without members."""
        return self._deadlines.next_ms()

    def take_silent(self, now_ms: int, room_bytes: int) -> dict[str, list[str]]:
        """Remove the members whose timeout has passed, and return them by group: at least one if there are any, and as
        many as one append of `room_bytes` can remove.
        """
        by_group: dict[str, list[str]] = {}
        for key in take_due(self._deadlines, now_ms, room_bytes):
            self._unlink(key)
            by_group.setdefault(key[0], []).append(key[1])
        return by_group

    def take_lost(self, group_id: str, member_ids: Sequence[str]) -> set[str]:
        """Return those of the removed members whose connection was lost, and forget this about them."""
        lost = {member_id for member_id in member_ids if (group_id, member_id) in self._lost}
        self._lost.difference_update((group_id, member_id) for member_id in lost)
        return lost

    def _unlink(self, key: MemberKey) -> None:
        connection_id = self._connection_of.pop(key, None)
        if connection_id is not None:
            members = self._members_of[connection_id]
            members.discard(key)
            if not members:
                del self._members_of[connection_id]


def silent_members_leave(
    group: ShareGroup, member_ids: Sequence[str], metadata: MetadataImage
) -> tuple[CoordinatorRecord, ...]:
    """Return the records that remove those of `member_ids` from the group that are still in it."""
    gone = [member_id for member_id in member_ids if member_id in group.members]
    return tuple(heartbeat.fence(group, gone, metadata)) if gone else ()
