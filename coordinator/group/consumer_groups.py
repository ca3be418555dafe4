"""Consumer groups of one shard: requests, timers, and changes of topics (KIP-848)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final

from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.classic_groups import ClassicGroups
from shareq.coordinator.group.consumer import heartbeat, requests
from shareq.coordinator.group.consumer.describe import consumer_group_entry, consumer_group_error_entry
from shareq.coordinator.group.consumer.group import Activity, ConsumerGroup
from shareq.coordinator.group.consumer.heartbeat import HeartbeatOutcome
from shareq.coordinator.group.consumer.leaving import left_for_a_while, member_of
from shareq.coordinator.group.consumer.member import JOIN_EPOCH, LEAVE_STATIC_EPOCH, ConsumerMember, MemberState
from shareq.coordinator.group.consumer.requests import Refused
from shareq.coordinator.group.consumer.target.draft import HeartbeatInputs
from shareq.coordinator.group.consumer.timers import JOIN, REBALANCE, SESSION, MemberTimers
from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.groups import Client, Group
from shareq.coordinator.group.migration.conversions import Conversions
from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.coordinator.group.migration.upgrade import as_group
from shareq.coordinator.ports import GroupSettingsSource, TopicNames
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, LogRoom, RecordsTooLarge, Steps, at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_describe import DescribedGroup
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

logger = logging.getLogger(__name__)

_RETRY_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class ConsumerGroupLimits:
    """The settings `group.consumer.max.size`, `group.consumer.assignors` (known ones only, the default first),
    `group.consumer.regex.refresh.interval.ms` and `group.consumer.migration.policy`, with Apache Kafka's defaults.
    """

    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    regex_refresh_interval_ms: int = 600_000
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL


class ConsumerGroups:
    """The consumer groups among `groups`. Operations only decide; `groups` changes by replay alone, see
    `consumer.records`.

    `wall_ms` returns the time of day. `classic`: the classic groups; `conversions` makes consumer groups of them, and
    the other way round. `timers`: those of the members of both protocols.
    """

    def __init__(
        self,
        groups: dict[str, Group],
        classic: ClassicGroups,
        metadata: TopicNames,
        settings_of: GroupSettingsSource,
        wall_ms: Callable[[], int],
        settings: ConsumerGroupLimits,
        counters: GroupCounters,
        room: LogRoom,
    ) -> None:
        self.settings = settings
        self.room = room
        self.counters = counters
        self._groups = groups
        self._metadata = metadata
        self._settings_of = settings_of
        self._wall_ms = wall_ms
        self._activity: dict[str, Activity] = {}
        self.news = 0  # of topics, so far
        self.timers = MemberTimers()
        self.conversions = Conversions(groups, classic, metadata, self.timers, settings.migration_policy, room)

    # -- membership

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        client: Client,
        is_visible: Callable[[str], bool],
        now_ms: int,
    ) -> Steps[CoordinatorResult[ConsumerGroupHeartbeatResponse]]:
        """Handle one ConsumerGroupHeartbeat. A member that joins without an id, which version 0 allows, has been given
        one by the caller. `is_visible` returns True if the sender may see a topic, for subscriptions by pattern.

        The first member creates the group. A classic group becomes a consumer group and keeps its members and offsets.
        Errors are in the response: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED,
        UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, INVALID_REGULAR_EXPRESSION.
        Raises RecordsTooLarge.
        """
        requests.check_size(request, self.room.most_bytes())
        try:
            requests.check(request, version, self.settings.assignors)
            if request.member_epoch < JOIN_EPOCH:
                return self._leave(request, now_ms)
            return (yield from self._heartbeat(request, client, is_visible, now_ms))
        except Refused as refused:
            return CoordinatorResult(refused.response)

    def _heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        client: Client,
        is_visible: Callable[[str], bool],
        now_ms: int,
    ) -> Steps[CoordinatorResult[ConsumerGroupHeartbeatResponse]]:
        group_id = request.group_id
        known = self._groups.get(group_id)
        converted: tuple[CoordinatorRecord, ...] = ()
        news = self.news
        if isinstance(known, ConsumerGroup):
            group = known
        elif request.member_epoch != JOIN_EPOCH or not (known is None or isinstance(known, ClassicGroup)):
            raise _not_found(group_id, known)
        else:
            if known is not None:
                converted = yield from self.conversions.upgrade_records(known, self.settings.max_size)
            group = as_group(group_id, converted)
        inputs = self.inputs(group_id, is_visible)
        activity = replace(self.activity(group_id)) if group is known else Activity()
        beat = yield from heartbeat.heartbeat(group, activity, request, client, inputs)
        records = converted + beat.records
        encoding = self.room.encoded(records)
        encoded = (yield from encoding) if beat.is_long else at_once(encoding)
        if encoded is None:
            raise RecordsTooLarge
        self.note_activity(group_id, activity, news)
        answers = self.conversions.upgrade(known, now_ms) if isinstance(known, ClassicGroup) else ()
        self._set_timers(group_id, beat, inputs.settings.session_timeout_ms, now_ms)
        self.counters.consumer_rebalances += beat.bumped
        return CoordinatorResult(beat.response, records, answers, encoded=encoded)

    def _set_timers(self, group_id: str, beat: HeartbeatOutcome, session_timeout_ms: int, now_ms: int) -> None:
        timers, member_id = self.timers, beat.member.member_id
        if beat.replaces is not None:
            timers.forget(group_id, beat.replaces)
        timers.set(SESSION, group_id, member_id, now_ms + session_timeout_ms)
        if not beat.moved:
            return
        if beat.current.state is MemberState.UNREVOKED_PARTITIONS:
            timers.set(REBALANCE, group_id, member_id, now_ms + beat.member.rebalance_timeout_ms)
        else:
            timers.clear(REBALANCE, group_id, member_id)

    def _leave(
        self, request: ConsumerGroupHeartbeatRequest, now_ms: int
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        group = self._groups.get(request.group_id)
        if not isinstance(group, ConsumerGroup):
            raise _not_found(request.group_id, group)
        member = member_of(group, request.member_id, request.instance_id)
        response = ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)
        if request.member_epoch == LEAVE_STATIC_EPOCH:  # its session goes on: it has that long to come back
            self.timers.clear(REBALANCE, group.group_id, member.member_id)
            return CoordinatorResult(response, (left_for_a_while(group, member),))
        return CoordinatorResult(response, self.without(group, (member.member_id,), now_ms))

    def without(self, group: ConsumerGroup, member_ids: Collection[str], now_ms: int) -> tuple[CoordinatorRecord, ...]:
        """Return the records that remove members, see `Conversions.without`; results of their patterns are forgotten.

        Raises RecordsTooLarge.
        """
        records = self.conversions.without(group, member_ids, now_ms)
        staying = [member for member_id, member in group.members.items() if member_id not in member_ids]
        if not staying:
            self._activity.pop(group.group_id, None)
        elif group.resolved:
            self.activity(group.group_id).matches.keep({member.subscribed_topic_regex for member in staying})
        return records

    # -- reading

    def group(self, group_id: str) -> ConsumerGroup | None:
        """Return a consumer group, for reading only; None if there is none with this id."""
        group = self._groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def all(self) -> list[ConsumerGroup]:
        """Return all consumer groups, for reading only."""
        return [group for group in self._groups.values() if isinstance(group, ConsumerGroup)]

    def describe(self, group_id: str) -> CoordinatorResult[DescribedGroup]:
        """Return the group's ConsumerGroupDescribe entry, without authorized operations. Error: GROUP_ID_NOT_FOUND."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return CoordinatorResult(consumer_group_entry(group, self._metadata, self.settings.assignors))
        refused = _not_found(group_id, group)
        return CoordinatorResult(consumer_group_error_entry(group_id, refused.error, refused.message))

    # -- news of topics

    def topics_changed(self, topic_names: Collection[str]) -> None:
        """Note that topics were created, have grown, or are about to be deleted: the next heartbeat of a group that
        reads them checks again.
        """
        names = frozenset(topic_names)
        self.news += 1
        for group in self.all():
            activity = self.activity(group.group_id)
            activity.topics_created = True
            if not names.isdisjoint(group.subscribed_topics()):
                activity.metadata_stale = True

    # -- time

    def on_loaded(self, now_ms: int) -> Steps[None]:
        """Start the timers after a load. Each member has a full session to send a heartbeat or give partitions up."""
        for group in self.all():
            yield
            group.settle()
            for member in group.members.values():
                self._restart_timers(group, member, now_ms)

    def _restart_timers(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        group_id, member_id, classic = group.group_id, member.member_id, member.classic
        session_ms = self.session_timeout_ms(group_id) if classic is None else classic.session_timeout_ms
        self.timers.set(SESSION, group_id, member_id, now_ms + session_ms)
        if _is_revoking(group, member_id):
            what = REBALANCE if classic is None else JOIN
            self.timers.set(what, group_id, member_id, now_ms + member.rebalance_timeout_ms)

    def next_deadline_ms(self) -> int | None:
        return self.timers.next_ms()

    def on_deadline(self, now_ms: int) -> tuple[CoordinatorRecord, ...]:
        """Remove members that were silent or too slow, as many as one append has room for. For the others, the next
        call is due at once.
        """
        by_group: dict[str, set[str]] = {}
        for what, group_id, member_id in self.timers.due(now_ms, self.room.room_bytes()):
            group = self.group(group_id)
            if group is None or member_id not in group.members:
                continue
            if _is_over(group, what, member_id):
                by_group.setdefault(group_id, set()).add(member_id)
        records: list[CoordinatorRecord] = []
        for group_id, member_ids in by_group.items():
            group = self.group(group_id)
            if group is not None:
                logger.info("consumer group %s: members %s were silent or late", group_id, sorted(member_ids))
                records.extend(self._without_late(group, member_ids, now_ms))
        return tuple(records)

    def _without_late(
        self, group: ConsumerGroup, member_ids: Collection[str], now_ms: int
    ) -> tuple[CoordinatorRecord, ...]:
        try:
            return self.without(group, member_ids, now_ms)
        except RecordsTooLarge:
            logger.error("consumer group %s: the end of its late members is too large for its log", group.group_id)
            for member_id in member_ids:
                self.timers.set(SESSION, group.group_id, member_id, now_ms + _RETRY_MS)
            return ()

    # -- deciding

    def activity(self, group_id: str) -> Activity:
        return self._activity.setdefault(group_id, Activity())

    def note_activity(self, group_id: str, activity: Activity, news: int) -> None:
        """Store the activity after an operation. `news`: the count of topic changes when the operation began."""
        if news != self.news:  # while it paused
            activity.topics_created = activity.metadata_stale = True
        self._activity[group_id] = activity

    def session_timeout_ms(self, group_id: str) -> int:
        """Return the session timeout of members that speak KIP-848's protocol."""
        return self._settings_of.consumer_group(group_id).session_timeout_ms

    def inputs(self, group_id: str, is_visible: Callable[[str], bool] | None) -> HeartbeatInputs:
        """Return the inputs of a request apart from its group; for `is_visible` see `HeartbeatInputs`."""
        return HeartbeatInputs(
            metadata=self._metadata,
            settings=self._settings_of.consumer_group(group_id),
            max_size=self.settings.max_size,
            assignors=self.settings.assignors,
            regex_refresh_interval_ms=self.settings.regex_refresh_interval_ms,
            wall_ms=self._wall_ms(),
            is_visible=is_visible,
        )


def _is_over(group: ConsumerGroup, what: str, member_id: str) -> bool:
    """Return True if the timer that is due removes the member; by now it may have done what the timer waits for."""
    if what == REBALANCE:
        return _is_revoking(group, member_id)
    return what == SESSION or group.members[member_id].classic is not None


def _is_revoking(group: ConsumerGroup, member_id: str) -> bool:
    current = group.current_of(member_id)
    return current.state is MemberState.UNREVOKED_PARTITIONS and current.member_epoch >= JOIN_EPOCH


def _not_found(group_id: str, group: Group | None) -> Refused:
    message = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, message)
