"""When members were last heard of, as data: who is overdue, and when to look next."""

from __future__ import annotations

from heapq import heappop, heappush

MemberKey = tuple[str, str]
"""Group id and member id."""


class MemberSessions:
    """Deadlines of members, in monotonic milliseconds.

    A heartbeat only moves a deadline; the heap is looked at when time comes, and not once per heartbeat. It holds for
    every member an entry at its deadline or before.
    """

    __slots__ = ("_deadlines", "_heap", "_scheduled")

    def __init__(self) -> None:
        self._deadlines: dict[MemberKey, int] = {}
        self._scheduled: dict[MemberKey, int] = {}
        self._heap: list[tuple[int, MemberKey]] = []

    def extend(self, member: MemberKey, deadline_ms: int) -> None:
        """The member was heard of: it is overdue at `deadline_ms`, whatever was said before."""
        self._deadlines[member] = deadline_ms
        scheduled = self._scheduled.get(member)
        if scheduled is None or deadline_ms < scheduled:
            self._schedule(member, deadline_ms)

    def end(self, member: MemberKey) -> None:
        """The member is gone; harmless when it never was."""
        self._deadlines.pop(member, None)

    def overdue(self, now_ms: int) -> list[MemberKey]:
        """Take out the members whose deadline is at `now_ms` or before."""
        result: list[MemberKey] = []
        while self._heap and self._heap[0][0] <= now_ms:
            entry, member = heappop(self._heap)
            if self._scheduled.get(member) != entry:
                continue  # an earlier entry took its place
            del self._scheduled[member]
            deadline = self._deadlines.get(member)
            if deadline is None:
                continue
            if deadline <= now_ms:
                del self._deadlines[member]
                result.append(member)
            else:
                self._schedule(member, deadline)
        return result

    def next_deadline_ms(self) -> int | None:
        """When somebody may be overdue; None without members."""
        return self._heap[0][0] if self._heap else None

    def _schedule(self, member: MemberKey, deadline_ms: int) -> None:
        self._scheduled[member] = deadline_ms
        heappush(self._heap, (deadline_ms, member))
