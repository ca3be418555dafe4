"""Waiting share fetches, and the choice of those that look for records again.

This is Apache Kafka's purgatory of share fetches.

A fetch waits on all the share partitions that it asks for. After an event there, its waiting fetches look again, one by
one in order of arrival, and only as many as there may be records for. So a new record costs one look, even if many
fetches wait. A fetch that looks in vain lets the next one look, and keeps its place. Several events in one tick cause
one look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from shareq.broker.foundation.environment import Clock
from shareq.broker.share.leader import Parked, SharePartitionLeader

LOOKS: Final = 100
"""The most looks of fetches in one turn of the loop, 50 µs each with the answer; others look in the next turns."""

WOKEN: Final = 1_000
"""The most share partitions woken in one turn of the loop, 2 µs each where there is nothing."""


class ShareFetchPurgatory:
    """The parked fetches of all share partitions of this broker.

    `may_find` returns False for a share partition where a fetch that looks now would find nothing.
    """

    def __init__(self, clock: Clock, may_find: Callable[[SharePartitionLeader], bool]) -> None:
        self._clock = clock
        self._may_find = may_find
        self._parked: dict[Parked, None] = {}  # in the order they came
        self._eager: set[Parked] = set()  # of these, those that are answered without records, too
        self._to_wake: dict[SharePartitionLeader, bool] = {}  # with `everybody`
        self._turns: dict[
            SharePartitionLeader, tuple[Iterator[Parked], bool]
        ] = {}  # share partitions whose fetches look in several turns
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._parked)

    def park(self, fetch: Parked, leaders: Iterable[SharePartitionLeader]) -> None:
        """Let a fetch wait, and look again whenever one of the share partitions may have records."""
        self._parked[fetch] = None
        if fetch.is_eager:
            self._eager.add(fetch)
        for leader in leaders:
            leader.waiters[fetch] = None

    def unpark(self, fetch: Parked, leaders: Iterable[SharePartitionLeader]) -> None:
        """Remove a fetch from the waiting ones. Do nothing if it does not wait."""
        self._parked.pop(fetch, None)
        self._eager.discard(fetch)
        for leader in leaders:
            leader.waiters.pop(fetch, None)

    def is_parked(self, fetch: Parked) -> bool:
        """Return True if the fetch waits: it was not answered, and its client is still connected."""
        return fetch in self._parked

    def parked_of(self, group_id: str | None) -> list[Parked]:
        """Return the waiting fetches of a group, or of all groups for None, in order of arrival."""
        return [fetch for fetch in self._parked if group_id in (None, fetch.group_id)]

    def wake(self, leader: SharePartitionLeader, *, everybody: bool = False) -> None:
        """Let the fetches of the share partition look again after the current operation.

        With `everybody`, let all look, even if no records are left, because other events may concern them.
        """
        leader.has_news = True
        if leader.waiters:
            self._to_wake[leader] = everybody or self._to_wake.get(leader, False)
            self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._clock.call_soon(self._wake_all)

    def _wake_all(self) -> None:
        self._scheduled = False
        woken = list(islice(self._to_wake.items(), WOKEN))
        for leader, _ in woken:
            del self._to_wake[leader]
        turns, self._turns = self._turns, {}
        left = LOOKS
        for leader, (turn, everybody) in turns.items():
            left = self._look(leader, turn, everybody, left)
        for leader, everybody in woken:
            if leader in self._turns:
                self.wake(leader, everybody=everybody)  # when all have had their turn
            elif leader.waiters:
                left = self._look(leader, _in_order(leader.waiters), everybody, left)
        if self._to_wake:
            self._schedule()

    def wake_now(self, leader: SharePartitionLeader) -> None:
        """Let the fetches of the share partition look again at once."""
        leader.has_news = True
        if leader in self._turns:
            self.wake(leader)
        elif leader.waiters:
            self._look(leader, _in_order(leader.waiters), False, LOOKS, is_new=True)

    def _look(
        self,
        leader: SharePartitionLeader,
        turn: Iterator[Parked],
        everybody: bool,
        most: int,
        *,
        is_new: bool = False,
    ) -> int:
        """Let at most `most` fetches of `turn` look now, and others in the next turn. Return how many more may look in
        this turn.

        `is_new`: there are certainly records for the first one.
        """
        sure = everybody or is_new
        for looked in range(most):
            fetch = next(turn, None)
            if fetch is None:
                return most - looked
            if not sure and not self._may_find(leader) and leader.waiters.keys().isdisjoint(self._eager):
                return most - looked
            sure = everybody
            fetch.look_again(leader)
        self._turns[leader] = (turn, everybody)
        self._schedule()
        return 0

    def finish_all(self) -> None:
        """Answer every waiting fetch, because the broker stops or share groups were switched off."""
        for fetch in list(self._parked):
            fetch.finish()


def _in_order(waiters: dict[Parked, None]) -> Iterator[Parked]:
    """Yield the fetches in order of arrival; leave out those that no longer wait when it is their turn.

    Often only the first one looks, so the others are copied into a list only when they are needed.
    """
    while waiters:
        first = next(iter(waiters))
        yield first
        if first in waiters:
            for fetch in list(waiters)[1:]:
                if fetch in waiters:
                    yield fetch
            return
