"""States of share partitions: translated to the target's offsets, split into requests, and compared. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from shareq.ops.migrate.group_ports import ShareState, StateRange
from shareq.ops.migrate.ports import Partition
from shareq.protocol.share import TERMINAL, RecordState

MOST_RANGES: Final = 10_000
"""The most ranges of states in one request, which the coordinator handles in one turn."""
DONE: Final = TERMINAL | {RecordState.ARCHIVING}


def offsets_in(state: ShareState) -> set[int]:
    """Return the source's offsets that occur in a state."""
    return {state.start, *(each.first for each in state.ranges), *(each.last + 1 for each in state.ranges)}


def translated(state: ShareState, at: Mapping[int, int], writable: Collection[int]) -> ShareState:
    """Return a state with the target's offsets; ranges without a record there are left out.

    A record whose dead letter may not be written yet becomes available again if `writable` lacks the state "archiving".
    """
    ranges = [
        StateRange(at[each.first], at[each.last + 1] - 1, each.state if each.state in writable else 0, each.deliveries)
        for each in state.ranges
        if at[each.first] < at[each.last + 1]
    ]
    return ShareState(at[state.start], tuple(ranges))


def pieces(states: Mapping[Partition, ShareState]) -> Iterator[dict[Partition, ShareState]]:
    """Yield the states in pieces for requests, of at most about MOST_RANGES ranges."""
    some: dict[Partition, ShareState] = {}
    ranges = 0
    for each, state in states.items():
        if some and ranges + len(state.ranges) > MOST_RANGES:
            yield some
            some, ranges = {}, 0
        some[each] = state
        ranges += len(state.ranges)
    if some:
        yield some


class Comparison(NamedTuple):
    """A comparison of the records behind both starts.

    It counts the records that the group has finished since, and those whose state cannot follow from the moved one.
    """

    gone_on: int
    differ: int


def compared(given: ShareState, found: ShareState) -> Comparison:
    """Compare the moved states with the target's, record by record; members may have continued there."""
    start = max(given.start, found.start)
    points = {start, *(point for each in (*given.ranges, *found.ranges) for point in (each.first, each.last + 1))}
    gone_on = differ = 0
    for first, after in pairwise(sorted(each for each in points if each >= start)):
        before, now = _known(given, first), _known(found, first)
        if before == now:
            continue
        if _may_follow(before, now):
            gone_on += after - first
        else:
            differ += after - first
    return Comparison(gone_on, differ)


_Known = tuple[int, int]
"""A state and a number of deliveries."""


def _known(state: ShareState, offset: int) -> _Known:
    at = bisect_right(state.ranges, offset, key=lambda one: one.first) - 1
    if at < 0 or state.ranges[at].last < offset:
        return RecordState.AVAILABLE, 0
    return state.ranges[at].state, state.ranges[at].deliveries


def _may_follow(before: _Known, now: _Known) -> bool:
    """Return True if a record's present state can follow from the moved one."""
    if before[0] in TERMINAL and now[0] != before[0]:
        return False
    if before[0] == RecordState.ARCHIVING and now[0] not in (RecordState.ARCHIVING, RecordState.ARCHIVED):
        return False
    return now[1] >= before[1]
