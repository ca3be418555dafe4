"""Changes of a group's kind while it has members, with the effects on timers and waiting requests."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

from shareq.coordinator.group.classic import rebalance
from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.classic.records import group_tombstone
from shareq.coordinator.group.classic.turn import JOIN, SYNC, join_refusal, sync_refusal
from shareq.coordinator.group.classic_groups import ClassicGroups
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.leaving import fence
from shareq.coordinator.group.consumer.member import ConsumerMember
from shareq.coordinator.group.consumer.timers import SESSION, MemberTimers
from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.migration.downgrade import downgrade_records, downgraded
from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.coordinator.group.migration.upgrade import check_upgrade, upgraded
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.shard import CoordinatorRecord, LateAnswer, LogRoom, RecordsTooLarge, Steps
from shareq.protocol.errors import ErrorCode

logger = logging.getLogger(__name__)

_AGAIN: Final = ErrorCode.REBALANCE_IN_PROGRESS


class Conversions:
    """Conversions between the classic and the consumer groups among `groups`. Owned by its shard.

    A classic group becomes a consumer group by the replay of records. In the other direction the classic group replaces
    the consumer group at once, because every classic group is ahead of its records; the replay of the tombstones then
    finds nothing to remove.
    """

    def __init__(
        self,
        groups: dict[str, Group],
        classic: ClassicGroups,
        metadata: MetadataImage,
        timers: MemberTimers,
        policy: MigrationPolicy,
        room: LogRoom,
    ) -> None:
        self.policy = policy
        self._room = room
        self._groups = groups
        self._classic = classic
        self._metadata = metadata
        self._timers = timers

    # -- from classic to consumer

    def upgrade_records(self, group: ClassicGroup, max_size: int) -> Steps[tuple[CoordinatorRecord, ...]]:
        """Build the records that make a classic group a consumer group of at most `max_size` members. Without members,
        they only end the classic group.

        Raise Refused: GROUP_ID_NOT_FOUND.
        """
        if group.is_empty:
            return (group_tombstone(group.group_id),)
        check_upgrade(group, self.policy, max_size)
        return (yield from upgraded(group, self._metadata))

    def upgrade(self, group: ClassicGroup, now_ms: int) -> tuple[LateAnswer, ...]:
        """Finish an upgrade whose records belong to the same operation: waiting members are asked to join again, and
        each has its session timeout to do so.
        """
        turn = self._classic.turn(now_ms)
        turn.clear_timer(JOIN, group)
        turn.clear_timer(SYNC, group)
        for member_id in group.pending_joins:
            turn.forget_heartbeat(group, member_id)
        for member in group.members.values():
            turn.answer_join(group, member.member_id, join_refusal(_AGAIN, member.member_id))
            turn.answer_sync(group, member.member_id, sync_refusal(_AGAIN))
            turn.forget_heartbeat(group, member.member_id)
            self._timers.set(SESSION, group.group_id, member.member_id, now_ms + member.session_timeout_ms)
        logger.info(
            "classic group %s: is a consumer group now, generation %d, %d members",
            group.group_id,
            group.generation,
            len(group.members),
        )
        return tuple(turn.answers)

    # -- from consumer to classic

    def without(self, group: ConsumerGroup, member_ids: Collection[str], now_ms: int) -> tuple[CoordinatorRecord, ...]:
        """Return the records that remove members, whether they left or were fenced. If all remaining members speak the
        classic protocol, the group becomes a classic group and rebalances, unless the record of the classic group would
        be too large. Raises RecordsTooLarge.
        """
        left = len(group.members) - len(member_ids)
        if left > 0 and self._may_downgrade(group, member_ids, left):
            try:
                records, _ = self.downgrade(group, member_ids, None, "members left", now_ms)
            except RecordsTooLarge:
                logger.info("consumer group %s: stays one, too large for a classic group's record", group.group_id)
            else:
                return records
        records = fence(group, member_ids, self._metadata)
        if not self._room.fits(records):
            raise RecordsTooLarge
        for member_id in member_ids:
            self._timers.forget(group.group_id, member_id)
        return records

    def downgrades_by(self, group: ConsumerGroup, replaced: ConsumerMember) -> bool:
        """Return True if the group becomes a classic group when a classic member replaces this static member."""
        replaced_last = replaced.classic is None
        return replaced_last and self._may_downgrade(group, (replaced.member_id,), len(group.members))

    def downgrade(
        self,
        group: ConsumerGroup,
        gone: Collection[str],
        successor: ConsumerMember | None,
        reason: str | None,
        now_ms: int,
    ) -> tuple[tuple[CoordinatorRecord, ...], ClassicGroup]:
        """Replace the consumer group by the classic group; for `gone` and `successor` see `downgrade.downgraded`.

        `reason`: why the members rebalance; None: they need not. Raises RecordsTooLarge.
        """
        turn = self._classic.turn(now_ms)
        classic = downgraded(group, gone, successor, self._metadata, turn.wall_ms)
        turn.records.extend(downgrade_records(group, classic, rebalances=reason is not None))
        if not self._room.fits(turn.records):
            raise RecordsTooLarge
        for member_id in group.members:
            self._timers.forget(group.group_id, member_id)
        self._groups[group.group_id] = classic
        for member in classic.members.values():
            turn.expect_heartbeat(classic, member)
        logger.info(
            "consumer group %s: is a classic group now, generation %d, %d members",
            group.group_id,
            classic.generation,
            len(classic.members),
        )
        if reason is not None:
            rebalance.prepare(classic, turn, f"was a consumer group until {reason}")
        return tuple(turn.records), classic

    def _may_downgrade(self, group: ConsumerGroup, gone: Collection[str], left: int) -> bool:
        if not group.all_classic_but(gone):
            return False
        if self.policy.downgrades and left <= self._classic.settings.max_size:
            return True
        logger.info("consumer group %s: stays one of %d classic members, by its settings", group.group_id, left)
        return False
