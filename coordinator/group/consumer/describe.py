"""ConsumerGroupDescribe: a consumer group as administrators see it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.member import ConsumerMember, partitions_of, united
from shareq.coordinator.group.consumer.target.draft import preferred_assignor
from shareq.coordinator.ports import MetadataImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

_CLASSIC_PROTOCOL: Final = 0
_CONSUMER_PROTOCOL: Final = 1


def consumer_group_entry(group: ConsumerGroup, metadata: MetadataImage, assignors: tuple[str, ...]) -> DescribedGroup:
    """Return the group's state, epochs, and members with their current and target assignments, without deleted
    topics.
    """
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(group.members.values(), assignors),
        members=[_member(group, group.members[member_id], metadata) for member_id in sorted(group.members)],
    )


def consumer_group_error_entry(group_id: str, error: ErrorCode, message: str | None = None) -> DescribedGroup:
    """Return the entry of a group that cannot be described."""
    return DescribedGroup(error_code=error, error_message=message, group_id=group_id)


def _member(group: ConsumerGroup, member: ConsumerMember, metadata: MetadataImage) -> Member:
    """Return a member's entry. Partitions that it still has to give up count as its own."""
    current = group.current_of(member.member_id)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=current.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment(partitions_of(united(current.assigned, current.revoking)).items(), metadata),
        target_assignment=_assignment(group.target_of(member.member_id).items(), metadata),
        member_type=_CONSUMER_PROTOCOL if member.classic is None else _CLASSIC_PROTOCOL,
    )


def _assignment(partitions: Iterable[tuple[bytes, frozenset[int]]], metadata: MetadataImage) -> Assignment:
    return Assignment(
        [
            TopicPartitions(topic_id, image.name, sorted(numbers))
            for topic_id, numbers in sorted(partitions, key=_topic_id)
            if (image := metadata.topic_by_id(topic_id)) is not None
        ]
    )


def _topic_id(entry: tuple[bytes, frozenset[int]]) -> bytes:
    return entry[0]
