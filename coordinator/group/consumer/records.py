"""Records of consumer groups on `__consumer_offsets`, types 3 to 8 and 16 (KIP-848, as Apache Kafka 4.3.1 writes them).

    type                                      key                         value, version 0, flexible
    3  ConsumerGroupMetadata                  GroupId                     int32 Epoch, tag 0: int64 MetadataHash
    4  ConsumerGroupPartitionMetadata         GroupId                     never written, but its tombstone
    5  ConsumerGroupMemberMetadata            GroupId, MemberId           InstanceId, RackId, ClientId, ClientHost,
                                                                          SubscribedTopicNames, SubscribedTopicRegex,
                                                                          int32 RebalanceTimeoutMs, ServerAssignor,
                                                                          tag 0: of a member that speaks the classic
                                                                          protocol session timeout and protocols
    6  ConsumerGroupTargetAssignmentMetadata  GroupId                     int32 AssignmentEpoch, tag 0: int64 timestamp
    7  ConsumerGroupTargetAssignmentMember    GroupId, MemberId           TopicPartitions: uuid TopicId, int32[]
    8  ConsumerGroupCurrentMemberAssignment   GroupId, MemberId           int32 MemberEpoch, int32 PreviousMemberEpoch,
                                                                          int8 State, AssignedPartitions,
                                                                          PartitionsPendingRevocation: as above, with
                                                                          tag 0: int32[] AssignmentEpochs
    16 ConsumerGroupRegularExpression         GroupId, RegularExpression  Topics, int64 Version, int64 Timestamp

A key is int16 type, then its strings with int16 lengths. A null value removes what the key names. Lists are written in
ascending order, so that equal state gives equal bytes. Without AssignmentEpochs, which brokers before Apache Kafka 4.3
did not write, a partition counts as assigned in the member's epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
from shareq.coordinator.group.consumer.member import (
    ClassicMetadata,
    ConsumerMember,
    CurrentAssignment,
    MemberState,
    PartitionEpochs,
)
from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.replay import (
    GroupReplay,
    assignment_epoch_row,
    current_row,
    epoch_row,
    member_row,
    row,
    target_row,
)
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.generated import consumer_group_target_assignment_member as target_assignment
from shareq.protocol.generated.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from shareq.protocol.generated.consumer_group_member_metadata import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from shareq.protocol.generated.consumer_group_metadata import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from shareq.protocol.generated.consumer_group_partition_metadata import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from shareq.protocol.generated.consumer_group_regular_expression import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from shareq.protocol.generated.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
)
from shareq.protocol.generated.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from shareq.protocol.primitives import Message

_STATES: Final = frozenset(MemberState)


# -- building


def epoch_record(group_id: str, group_epoch: int, metadata_hash: int) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id), ConsumerGroupMetadataValue(group_epoch, metadata_hash))


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """Build the record of a member's own data."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=None if member.classic is None else _classic_metadata(member.classic),
    )
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member.member_id), value)


def _classic_metadata(classic: ClassicMetadata) -> ClassicMemberMetadata:
    protocols = [ClassicProtocol(name, metadata) for name, metadata in classic.protocols]
    return ClassicMemberMetadata(classic.session_timeout_ms, protocols)


def assignment_epoch_record(group_id: str, assignment_epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch, timestamp_ms)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id), value)


def target_record(group_id: str, member_id: str, target: Assignment) -> CoordinatorRecord:
    topics = [target_assignment.TopicPartition(topic_id, sorted(target[topic_id])) for topic_id in sorted(target)]
    key = ConsumerGroupTargetAssignmentMemberKey(group_id, member_id)
    return CoordinatorRecord(key, ConsumerGroupTargetAssignmentMemberValue(topics))


def current_record(group_id: str, member_id: str, current: CurrentAssignment) -> CoordinatorRecord:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.member_epoch,
        previous_member_epoch=current.previous_member_epoch,
        state=current.state,
        assigned_partitions=_topic_partitions(current.assigned),
        partitions_pending_revocation=_topic_partitions(current.revoking),
    )
    return CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), value)


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex | None) -> CoordinatorRecord:
    """Return the record of the topics that a pattern matched; None as `resolved`: no member subscribes by it any
    longer.
    """
    key = ConsumerGroupRegularExpressionKey(group_id, regex)
    if resolved is None:
        return CoordinatorRecord(key, None)
    value = ConsumerGroupRegularExpressionValue(sorted(resolved.topics), resolved.version, resolved.timestamp_ms)
    return CoordinatorRecord(key, value)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id), None)


def member_gone_records(group_id: str, member_id: str) -> tuple[CoordinatorRecord, ...]:
    """Return the three tombstones of a member, in the order that replay needs."""
    return (
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member_id), None),
    )


def group_tombstones(group: ConsumerGroup) -> tuple[CoordinatorRecord, ...]:
    """Build the tombstones that remove a group with its members, in the order that replay needs.

    Tombstones of the group's offsets have to precede them.
    """
    group_id = group.group_id
    members = sorted(group.members)
    keys: list[Message] = [ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id) for member_id in members]
    keys += [ConsumerGroupTargetAssignmentMemberKey(group_id, member_id) for member_id in members]
    keys.append(ConsumerGroupTargetAssignmentMetadataKey(group_id))
    keys += [ConsumerGroupMemberMetadataKey(group_id, member_id) for member_id in members]
    keys += [ConsumerGroupRegularExpressionKey(group_id, regex) for regex in sorted(group.resolved)]
    keys += [ConsumerGroupPartitionMetadataKey(group_id), ConsumerGroupMetadataKey(group_id)]
    return tuple(CoordinatorRecord(key, None) for key in keys)


def _topic_partitions(partitions: PartitionEpochs) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id, numbers, [partitions[topic_id][number] for number in numbers])
        for topic_id in sorted(partitions)
        if (numbers := sorted(partitions[topic_id]))
    ]


# -- replaying


def _member(member_id: str, value: ConsumerGroupMemberMetadataValue) -> ConsumerMember:
    return ConsumerMember(
        member_id=member_id,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=tuple(sorted(set(value.subscribed_topic_names))),
        subscribed_topic_regex=value.subscribed_topic_regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=_classic_of(value.classic_member_metadata),
    )


def _classic_of(value: ClassicMemberMetadata | None) -> ClassicMetadata | None:
    if value is None or not value.supported_protocols:
        return None
    return ClassicMetadata(
        value.session_timeout_ms, tuple((each.name, each.metadata) for each in value.supported_protocols)
    )


def _current(value: ConsumerGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    return CurrentAssignment(
        value.member_epoch,
        value.previous_member_epoch,
        MemberState(value.state) if value.state in _STATES else MemberState.UNKNOWN,
        _epochs(value.assigned_partitions, value.member_epoch),
        _epochs(value.partitions_pending_revocation, value.member_epoch),
    )


def _epochs(topics: Iterable[TopicPartitions], member_epoch: int) -> PartitionEpochs:
    result: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        result[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return result


def _replay_partition_metadata(
    group: ConsumerGroup, _key: ConsumerGroupPartitionMetadataKey, value: ConsumerGroupPartitionMetadataValue | None
) -> None:
    group.has_partition_metadata = value is not None


def _replay_regex(
    group: ConsumerGroup, key: ConsumerGroupRegularExpressionKey, value: ConsumerGroupRegularExpressionValue | None
) -> None:
    resolved = None if value is None else ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
    group.replay_regex(key.regular_expression, resolved)


def _only_keeps_offsets(group: Group) -> bool:
    return isinstance(group, ClassicGroup) and group.is_empty


CONSUMER_GROUP_RECORDS: Final = GroupReplay[ConsumerGroup](
    ConsumerGroup,
    (
        epoch_row(ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
        row(ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue, _replay_partition_metadata),
        member_row(ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, _member),
        assignment_epoch_row(ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
        target_row(ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
        current_row(ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue, _current),
        row(ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue, _replay_regex),
    ),
    gives_way=_only_keeps_offsets,
)
"""Types 3 to 8 and 16. A consumer group replaces a classic group that only keeps offsets."""
