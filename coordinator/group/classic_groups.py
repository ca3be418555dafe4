"""Classic groups of one shard: requests, and timers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shareq.coordinator.group.classic import rebalance
from shareq.coordinator.group.classic.describe import classic_group_entry, no_classic_group
from shareq.coordinator.group.classic.expiry import timer_is_due
from shareq.coordinator.group.classic.group import ClassicGroup, ClassicState
from shareq.coordinator.group.classic.records import new_group_record, restored
from shareq.coordinator.group.classic.rpc.heartbeat import heartbeat
from shareq.coordinator.group.classic.rpc.join import Joining, join, request_error
from shareq.coordinator.group.classic.rpc.leave import leave
from shareq.coordinator.group.classic.rpc.sync import sync
from shareq.coordinator.group.classic.turn import ClassicGroupSettings, TimerKey, Turn, join_refusal, sync_refusal
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.records import group_tombstones
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.deadlines import Deadlines
from shareq.coordinator.group.groups import Group
from shareq.coordinator.shard import CoordinatorResult, InconsistentRecords, LogRoom, Steps
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import DescribedGroup
from shareq.protocol.generated.group_metadata import GroupMetadataKey, GroupMetadataValue
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest

_MOST_RECORDS: Final = 1_000
"""The number of records after which a call of `on_deadline` handles no more timers; the next call follows at once."""


class ClassicGroups:
    """The classic groups among `groups`. Owned by its shard.

    JoinGroup and SyncGroup are answered by a `LateAnswer` with the request's token, in the same result or in a later
    one: whenever a waiting member is removed from its group, its request is answered, and every phase of a rebalance
    has a timer.
    """

    def __init__(
        self,
        groups: dict[str, Group],
        wall_ms: Callable[[], int],
        settings: ClassicGroupSettings,
        counters: GroupCounters,
        room: LogRoom,
    ) -> None:
        self.settings = settings
        self._room = room
        self._counters = counters
        self._groups = groups
        self._wall_ms = wall_ms
        self._timers: Deadlines[TimerKey] = Deadlines()
        self._serving = False

    # -- membership

    def join(self, joining: Joining, now_ms: int) -> CoordinatorResult[None]:
        """Handle one JoinGroup; the first member creates its group.

        Errors are in the answer: see `join.join`; also INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, and
        INCONSISTENT_GROUP_PROTOCOL for a group of another kind. A consumer group without members is replaced instead,
        and its offsets are kept. Raises RecordsTooLarge for a member with which the group's record could no longer be
        written.
        """
        turn = self.turn(now_ms)
        request = joining.request
        group = self._groups.get(request.group_id)
        error = request_error(request, self.settings)
        if error is not ErrorCode.NONE:
            turn.answer(joining.token, join_refusal(error, request.member_id))
        elif isinstance(group, ClassicGroup):
            join(group, joining, turn)
        elif group is not None and not _is_empty_consumer_group(group):
            turn.answer(joining.token, join_refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        elif request.member_id:
            turn.answer(joining.token, join_refusal(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
        else:
            self._join_new_group(joining, turn)
        return turn.result()

    def _join_new_group(self, joining: Joining, turn: Turn) -> None:
        group = ClassicGroup(joining.request.group_id, turn.wall_ms)
        record = new_group_record(group)
        join(group, joining, turn)
        if group.members or group.pending_joins:  # a refused request leaves no group behind
            replaced = self._groups.get(group.group_id)
            if isinstance(replaced, ConsumerGroup):
                turn.records[:0] = group_tombstones(replaced)
            self._groups[group.group_id] = group
            turn.records.append(record)

    def sync(self, request: SyncGroupRequest, token: int, now_ms: int) -> CoordinatorResult[None]:
        """Handle one SyncGroup. Errors are in the answer: see `sync.sync`, and INVALID_GROUP_ID. Raises RecordsTooLarge
        for an assignment that is too large for the group's record: all members continue to wait for another one.
        """
        turn = self.turn(now_ms)
        group = self.group(request.group_id)
        if not request.group_id:
            turn.answer(token, sync_refusal(ErrorCode.INVALID_GROUP_ID))
        elif group is None:
            turn.answer(token, sync_refusal(ErrorCode.UNKNOWN_MEMBER_ID))
        else:
            sync(group, request, token, turn)
        return turn.result()

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> CoordinatorResult[HeartbeatResponse]:
        """Handle one Heartbeat. Errors: see `heartbeat.heartbeat`, and INVALID_GROUP_ID."""
        group = self.group(request.group_id)
        if not request.group_id:
            error = ErrorCode.INVALID_GROUP_ID
        elif group is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        else:
            error = heartbeat(group, request, self.turn(now_ms))
        return CoordinatorResult(HeartbeatResponse(error_code=error))

    def leave(self, request: LeaveGroupRequest, now_ms: int) -> CoordinatorResult[LeaveGroupResponse]:
        """Handle one LeaveGroup, whose members are in `request.members` in every version. Errors: INVALID_GROUP_ID; for
        the errors of a member see `leave.leave`.
        """
        if not request.group_id:
            return CoordinatorResult(LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        group = self.group(request.group_id)
        if group is None:
            unknown = [
                MemberResponse(member.member_id, member.group_instance_id, ErrorCode.UNKNOWN_MEMBER_ID)
                for member in request.members
            ]
            return CoordinatorResult(LeaveGroupResponse(members=unknown))
        turn = self.turn(now_ms)
        response = leave(group, request.members, turn)
        return CoordinatorResult(response, tuple(turn.records), tuple(turn.answers))

    # -- reading

    def group(self, group_id: str) -> ClassicGroup | None:
        """Return a classic group, for reading only; None if there is none with this id."""
        group = self._groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def all(self) -> list[ClassicGroup]:
        """Return all classic groups, for reading only."""
        return [group for group in self._groups.values() if isinstance(group, ClassicGroup)]

    def describe(self, group_id: str, version: int) -> CoordinatorResult[DescribedGroup]:
        """Return the group's DescribeGroups entry, without authorized operations. Error from version 6 on:
        GROUP_ID_NOT_FOUND.
        """
        group = self._groups.get(group_id)
        if isinstance(group, ClassicGroup):
            return CoordinatorResult(classic_group_entry(group))
        return CoordinatorResult(no_classic_group(group_id, group, version))

    # -- simple groups, and the end of groups

    def ensure(self, group_id: str) -> ClassicGroup:
        """Return the group that offsets are committed to; a new simple group if there is none.

        A simple group exists by its offsets, without a record of its own. The id must not be that of a group of another
        kind.
        """
        group = self.group(group_id)
        if group is None:
            group = ClassicGroup(group_id, self._wall_ms())
            self._groups[group_id] = group
        return group

    def committed(self, group_id: str, member_id: str, now_ms: int) -> None:
        """Prolong the session of a member that has committed offsets, as a heartbeat would, if the group is Stable or
        prepares a rebalance.
        """
        group = self.group(group_id)
        if group is None or group.state not in (ClassicState.STABLE, ClassicState.PREPARING_REBALANCE):
            return
        member = group.members.get(member_id)
        if member is not None:
            self.turn(now_ms).expect_heartbeat(group, member)

    # -- records

    def replay(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        """Apply a group's record. At load it restores the group. In service the group is ahead of its record, so only a
        tombstone has an effect: it removes the group. Raises InconsistentRecords for a group of another kind.
        """
        group = self._groups.get(key.group)
        if group is not None and not isinstance(group, ClassicGroup):
            if value is None:
                return
            raise InconsistentRecords(f"group {key.group} is no classic group, but has a classic group's record")
        if value is None:
            self._groups.pop(key.group, None)
        elif not self._serving:
            self._groups[key.group] = restored(key.group, value)

    # -- time

    def on_loaded(self, now_ms: int) -> Steps[None]:
        """Start the session timers of all restored members. A group with more members than `group.max.size` rebalances,
        so that some of them stay out.
        """
        self._serving = True
        turn = self.turn(now_ms)  # without records or answers: no member has joined yet
        for group in self.all():
            yield
            for member in group.members.values():
                turn.expect_heartbeat(group, member)
            if len(group.members) > self.settings.max_size:
                rebalance.prepare(group, turn, f"{len(group.members)} members, group.max.size is less")

    def next_deadline_ms(self) -> int | None:
        return self._timers.next_ms()

    def on_deadline(self, now_ms: int) -> CoordinatorResult[None]:
        """Handle the timers that are due, one after the other, because each may remove timers of others."""
        turn = self.turn(now_ms)
        while len(turn.records) < _MOST_RECORDS and (key := self._timers.take(now_ms)) is not None:
            what, group_id, member_id = key
            group = self.group(group_id)
            if group is not None:
                timer_is_due(group, what, member_id, turn)
        return turn.result()

    def turn(self, now_ms: int) -> Turn:
        """Return a new operation at this monotonic time."""
        return Turn(self.settings, self._timers, self._counters, now_ms, self._wall_ms(), self._room)


def _is_empty_consumer_group(group: Group) -> bool:
    return isinstance(group, ConsumerGroup) and group.is_empty
