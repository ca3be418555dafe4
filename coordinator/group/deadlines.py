"""Timers as data: the keys that are due, and the time at which the next one may be."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=tuple[str, ...])


class Deadlines(Generic[K]):
    """One deadline for each key, in monotonic milliseconds.

    A heartbeat only changes a deadline; the heap is touched when time passes, not at each heartbeat. For every key the
    heap has an entry at the key's deadline or earlier.
    """

    __slots__ = ("_deadlines", "_heap", "_scheduled")

    def __init__(self) -> None:
        self._deadlines: dict[K, int] = {}
        self._scheduled: dict[K, int] = {}
        self._heap: list[tuple[int, K]] = []

    def set(self, key: K, deadline_ms: int) -> None:
        """Set the key's deadline to `deadline_ms`, replacing an earlier one."""
        self._deadlines[key] = deadline_ms
        scheduled = self._scheduled.get(key)
        if scheduled is None or deadline_ms < scheduled:
            self._schedule(key, deadline_ms)

    def get(self, key: K) -> int | None:
        """Return the key's deadline; None if it has none."""
        return self._deadlines.get(key)

    def set_first(self, key: K, deadline_ms: int) -> None:
        """Set the key's deadline to `deadline_ms`, unless it has one already."""
        if key not in self._deadlines:
            self.set(key, deadline_ms)

    def clear(self, key: K) -> None:
        """Remove the key's deadline; harmless without one."""
        self._deadlines.pop(key, None)

    def due(self, now_ms: int) -> list[K]:
        """Remove all keys whose deadline is not after `now_ms`, and return them, the earliest first."""
        result: list[K] = []
        while (key := self.take(now_ms)) is not None:
            result.append(key)
        return result

    def take(self, now_ms: int) -> K | None:
        """Remove the key with the earliest deadline that is not after `now_ms`, and return it; None if there is
        none.
        """
        while self._heap and self._heap[0][0] <= now_ms:
            entry, key = heappop(self._heap)
            if self._scheduled.get(key) != entry:
                continue  # an earlier entry took its place
            del self._scheduled[key]
            deadline = self._deadlines.get(key)
            if deadline is None:
                continue
            if deadline <= now_ms:
                del self._deadlines[key]
                return key
            self._schedule(key, deadline)
        return None

    def next_ms(self) -> int | None:
        """Return the earliest time at which a key may be due; None without keys."""
        return self._heap[0][0] if self._heap else None

    def _schedule(self, key: K, deadline_ms: int) -> None:
        self._scheduled[key] = deadline_ms
        heappush(self._heap, (deadline_ms, key))


_TOMBSTONES: Final = 4  # of one member that goes, and what its group writes with them
_RECORD_BYTES: Final = 64  # of a tombstone beside its names; in UTF-8 a character takes at most 3 bytes


def take_due(deadlines: Deadlines[K], now_ms: int, room_bytes: int) -> list[K]:
    """Remove keys whose deadline is not after `now_ms`, and return them, the earliest first: at least one, and at most
    as many members as can be removed with one append of `room_bytes`. A key consists of the names that are in the
    member's tombstones.
    """
    taken: list[K] = []
    left = room_bytes
    while (not taken or left > 0) and (key := deadlines.take(now_ms)) is not None:
        taken.append(key)
        left -= _TOMBSTONES * (_RECORD_BYTES + 3 * sum(map(len, key)))
    return taken
