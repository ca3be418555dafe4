"""The replay of share groups and consumer groups: the common part of their records.

Both kinds have records of members, of the group's epoch, of targets and their epoch, and of current assignments. Each
kind has a table of rows, one per record type, in its `records`; the kinds differ in the classes, and in how a member
and a current assignment are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.groups import NO_EPOCH, Group
from shareq.coordinator.record_serde import RecordTypes, typed_value
from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)
C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)


class ReplayedGroup(Group, Protocol[M_contra, C_contra]):
    """A group as its records change it. `M_contra` is the class of its members, `C_contra` that of their current
    assignments.
    """

    def __init__(self, group_id: str) -> None: ...
    def replay_member(self, member_id: str, member: M_contra | None) -> None: ...
    def replay_epoch(self, group_epoch: int, metadata_hash: int) -> None: ...
    def replay_assignment_epoch(self, assignment_epoch: int, timestamp_ms: int) -> None: ...
    def replay_target(self, member_id: str, target: Assignment | None) -> None: ...
    def replay_current(self, member_id: str, current: C_contra | None) -> None: ...
    def is_disposable(self) -> bool: ...


class GroupKey(Protocol):
    """The key of a record of a group."""

    group_id: str


class MemberKey(GroupKey, Protocol):
    """The key of a record of a member."""

    member_id: str


class TopicPartitions(Protocol):
    """Partitions of a topic, as several records list them."""

    @property
    def topic_id(self) -> bytes: ...
    @property
    def partitions(self) -> Sequence[int]: ...


class _EpochValue(Protocol):
    epoch: int
    metadata_hash: int


class _AssignmentEpochValue(Protocol):
    assignment_epoch: int
    assignment_timestamp: int


class _TargetValue(Protocol):
    @property
    def topic_partitions(self) -> Sequence[TopicPartitions]: ...


G = TypeVar("G", bound=ReplayedGroup[Any, Any])
G_contra = TypeVar("G_contra", contravariant=True)
K = TypeVar("K", bound=GroupKey)
MK = TypeVar("MK", bound=MemberKey)
V = TypeVar("V")
EV = TypeVar("EV", bound=_EpochValue)
AV = TypeVar("AV", bound=_AssignmentEpochValue)
TV = TypeVar("TV", bound=_TargetValue)


@dataclass(frozen=True, slots=True)
class Row(Generic[G_contra]):
    """A record type: the classes of its key and its value, and its effect on the group that the key names.

    `apply` takes the group, the key and the value, None for a tombstone. A tombstone of the record that stands for the
    whole group removes the group instead.
    """

    key: type[Any]
    value: type[Any]
    apply: Callable[[G_contra, Any, Any], None]
    is_group: bool = False


def row(key: type[K], value: type[V], apply: Callable[[G, K, V | None], None]) -> Row[G]:
    """Return the row of a record type that only one kind of group has."""
    return Row(key, value, apply)


def epoch_row(key: type[K], value: type[EV]) -> Row[ReplayedGroup[Any, Any]]:
    """Return the row of the group's epoch and metadata hash; its tombstone removes the group."""

    def apply(group: ReplayedGroup[Any, Any], _key: K, value: EV) -> None:
        group.replay_epoch(value.epoch, value.metadata_hash)

    return Row(key, value, apply, is_group=True)


def assignment_epoch_row(key: type[K], value: type[AV]) -> Row[ReplayedGroup[Any, Any]]:
    """Return the row of the epoch of all targets; NO_EPOCH after its tombstone."""

    def apply(group: ReplayedGroup[Any, Any], _key: K, value: AV | None) -> None:
        epoch, timestamp = (NO_EPOCH, 0) if value is None else (value.assignment_epoch, value.assignment_timestamp)
        group.replay_assignment_epoch(epoch, timestamp)

    return Row(key, value, apply)


def target_row(key: type[MK], value: type[TV]) -> Row[ReplayedGroup[Any, Any]]:
    """Return the row of a member's target assignment."""

    def apply(group: ReplayedGroup[Any, Any], key: MK, value: TV | None) -> None:
        group.replay_target(key.member_id, None if value is None else assignment_of(value.topic_partitions))

    return Row(key, value, apply)


def member_row(key: type[MK], value: type[V], read: Callable[[str, V], M]) -> Row[ReplayedGroup[M, Any]]:
    """Return the row of a member's own data; `read` makes the member from its id and the value."""

    def apply(group: ReplayedGroup[M, Any], key: MK, value: V | None) -> None:
        group.replay_member(key.member_id, None if value is None else read(key.member_id, value))

    return Row(key, value, apply)


def current_row(key: type[MK], value: type[V], read: Callable[[V], C]) -> Row[ReplayedGroup[Any, C]]:
    """Return the row of a member's current assignment."""

    def apply(group: ReplayedGroup[Any, C], key: MK, value: V | None) -> None:
        group.replay_current(key.member_id, None if value is None else read(value))

    return Row(key, value, apply)


def assignment_of(topics: Iterable[TopicPartitions]) -> Assignment:
    """Return the partitions that a record lists, by topic id."""
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics}


class GroupReplay(Generic[G]):
    """The replay of one kind of group, by the table of its records. `types`: the classes of keys and values, for the
    serde.

    `gives_way`: the kinds of groups that a value of this kind replaces; tombstones for groups of another kind are
    ignored then. Without it no group is replaced, and such tombstones are errors, too.
    """

    def __init__(
        self, group_class: type[G], rows: Iterable[Row[G]], gives_way: Callable[[Group], bool] | None = None
    ) -> None:
        self._group_class: Final = group_class
        self._rows: Final = {each.key: each for each in rows}
        self._gives_way: Final = gives_way
        self.types: Final[RecordTypes] = {each.key.API_KEY: (each.key, each.value) for each in self._rows.values()}

    def replay(self, groups: dict[str, Group], record: CoordinatorRecord) -> bool:
        """Apply a record of this kind of group; return False for any other record.

        A value creates a missing group; a tombstone of a missing group is ignored. Raises InconsistentRecords for a
        tombstone that comes too early, or a group of another kind that may not be replaced.
        """
        key: Any = record.key
        each = self._rows.get(type(key))
        if each is None:
            return False
        value: Any = typed_value(record.value, each.value)
        group = self._group(groups, key.group_id, is_tombstone=value is None)
        if group is None:
            return True
        if value is not None or not each.is_group:
            each.apply(group, key, value)
        elif group.is_disposable():
            del groups[key.group_id]
        else:
            kind = group.kind.value
            raise InconsistentRecords(f"{kind} group {key.group_id} was removed with members or assignments left")
        return True

    def _group(self, groups: dict[str, Group], group_id: str, *, is_tombstone: bool) -> G | None:
        known = groups.get(group_id)
        if isinstance(known, self._group_class):
            return known
        if is_tombstone and (known is None or self._gives_way is not None):
            return None
        group = self._group_class(group_id)
        if known is not None and (self._gives_way is None or not self._gives_way(known)):
            kind = f"{group.kind.value} group"
            raise InconsistentRecords(f"group {group_id} is no {kind}, but has a {kind}'s record")
        groups[group_id] = group
        return group
