"""The end of a run with `trigger(availableNow=True)`, once it has taken the records that the topics had at its start.
Pure.

A share group hands out in offset order: a query that got the last offset of a partition, or a later one, got all
available earlier ones. Offsets that it cannot get (locked by another member, or markers of transactions) are left: a
run also ends when polls bring none of the missing ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from shareq.client.share.session import TopicIdPartition

ENOUGH: Final = 10
"""The number of empty polls in a row that ends a run. One may come while another member's fetch holds a partition.

A poll cut short by a limit counts less.
"""
_IN_FULL: Final = 5
_CUT_SHORT: Final = 1
SETTLED_MS: Final = 6_000
"""The milliseconds after which an assignment of only some partitions counts as final: longer than a heartbeat's
interval.
"""


class AvailableNow:
    """The remaining work of a run: `left` has the offsets up to the logs' ends at its begin, and shrinks to nothing."""

    __slots__ = ("_assignment", "_empty", "_ends", "_since_ms", "left", "pending")

    def __init__(
        self, ends: Mapping[TopicIdPartition, int], starts: Mapping[TopicIdPartition, int], now_ms: float
    ) -> None:
        """Begin a run.

        `ends` has the log ends of all partitions; `starts` has the group's start offsets, if they exist.
        """
        self._ends = {tp: end for tp, end in ends.items() if end > max(0, starts.get(tp, 0))}
        self.left = dict(self._ends)
        self.pending = False
        """True while something was acquired that belongs to the run and is in no micro-batch yet."""
        self._empty = 0
        self._assignment: frozenset[TopicIdPartition] = frozenset()
        self._since_ms = now_ms

    def acquired(self, topic_partition: TopicIdPartition, first: int, last: int) -> None:
        """Remove the offsets that a poll brought, both included."""
        end = self.left.get(topic_partition)
        if end is None:
            return
        if first < end:
            self.pending = True
            self._empty = 0
        if last >= end - 1:
            del self.left[topic_partition]

    def lost(self) -> None:
        """Note that locks were lost, perhaps of records in no micro-batch yet: any partition may deliver more."""
        self.left = dict(self._ends)
        self._empty = 0

    def nothing_new(self) -> None:
        """Note that the acquired records were lost again, or may be in no micro-batch."""
        self.pending = False

    def polled(
        self, assignment: Collection[TopicIdPartition], now_ms: float, *, in_full: bool, by_all: bool = True
    ) -> None:
        """Note the end of a poll, whose records were reported before.

        `in_full`: no limit cut it short. Without `by_all`, a leader was not asked, so an empty result proves nothing.
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
        """Note that the acquired records went into a micro-batch."""
        self.pending = False

    @property
    def finished(self) -> bool:
        """True if no more polls are needed."""
        return not self.left or self._empty >= ENOUGH
