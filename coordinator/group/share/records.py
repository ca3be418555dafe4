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

from collections.abc import Callable
from typing import Final

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.share.group import (
    NO_EPOCH,
    CurrentAssignment,
    ShareGroup,
    ShareMember,
    StatePartitions,
    TopicPartitions,
    TopicsById,
)
from shareq.coordinator.record_serde import RecordTypes, typed_value
from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords
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
from shareq.protocol.primitives import Message

SHARE_GROUP_RECORD_TYPES: Final[RecordTypes] = {
    key_class.API_KEY: (key_class, value_class)
    for key_class, value_class in (
        (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
        (ShareGroupMetadataKey, ShareGroupMetadataValue),
        (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
        (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
        (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
        (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
    )
}

_STABLE: Final = 0  # the only member state of share groups


# Building.


def member_record(group_id: str, member_id: str, member: ShareMember | None) -> CoordinatorRecord:
    """What a member told of itself; None: it is gone."""
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
    """What a member is to consume; None: the member is gone."""
    key = ShareGroupTargetAssignmentMemberKey(group_id, member_id)
    if target is None:
        return CoordinatorRecord(key, None)
    topics = [target_assignment.TopicPartition(topic_id, sorted(target[topic_id])) for topic_id in sorted(target)]
    return CoordinatorRecord(key, ShareGroupTargetAssignmentMemberValue(topics))


def current_record(group_id: str, member_id: str, current: CurrentAssignment | None) -> CoordinatorRecord:
    """Where a member stands; None: the member is gone."""
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
    """Of which partitions share state exists; None: of none, and the group is going."""
    key = ShareGroupStatePartitionMetadataKey(group_id)
    if partitions is None:
        return CoordinatorRecord(key, None)
    value = ShareGroupStatePartitionMetadataValue(
        initializing_topics=_topic_infos(partitions.initializing),
        initialized_topics=_topic_infos(partitions.initialized),
        deleting_topics=[
            TopicInfo(topic_id, partitions.deleting[topic_id]) for topic_id in sorted(partitions.deleting)
        ],
    )
    return CoordinatorRecord(key, value)


def member_gone_records(group_id: str, member_id: str) -> tuple[CoordinatorRecord, ...]:
    """The three tombstones of a member, in the order replay asks for."""
    return (
        current_record(group_id, member_id, None),
        target_record(group_id, member_id, None),
        member_record(group_id, member_id, None),
    )


def _topic_infos(topics: TopicsById) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(topic_id, topics[topic_id].topic_name, sorted(topics[topic_id].partitions))
        for topic_id in sorted(topics)
    ]


# Replaying.


def replay_share_group_record(groups: dict[str, Group], record: CoordinatorRecord) -> bool:
    """Apply a record of types 10 to 15; False for any other.

    A value creates the group if need be; a tombstone of something that is not there is passed over. Raises
    InconsistentRecords for a tombstone that comes too early, or a group of another kind.
    """
    replay = _REPLAY.get(type(record.key))
    if replay is None:
        return False
    replay(groups, record.key, record.value)
    return True


def _group(groups: dict[str, Group], group_id: str, value: Message | None) -> ShareGroup | None:
    group = groups.get(group_id)
    if group is None:
        if value is None:
            return None
        group = groups[group_id] = ShareGroup(group_id)
    if not isinstance(group, ShareGroup):
        raise InconsistentRecords(f"group {group_id} is no share group, but has a share group's record")
    return group


def _replay_member(groups: dict[str, Group], key: Message, raw: Message | None) -> None:
    assert isinstance(key, ShareGroupMemberMetadataKey)
    value = typed_value(raw, ShareGroupMemberMetadataValue)
    group = _group(groups, key.group_id, value)
    if group is None:
        return
    if value is None:
        group.replay_member(key.member_id, None)
        return
    names = tuple(sorted(set(value.subscribed_topic_names)))
    member = ShareMember(key.member_id, value.rack_id, value.client_id, value.client_host, names)
    group.replay_member(key.member_id, member)


def _replay_epoch(groups: dict[str, Group], key: Message, raw: Message | None) -> None:
    assert isinstance(key, ShareGroupMetadataKey)
    value = typed_value(raw, ShareGroupMetadataValue)
    group = _group(groups, key.group_id, value)
    if group is None:
        return
    if value is not None:
        group.replay_epoch(value.epoch, value.metadata_hash)
    elif group.is_disposable():
        del groups[key.group_id]
    else:
        raise InconsistentRecords(f"share group {key.group_id} was removed with members or assignments left")


def _replay_assignment_epoch(groups: dict[str, Group], key: Message, raw: Message | None) -> None:
    assert isinstance(key, ShareGroupTargetAssignmentMetadataKey)
    value = typed_value(raw, ShareGroupTargetAssignmentMetadataValue)
    group = _group(groups, key.group_id, value)
    if group is not None:
        epoch, timestamp = (NO_EPOCH, 0) if value is None else (value.assignment_epoch, value.assignment_timestamp)
        group.replay_assignment_epoch(epoch, timestamp)


def _replay_target(groups: dict[str, Group], key: Message, raw: Message | None) -> None:
    assert isinstance(key, ShareGroupTargetAssignmentMemberKey)
    value = typed_value(raw, ShareGroupTargetAssignmentMemberValue)
    group = _group(groups, key.group_id, value)
    if group is not None:
        target = None if value is None else {t.topic_id: frozenset(t.partitions) for t in value.topic_partitions}
        group.replay_target(key.member_id, target)


def _replay_current(groups: dict[str, Group], key: Message, raw: Message | None) -> None:
    assert isinstance(key, ShareGroupCurrentMemberAssignmentKey)
    value = typed_value(raw, ShareGroupCurrentMemberAssignmentValue)
    group = _group(groups, key.group_id, value)
    if group is None:
        return
    current = None
    if value is not None:
        assigned = {t.topic_id: frozenset(t.partitions) for t in value.assigned_partitions}
        current = CurrentAssignment(value.member_epoch, value.previous_member_epoch, assigned)
    group.replay_current(key.member_id, current)


def _replay_state_partitions(groups: dict[str, Group], key: Message, raw: Message | None) -> None:
    assert isinstance(key, ShareGroupStatePartitionMetadataKey)
    value = typed_value(raw, ShareGroupStatePartitionMetadataValue)
    group = _group(groups, key.group_id, value)
    if group is None:
        return
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


_REPLAY: Final[dict[type[Message], Callable[[dict[str, Group], Message, Message | None], None]]] = {
    ShareGroupMemberMetadataKey: _replay_member,
    ShareGroupMetadataKey: _replay_epoch,
    ShareGroupTargetAssignmentMetadataKey: _replay_assignment_epoch,
    ShareGroupTargetAssignmentMemberKey: _replay_target,
    ShareGroupCurrentMemberAssignmentKey: _replay_current,
    ShareGroupStatePartitionMetadataKey: _replay_state_partitions,
}
