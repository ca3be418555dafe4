"""The common part of groups of every kind: one namespace of group ids for all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from shareq.protocol.generated.list_groups import ListedGroup

FIRST_EPOCH: Final = 1
"""Group and assignment epoch of a share or consumer group that has no record yet: its first member makes it 2."""

NO_EPOCH: Final = -1
"""Such a group's assignment epoch after its record's tombstone."""


class GroupKind(Enum):
    """The kinds of group. The value is the type name ListGroups gives."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request. `host` as Java prints an address: "/127.0.0.1"."""

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
    """Return the epoch of a group whose records may be incomplete: no assignment, and no member, is ahead of it.

    Where members are ahead of the assignment it is a new one, so that they get another.
    """
    newest = max(member_epochs, default=assignment_epoch)
    return max(group_epoch, assignment_epoch, newest + 1 if newest > assignment_epoch else newest)


def listed(groups: Iterable[Group], states: Collection[str] = (), types: Collection[str] = ()) -> list[ListedGroup]:
    """Return the groups in one of the states and of one of the types, ignoring case. An empty filter admits all."""
    wanted_states = {state.strip().lower() for state in states}
    wanted_types = {kind.lower() for kind in types}
    return [
        ListedGroup(group.group_id, group.protocol_type, group.state_name, group.kind.value)
        for group in groups
        if (not wanted_states or group.state_name.lower() in wanted_states)
        and (not wanted_types or group.kind.value in wanted_types)
    ]
