"""The share fetches that wait for records, and which of them look again: Apache Kafka's purgatory of share fetches.

A fetch waits on all the share partitions that it asks for. Whatever happens to one of these has those fetches look
again that wait on it, in the order they came, and no others; several reasons of one tick have them look once.
"""

from __future__ import annotations

from collections.abc import Iterable

from shareq.broker.foundation.environment import Clock
from shareq.broker.share.leader import Parked, SharePartitionLeader


class ShareFetchPurgatory:
    """The parked fetches of all share partitions of this broker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._parked: dict[Parked, None] = {}  # in the order they came
        self._to_wake: dict[SharePartitionLeader, None] = {}

    def __len__(self) -> int:
        return len(self._parked)

    def park(self, fetch: Parked, leaders: Iterable[SharePartitionLeader]) -> None:
        """Have a fetch look again whenever there may be something on one of the share partitions."""
        self._parked[fetch] = None
        for leader in leaders:
            leader.waiters[fetch] = None

    def unpark(self, fetch: Parked, leaders: Iterable[SharePartitionLeader]) -> None:
        """Let the fetch wait no more. Harmless for one that does not."""
        self._parked.pop(fetch, None)
        for leader in leaders:
            leader.waiters.pop(fetch, None)

    def is_parked(self, fetch: Parked) -> bool:
        """Return True if the fetch waits: it is not answered, and its client is not gone."""
        return fetch in self._parked

    def parked_of(self, group_id: str | None) -> list[Parked]:
        """Return the fetches of a group that wait, in the order they came; of every group without one."""
        return [fetch for fetch in self._parked if group_id in (None, fetch.group_id)]

    def wake(self, leader: SharePartitionLeader) -> None:
        """Have the fetches of the share partition look again after what is being done now."""
        if leader.waiters:
            if not self._to_wake:
                self._clock.call_soon(self._wake_all)
            self._to_wake[leader] = None

    def _wake_all(self) -> None:
        woken, self._to_wake = self._to_wake, {}
        for leader in woken:
            self.wake_now(leader)

    def wake_now(self, leader: SharePartitionLeader) -> None:
        """Have the fetches of the share partition look again at once."""
        for fetch in list(leader.waiters):
            if fetch in leader.waiters:  # an earlier one may have completed it
                fetch.look_again()

    def finish_all(self) -> None:
        """Answer every parked fetch: the broker stops, or share groups are switched off."""
        for fetch in list(self._parked):
            fetch.finish()
