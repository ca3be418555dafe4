"""Members that speak the classic protocol in consumer groups: their JoinGroup, SyncGroup, Heartbeat and LeaveGroup."""

from __future__ import annotations

import logging
from dataclasses import replace

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.classic.group import CONSUMER_PROTOCOL_TYPE
from shareq.coordinator.group.classic.rpc.join import Joining
from shareq.coordinator.group.classic.turn import join_refusal, loggable_reason, sync_refusal
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.joining import static_member
from shareq.coordinator.group.consumer.leaving import member_of
from shareq.coordinator.group.consumer.member import (
    ClassicMetadata,
    ConsumerMember,
    CurrentAssignment,
    MemberState,
    partitions_of,
)
from shareq.coordinator.group.consumer.requests import Refused
from shareq.coordinator.group.consumer.target.draft import Draft, HeartbeatInputs
from shareq.coordinator.group.consumer.timers import JOIN, REBALANCE, SESSION, SYNC
from shareq.coordinator.group.consumer_groups import ConsumerGroups
from shareq.coordinator.group.migration import joining as classic_joining
from shareq.coordinator.group.migration.downgrade import assignment_bytes
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, LateAnswer, RecordsTooLarge, Steps, at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatRequest
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse
from shareq.protocol.primitives import Message

logger = logging.getLogger(__name__)


class ClassicMembers:
    """The requests of classic members to a consumer group that has members.

    No request waits: every JoinGroup and SyncGroup is answered in its own result.
    """

    def __init__(self, consumer: ConsumerGroups) -> None:
        self._consumer = consumer
        self._timers = consumer.timers

    # -- JoinGroup

    def join(self, group: ConsumerGroup, joining: Joining, now_ms: int) -> Steps[CoordinatorResult[None]]:
        """Handle one JoinGroup that passed `classic.join.request_error`. Errors are in the answer:
        INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.

        The group becomes a classic group if the member replaces the last one that speaks KIP-848's protocol. Raises
        RecordsTooLarge.
        """
        settings, policy = self._consumer.settings, self._consumer.conversions.policy
        try:
            classic_joining.check_join(group, joining, policy, settings.max_size)
            if classic_joining.needs_member_id(joining):
                return _answer(joining.token, join_refusal(ErrorCode.MEMBER_ID_REQUIRED, joining.new_id))
            return (yield from self._join(group, joining, now_ms))
        except Refused as refused:
            logger.info("consumer group %s: a JoinGroup is refused: %r", group.group_id, refused.message)
            return _answer(joining.token, join_refusal(refused.error))

    def _join(self, group: ConsumerGroup, joining: Joining, now_ms: int) -> Steps[CoordinatorResult[None]]:
        consumer = self._consumer
        inputs = consumer.inputs(group.group_id, None)
        subscription = classic_joining.subscription_of(joining)
        sender = classic_joining.sender_of(group, joining)
        draft = Draft(group, sender, classic_joining.joined_member(sender.member, joining, subscription), inputs)
        yield from draft.pause()
        activity, news = replace(consumer.activity(group.group_id)), consumer.news
        draft.update_epoch(activity)
        yield from draft.pause()
        owned = classic_joining.owned_partitions(subscription, inputs.metadata)
        yield from draft.pause()
        instance_id = draft.member.instance_id
        replaced = None if instance_id is None else group.static_member(instance_id)
        if replaced is not None and consumer.conversions.downgrades_by(group, replaced):
            records, response = yield from self._join_last(draft, replaced, owned, now_ms)
            result = _answer(joining.token, response, records)
        else:
            result = yield from self._join_others(draft, joining, owned, now_ms)
        consumer.note_activity(group.group_id, activity, news)
        return result

    def _join_others(
        self, draft: Draft, joining: Joining, owned: Assignment, now_ms: int
    ) -> Steps[CoordinatorResult[None]]:
        """Let the member join a group that stays a consumer group."""
        epoch, target = yield from draft.retarget()
        yield from draft.pause()
        after = yield from draft.step(epoch, target, owned)
        yield from draft.pause()
        encoding = self._consumer.room.encoded(draft.records)
        encoded = (yield from encoding) if draft.is_long else at_once(encoding)
        if encoded is None:
            raise RecordsTooLarge
        self._set_timers(draft, joining, now_ms)
        self._consumer.counters.consumer_rebalances += draft.bumped
        return _answer(joining.token, _joined(draft.member, after), tuple(draft.records))._replace(encoded=encoded)

    def _set_timers(self, draft: Draft, joining: Joining, now_ms: int) -> None:
        timers, group_id, member_id = self._timers, draft.group.group_id, draft.member.member_id
        if draft.sender.replaces is not None:
            timers.forget(group_id, draft.sender.replaces)
        timers.clear(JOIN, group_id, member_id)
        timers.clear(REBALANCE, group_id, member_id)
        timers.set(SESSION, group_id, member_id, now_ms + joining.request.session_timeout_ms)
        timers.set(SYNC, group_id, member_id, now_ms + joining.rebalance_timeout_ms)

    def _join_last(
        self, draft: Draft, replaced: ConsumerMember, owned: Assignment, now_ms: int
    ) -> Steps[tuple[tuple[CoordinatorRecord, ...], JoinGroupResponse]]:
        """Let the member join a group that becomes a classic one, without a rebalance if all members have reached their
        targets.
        """
        group, after, reason = draft.group, draft.sender.current, "a member came with another subscription"
        if draft.epoch <= group.assignment_epoch:
            after = yield from draft.step(group.assignment_epoch, draft.sender.target, owned)
            yield from draft.pause()
            reason = "not all of its members have got where they are to be"
        epoch = group.assignment_epoch
        others = (group.current_of(member_id) for member_id in group.members if member_id != replaced.member_id)
        settled = after.is_reconciled_to(epoch) and all(each.is_reconciled_to(epoch) for each in others)
        records, classic = self._consumer.conversions.downgrade(
            group, (replaced.member_id,), draft.member, None if settled else reason, now_ms
        )
        response = classic_joining.joined(draft.member.member_id, after.member_epoch, classic.protocol_name)
        return records, response

    # -- SyncGroup

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest, token: int, now_ms: int) -> CoordinatorResult[None]:
        """Return the member's partitions; an assignment in the request is ignored. Errors: UNKNOWN_MEMBER_ID,
        FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
        """
        try:
            member, classic = _classic_member(group, request.member_id, request.group_instance_id)
        except Refused as refused:
            return _answer(token, sync_refusal(refused.error))
        current = group.current_of(member.member_id)
        error = _sync_error(group, classic, current, request)
        if error is not ErrorCode.NONE:
            if error is ErrorCode.REBALANCE_IN_PROGRESS:
                self._expect_join(group, member, now_ms)
            return _answer(token, sync_refusal(error))
        self._timers.clear(SYNC, group.group_id, member.member_id)
        self._heard_of(group, member, classic, now_ms)
        metadata = self._consumer.inputs(group.group_id, None).metadata
        response = SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=assignment_bytes(partitions_of(current.assigned), classic.metadata, metadata),
        )
        return _answer(token, response)

    # -- Heartbeat

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest, now_ms: int) -> ErrorCode:
        """Handle one Heartbeat. Errors: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION. On
        REBALANCE_IN_PROGRESS the member has to join again within its rebalance timeout.
        """
        try:
            member, classic = _classic_member(group, request.member_id, request.group_instance_id)
        except Refused as refused:
            return refused.error
        if request.generation_id != group.current_of(member.member_id).member_epoch:
            return ErrorCode.ILLEGAL_GENERATION
        self._heard_of(group, member, classic, now_ms)
        if not _has_to_join(group, member.member_id, self._consumer.inputs(group.group_id, None)):
            return ErrorCode.NONE
        self._expect_join(group, member, now_ms)
        return ErrorCode.REBALANCE_IN_PROGRESS

    def _heard_of(self, group: ConsumerGroup, member: ConsumerMember, classic: ClassicMetadata, now_ms: int) -> None:
        self._timers.set(SESSION, group.group_id, member.member_id, now_ms + classic.session_timeout_ms)

    def _expect_join(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        self._timers.set_first(JOIN, group.group_id, member.member_id, now_ms + member.rebalance_timeout_ms)

    # -- LeaveGroup

    def leave(
        self, group: ConsumerGroup, members: list[MemberIdentity], now_ms: int
    ) -> CoordinatorResult[LeaveGroupResponse]:
        """Remove each named member, whichever protocol it speaks; all removals together raise the group epoch once.
        Errors of a member: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
        """
        gone: dict[str, None] = {}
        responses: list[MemberResponse] = []
        for each in members:
            error = ErrorCode.NONE
            try:
                member = _leaver(group, each)
            except Refused as refused:
                error = refused.error
            else:
                gone[member.member_id] = None
                reason = loggable_reason(each.reason)
                logger.info("consumer group %s: %s leaves, reason: %s", group.group_id, member.member_id, reason)
            responses.append(MemberResponse(each.member_id, each.group_instance_id, error))
        records = self._consumer.without(group, tuple(gone), now_ms) if gone else ()
        return CoordinatorResult(LeaveGroupResponse(members=responses), records)


def _answer(token: int, response: Message, records: tuple[CoordinatorRecord, ...] = ()) -> CoordinatorResult[None]:
    return CoordinatorResult(None, records, (LateAnswer(token, response),))


def _joined(member: ConsumerMember, current: CurrentAssignment) -> JoinGroupResponse:
    name = None if member.classic is None else member.classic.protocol_name
    return classic_joining.joined(member.member_id, current.member_epoch, name)


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[ConsumerMember, ClassicMetadata]:
    member = member_of(group, member_id, instance_id)
    if member.classic is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not speak the classic protocol.")
    return member, member.classic


def _sync_error(
    group: ConsumerGroup, classic: ClassicMetadata, current: CurrentAssignment, request: SyncGroupRequest
) -> ErrorCode:
    if request.generation_id != current.member_epoch:
        return ErrorCode.ILLEGAL_GENERATION
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name not in (None, classic.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    # One that gives partitions up has joined already: it gets what it keeps, and then joins again of itself.
    behind = group.assignment_epoch > current.member_epoch
    if behind and current.state is not MemberState.UNREVOKED_PARTITIONS:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _has_to_join(group: ConsumerGroup, member_id: str, inputs: HeartbeatInputs) -> bool:
    """Return True if the member has to join again.

    It has to if there is a new target, if it must give up partitions, or if others have given up all partitions that it
    waits for. If all members speak the classic protocol, which happens only in a group that may not become a classic
    one, it also has to if the group epoch has no target yet, because no other request would compute one.
    """
    current = group.current_of(member_id)
    if current.member_epoch < group.assignment_epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    if current.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member_id):
        return True
    return group.assignment_epoch < group.group_epoch and group.all_classic_but(()) and inputs.may_assign(group)


def _leaver(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    """Return the member to remove. Administrators may name a static member by its instance id only."""
    instance_id = identity.group_instance_id
    if instance_id is not None and not identity.member_id:
        known = group.static_member(instance_id)
        if known is not None:
            return known
    if instance_id is not None:
        return static_member(group, identity.member_id, instance_id)
    return member_of(group, identity.member_id, None)
