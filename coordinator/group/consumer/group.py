"""The coordinator's state of one consumer group (KIP-848, data model).

`ConsumerGroup` mirrors the group's records one to one and changes only by its `replay_*` methods, in the order of the
log. `Activity` is not in any record: if it is lost, it is computed again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from shareq.coordinator.group.assignment import NOTHING, Assignment
from shareq.coordinator.group.consumer.member import ConsumerMember, CurrentAssignment, PartitionEpochs
from shareq.coordinator.group.consumer.patterns import PatternMatches
from shareq.coordinator.group.groups import FIRST_EPOCH, NO_EPOCH, GroupKind, settled_epoch
from shareq.coordinator.shard import InconsistentRecords

PROTOCOL_TYPE: Final = "consumer"


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that a pattern matched. `version` is that of the metadata, `timestamp_ms` the time of day of the
    match.
    """

    topics: frozenset[str] = field(default_factory=frozenset)
    version: int = 0
    timestamp_ms: int = 0


@dataclass(slots=True)
class Activity:
    """Values about a group that are in no record. Operations set them directly.

    `metadata_stale`: a subscribed topic may have changed since the metadata hash was computed. `topics_created`: there
    are topics that the group's patterns were not matched against. `to_match`: the patterns that remain of a round of
    matching all; `matched_ms`: the time of day at which the round began. `matches`: the topics that patterns match by
    name.
    """

    metadata_stale: bool = True
    topics_created: bool = True
    to_match: list[str] = field(default_factory=list)
    matched_ms: int = 0
    matches: PatternMatches = field(default_factory=PatternMatches)


class ConsumerGroup:
    """One consumer group. Its coordinator's shard owns it; nothing else changes it.

    `static_members`: member ids by instance id. `has_partition_metadata`: the log has a record of topics that brokers
    before Apache Kafka 4.1 wrote; the metadata hash has replaced it.
    """

    __slots__ = (
        "_owners",
        "_subscribed",
        "assignment_epoch",
        "assignment_timestamp_ms",
        "current",
        "group_epoch",
        "group_id",
        "has_partition_metadata",
        "members",
        "metadata_hash",
        "resolved",
        "static_members",
        "targets",
    )

    kind: Final = GroupKind.CONSUMER
    protocol_type: Final = PROTOCOL_TYPE

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ConsumerMember] = {}
        self.current: dict[str, CurrentAssignment] = {}
        self.targets: dict[str, Assignment] = {}
        self.static_members: dict[str, str] = {}
        self.resolved: dict[str, ResolvedRegex] = {}
        self.has_partition_metadata = False
        self._owners: dict[bytes, dict[int, str]] = {}
        self._subscribed: frozenset[str] | None = None  # None: to be put together

    # -- reading

    @property
    def state_name(self) -> str:
        """The name of the state in ListGroups and ConsumerGroupDescribe."""
        if not self.members:
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        stable = all(self.current_of(member_id).is_reconciled_to(self.assignment_epoch) for member_id in self.members)
        return "Stable" if stable else "Reconciling"

    @property
    def is_empty(self) -> bool:
        return not self.members

    def current_of(self, member_id: str) -> CurrentAssignment:
        return self.current.get(member_id, _NOWHERE)

    def target_of(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, NOTHING)

    def owner(self, topic_id: bytes, partition: int) -> str | None:
        """Return the id of the member that has the partition, or still has to give it up; None if there is none."""
        return self._owners.get(topic_id, {}).get(partition)

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def all_classic_but(self, member_ids: Collection[str]) -> bool:
        """Return True if all members except these speak the classic protocol, or if there are no others."""
        return all(member.classic is not None for m, member in self.members.items() if m not in member_ids)

    def supports_classic(self, names: Iterable[str]) -> bool:
        """Return True if every member that speaks the classic protocol supports one of these protocols."""
        known = [{name for name, _ in member.classic.protocols} for member in self.members.values() if member.classic]
        return any(all(name in each for each in known) for name in names)

    def waits_for_others(self, member_id: str) -> bool:
        """Return True if the member's target has a partition that the member lacks and another member still has."""
        assigned = self.current_of(member_id).assigned
        return any(
            partition not in assigned.get(topic_id, {}) and self.owner(topic_id, partition) is not None
            for topic_id, partitions in self.target_of(member_id).items()
            for partition in partitions
        )

    def topics_of(self, member: ConsumerMember, resolved: Mapping[str, ResolvedRegex] | None = None) -> frozenset[str]:
        """Return the names of the topics that a member subscribes to, by name and by pattern; a pattern without a
        result matches none.

        `resolved`: the results of patterns to use in place of the group's.
        """
        names = frozenset(member.subscribed_topic_names)
        if not member.subscribed_topic_regex:
            return names
        found = (self.resolved if resolved is None else resolved).get(member.subscribed_topic_regex)
        if found is None:
            return names
        return names | found.topics if names else found.topics

    def subscribed_topics(self) -> frozenset[str]:
        """Return the names of the topics that members subscribe to, by name and by pattern."""
        if self._subscribed is None:
            names = (member.subscribed_topic_names for member in self.members.values())
            self._subscribed = frozenset[str]().union(*names, *(each.topics for each in self.resolved.values()))
        return self._subscribed

    # -- replaying

    def replay_member(self, member_id: str, member: ConsumerMember | None) -> None:
        """Replay a member's record.

        Raises InconsistentRecords for a tombstone of a member that still has an assignment, whose tombstone has to come
        first.
        """
        known = self.members.get(member_id)
        if member is None and known is not None and (member_id in self.current or member_id in self.targets):
            raise InconsistentRecords(f"consumer group {self.group_id}: {member_id} was removed with its assignments")
        self._subscribed = None
        self._forget_instance(member_id)
        if member is None:
            self.members.pop(member_id, None)
            return
        self.members[member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member_id

    def replay_epoch(self, group_epoch: int, metadata_hash: int) -> None:
        self.group_epoch, self.metadata_hash = group_epoch, metadata_hash

    def replay_assignment_epoch(self, assignment_epoch: int, timestamp_ms: int) -> None:
        """Replay the epoch of the target assignment.

        Raises InconsistentRecords for a tombstone (NO_EPOCH) while members have targets.
        """
        if assignment_epoch == NO_EPOCH and self.targets:
            raise InconsistentRecords(f"consumer group {self.group_id}: no assignment any more, but targets")
        self.assignment_epoch, self.assignment_timestamp_ms = assignment_epoch, timestamp_ms

    def replay_target(self, member_id: str, target: Assignment | None) -> None:
        if target is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = target

    def replay_current(self, member_id: str, current: CurrentAssignment | None) -> None:
        before = self.current.pop(member_id, None)
        if before is not None:
            self._disown(member_id, before.assigned)
            self._disown(member_id, before.revoking)
        if current is not None:
            self.current[member_id] = current
            self._own(member_id, current.assigned)
            self._own(member_id, current.revoking)

    def replay_regex(self, regex: str, resolved: ResolvedRegex | None) -> None:
        self._subscribed = None
        if resolved is None:
            self.resolved.pop(regex, None)
        else:
            self.resolved[regex] = resolved

    def settle(self) -> None:
        """Repair the group after a load, as `ShareGroup.settle` does."""
        for member_id in self.targets.keys() - self.members.keys():
            self.replay_target(member_id, None)
        for member_id in self.current.keys() - self.members.keys():
            self.replay_current(member_id, None)
        epochs = [current.member_epoch for current in self.current.values()]
        self.group_epoch = settled_epoch(self.group_epoch, self.assignment_epoch, epochs)

    def is_disposable(self) -> bool:
        """Return True if only the group's own record is left.

        Compaction may have removed the assignment's record with its tombstone, and left the group's.
        """
        return not self.members and not self.targets and self.assignment_epoch in (NO_EPOCH, FIRST_EPOCH)

    def _forget_instance(self, member_id: str) -> None:
        known = self.members.get(member_id)
        if known is None or known.instance_id is None:
            return
        if self.static_members.get(known.instance_id) == member_id:
            del self.static_members[known.instance_id]

    def _own(self, member_id: str, partitions: PartitionEpochs) -> None:
        for topic_id, epochs in partitions.items():
            self._owners.setdefault(topic_id, {}).update(dict.fromkeys(epochs, member_id))

    def _disown(self, member_id: str, partitions: PartitionEpochs) -> None:
        for topic_id, epochs in partitions.items():
            owners = self._owners.get(topic_id, {})
            for partition in epochs:
                if owners.get(partition) == member_id:
                    del owners[partition]
            if not owners:
                self._owners.pop(topic_id, None)


_NOWHERE: Final = CurrentAssignment()
