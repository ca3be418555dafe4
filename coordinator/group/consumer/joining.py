"""The sender of a heartbeat: a known member, a new one, or one that replaces a static member."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.member import (
    JOIN_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerMember,
    CurrentAssignment,
)
from shareq.coordinator.group.consumer.records import current_record, member_gone_records, member_record, target_record
from shareq.coordinator.group.consumer.requests import Refused
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


@dataclass(frozen=True, slots=True)
class Sender:
    """The member before the request. `replaces`: the id of the member that it replaces, whose target and partitions it
    takes over by `records`.
    """

    member: ConsumerMember
    current: CurrentAssignment
    target: Assignment
    replaces: str | None = None
    records: tuple[CoordinatorRecord, ...] = ()


def owned_by(request: ConsumerGroupHeartbeatRequest) -> Assignment | None:
    """Return the partitions that the member reports as its own; None if it reports none."""
    if request.topic_partitions is None:
        return None
    owned: dict[bytes, frozenset[int]] = {}
    for topic in request.topic_partitions:
        owned[topic.topic_id] = owned.get(topic.topic_id, frozenset()) | frozenset(topic.partitions)
    return owned


def sender_of(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, max_size: int) -> Sender:
    """Return the sender of a heartbeat.

    Raises Refused: GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID,
    FENCED_INSTANCE_ID.
    """
    check_size(group, request.member_id, max_size)
    if request.instance_id is not None:
        return _static_sender(group, request, request.instance_id)
    member = group.members.get(request.member_id)
    if member is None:
        if request.member_epoch != JOIN_EPOCH:
            raise unknown(group, request.member_id)
        return Sender(ConsumerMember(request.member_id), CurrentAssignment(), {})
    return _known(group, member, request)


def check_size(group: ConsumerGroup, member_id: str, max_size: int) -> None:
    """Check the group's size. Raises Refused (GROUP_MAX_SIZE_REACHED) for a new member above the limit."""
    if len(group.members) >= max_size and member_id not in group.members:
        message = f"The consumer group has its maximum of {max_size} members already."
        raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, message)


def _static_sender(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, instance_id: str) -> Sender:
    if request.member_epoch != JOIN_EPOCH:
        return _known(group, static_member(group, request.member_id, instance_id), request)
    old = group.static_member(instance_id)
    if old is None:
        known = group.members.get(request.member_id)
        if known is None:
            return Sender(ConsumerMember(request.member_id), CurrentAssignment(), {})
        return _known(group, known, request)
    # One that speaks the classic protocol cannot leave for a while: a client with its instance id succeeds it.
    if old.classic is None and group.current_of(old.member_id).member_epoch != LEAVE_STATIC_EPOCH:
        message = f"The instance id {instance_id} is that of member {old.member_id}, which has not left."
        raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID, message)
    return replacing(group, old, request.member_id)


def replacing(group: ConsumerGroup, old: ConsumerMember, member_id: str) -> Sender:
    """Return a member that replaces a static member."""
    group_id = group.group_id
    member = replace(old, member_id=member_id)
    current = replace(group.current_of(old.member_id), member_epoch=JOIN_EPOCH, previous_member_epoch=JOIN_EPOCH)
    target = group.target_of(old.member_id)
    records = (
        *member_gone_records(group_id, old.member_id),
        member_record(group_id, member),
        target_record(group_id, member_id, target),
        current_record(group_id, member_id, current),
    )
    return Sender(member, current, target, old.member_id, records)


def static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """Return the member with these ids. Raises Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID."""
    member = group.static_member(instance_id)
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"No member has the instance id {instance_id}.")
    if member.member_id != member_id:
        message = f"The instance id {instance_id} is that of another member by now, {member.member_id}."
        raise Refused(ErrorCode.FENCED_INSTANCE_ID, message)
    return member


def unknown(group: ConsumerGroup, member_id: str) -> Refused:
    return Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")


def _known(group: ConsumerGroup, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> Sender:
    current = group.current_of(member.member_id)
    _check_epoch(current, request)
    return Sender(member, current, group.target_of(member.member_id))


def _check_epoch(current: CurrentAssignment, request: ConsumerGroupHeartbeatRequest) -> None:
    epoch = request.member_epoch
    if epoch in (JOIN_EPOCH, current.member_epoch):
        return  # one that joins again keeps what it has
    # The epoch before is accepted while the answer with the present one may have been lost.
    if epoch == current.previous_member_epoch and epoch < current.member_epoch:
        owned = owned_by(request)
        if owned is not None and all(
            partition in current.assigned.get(topic_id, {}) for topic_id in owned for partition in owned[topic_id]
        ):
            return
    message = f"The member is at epoch {current.member_epoch}, the request at {epoch}: it has to join again."
    raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, message)
