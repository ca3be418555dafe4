"""New groups are counted for those that make them: `shareq.max.groups.per.principal`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.quotas.owned_names import OwnedNames
from shareq.coordinator.routing import group_partition_for

T = TypeVar("T")


class GroupNames:
    """Groups of every kind, by who made them. Asked only by requests that make a group where there is none."""

    def __init__(self, groups: GroupCoordinatorService, most: int, clock: Clock) -> None:
        self._groups = groups
        self._names = OwnedNames(most, self)
        self._now = clock.now_ms
        self.refusal_message = f"The client's user has made shareq.max.groups.per.principal={most} groups already."

    def make(
        self, group_id: str, owner: Hashable, ask: Callable[[], Pending[T]], refuse: Callable[[], T]
    ) -> Pending[T]:
        """The answer to a request that may make the group, or `refuse`'s when its owner has too many."""
        names = self._names
        is_counted = group_id in names
        if not names.admit(group_id, owner, self._now()):
            return completed(refuse())
        answer = ask()
        if not is_counted:
            answer.on_complete(lambda _answer: names.settle(group_id, owner))
        return answer

    # -- Places: partitions of the groups' topic

    def place_of(self, name: str) -> int:
        count = self._groups.partitions.count
        return group_partition_for(name, count) if count else 0

    def has(self, name: str, place: int) -> bool:
        partitions = self._groups.partitions
        return place < partitions.count and partitions.get(place).shard.group_kind(name) is not None
