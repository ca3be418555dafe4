"""A check at load whether the counts and epochs in a record of `__consumer_offsets` are valid by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shareq.coordinator.record_serde import expect
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.generated.consumer_group_current_member_assignment import ConsumerGroupCurrentMemberAssignmentValue
from shareq.protocol.generated.consumer_group_metadata import ConsumerGroupMetadataValue
from shareq.protocol.generated.consumer_group_target_assignment_member import ConsumerGroupTargetAssignmentMemberValue
from shareq.protocol.generated.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from shareq.protocol.generated.group_metadata import GroupMetadataValue
from shareq.protocol.generated.offset_commit import OffsetCommitKey
from shareq.protocol.generated.share_group_current_member_assignment import ShareGroupCurrentMemberAssignmentValue
from shareq.protocol.generated.share_group_metadata import ShareGroupMetadataValue
from shareq.protocol.generated.share_group_state_partition_metadata import ShareGroupStatePartitionMetadataValue
from shareq.protocol.generated.share_group_target_assignment_member import ShareGroupTargetAssignmentMemberValue
from shareq.protocol.generated.share_group_target_assignment_metadata import ShareGroupTargetAssignmentMetadataValue
from shareq.protocol.primitives import Message

_LEAST_MEMBER_EPOCH: Final = -2  # a static member that is away


def check_group_record(record: CoordinatorRecord) -> None:
    """Check a record. Raises InconsistentRecords for one that no group coordinator writes."""
    if isinstance(record.key, OffsetCommitKey):
        expect(record, "partition", (record.key.partition,))
    check = None if record.value is None else _CHECKS.get(type(record.value))
    if check is not None:
        check(record)


def _check_classic(record: CoordinatorRecord) -> None:
    value = record.value
    assert isinstance(value, GroupMetadataValue)
    expect(record, "generation", (value.generation,))
    expect(record, "session timeout", [member.session_timeout for member in value.members])
    expect(record, "rebalance timeout", [member.rebalance_timeout for member in value.members], -1)


def _check_epoch(record: CoordinatorRecord) -> None:
    value = record.value
    assert isinstance(value, ConsumerGroupMetadataValue | ShareGroupMetadataValue)
    expect(record, "epoch", (value.epoch,))


def _check_target_epoch(record: CoordinatorRecord) -> None:
    value = record.value
    assert isinstance(value, ConsumerGroupTargetAssignmentMetadataValue | ShareGroupTargetAssignmentMetadataValue)
    expect(record, "epoch", (value.assignment_epoch,))


def _check_target(record: CoordinatorRecord) -> None:
    value = record.value
    assert isinstance(value, ConsumerGroupTargetAssignmentMemberValue | ShareGroupTargetAssignmentMemberValue)
    for topic in value.topic_partitions:
        expect(record, "partition", topic.partitions)


def _check_current(record: CoordinatorRecord) -> None:
    value = record.value
    assert isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)
    expect(record, "member epoch", (value.member_epoch,), _LEAST_MEMBER_EPOCH)
    for topic in (*value.assigned_partitions, *value.partitions_pending_revocation):
        expect(record, "partition", topic.partitions)


def _check_share_current(record: CoordinatorRecord) -> None:
    value = record.value
    assert isinstance(value, ShareGroupCurrentMemberAssignmentValue)
    expect(record, "member epoch", (value.member_epoch,))
    for topic in value.assigned_partitions:
        expect(record, "partition", topic.partitions)


def _check_states(record: CoordinatorRecord) -> None:
    value = record.value
    assert isinstance(value, ShareGroupStatePartitionMetadataValue)
    for topic in (*value.initializing_topics, *value.initialized_topics):
        expect(record, "partition", topic.partitions)


_CHECKS: Final[dict[type[Message], Callable[[CoordinatorRecord], None]]] = {
    GroupMetadataValue: _check_classic,
    ConsumerGroupMetadataValue: _check_epoch,
    ShareGroupMetadataValue: _check_epoch,
    ConsumerGroupTargetAssignmentMetadataValue: _check_target_epoch,
    ShareGroupTargetAssignmentMetadataValue: _check_target_epoch,
    ConsumerGroupTargetAssignmentMemberValue: _check_target,
    ShareGroupTargetAssignmentMemberValue: _check_target,
    ConsumerGroupCurrentMemberAssignmentValue: _check_current,
    ShareGroupCurrentMemberAssignmentValue: _check_share_current,
    ShareGroupStatePartitionMetadataValue: _check_states,
}
