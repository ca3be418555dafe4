"""The conversion of a consumer group whose members all speak the classic protocol to a classic group.

The group epoch becomes the generation, and every member is assigned its target. The members rebalance at once, unless
all of them have reached their targets.
"""

from __future__ import annotations

from collections.abc import Collection

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.classic.embedded import version_of, write_assignment
from shareq.coordinator.group.classic.group import CONSUMER_PROTOCOL_TYPE, ClassicGroup, ClassicMember, ClassicState
from shareq.coordinator.group.classic.records import group_record
from shareq.coordinator.group.classic.subscriptions import subscribed_topics
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.member import ConsumerMember
from shareq.coordinator.group.consumer.records import group_tombstones
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from shareq.protocol.generated.group_metadata import GroupMetadataValue


def downgraded(
    group: ConsumerGroup,
    gone: Collection[str],
    successor: ConsumerMember | None,
    metadata: MetadataImage,
    wall_ms: int,
) -> ClassicGroup:
    """Return the group as a Stable classic group, without the members whose ids are in `gone`.

    `successor` takes the place and target of the removed static member with its instance id. The remaining members, at
    least one, all speak the classic protocol.
    """
    classic = ClassicGroup(group.group_id, wall_ms)
    classic.generation = group.group_epoch
    targets: dict[str, Assignment] = {}
    for member_id, member in group.members.items():
        if member_id not in gone:
            classic.add(_member(member), CONSUMER_PROTOCOL_TYPE)
            targets[member_id] = group.target_of(member_id)
    if successor is not None:
        classic.add(_member(successor), CONSUMER_PROTOCOL_TYPE)
        targets[successor.member_id] = group.target_of(group.static_members[successor.instance_id or ""])
    classic.state = ClassicState.STABLE
    classic.protocol_name = classic.selected_protocol()
    classic.subscribed_topics = subscribed_topics(classic)
    for joined in classic.members.values():
        joined.assignment = assignment_bytes(
            targets[joined.member_id], joined.metadata(classic.protocol_name), metadata
        )
    return classic


def downgrade_records(
    group: ConsumerGroup, classic: ClassicGroup, *, rebalances: bool
) -> tuple[CoordinatorRecord, ...]:
    """Build the records that turn the consumer group into the classic group.

    A group that is about to rebalance is stored with the next generation, which no member is in. So members join again
    after a crash, too, and partitions of removed members are assigned again.
    """
    record = group_record(classic, {each.member_id: each.assignment for each in classic.members.values()})
    if rebalances and isinstance(record.value, GroupMetadataValue):
        record.value.generation += 1
    return (*group_tombstones(group), record)


def assignment_bytes(assignment: Assignment, subscription: bytes, metadata: MetadataImage) -> bytes:
    """Return partitions as an assignment for SyncGroup, in the version of the member's subscription, without deleted
    topics.
    """
    topics = [
        TopicPartition(topic.name, sorted(assignment[topic_id]))
        for topic_id in sorted(assignment)
        if (topic := metadata.topic_by_id(topic_id)) is not None
    ]
    try:
        version = version_of(subscription)
    except MalformedMessage:  # one of several protocols, and not the one that was read
        version = 0
    return write_assignment(ConsumerProtocolAssignment(topics), version)


def _member(member: ConsumerMember) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols=member.classic.protocols,
    )
