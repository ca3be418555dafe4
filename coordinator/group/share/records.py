"""Records of share groups on `__consumer_offsets`, types 10 to 15 (KIP-932, as Apache Kafka 4.3.1 writes them).

    type                                   key                    value, version 0, flexible
    10 ShareGroupMemberMetadata            GroupId, MemberId      RackId, ClientId, ClientHost, SubscribedTopicNames
    11 ShareGroupMetadata                  GroupId                int32 Epoch, int64 MetadataHash
    12 ShareGroupTargetAssignmentMetadata  GroupId                int32 AssignmentEpoch, tag 0: int64 timestamp
    13 ShareGroupTargetAssignmentMember    GroupId, MemberId      TopicPartitions: uuid TopicId, int32[] Partitions
    14 ShareGroupCurrentMemberAssignment   GroupId, MemberId      int32 MemberEpoch, int32 PreviousMemberEpoch,
                                                                  int8 State (0), AssignedPartitions as above
    15 ShareGroupStatePartitionMetadata    GroupId                InitializingTopics, InitializedTopics (TopicId,
                                                                  TopicName, Partitions),
                                                                  DeletingTopics (TopicId, TopicName)

A key is int16 type, then its strings with int16 lengths. A null value removes what the key names. Lists are written in
ascending order, so that equal state gives equal bytes.
"""

from __future__ import annotations

from typing import Final

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.replay import (
    GroupReplay,
    assignment_epoch_row,
    assignment_of,
    current_row,
    epoch_row,
    member_row,
    row,
    target_row,
)
from shareq.coordinator.group.share.group import (
    MANY_TOPICS,
    CurrentAssignment,
    ShareGroup,
    ShareMember,
    StatePartitions,
    TopicPartitions,
    TopicsById,
)
from shareq.coordinator.shard import CoordinatorRecord, Steps, at_once
from shareq.protocol.generated import share_group_current_member_assignment as current_assignment
from shareq.protocol.generated import share_group_target_assignment_member as target_assignment
from shareq.protocol.generated.share_group_current_member_assignment import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
)
from shareq.protocol.generated.share_group_member_metadata import (
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
)
from shareq.protocol.generated.share_group_metadata import ShareGroupMetadataKey, ShareGroupMetadataValue
from shareq.protocol.generated.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    TopicInfo,
    TopicPartitionsInfo,
)
from shareq.protocol.generated.share_group_target_assignment_member import (
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
)
from shareq.protocol.generated.share_group_target_assignment_metadata import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

_STABLE: Final = 0  # the only member state of share groups


# -- building


def member_record(group_id: str, member_id: str, member: ShareMember | None) -> CoordinatorRecord:
    """Build the record of a member's own data; None: the member has left."""
    key = ShareGroupMemberMetadataKey(group_id, member_id)
    if member is None:
        return CoordinatorRecord(key, None)
    value = ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.subscribed_topic_names),
    )
    return CoordinatorRecord(key, value)


def epoch_record(group_id: str, group_epoch: int, metadata_hash: int) -> CoordinatorRecord:
    return CoordinatorRecord(ShareGroupMetadataKey(group_id), ShareGroupMetadataValue(group_epoch, metadata_hash))


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(ShareGroupMetadataKey(group_id), None)


def assignment_epoch_record(group_id: str, assignment_epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = ShareGroupTargetAssignmentMetadataValue(assignment_epoch, timestamp_ms)
    return CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id), value)


def assignment_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id), None)


def target_record(group_id: str, member_id: str, target: Assignment | None) -> CoordinatorRecord:
    """Build the record of a member's target; None: the member has left."""
    key = ShareGroupTargetAssignmentMemberKey(group_id, member_id)
    if target is None:
        return CoordinatorRecord(key, None)
    topics = [target_assignment.TopicPartition(topic_id, sorted(target[topic_id])) for topic_id in sorted(target)]
    return CoordinatorRecord(key, ShareGroupTargetAssignmentMemberValue(topics))


def current_record(group_id: str, member_id: str, current: CurrentAssignment | None) -> CoordinatorRecord:
    """Build the record of a member's current assignment; None: the member has left."""
    key = ShareGroupCurrentMemberAssignmentKey(group_id, member_id)
    if current is None:
        return CoordinatorRecord(key, None)
    assigned = current.assigned
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=current.member_epoch,
        previous_member_epoch=current.previous_member_epoch,
        state=_STABLE,
        assigned_partitions=[
            current_assignment.TopicPartitions(topic_id, sorted(assigned[topic_id])) for topic_id in sorted(assigned)
        ],
    )
    return CoordinatorRecord(key, value)


def state_partitions_record(group_id: str, partitions: StatePartitions | None) -> CoordinatorRecord:
    """Build the record of the partitions with share state; None: a tombstone, because the group is about to be
    removed.
    """
    return at_once(state_partitions_steps(group_id, partitions))


def state_partitions_steps(group_id: str, partitions: StatePartitions | None) -> Steps[CoordinatorRecord]:
    """Build the record of the partitions with share state, with pauses if there are many topics."""
    key = ShareGroupStatePartitionMetadataKey(group_id)
    if partitions is None:
        return CoordinatorRecord(key, None)
    initializing = yield from _topic_infos(partitions.initializing)
    initialized = yield from _topic_infos(partitions.initialized)
    deleting = [TopicInfo(topic_id, partitions.deleting[topic_id]) for topic_id in sorted(partitions.deleting)]
    return CoordinatorRecord(key, ShareGroupStatePartitionMetadataValue(initializing, initialized, deleting))


def member_gone_records(group_id: str, member_id: str) -> tuple[CoordinatorRecord, ...]:
    """Return the three tombstones of a member, in the order that replay needs."""
    return (
        current_record(group_id, member_id, None),
        target_record(group_id, member_id, None),
        member_record(group_id, member_id, None),
    )


def _topic_infos(topics: TopicsById) -> Steps[list[TopicPartitionsInfo]]:
    infos: list[TopicPartitionsInfo] = []
    for topic_id in sorted(topics):
        name, partitions = topics[topic_id]
        infos.append(TopicPartitionsInfo(topic_id, name, sorted(partitions)))
        if len(infos) % MANY_TOPICS == 0:
            yield
    return infos


# -- replaying


def _member(member_id: str, value: ShareGroupMemberMetadataValue) -> ShareMember:
    names = tuple(sorted(set(value.subscribed_topic_names)))
    return ShareMember(member_id, value.rack_id, value.client_id, value.client_host, names)


def _current(value: ShareGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    return CurrentAssignment(value.member_epoch, value.previous_member_epoch, assignment_of(value.assigned_partitions))


def _replay_state_partitions(
    group: ShareGroup, _key: ShareGroupStatePartitionMetadataKey, value: ShareGroupStatePartitionMetadataValue | None
) -> None:
    partitions = None
    if value is not None:
        partitions = StatePartitions(
            _topics_by_id(value.initializing_topics),
            _topics_by_id(value.initialized_topics),
            {topic.topic_id: topic.topic_name for topic in value.deleting_topics},
        )
    group.replay_state_partitions(partitions)


def _topics_by_id(infos: list[TopicPartitionsInfo]) -> TopicsById:
    return {info.topic_id: TopicPartitions(info.topic_name, frozenset(info.partitions)) for info in infos}


SHARE_GROUP_RECORDS: Final = GroupReplay[ShareGroup](
    ShareGroup,
    (
        member_row(ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue, _member),
        epoch_row(ShareGroupMetadataKey, ShareGroupMetadataValue),
        assignment_epoch_row(ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
        target_row(ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
        current_row(ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue, _current),
        row(ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue, _replay_state_partitions),
    ),
)
"""Types 10 to 15. A share group replaces no group of another kind."""
