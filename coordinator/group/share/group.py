"""The coordinator's state of one share group (KIP-932, data model of the group coordinator).

`ShareGroup` mirrors the group's records one to one and changes only by its `replay_*` methods, in the order of the log.
`Activity` is not in any record: if it is lost, it is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

from shareq.coordinator.group.assignment import NOTHING, Assignment
from shareq.coordinator.group.groups import FIRST_EPOCH, NO_EPOCH, GroupKind, settled_epoch
from shareq.coordinator.shard import InconsistentRecords, Steps, at_once


@dataclass(frozen=True, slots=True)
class ShareMember:
    """A member as its metadata record has it. `subscribed_topic_names` is ascending, without duplicates."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """The current assignment of a member: its epoch, the epoch before, and the partitions that answers have assigned to
    it.
    """

    member_epoch: int = 0
    previous_member_epoch: int = -1
    assigned: Assignment = field(default_factory=dict)


T = TypeVar("T")

MANY_TOPICS: Final = 1_000
"""The number of topics that are handled without a pause: a millisecond or two."""


class TopicPartitions(NamedTuple):  # a tuple: each replay makes one for every topic of the group
    """Partitions of one topic, with its name."""

    topic_name: str
    partitions: frozenset[int]


TopicsById = Mapping[bytes, TopicPartitions]


@dataclass(frozen=True, slots=True)
class StatePartitions:
    """The partitions whose share state exists, is being initialised, or is being deleted, by topic id.

    `initializing`: requested from the share coordinator, not confirmed yet. `initialized`: the state exists.
    `deleting`: topic id to name; the states are being deleted.
    """

    initializing: TopicsById = field(default_factory=dict)
    initialized: TopicsById = field(default_factory=dict)
    deleting: Mapping[bytes, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of topics, one that is in two of the mappings counted twice."""
        return len(self.initializing) + len(self.initialized) + len(self.deleting)

    def with_initializing(self, topics: TopicsById) -> StatePartitions:
        """Return the partitions with `topics` as being initialised, and no longer as being deleted."""
        deleting = {topic_id: name for topic_id, name in self.deleting.items() if topic_id not in topics}
        return replace(self, initializing=united(self.initializing, topics), deleting=deleting)

    def with_initialized(self, topics: TopicsById) -> StatePartitions:
        """Return the partitions with those of `topics` as initialised that were being initialised; others are
        ignored.
        """
        return at_once(self.confirmed(topics))

    def confirmed(self, topics: TopicsById) -> Steps[StatePartitions]:
        """Return the result of `with_initialized`, with pauses if there are many topics."""
        confirmed = intersection(self.initializing, topics)
        yield from pauses(self.size)
        initializing = without(self.initializing, topics)
        yield from pauses(self.size)
        return replace(self, initializing=initializing, initialized=united(self.initialized, confirmed))

    def topics(self) -> dict[bytes, str]:
        """Return the names of all topics, by id."""
        present = {**self.initializing, **self.initialized}
        return {**self.deleting, **{topic_id: topic.topic_name for topic_id, topic in present.items()}}

    def without_topics(self, topic_ids: Collection[bytes]) -> StatePartitions:
        """Return the partitions without the topics that have these ids."""
        return StatePartitions(
            _left(self.initializing, topic_ids), _left(self.initialized, topic_ids), _left(self.deleting, topic_ids)
        )


def pauses(topics: int) -> Iterator[None]:
    """Pause once if more than MANY_TOPICS topics were handled, so that others have their turn."""
    if topics > MANY_TOPICS:
        yield


def united(one: TopicsById, other: TopicsById) -> TopicsById:
    """Return the partitions that are in either. For a topic in both, `other` gives the name."""
    result = dict(one)
    for topic_id, topic in other.items():
        known = one.get(topic_id)
        if known is None or known.partitions <= topic.partitions:
            result[topic_id] = topic
        else:
            result[topic_id] = TopicPartitions(topic.topic_name, known.partitions | topic.partitions)
    return result


def intersection(one: TopicsById, other: TopicsById) -> TopicsById:
    """Return the partitions that are in both, without topics that have none left. `one` gives the names."""
    common: dict[bytes, TopicPartitions] = {}
    for topic_id, topic in one.items():
        if topic_id in other and (partitions := topic.partitions & other[topic_id].partitions):
            is_whole = len(partitions) == len(topic.partitions)
            common[topic_id] = topic if is_whole else TopicPartitions(topic.topic_name, partitions)
    return common


def without(one: TopicsById, other: TopicsById) -> TopicsById:
    """Return the partitions of `one` that are not in `other`, without topics that have none left."""
    left: dict[bytes, TopicPartitions] = {}
    for topic_id, topic in one.items():
        partitions = topic.partitions - other[topic_id].partitions if topic_id in other else topic.partitions
        if partitions:
            is_whole = len(partitions) == len(topic.partitions)
            left[topic_id] = topic if is_whole else TopicPartitions(topic.topic_name, partitions)
    return left


def _left(topics: Mapping[bytes, T], gone: Collection[bytes]) -> Mapping[bytes, T]:
    """Return the topics that are not deleted: the same mapping if it has no deleted one."""
    named = topics.keys() & gone
    if not named:
        return topics
    left = dict(topics)
    for topic_id in named:
        del left[topic_id]
    return left


def _within(topics: TopicsById, partitions_of: Callable[[bytes], int | None]) -> TopicsById:
    """Return the partitions that can exist, without topics that have none left."""
    result: dict[bytes, TopicPartitions] = {}
    for topic_id, topic in topics.items():
        count = partitions_of(topic_id)
        if count is not None and max(topic.partitions, default=0) >= count:
            topic = TopicPartitions(topic.topic_name, topic.partitions & frozenset(range(count)))
        if topic.partitions:
            result[topic_id] = topic
    return result


@dataclass(slots=True)
class Activity:
    """Values about a group that are in no record. Operations set them directly.

    `metadata_stale`: a subscribed topic may have changed since the metadata hash was computed. `initializing_since_ms`:
    when the last request to initialise partitions was made (monotonic; None: not since the log was loaded).
    `initializations`: the number of heartbeats between their two phases that have partitions to initialise.
    `settled_at`: the group's revision at which a heartbeat found nothing to do for the group.
    """

    metadata_stale: bool = True
    initializing_since_ms: int | None = None
    initializations: int = 0
    settled_at: int | None = None

    def copy(self) -> Activity:
        """Return a copy, for an attempt that may fail."""
        return Activity(self.metadata_stale, self.initializing_since_ms, self.initializations, self.settled_at)


class ShareGroup:
    """One share group. Its coordinator's shard owns it; nothing else changes it."""

    __slots__ = (
        "_pending_cache",
        "_revision",
        "_targeted",
        "assignment_epoch",
        "assignment_timestamp_ms",
        "current",
        "group_epoch",
        "group_id",
        "members",
        "metadata_hash",
        "state_partitions",
        "subscribers",
        "targets",
    )

    kind: Final = GroupKind.SHARE
    protocol_type: Final = "share"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ShareMember] = {}
        self.current: dict[str, CurrentAssignment] = {}
        self.targets: dict[str, Assignment] = {}
        self.state_partitions: StatePartitions | None = None
        self.subscribers: dict[str, int] = {}
        """Topic name to the number of members that subscribe to it."""
        self._targeted: dict[bytes, dict[int, int]] = {}
        self._revision = 0
        self._pending_cache: tuple[tuple[object, ...], bool] = ((), False)

    @property
    def state_name(self) -> str:
        """Empty without members, otherwise Stable. Share groups have no other state here."""
        return "Stable" if self.members else "Empty"

    @property
    def revision(self) -> int:
        """The number of changes of members, targets and state partitions."""
        return self._revision

    @property
    def initialized(self) -> TopicsById:
        """The partitions whose share state exists."""
        return {} if self.state_partitions is None else self.state_partitions.initialized

    @property
    def initializing(self) -> TopicsById:
        """The partitions whose share state is being initialised."""
        return {} if self.state_partitions is None else self.state_partitions.initializing

    def current_of(self, member_id: str) -> CurrentAssignment:
        """Return the member's current assignment; before its first one, epoch 0 without partitions."""
        return self.current.get(member_id) or CurrentAssignment()

    def assignment_pending(self, existing: Mapping[str, bytes]) -> bool:
        """Return True if subscribed topics have initialised partitions that no target has, or targets have partitions
        that are not among these.

        `existing`: the ids of existing subscribed topics, by name.
        """
        if not self.initialized:
            return False
        # Every heartbeat asks, and a topic may have thousands of partitions: compare them once per change.
        asked = (self._revision, *existing.values())
        if self._pending_cache[0] != asked:
            self._pending_cache = (asked, any(map(self._differs, existing.values())))
        return self._pending_cache[1]

    def _differs(self, topic_id: bytes) -> bool:
        topic = self.initialized.get(topic_id)
        return topic is not None and self._targeted.get(topic_id, {}).keys() != topic.partitions

    def is_disposable(self) -> bool:
        """Return True if only the group's own record is left, so that the group may be removed."""
        return not self.members and not self.targets and self.assignment_epoch in (NO_EPOCH, FIRST_EPOCH)

    # -- replay: one method per record type

    def replay_member(self, member_id: str, member: ShareMember | None) -> None:
        """Replay a ShareGroupMemberMetadata. Its tombstone has to follow those of the member's assignments."""
        known = self.members.get(member_id)
        if member is None and known is not None and (member_id in self.current or member_id in self.targets):
            raise InconsistentRecords(f"share group {self.group_id}: member {member_id} left, its assignment did not")
        for name in known.subscribed_topic_names if known else ():
            self.subscribers[name] -= 1
            if not self.subscribers[name]:
                del self.subscribers[name]
        for name in member.subscribed_topic_names if member else ():
            self.subscribers[name] = self.subscribers.get(name, 0) + 1
        if member is None:
            self.members.pop(member_id, None)
        else:
            self.members[member_id] = member
        self._revision += 1

    def replay_epoch(self, group_epoch: int, metadata_hash: int) -> None:
        """Replay a ShareGroupMetadata."""
        self.group_epoch = group_epoch
        self.metadata_hash = metadata_hash

    def replay_assignment_epoch(self, assignment_epoch: int, timestamp_ms: int) -> None:
        """Replay a ShareGroupTargetAssignmentMetadata; NO_EPOCH stands for its tombstone."""
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp_ms = timestamp_ms

    def replay_target(self, member_id: str, target: Assignment | None) -> None:
        """Replay a ShareGroupTargetAssignmentMember."""
        for topic_id, partitions in self.targets.get(member_id, NOTHING).items():
            counts = self._targeted[topic_id]
            for partition in partitions:
                counts[partition] -= 1
                if not counts[partition]:
                    del counts[partition]
            if not counts:
                del self._targeted[topic_id]
        for topic_id, partitions in (target or NOTHING).items():
            counts = self._targeted.setdefault(topic_id, {})
            for partition in partitions:
                counts[partition] = counts.get(partition, 0) + 1
        if target is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = target
        self._revision += 1

    def replay_current(self, member_id: str, current: CurrentAssignment | None) -> None:
        """Replay a ShareGroupCurrentMemberAssignment."""
        if current is None:
            self.current.pop(member_id, None)
        else:
            self.current[member_id] = current

    def settle(self, partitions_of: Callable[[bytes], int | None]) -> None:
        """Repair the gaps that unreadable records leave; without gaps, change nothing.

        Assignments of missing members are removed. If an epoch is lower than one derived from it, the members get a new
        target. Partitions that a topic does not have are removed; `partitions_of` returns the number of partitions by
        topic id, None for a topic that is not known.
        """
        known = self.state_partitions
        if known is not None:
            initializing, initialized = (
                _within(each, partitions_of) for each in (known.initializing, known.initialized)
            )
            if (initializing, initialized) != (known.initializing, known.initialized):
                self.replay_state_partitions(StatePartitions(initializing, initialized, known.deleting))
        for member_id in self.targets.keys() - self.members.keys():
            self.replay_target(member_id, None)
        for member_id in self.current.keys() - self.members.keys():
            self.replay_current(member_id, None)
        epochs = [current.member_epoch for current in self.current.values()]
        self.group_epoch = settled_epoch(self.group_epoch, self.assignment_epoch, epochs)

    def replay_state_partitions(self, state_partitions: StatePartitions | None) -> None:
        """Replay a ShareGroupStatePartitionMetadata."""
        self.state_partitions = state_partitions
        self._revision += 1
