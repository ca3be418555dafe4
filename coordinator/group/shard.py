"""The group coordinator's state machine: the groups of one partition of `__consumer_offsets`.

Groups of every kind share one namespace of group ids. A request for one kind does not find a group of another kind,
except that consumers may speak either protocol. Each kind has a part of its own for requests, records and timers, which
this module puts together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.classic.turn import ClassicGroupSettings
from shareq.coordinator.group.classic_groups import ClassicGroups
from shareq.coordinator.group.classic_protocol.members import ClassicMembers
from shareq.coordinator.group.classic_protocol.requests import ClassicProtocol
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.records import CONSUMER_GROUP_RECORDS
from shareq.coordinator.group.consumer_groups import ConsumerGroupLimits, ConsumerGroups
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.groups import Group, GroupKind, listed
from shareq.coordinator.group.offsets import rules
from shareq.coordinator.group.offsets.group_offsets import GroupOffsets, OffsetSettings
from shareq.coordinator.group.offsets.offset import NO_PRODUCER
from shareq.coordinator.group.share.group import ShareGroup
from shareq.coordinator.group.share.groups import ShareGroupLimits, ShareGroups
from shareq.coordinator.group.share.records import SHARE_GROUP_RECORDS
from shareq.coordinator.ports import GroupSettingsSource, TopicNames
from shareq.coordinator.record_serde import typed_value
from shareq.coordinator.shard import (
    AmpleRoom,
    CoordinatorRecord,
    CoordinatorResult,
    InconsistentRecords,
    LogRoom,
    Steps,
)
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.generated.group_metadata import GroupMetadataKey, GroupMetadataValue
from shareq.protocol.generated.legacy_offset_commit import LegacyOffsetCommitKey
from shareq.protocol.generated.list_groups import ListedGroup
from shareq.protocol.generated.offset_commit import OffsetCommitKey

_OFFSET_KEYS: Final = (OffsetCommitKey, LegacyOffsetCommitKey)


@dataclass(frozen=True, slots=True)
class GroupCoordinatorSettings:
    """The broker's settings of groups, by kind."""

    share: ShareGroupLimits = field(default_factory=ShareGroupLimits)
    classic: ClassicGroupSettings = field(default_factory=ClassicGroupSettings)
    offsets: OffsetSettings = field(default_factory=OffsetSettings)
    consumer: ConsumerGroupLimits = field(default_factory=ConsumerGroupLimits)


class GroupCoordinatorShard:
    """A `CoordinatorShard`: operations decide, `replay` changes. Owned by the runtime of its partition.

    `share`, `classic`, `consumer`: the groups of these kinds; `classic_protocol`: requests of members that speak it, in
    a group of either kind; `offsets`: the groups' committed offsets. `wall_ms` returns the time of day; for
    `may_make_share_group` see `ShareGroups`. `counters` are those of the coordinator; `room` is how much one operation
    may append to its log. `believes_absence`: topics that `metadata` lacks do not exist.
    """

    def __init__(
        self,
        metadata: TopicNames,
        group_settings: GroupSettingsSource,
        wall_ms: Callable[[], int],
        settings: GroupCoordinatorSettings,
        may_make_share_group: Callable[[int, str], bool] | None = None,
        counters: GroupCounters | None = None,
        room: LogRoom | None = None,
        *,
        believes_absence: bool = True,
    ) -> None:
        counters = counters or GroupCounters()
        self._room = room = room or AmpleRoom()
        self._groups: dict[str, Group] = {}
        self.share = ShareGroups(
            groups=self._groups,
            metadata=metadata,
            share_settings=group_settings,
            wall_ms=wall_ms,
            settings=settings.share,
            room=room,
            may_make=may_make_share_group,
            believes_absence=believes_absence,
        )
        self.classic = ClassicGroups(self._groups, wall_ms, settings.classic, counters, room)
        self.consumer = ConsumerGroups(
            groups=self._groups,
            classic=self.classic,
            metadata=metadata,
            settings_of=group_settings,
            wall_ms=wall_ms,
            settings=settings.consumer,
            counters=counters,
            room=room,
        )
        self.classic_protocol = ClassicProtocol(self._groups, self.classic, ClassicMembers(self.consumer))
        self.offsets = GroupOffsets(self._groups, self.classic, wall_ms, settings.offsets, counters)

    # -- groups of every kind

    def group_kind(self, group_id: str) -> GroupKind | None:
        """Return the kind of a group; None if there is no group with this id."""
        group = self._groups.get(group_id)
        return None if group is None else group.kind

    def has_member(self, group_id: str, member_id: str) -> bool:
        """Return True if a group of any kind has the member, or has assigned the member id."""
        group = self._groups.get(group_id)
        if group is None:
            return False
        return member_id in group.members or (isinstance(group, ClassicGroup) and member_id in group.pending_joins)

    def has_static_member(self, group_id: str, instance_id: str) -> bool:
        """Return True if the group has a member with this instance id (KIP-345)."""
        group = self._groups.get(group_id)
        return isinstance(group, ClassicGroup | ConsumerGroup) and instance_id in group.static_members

    def kinds(self) -> Counter[GroupKind]:
        """Return the number of groups of each kind."""
        return Counter(group.kind for group in self._groups.values())

    def share_group(self, group_id: str) -> ShareGroup | None:
        """Return a share group's replayed state, for reading only; None if there is none with this id."""
        return self.share.group(group_id)

    def list_groups(
        self, states: Collection[str] = (), types: Collection[str] = ()
    ) -> CoordinatorResult[list[ListedGroup]]:
        """Return the groups of this shard that pass the filters; an empty filter admits all."""
        return CoordinatorResult(listed(self._groups.values(), states, types))

    def delete_group(self, group_id: str) -> CoordinatorResult[ApiError]:
        """Delete a group that has no state elsewhere: a group of any kind but a share group. Errors:
        GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        group = self._groups.get(group_id)
        if not rules.has_offsets(group):
            return CoordinatorResult(ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found."))
        if not group.is_empty:
            return CoordinatorResult(ApiError(ErrorCode.NON_EMPTY_GROUP, f"Group {group_id} has members."))
        records = self.offsets.tombstones(group_id) + rules.group_tombstones(group)
        return CoordinatorResult(NO_ERROR, records, atomic=False)  # the group goes last, however many its offsets are

    # -- news of topics

    def topics_changed(self, topic_names: Collection[str]) -> None:
        """Note that topics were created, have grown, or are about to be deleted."""
        self.share.topics_changed(topic_names)
        self.consumer.topics_changed(topic_names)

    def topics_deleted(self, topics: Mapping[bytes, str]) -> Steps[CoordinatorResult[None]]:
        """Remove the share state and the offsets that groups have of deleted topics, given as id to name."""
        self.topics_changed(topics.values())
        records = (yield from self.share.topics_deleted(topics)) + self.offsets.topics_deleted(topics)
        return CoordinatorResult(None, records, atomic=False, encoded=(yield from self._room.written(records)))

    def topics(self) -> dict[bytes, str]:
        """Return the topics, id to name, of which groups have share state or offsets."""
        return self.share.topics_with_state() | self.offsets.topics()

    # -- CoordinatorShard

    def replay(self, record: CoordinatorRecord, offset: int) -> None:
        """Apply one record. Raises InconsistentRecords for one that no coordinator writes."""
        if isinstance(record.key, _OFFSET_KEYS):
            self.offsets.replay(record.key, record.value, offset, NO_PRODUCER)
        elif isinstance(record.key, GroupMetadataKey):
            self.classic.replay(record.key, typed_value(record.value, GroupMetadataValue))
        elif not CONSUMER_GROUP_RECORDS.replay(self._groups, record):
            SHARE_GROUP_RECORDS.replay(self._groups, record)

    def replay_transactional(self, record: CoordinatorRecord, offset: int, producer_id: int) -> None:
        """Apply one record of a transaction: a committed offset. Raises InconsistentRecords for any other record."""
        if not isinstance(record.key, OffsetCommitKey):
            raise InconsistentRecords(f"a {type(record.key).__name__} as part of a transaction")
        self.offsets.replay(record.key, record.value, offset, producer_id)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Commit or drop the pending offsets of the producer's transaction."""
        self.offsets.store.end_transaction(producer_id, commit=commit)

    def on_loaded(self, now_ms: int) -> Steps[None]:
        """Start the timers after a load. Each member has a full session to send a heartbeat."""
        yield from self.share.on_loaded(now_ms)
        yield from self.classic.on_loaded(now_ms)
        yield from self.consumer.on_loaded(now_ms)
        self.offsets.on_loaded(now_ms)

    def next_deadline_ms(self) -> int | None:
        parts = (self.share, self.classic, self.consumer, self.offsets)
        deadlines = (part.next_deadline_ms() for part in parts)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def on_deadline(self, now_ms: int) -> CoordinatorResult[None]:
        """Remove silent members from their groups, expired offsets, and groups without members and offsets."""
        classic = self.classic.on_deadline(now_ms)
        records = self.share.on_deadline(now_ms) + self.consumer.on_deadline(now_ms) + classic.records
        if not records:  # those have to be replayed before anything can be said of the groups
            records = self.offsets.on_deadline(now_ms)
        return CoordinatorResult(None, records, classic.answers, atomic=False)
