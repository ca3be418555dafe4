"""The rules of each kind of group on its offsets: when they may be committed, read and deleted, and when they expire.

None stands for a group that does not exist. Share groups have no committed offsets and count as not found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeGuard

from shareq.coordinator.group.classic import offset_rules as classic
from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.classic.records import group_tombstone
from shareq.coordinator.group.consumer import offset_rules as consumer
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.records import group_tombstones as consumer_group_tombstones
from shareq.coordinator.group.groups import Group
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitResponseTopic
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup

_GROUP_NOT_FOUND_FROM_VERSION: Final = 9
_MEMBER_EPOCHS_FROM_TXN_VERSION: Final = 6


def commit_error(
    group: Group | None, request: OffsetCommitRequest, topics: Iterable[OffsetCommitResponseTopic], version: int
) -> ErrorCode:
    """Return the error for which an OffsetCommit of these topics, which have names and ids, is refused, or NONE.

    The request's own topics are ignored. A commit to a missing group is accepted if it names no generation: it makes a
    simple group.

    Errors: those of the kind, see `classic.offset_rules.commit_error`; GROUP_ID_NOT_FOUND for a missing group, or
    ILLEGAL_GENERATION for clients before version 9.
    """
    if isinstance(group, ClassicGroup):
        return _classic_commit_error(group, request, transactional=False)
    if isinstance(group, ConsumerGroup):
        return consumer.commit_error(group, request, topics, version)
    if group is not None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if request.generation_id_or_member_epoch < 0:
        return ErrorCode.NONE
    return ErrorCode.GROUP_ID_NOT_FOUND if version >= _GROUP_NOT_FOUND_FROM_VERSION else ErrorCode.ILLEGAL_GENERATION


def transactional_commit_error(
    group: Group | None, request: OffsetCommitRequest, topics: Iterable[OffsetCommitResponseTopic], version: int
) -> ErrorCode:
    """Return the error for which a TxnOffsetCommit of that version is refused, like `commit_error`.

    Before version 6, a missing group (GROUP_ID_NOT_FOUND) and STALE_MEMBER_EPOCH are both ILLEGAL_GENERATION.
    """
    knows_epochs = version >= _MEMBER_EPOCHS_FROM_TXN_VERSION
    if isinstance(group, ClassicGroup):
        return _classic_commit_error(group, request, transactional=True)
    if isinstance(group, ConsumerGroup):
        error = consumer.commit_error(group, request, topics, None)
        return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.STALE_MEMBER_EPOCH and not knows_epochs else error
    if group is not None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if request.generation_id_or_member_epoch < 0:
        return ErrorCode.NONE
    return ErrorCode.GROUP_ID_NOT_FOUND if knows_epochs else ErrorCode.ILLEGAL_GENERATION


def _classic_commit_error(group: ClassicGroup, request: OffsetCommitRequest, *, transactional: bool) -> ErrorCode:
    member = (request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
    return classic.commit_error(group, *member, transactional=transactional)


def has_offsets(group: Group | None) -> TypeGuard[ClassicGroup | ConsumerGroup]:
    """Return True if groups of this kind have committed offsets."""
    return isinstance(group, ClassicGroup | ConsumerGroup)


def fetch_error(group: ClassicGroup | ConsumerGroup, request: OffsetFetchRequestGroup) -> ErrorCode:
    """Return the error for which reading offsets is refused, or NONE.

    Classic groups let any client read, whatever member id and epoch it names; for the errors of consumer groups see
    `consumer.offset_rules.fetch_error`.
    """
    return consumer.fetch_error(group, request) if isinstance(group, ConsumerGroup) else ErrorCode.NONE


def delete_error(group: Group | None) -> ErrorCode:
    """Return the error for which the deletion of offsets is refused: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, or NONE."""
    if isinstance(group, ConsumerGroup):
        return ErrorCode.NONE
    return classic.delete_error(group) if isinstance(group, ClassicGroup) else ErrorCode.GROUP_ID_NOT_FOUND


def read_topics(group: Group | None) -> frozenset[str] | None:
    """Return the topics that the group's members subscribe to: their offsets neither expire nor can be deleted.

    None: it may be any topic.
    """
    if isinstance(group, ConsumerGroup):
        return group.subscribed_topics()
    return classic.read_topics(group) if isinstance(group, ClassicGroup) else frozenset()


def expires_from_ms(group: Group, committed_ms: int) -> int | None:
    """Return when the retention began of an offset committed at `committed_ms` (times of day); None: it has not begun.

    In a consumer group it begins with the commit.
    """
    if isinstance(group, ConsumerGroup):
        return committed_ms
    return classic.expires_from_ms(group, committed_ms) if isinstance(group, ClassicGroup) else None


def group_tombstones(group: ClassicGroup | ConsumerGroup) -> tuple[CoordinatorRecord, ...]:
    """Build the tombstones of a group without members. Tombstones of its offsets have to precede them."""
    if isinstance(group, ConsumerGroup):
        return consumer_group_tombstones(group)
    return (group_tombstone(group.group_id),)
