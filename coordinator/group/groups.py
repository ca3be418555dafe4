"""The common part of groups of every kind, which share one namespace of group ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from shareq.protocol.generated.list_groups import ListedGroup

FIRST_EPOCH: Final = 1
"""The group and assignment epoch of a share or consumer group without records: its first member raises it to 2."""

NO_EPOCH: Final = -1
"""The assignment epoch of a share or consumer group after the tombstone of its assignment epoch."""


class GroupKind(Enum):
    """The kinds of groups. The value is the type name in ListGroups."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request. `host` is formatted as Java does: "/127.0.0.1"."""

    client_id: str
    host: str


class Group(Protocol):
    """A group of any kind."""

    @property
    def kind(self) -> GroupKind: ...
    @property
    def group_id(self) -> str: ...
    @property
    def protocol_type(self) -> str: ...
    @property
    def state_name(self) -> str: ...
    @property
    def members(self) -> Mapping[str, object]: ...


def settled_epoch(group_epoch: int, assignment_epoch: int, member_epochs: Iterable[int]) -> int:
    """Return a group epoch that no assignment and no member is ahead of, for a group whose records may be incomplete.

    If members are ahead of the assignment epoch, it is a new epoch, so that they get another target.
    """
    newest = max(member_epochs, default=assignment_epoch)
    return max(group_epoch, assignment_epoch, newest + 1 if newest > assignment_epoch else newest)


def listed(groups: Iterable[Group], states: Collection[str] = (), types: Collection[str] = ()) -> list[ListedGroup]:
    """Return the groups that are in one of the states and of one of the types, ignoring case. An empty filter admits
    all.
    """
    wanted_states = {state.strip().lower() for state in states}
    wanted_types = {kind.lower() for kind in types}
    return [
        ListedGroup(group.group_id, group.protocol_type, group.state_name, group.kind.value)
        for group in groups
        if (not wanted_states or group.state_name.lower() in wanted_states)
        and (not wanted_types or group.kind.value in wanted_types)
    ]
