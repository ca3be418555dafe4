"""The rules of a consumer group on committing and reading offsets (KIP-848; assignment epochs: KIP-1251)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.member import ConsumerMember
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitResponseTopic
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup

_MEMBER_EPOCHS_FROM_VERSION: Final = 9


def commit_error(
    group: ConsumerGroup, request: OffsetCommitRequest, topics: Iterable[OffsetCommitResponseTopic], version: int | None
) -> ErrorCode:
    """Return the error for which the group refuses an OffsetCommit of these topics, which have names and ids, or NONE.

    The request's own topics are ignored. `version` None: the commit belongs to a transaction, which need not name the
    member.

    The commit needs the member's current epoch, or an earlier one in which the member already had all these partitions.
    Errors: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH; UNSUPPORTED_VERSION for a member that commits without an epoch. A
    member of the classic protocol has to give its epoch as its generation, or gets ILLEGAL_GENERATION.
    """
    epoch, member_id = request.generation_id_or_member_epoch, request.member_id
    if epoch < 0 and group.is_empty:
        return ErrorCode.NONE
    if version is None and epoch == -1 and not member_id and request.group_instance_id is None:
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if version is not None and version < _MEMBER_EPOCHS_FROM_VERSION and member.classic is None:
        return ErrorCode.UNSUPPORTED_VERSION
    current = group.current_of(member_id)
    if epoch == current.member_epoch:
        return ErrorCode.NONE
    if epoch > current.member_epoch:
        return _stale(member)
    since = [
        current.assignment_epoch_of(topic.topic_id, each.partition_index)
        for topic in topics
        for each in topic.partitions
    ]
    late = any(first is None or epoch < first for first in since)
    return _stale(member) if late else ErrorCode.NONE


def fetch_error(group: ConsumerGroup, request: OffsetFetchRequestGroup) -> ErrorCode:
    """Return the error for which reading offsets is refused, or NONE. A client that names no member may always read.

    Errors: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION (see `commit_error`).
    """
    if request.member_id is None and request.member_epoch < 0:
        return ErrorCode.NONE
    member = None if request.member_id is None else group.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    epoch = group.current_of(member.member_id).member_epoch
    return ErrorCode.NONE if request.member_epoch == epoch else _stale(member)


def _stale(member: ConsumerMember) -> ErrorCode:
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
