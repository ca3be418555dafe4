"""The count of new groups, and of new members of groups, by the owner who creates them:
`shareq.max.groups.per.principal`, `shareq.max.members.per.principal`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from itertools import count
from typing import NamedTuple, TypeVar

from shareq.broker.foundation.environment import Clock
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.quotas.fair_part import may_make
from shareq.broker.quotas.owned_names import OwnedNames
from shareq.coordinator.group.groups import GroupKind

T = TypeVar("T")


class MostPerOwner(NamedTuple):
    """Limits on the groups and members that one owner creates, each at least 1."""

    groups: int
    members: int


class Joining(NamedTuple):
    """The facts about a member before its group answers. `member_id` is "" if the broker is to assign it."""

    group_id: str
    member_id: str
    instance_id: str | None = None


MemberName = tuple[str, str | int]
"""A group and a member's id; a number in place of an id that the member does not have yet."""


class GroupNames:
    """Groups of every kind and their members, by their owners. Only requests that create a group or member use it."""

    def __init__(self, groups: GroupCoordinatorService, most: MostPerOwner, clock: Clock) -> None:
        self._groups = groups
        self._names = OwnedNames(most.groups, self)
        self._members = OwnedNames(most.members, _Members(self, groups))
        self._nameless = count()
        self._now = clock.now_ms
        self._no_group_message = (
            f"The client's user has made shareq.max.groups.per.principal={most.groups} groups already."
        )
        self._no_member_message = (
            f"The client's user has shareq.max.members.per.principal={most.members} members in groups already."
        )
        groups.may_make_share_group = self._may_make_share_group

    def refusal(self, group_id: str, owner: Hashable) -> str:
        """Count a group that a request may create and return ""; if its owner has too many, return the reason.

        Call `settle` after a request that was not refused.
        """
        return "" if self._names.admit(group_id, owner, self._now()) else self._no_group_message

    def settle(self, group_id: str, owner: Hashable) -> None:
        """Remove the group from the count if the request did not create it."""
        self._names.settle(group_id, owner)

    async def join(
        self,
        joining: Joining,
        owner: Hashable,
        ask: Callable[[], Awaitable[T]],
        refuse: Callable[[str], T],
        id_of: Callable[[T], str],
    ) -> T:
        """Return the answer to a request that may create the group and a member of it.

        `refuse` makes the answer, from a message, if the owner has too many. `id_of` returns the member's id in an
        answer, or "".
        """
        full = self.refusal(joining.group_id, owner)
        if full:
            return refuse(full)
        answer = await self._join(joining, owner, ask, refuse, id_of)
        self.settle(joining.group_id, owner)
        return answer

    async def join_again(
        self,
        joining: Joining,
        owner: Hashable,
        ask: Callable[[], Awaitable[T]],
        refuse: Callable[[str], T],
        id_of: Callable[[T], str],
    ) -> T:
        """Join like `join`, for a JoinGroup that names its member.

        Such a request creates no group. It creates a member only in a consumer group, which accepts unknown ids.
        """
        place, partitions = self.place_of(joining.group_id), self._groups.partitions
        if place < partitions.count:
            shard = partitions.get(place).shard
            if shard.group_kind(joining.group_id) is GroupKind.CONSUMER:
                return await self._join(joining, owner, ask, refuse, id_of)
        return await ask()

    def heard_of(self, group_id: str, owner: Hashable) -> None:
        """Count the group for the owner of a member that sends a request, unless it is counted. After a start, no
        group is.
        """
        if group_id not in self._names and self.has(group_id, self.place_of(group_id)):
            self._names.admit(group_id, owner, self._now())

    async def _join(
        self,
        joining: Joining,
        owner: Hashable,
        ask: Callable[[], Awaitable[T]],
        refuse: Callable[[str], T],
        id_of: Callable[[T], str],
    ) -> T:
        members, group_id = self._members, joining.group_id
        name: MemberName = (group_id, joining.member_id or next(self._nameless))
        if not self._replaces(joining) and not members.admit(name, owner, self._now()):
            return refuse(self._no_member_message)
        answer = await ask()
        member_id = joining.member_id or id_of(answer)
        if (group_id, member_id) != name:
            members.drop(name)
        if member_id:
            members.settle((group_id, member_id), owner)
        return answer

    def _replaces(self, joining: Joining) -> bool:
        """Return True if the member replaces a static one."""
        group_id, instance_id = joining.group_id, joining.instance_id
        place = self.place_of(group_id)
        partitions = self._groups.partitions
        return (
            instance_id is not None
            and place < partitions.count
            and partitions.get(place).shard.has_static_member(group_id, instance_id)
        )

    def _may_make_share_group(self, limit: int, group_id: str) -> bool:
        """Return True if `group.share.max.groups` allows the group, which has already been counted for its owner."""
        partitions = self._groups.partitions
        owner_of = self._names.owner_of
        held = Counter(owner_of(group.group_id) for partition in partitions for group in partition.shard.share.all())
        return may_make(limit, held, owner_of(group_id))

    # -- Places: partitions of the groups' topic

    def place_of(self, name: str) -> int:
        return self._groups.partitions.place_of(name)

    def has(self, name: str, place: int) -> bool:
        partitions = self._groups.partitions
        return place < partitions.count and partitions.get(place).shard.group_kind(name) is not None

    keeps = has


class _Members:
    """The counted members of groups. A member's place is the partition that has its group."""

    def __init__(self, names: GroupNames, groups: GroupCoordinatorService) -> None:
        self._names = names
        self._groups = groups

    def place_of(self, name: MemberName) -> int:
        return self._names.place_of(name[0])

    def has(self, name: MemberName, place: int) -> bool:
        group_id, member_id = name
        partitions = self._groups.partitions
        return (
            isinstance(member_id, str)
            and place < partitions.count
            and partitions.get(place).shard.has_member(group_id, member_id)
        )

    keeps = has
