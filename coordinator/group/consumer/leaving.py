"""Members that leave by a heartbeat, or are fenced because they were silent (KIP-848)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.joining import static_member, unknown
from shareq.coordinator.group.consumer.member import LEAVE_STATIC_EPOCH, ConsumerMember
from shareq.coordinator.group.consumer.records import (
    assignment_epoch_record,
    current_record,
    epoch_record,
    member_gone_records,
    regex_record,
)
from shareq.coordinator.group.metadata_hash import metadata_hash
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.shard import CoordinatorRecord


def member_of(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    """Return the member with these ids; without an instance id, the one with the member id.

    Raises Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    if instance_id is not None:
        return static_member(group, member_id, instance_id)
    member = group.members.get(member_id)
    if member is None:
        raise unknown(group, member_id)
    return member


def left_for_a_while(group: ConsumerGroup, member: ConsumerMember) -> CoordinatorRecord:
    """Return the record of a static member that leaves and will return. It keeps its partitions, except those that it
    had to give up. For the member that replaces it, they count as assigned in epoch 0.
    """
    current = group.current_of(member.member_id)
    assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in current.assigned.items()}
    away = replace(current, member_epoch=LEAVE_STATIC_EPOCH, assigned=assigned, revoking={})
    return current_record(group.group_id, member.member_id, away)


def fence(group: ConsumerGroup, member_ids: Iterable[str], metadata: MetadataImage) -> tuple[CoordinatorRecord, ...]:
    """Return the records that remove members from the group, whether they left or were fenced. They raise the group
    epoch once.
    """
    gone = frozenset(member_ids)
    left = [member for member_id, member in group.members.items() if member_id not in gone]
    wanted = {member.subscribed_topic_regex for member in left if member.subscribed_topic_regex}
    topics = frozenset[str]().union(*(group.topics_of(member) for member in left))
    group_id = group.group_id
    records = [record for member_id in sorted(gone) for record in member_gone_records(group_id, member_id)]
    records += [regex_record(group_id, regex, None) for regex in sorted(group.resolved.keys() - wanted)]
    epoch = group.group_epoch + 1
    records.append(epoch_record(group_id, epoch, metadata_hash(topics, metadata)))
    if not left:  # a group without members has the assignment that it should have
        records.append(assignment_epoch_record(group_id, epoch, 0))
    return tuple(records)
