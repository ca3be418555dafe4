"""The timers after which members of consumer groups are removed."""

from __future__ import annotations

from typing import Final

from shareq.coordinator.group.deadlines import Deadlines, take_due

TimerKey = tuple[str, str, str]
"""The timer's name, the group's id and the member's id."""

SESSION: Final = "session"
"""The timer of a member's session, which a heartbeat prolongs."""

REBALANCE: Final = "rebalance"
"""The timer of a member that has to give partitions up."""

JOIN: Final = "join"
"""The timer of a classic member that was asked to join again."""

SYNC: Final = "sync"
"""The timer of a classic member that has joined, and has to ask for its assignment."""


class MemberTimers:
    """The deadlines of members, in monotonic milliseconds, for all consumer groups of a shard."""

    __slots__ = ("_deadlines",)

    def __init__(self) -> None:
        self._deadlines: Deadlines[TimerKey] = Deadlines()

    def set(self, what: str, group_id: str, member_id: str, deadline_ms: int) -> None:
        """Set a timer to `deadline_ms`, replacing an earlier one."""
        self._deadlines.set((what, group_id, member_id), deadline_ms)

    def set_first(self, what: str, group_id: str, member_id: str, deadline_ms: int) -> None:
        """Set a timer to `deadline_ms`, unless it is set already."""
        self._deadlines.set_first((what, group_id, member_id), deadline_ms)

    def clear(self, what: str, group_id: str, member_id: str) -> None:
        self._deadlines.clear((what, group_id, member_id))

    def forget(self, group_id: str, member_id: str) -> None:
        """Cancel all timers of a member."""
        for what in (SESSION, REBALANCE, JOIN, SYNC):
            self.clear(what, group_id, member_id)

    def due(self, now_ms: int, room_bytes: int) -> list[TimerKey]:
        """Remove timers that are due at `now_ms` and return them, the earliest first: see `take_due`."""
        return take_due(self._deadlines, now_ms, room_bytes)

    def next_ms(self) -> int | None:
        return self._deadlines.next_ms()
