"""ShareGroupDescribe: a share group as administrators see it."""

from __future__ import annotations

from typing import Final

from shareq.coordinator.group.assignment import Assignment as AssignedPartitions
from shareq.coordinator.group.share.group import ShareGroup, ShareMember
from shareq.coordinator.ports import MetadataImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

ASSIGNOR_NAME: Final = "simple"


def share_group_entry(group: ShareGroup, metadata: MetadataImage) -> DescribedGroup:
    """Return the group's state, epochs, and members with their partitions, without deleted topics."""
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=ASSIGNOR_NAME,
        members=[_member(group, group.members[member_id], metadata) for member_id in sorted(group.members)],
    )


def share_group_error_entry(group_id: str, error: ErrorCode, message: str | None = None) -> DescribedGroup:
    """Return the entry of a group that cannot be described."""
    return DescribedGroup(error_code=error, error_message=message, group_id=group_id)


def _member(group: ShareGroup, member: ShareMember, metadata: MetadataImage) -> Member:
    current = group.current_of(member.member_id)
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=current.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.subscribed_topic_names),
        assignment=Assignment(_topic_partitions(current.assigned, metadata)),
    )


def _topic_partitions(assigned: AssignedPartitions, metadata: MetadataImage) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id, topic.name, sorted(assigned[topic_id]))
        for topic_id in sorted(assigned)
        if (topic := metadata.topic_by_id(topic_id)) is not None
    ]
