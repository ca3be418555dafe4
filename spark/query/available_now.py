"""The end of a run with `trigger(availableNow=True)`, once it has taken what the topics held when it began. Pure.

A share group hands out in offset order: a query that got the last offset of a partition, or a later one, got all that
were available before it. Offsets that it cannot get (locked by another member, or markers of transactions) are left: a
run ends as well when polls bring nothing of what is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from shareq.client.share.session import TopicIdPartition

ENOUGH: Final = 10
"""So much emptiness in a row ends a run: two polls in full, as one may have come while another member's fetch had its
hand on a partition. One that was cut short by a limit says less."""
_IN_FULL: Final = 5
_CUT_SHORT: Final = 1
SETTLED_MS: Final = 6_000
"""An assignment that leaves partitions to others counts as final after that, which is more than a heartbeat."""


class AvailableNow:
    """Ends are log end offsets as they were at first. `left` shrinks to nothing as the run goes on."""

    __slots__ = ("_assignment", "_empty", "_ends", "_since_ms", "left", "pending")

    def __init__(
        self, ends: Mapping[TopicIdPartition, int], starts: Mapping[TopicIdPartition, int], now_ms: float
    ) -> None:
        """Begin a run. `ends`: of every partition; `starts`: the group's start offsets, as far as there are any."""
        self._ends = {tp: end for tp, end in ends.items() if end > max(0, starts.get(tp, 0))}
        self.left = dict(self._ends)
        self.pending = False
        """True while something was acquired that belongs to the run and is in no micro-batch yet."""
        self._empty = 0
        self._assignment: frozenset[TopicIdPartition] = frozenset()
        self._since_ms = now_ms

    def acquired(self, topic_partition: TopicIdPartition, first: int, last: int) -> None:
        """Take the offsets that a poll brought, both included."""
        end = self.left.get(topic_partition)
        if end is None:
            return
        if first < end:
            self.pending = True
            self._empty = 0
        if last >= end - 1:
            del self.left[topic_partition]

    def lost(self) -> None:
        """Locks were lost, maybe of what is in no micro-batch yet: it comes again, from whichever partition."""
        self.left = dict(self._ends)
        self._empty = 0

    def nothing_new(self) -> None:
        """Note that what was acquired was none of what a micro-batch may have, or is lost again."""
        self.pending = False

    def polled(
        self, assignment: Collection[TopicIdPartition], now_ms: float, *, in_full: bool, by_all: bool = True
    ) -> None:
        """Take the end of a poll; what it brought was reported before.

        `in_full`: it was not cut short by a limit. Without `by_all` a leader had no say, and that nothing came from it
        says nothing.
        """
        assignment = frozenset(assignment)
        if assignment != self._assignment:
            self._assignment, self._since_ms, self._empty = assignment, now_ms, 0
        settled = bool(assignment) and (assignment >= self.left.keys() or now_ms - self._since_ms >= SETTLED_MS)
        if not by_all:
            self._empty = 0
        elif settled and not self.pending:
            self._empty += _IN_FULL if in_full else _CUT_SHORT

    def handed_out(self) -> None:
        """Note that what was acquired went into a micro-batch."""
        self.pending = False

    @property
    def finished(self) -> bool:
        """True if there is nothing more to poll for."""
        return not self.left or self._empty >= ENOUGH
