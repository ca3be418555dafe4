"""The conversion of a classic group to a consumer group: members keep their ids and the partitions of the last
assignment.

The generation becomes the epoch of group, assignment and members. The group keeps its offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.classic.embedded import read_assignment, read_subscription
from shareq.coordinator.group.classic.group import (
    CONSUMER_PROTOCOL_TYPE,
    NO_ASSIGNMENT,
    ClassicGroup,
    ClassicMember,
    ClassicState,
)
from shareq.coordinator.group.classic.records import group_tombstone
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.member import ClassicMetadata, ConsumerMember, CurrentAssignment
from shareq.coordinator.group.consumer.records import (
    CONSUMER_GROUP_RECORDS,
    assignment_epoch_record,
    current_record,
    epoch_record,
    member_record,
    target_record,
)
from shareq.coordinator.group.consumer.requests import Refused
from shareq.coordinator.group.consumer.target.draft import MANY_TOPICS
from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.metadata_hash import metadata_hash
from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.shard import CoordinatorRecord, Steps
from shareq.protocol.errors import ErrorCode, MalformedMessage

_UNKNOWN_HASH: Final = 0
"""The hash recorded when not all subscribed topics are assigned.

It differs from the hash of existing topics, so the heartbeat at hand begins a new epoch and assigns the rest. (Apache
Kafka 4.3.1 leaves the rest without a member if a static member replaces itself with that heartbeat.)
"""


def check_upgrade(group: ClassicGroup, policy: MigrationPolicy, max_size: int) -> None:
    """Check that a classic group may become a consumer group. Raises Refused (GROUP_ID_NOT_FOUND) if it may not."""
    if not policy.upgrades:
        raise _refused(group, "group.consumer.migration.policy does not let it")
    if group.type != CONSUMER_PROTOCOL_TYPE:
        raise _refused(group, f"its members are no consumers, their protocol type is {group.protocol_type}")
    if len(group.members) > max_size:
        raise _refused(group, f"it has {len(group.members)} members, a consumer group at most {max_size}")


def upgraded(group: ClassicGroup, metadata: MetadataImage) -> Steps[tuple[CoordinatorRecord, ...]]:
    """Build the records of a consumer group, the tombstone of the classic group first.

    Raise Refused: GROUP_ID_NOT_FOUND if the broker cannot read the members' metadata, or would lose a part of it. A
    partition that the leader has assigned to two members goes to the first. Pauses if there are many topics.
    """
    protocol, pace = _protocol(group), _Pace()
    taken: set[tuple[bytes, int]] = set()
    members: list[ConsumerMember] = []
    assigned: dict[str, Assignment] = {}
    for each in group.members.values():
        try:
            member = _member(each, protocol)
            members.append(member)
            yield from pace.after(len(member.subscribed_topic_names))
            target = assigned[each.member_id] = _assigned(group, each, metadata, taken)
            yield from pace.after(len(target))
        except MalformedMessage as error:
            raise _refused(group, f"what member {each.member_id} has sent cannot be read") from error
    epoch, group_id = group.generation, group.group_id
    topics = frozenset(name for member in members for name in member.subscribed_topic_names)
    complete = group.state is ClassicState.STABLE and taken == _partitions(topics, metadata)
    yield from pace.after(len(topics))
    known_hash = metadata_hash(topics, metadata) if complete else _UNKNOWN_HASH
    yield from pace.after(len(topics))
    targets: list[CoordinatorRecord] = []
    currents: list[CoordinatorRecord] = []
    for member_id, target in assigned.items():
        targets.append(target_record(group_id, member_id, target))
        currents.append(current_record(group_id, member_id, _current(target, epoch)))
        yield from pace.after(len(target))
    return (
        group_tombstone(group_id),
        *(member_record(group_id, member) for member in members),
        epoch_record(group_id, epoch, known_hash),
        *targets,
        assignment_epoch_record(group_id, epoch, 0),
        *currents,
    )


class _Pace:
    """The pace of a long computation, which pauses after a number of topics."""

    __slots__ = ("_topics",)

    def __init__(self) -> None:
        self._topics = 0

    def after(self, topics: int) -> Iterator[None]:
        self._topics += topics
        if self._topics > MANY_TOPICS:
            self._topics = 0
            yield


def as_group(group_id: str, records: Iterable[CoordinatorRecord]) -> ConsumerGroup:
    """Return the consumer group that results from the replay of these records."""
    groups: dict[str, Group] = {}
    for record in records:
        CONSUMER_GROUP_RECORDS.replay(groups, record)
    group = groups.get(group_id)
    return group if isinstance(group, ConsumerGroup) else ConsumerGroup(group_id)


def _partitions(topics: Iterable[str], metadata: MetadataImage) -> set[tuple[bytes, int]]:
    images = map(metadata.topic, topics)
    return {(image.topic_id, n) for image in images if image is not None for n in range(image.partitions)}


def _protocol(group: ClassicGroup) -> str | None:
    """Return the protocol for which all members have subscriptions; if there are several, the generation's.

    Before the first generation there is none.
    """
    name = group.protocol_name
    if name is not None and all(any(name == each for each, _ in m.protocols) for m in group.members.values()):
        return name
    return group.selected_protocol() if group.members else None


def _member(member: ClassicMember, protocol: str | None) -> ConsumerMember:
    subscription = read_subscription(member.metadata(protocol))
    return ConsumerMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(set(subscription.topics))),
        subscribed_topic_regex="",
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
    )


def _assigned(
    group: ClassicGroup, member: ClassicMember, metadata: MetadataImage, taken: set[tuple[bytes, int]]
) -> Assignment:
    if member.assignment == NO_ASSIGNMENT:  # it has not synchronised yet
        return {}
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        raise _refused(group, "its assignor keeps data of its own with the assignment, which would be lost")
    assigned: dict[bytes, frozenset[int]] = {}
    for each in assignment.assigned_partitions:
        topic = metadata.topic(each.topic)
        if topic is None:
            continue
        free = {number for number in each.partitions if (topic.topic_id, number) not in taken}
        if free:
            taken.update((topic.topic_id, number) for number in free)
            assigned[topic.topic_id] = assigned.get(topic.topic_id, frozenset()) | free
    return assigned


def _current(assigned: Assignment, epoch: int) -> CurrentAssignment:
    epochs = {topic_id: dict.fromkeys(sorted(numbers), epoch) for topic_id, numbers in assigned.items()}
    return CurrentAssignment(epoch, epoch, assigned=epochs)


def _refused(group: ClassicGroup, why: str) -> Refused:
    message = f"Group {group.group_id} stays a classic group: {why}."
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, message)
