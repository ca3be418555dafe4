"""A moment at which no log was being written: the ends of all logs at one instant, from outside the broker. Pure.

Logs depend on each other. A committed offset points into another log; the end of a transaction is a record of the
transaction log, then a marker in every partition, then another record. So the ends of logs read one after the other may
be a state that never existed: markers of a transaction that is still open in the copied transaction log. Only the ends
at one instant are the state that a `kill -9` at that instant would have left, which a start can handle.

The broker is not stopped for that. Ends only grow, so if two looks in a row see the same ends, these were the ends at
an instant in between. One look at thousands of logs takes longer than a broker is ever idle; but only few of them are
being written at a time. Logs that were seen to move are "hot" and are looked at twice in quick succession, the others
are looked at before and after:

all logs -> hot ones, hot ones again: equal? -> all logs: of the others none has moved? -> that was the moment

A log that changes, but only by plain records that refer to no other log, is not waited for: its later end is taken,
because committed offsets may point to any place before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, Protocol

_LOOKS_BEFORE_PAUSE: Final = 200


class Sight(NamedTuple):
    """The state of one log at a look. `listing` changes with the names in its folder; the other fields are the
    active segment and its bytes.

    `base_offset` is -1 for a folder without a segment.
    """

    listing: int
    base_offset: int
    identity: tuple[int, int]
    size: int


Sights = Mapping[str, Sight]


class Watched(Protocol):
    """The logs of a data folder, by folder name, as a backup looks at them."""

    def look_at_all(self) -> dict[str, Sight]:
        """Return the state of every existing log."""

    def look_at(self, names: Collection[str]) -> dict[str, Sight]:
        """Look at these logs as quickly as possible; leave out those whose folder was deleted."""

    def is_plain(self, name: str, before: Sight | None, after: Sight | None) -> bool:
        """Return True if the writes between the two looks are independent of other logs.

        These are records without a transaction, in a topic that is not internal: they refer to no other log, and
        nothing depends on their order.
        """


def find_moment(
    watched: Watched, now_s: Callable[[], float], pause: Callable[[], None], patience_s: float
) -> dict[str, Sight] | None:
    """Return the logs as they were at one instant; None when none was found within `patience_s` seconds.

    `pause` is called from time to time between looks that saw logs change.
    """
    deadline = now_s() + patience_s
    hot: set[str] = set()
    before = watched.look_at_all()
    while now_s() < deadline:
        seen = _still(watched, hot, now_s, pause, deadline)
        if seen is None:
            break
        after = watched.look_at_all()
        moved = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} - hot
        awaited = {name for name in moved if not watched.is_plain(name, before.get(name), after.get(name))}
        if not awaited:
            return _of_the_moment(hot, seen, after)
        hot |= awaited
        before = after
    return None


def _of_the_moment(hot: Collection[str], seen: Sights, after: Sights) -> dict[str, Sight]:
    """Return the hot logs, which stood still, and the others, if they were the same before and after; leave out logs
    deleted meanwhile.
    """
    return {name: seen.get(name, sight) for name, sight in after.items() if name in seen or name not in hot}


def _still(
    watched: Watched, hot: set[str], now_s: Callable[[], float], pause: Callable[[], None], deadline: float
) -> dict[str, Sight] | None:
    """Return the hot logs once two looks in a row saw them unchanged; None when the time is up."""
    looks = 0
    seen = watched.look_at(hot)
    while now_s() < deadline:
        again = watched.look_at(hot)
        if seen == again:
            return seen
        seen = again
        looks += 1
        if looks % _LOOKS_BEFORE_PAUSE == 0:
            pause()
    return None
