"""Share groups of one shard: requests, timers, and changes of topics (KIP-932)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from shareq.coordinator.group.groups import Client, Group, GroupKind
from shareq.coordinator.group.share import change_plans, heartbeat
from shareq.coordinator.group.share.change_plans import AlterOffsetsPlan, DeleteGroupPlan, DeleteOffsetsPlan
from shareq.coordinator.group.share.describe import share_group_entry, share_group_error_entry
from shareq.coordinator.group.share.group import Activity, ShareGroup, StatePartitions, TopicsById
from shareq.coordinator.group.share.heartbeat import HeartbeatInputs, HeartbeatPlan, refusal
from shareq.coordinator.group.share.initialization import initialization_ended
from shareq.coordinator.group.share.records import state_partitions_record
from shareq.coordinator.group.share.session_timeouts import SessionTimeouts, silent_members_leave
from shareq.coordinator.ports import MetadataImage, ShareGroupSettings, ShareGroupSettingsSource
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, LogRoom, RecordsTooLarge, Steps
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.share_group_describe import DescribedGroup
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.share import JOIN_EPOCH, LEAVE_EPOCH

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ShareGroupLimits:
    """The settings `group.share.max.size`, `group.share.max.groups` (None: no limit),
    `group.share.initialize.retry.interval.ms` and `shareq.share.disconnect.grace.ms` (negative: a lost connection has
    no effect).
    """

    max_size: int = 200
    max_groups: int | None = None
    initialize_retry_interval_ms: int = 30_000
    disconnect_grace_ms: int = 3_000


class ShareGroups:
    """The share groups among `groups`. Operations only decide; `groups` changes by replay alone, see `records`.

    `wall_ms` returns the time of day. `may_make` returns True if the limit on the broker's share groups allows a new
    group with that id; without it, the groups of this shard are counted. `believes_absence`: partitions that `metadata`
    lacks do not exist.
    """

    def __init__(
        self,
        groups: dict[str, Group],
        metadata: MetadataImage,
        share_settings: ShareGroupSettingsSource,
        wall_ms: Callable[[], int],
        settings: ShareGroupLimits,
        room: LogRoom,
        may_make: Callable[[int, str], bool] | None = None,
        *,
        believes_absence: bool = True,
    ) -> None:
        self.settings = settings
        self._groups = groups
        self._metadata = metadata
        self._share_settings = share_settings
        self._wall_ms = wall_ms
        self._room = room
        self._may_make = may_make or (lambda limit, _group_id: self.count() < limit)
        self._believes_absence = believes_absence
        self._activity: dict[str, Activity] = {}
        self._sessions = SessionTimeouts()

    # -- membership

    def begin_heartbeat(
        self, request: ShareGroupHeartbeatRequest, client: Client, now_ms: int, connection_id: int | None = None
    ) -> CoordinatorResult[HeartbeatPlan]:
        """Begin a ShareGroupHeartbeat. When the plan's records are durable, the caller has to do one of these:

        * `plan.response` is set: send it.
        * `plan.initialize` is not empty: have the share coordinator initialise each; when all are durable, or one has
          failed, schedule `finish_heartbeat(plan, all_succeeded, now)` and send its response. Always call it, also when
          the connection is gone: heartbeats of the group may be waiting for it. If the outcome takes longer than a
          heartbeat may, call it with None, and `finish_initialization` later.
        * `plan.waits`: keep the plan until `finish_heartbeat` was scheduled, or failed to append, for every plan of
          this group with something to initialise, then schedule `finish_heartbeat(plan, None, now)`. To do so at once
          is allowed: the member then learns of the partitions by a later heartbeat.

        Other operations on the group may come between the phases, also on a shard that was reloaded. The member's
        session runs from here on, until `connection_lost` shortens it. Errors are in the response: INVALID_REQUEST,
        GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH. Raises RecordsTooLarge.
        """
        heartbeat.check_size(request, self._room)
        invalid = heartbeat.request_error(request)
        if invalid is not None:
            return _answered(request, invalid)
        if request.member_epoch == LEAVE_EPOCH:
            return self._leave(request)
        group = self._joinable(request)
        if isinstance(group, ShareGroupHeartbeatResponse):
            return _answered(request, group)
        activity = self._activity.get(request.group_id) or Activity()
        inputs = self._inputs(request.group_id, now_ms)
        attempt = activity.copy()
        result = heartbeat.begin(group, attempt, request, client, inputs)
        if result.records and not self._room.fits(result.records):
            raise RecordsTooLarge
        self._activity[request.group_id] = attempt
        response = result.response.response
        if response is None or response.error_code == ErrorCode.NONE:
            self._sessions.heard_of(request.group_id, request.member_id, inputs.settings, now_ms, connection_id)
        return result

    def repeat_heartbeat(
        self, group_id: str, member_id: str, member_epoch: int, now_ms: int, connection_id: int
    ) -> ShareGroupSettings | None:
        """Handle a heartbeat like the member's last one, which came over the same connection and named no topics.

        Return the group's settings if the answer is the member's unchanged epoch. None: nothing was done, and
        `begin_heartbeat` has to handle it.
        """
        group, activity = self._groups.get(group_id), self._activity.get(group_id)
        if activity is None or not isinstance(group, ShareGroup):
            return None
        if not heartbeat.is_settled(group, activity, member_id, member_epoch):
            return None
        settings = self._share_settings.share_group(group_id)
        self._sessions.heard_of(group_id, member_id, settings, now_ms, connection_id)
        return settings

    def finish_heartbeat(
        self, plan: HeartbeatPlan, initialized: bool | None, now_ms: int
    ) -> CoordinatorResult[ShareGroupHeartbeatResponse]:
        """Finish a heartbeat; see `begin_heartbeat`. Errors: GROUP_ID_NOT_FOUND or UNKNOWN_MEMBER_ID if group or member
        was removed meanwhile. Raises RecordsTooLarge: the next heartbeat tries again.
        """
        group = self._groups.get(plan.group_id)
        if not isinstance(group, ShareGroup):
            return CoordinatorResult(_group_not_found(plan.group_id, group))
        activity = self._activity.setdefault(plan.group_id, Activity())
        inputs = self._inputs(plan.group_id, now_ms)
        if plan.member_id in group.members:
            self._sessions.answered(plan.group_id, plan.member_id, inputs.settings, now_ms)
        result = heartbeat.finish(group, activity, plan, initialized, inputs)
        if result.records and not self._room.fits(result.records):
            activity.metadata_stale, activity.initializing_since_ms = True, None
            raise RecordsTooLarge
        return result

    def connection_lost(self, connection_id: int, now_ms: int) -> Steps[CoordinatorResult[None]]:
        """Shorten the sessions of members whose last heartbeat came over the connection to the grace."""
        grace_ms = self.settings.disconnect_grace_ms
        yield from self._sessions.connection_lost(connection_id, grace_ms, self._share_settings.share_group, now_ms)
        return CoordinatorResult(None)

    def finish_initialization(self, plan: HeartbeatPlan, initialized: bool) -> CoordinatorResult[None]:
        """Record the late outcome of `plan.initialize`, after `finish_heartbeat(plan, None, now)`."""
        group = self._groups.get(plan.group_id)
        if not isinstance(group, ShareGroup):
            return CoordinatorResult(None)
        activity = self._activity.setdefault(plan.group_id, Activity())
        return CoordinatorResult(None, initialization_ended(group, activity, plan.topics, initialized)[1])

    # -- reading

    def group(self, group_id: str) -> ShareGroup | None:
        """Return a share group's replayed state, for reading only; None if there is none with this id."""
        group = self._groups.get(group_id)
        return group if isinstance(group, ShareGroup) else None

    def all(self) -> list[ShareGroup]:
        """Return all replayed share groups, for reading only."""
        return [group for group in self._groups.values() if isinstance(group, ShareGroup)]

    def count(self) -> int:
        return sum(group.kind is GroupKind.SHARE for group in self._groups.values())

    def describe(self, group_id: str) -> CoordinatorResult[DescribedGroup]:
        """Return the group's ShareGroupDescribe entry, without authorized operations. Errors: INVALID_GROUP_ID,
        GROUP_ID_NOT_FOUND.
        """
        if not group_id:
            return CoordinatorResult(
                share_group_error_entry(group_id, ErrorCode.INVALID_GROUP_ID, "The group id is empty.")
            )
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            message = _not_found_message(group_id, group)
            return CoordinatorResult(share_group_error_entry(group_id, ErrorCode.GROUP_ID_NOT_FOUND, message))
        return CoordinatorResult(share_group_entry(group, self._metadata))

    def member_error(self, group_id: str, member_id: str, member_epoch: int) -> CoordinatorResult[ErrorCode]:
        """Return why the member is not in the group with this epoch, or with the one before, whose successor it may not
        know yet. Errors: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
        """
        group = self.group(group_id)
        if group is None:
            return CoordinatorResult(ErrorCode.GROUP_ID_NOT_FOUND)
        if member_id not in group.members:
            return CoordinatorResult(ErrorCode.UNKNOWN_MEMBER_ID)
        current = group.current_of(member_id)
        known = member_epoch > JOIN_EPOCH and member_epoch in (current.member_epoch, current.previous_member_epoch)
        return CoordinatorResult(ErrorCode.NONE if known else ErrorCode.STALE_MEMBER_EPOCH)

    def initialized_partitions(self, group_id: str) -> CoordinatorResult[TopicsById]:
        """Return the partitions of existing topics with share state of the group; none if the group does not exist."""
        group = self.group(group_id)
        topics = {} if group is None else group.initialized
        return CoordinatorResult({t: topics[t] for t in topics if self._metadata.topic_by_id(t) is not None})

    # -- administration; see `administration` for the two steps

    def begin_delete_group(self, group_id: str) -> Steps[CoordinatorResult[DeleteGroupPlan]]:
        """Begin to delete a group; see `change_plans`. Errors: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP."""
        group = self.group(group_id)
        if group is None:
            return CoordinatorResult(DeleteGroupPlan(self._no_share_group(group_id)))
        return (yield from self._written(change_plans.begin_delete_group(group, self._metadata)))

    def finish_delete_group(self, group_id: str, error: ErrorCode) -> CoordinatorResult[ApiError]:
        """Finish the deletion of a group. `error`: the first error of deleting the plan's share states, or NONE.
        Errors: `error`, and those of the first step.
        """
        group = self.group(group_id)
        if group is None:
            return CoordinatorResult(self._no_share_group(group_id))
        result = change_plans.finish_delete_group(group, error)
        if not result.response:
            self._activity.pop(group_id, None)
        return result

    def begin_alter_offsets(
        self, group_id: str, offsets: Mapping[str, Mapping[int, int]], now_ms: int
    ) -> Steps[CoordinatorResult[AlterOffsetsPlan]]:
        """Begin to set start offsets; a missing group is created.

        Errors: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND (of another kind), NON_EMPTY_GROUP, GROUP_MAX_SIZE_REACHED.
        """
        if not group_id:
            return CoordinatorResult(AlterOffsetsPlan(_EMPTY_GROUP_ID))
        group = self._groups.get(group_id) or ShareGroup(group_id)
        if not isinstance(group, ShareGroup):
            return CoordinatorResult(AlterOffsetsPlan(self._no_share_group(group_id)))
        result = yield from self._written(change_plans.begin_alter_offsets(group, offsets, self._metadata))
        full = self._no_more_groups(group_id) if result.records and group_id not in self._groups else None
        if full is not None:
            return CoordinatorResult(AlterOffsetsPlan(full))
        if result.response.topics:
            self._activity.setdefault(group_id, Activity()).initializing_since_ms = now_ms
        return result

    def finish_alter_offsets(
        self, group_id: str, plan: AlterOffsetsPlan, failed: Collection[SharePartitionKey]
    ) -> Steps[CoordinatorResult[None]]:
        """Finish the setting of start offsets. `failed`: the share partitions of the plan that could not be
        initialised.
        """
        group = self.group(group_id)
        if group is None:
            return CoordinatorResult(None)
        return (yield from self._written(change_plans.finish_alter_offsets(group, plan, failed)))

    def begin_delete_offsets(
        self, group_id: str, topic_names: Collection[str]
    ) -> Steps[CoordinatorResult[DeleteOffsetsPlan]]:
        """Begin to delete offsets; see `change_plans`. Errors: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
        NON_EMPTY_GROUP.
        """
        if not group_id:
            return CoordinatorResult(DeleteOffsetsPlan(_EMPTY_GROUP_ID))
        group = self.group(group_id)
        if group is None:
            return CoordinatorResult(DeleteOffsetsPlan(self._no_share_group(group_id)))
        return (yield from self._written(change_plans.begin_delete_offsets(group, topic_names, self._metadata)))

    def finish_delete_offsets(
        self, group_id: str, deleted_topic_ids: Collection[bytes]
    ) -> Steps[CoordinatorResult[None]]:
        """Finish the deletion of offsets. `deleted_topic_ids`: those topics of the plan whose share states are all
        deleted.
        """
        group = self.group(group_id)
        if group is None:
            return CoordinatorResult(None)
        return (yield from self._written(change_plans.finish_delete_offsets(group, deleted_topic_ids)))

    def _written(self, steps: Steps[CoordinatorResult[T]]) -> Steps[CoordinatorResult[T]]:
        """Run the steps of a decision, then encode its records, with pauses if they have many topics."""
        result = yield from steps
        return result._replace(encoded=(yield from self._room.written(result.records)))

    # -- news of topics

    def topics_to_look_at(self, group_id: str, asked: Collection[str]) -> Collection[str]:
        """Return the names of topics whose existence the group's next heartbeat depends on: the requested ones, and the
        group's subscriptions unless a heartbeat has checked them already.
        """
        group, activity = self.group(group_id), self._activity.get(group_id)
        if group is None or (activity is not None and not activity.metadata_stale):
            return asked
        return [*group.subscribers, *asked]

    def topics_changed(self, topic_names: Collection[str]) -> None:
        """Note that topics were created, have grown, or are about to be deleted: the next heartbeat of a group that
        reads them checks again.
        """
        names = frozenset(topic_names)
        for group in self._groups.values():
            if isinstance(group, ShareGroup) and not names.isdisjoint(group.subscribers):
                self._activity.setdefault(group.group_id, Activity()).metadata_stale = True

    def topics_with_state(self) -> dict[bytes, str]:
        """Return the topics, id to name, of which a group has share state, or is initialising or deleting it."""
        return {
            topic_id: name
            for group in self._groups.values()
            if isinstance(group, ShareGroup) and group.state_partitions is not None
            for topic_id, name in group.state_partitions.topics().items()
        }

    def topics_deleted(self, topics: Mapping[bytes, str]) -> Steps[tuple[CoordinatorRecord, ...]]:
        """Return the records that remove the share state of deleted topics, given as id to name, from all groups."""
        records: list[CoordinatorRecord] = []
        for group in self.all():
            records += yield from change_plans.topics_deleted(group, topics)
        return tuple(records)

    def states_lost(self) -> CoordinatorResult[None]:
        """Forget all share state of all groups, because it is lost: their next heartbeats initialise it again."""
        gone = [
            group.group_id
            for group in self._groups.values()
            if isinstance(group, ShareGroup) and group.state_partitions is not None and group.state_partitions.topics()
        ]
        records = tuple(state_partitions_record(each, StatePartitions()) for each in gone)
        return CoordinatorResult(None, records, atomic=False)

    # -- time

    def on_loaded(self, now_ms: int) -> Steps[None]:
        """Start the session timers after a load. Each member has a full session to send a heartbeat."""
        for group in self.all():
            yield
            group.settle(self._partitions_of)
            settings = self._share_settings.share_group(group.group_id)
            for member_id in group.members:
                self._sessions.heard_of(group.group_id, member_id, settings, now_ms)

    def _partitions_of(self, topic_id: bytes) -> int | None:
        topic = self._metadata.topic_by_id(topic_id) if self._believes_absence else None
        return None if topic is None else topic.partitions

    def next_deadline_ms(self) -> int | None:
        return self._sessions.next_ms()

    def on_deadline(self, now_ms: int) -> tuple[CoordinatorRecord, ...]:
        """Remove silent members from their groups, as many as one append has room for. For the others, the next call is
        due at once.
        """
        records: list[CoordinatorRecord] = []
        for group_id, member_ids in self._sessions.take_silent(now_ms, self._room.room_bytes()).items():
            lost = self._sessions.take_lost(group_id, member_ids)
            group = self.group(group_id)
            if group is not None:
                _log_removed("member_disconnected", "were removed: their connections were lost", group_id, lost)
                _log_removed("member_silent", "were not heard of in time", group_id, set(member_ids) - lost)
                records.extend(silent_members_leave(group, member_ids, self._metadata))
        return tuple(records)

    # -- deciding

    def _joinable(self, request: ShareGroupHeartbeatRequest) -> ShareGroup | ShareGroupHeartbeatResponse:
        """Return the group of a heartbeat, a new one if a member joins a missing group, or an answer with an error."""
        group = self._groups.get(request.group_id)
        if isinstance(group, ShareGroup):
            return group
        if group is not None or request.member_epoch != JOIN_EPOCH:
            return _group_not_found(request.group_id, group)
        full = self._no_more_groups(request.group_id)
        return ShareGroup(request.group_id) if full is None else refusal(full.code, full.message or "")

    def _no_more_groups(self, group_id: str) -> ApiError | None:
        """Return the error if the limit on share groups forbids a new one, else None."""
        limit = self.settings.max_groups
        if limit is None or self._may_make(limit, group_id):
            return None
        message = f"There are as many share groups as group.share.max.groups={limit} allows."
        return ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, message)

    def _leave(self, request: ShareGroupHeartbeatRequest) -> CoordinatorResult[HeartbeatPlan]:
        group = self._groups.get(request.group_id)
        if not isinstance(group, ShareGroup):
            return _answered(request, _group_not_found(request.group_id, group))
        if request.member_id not in group.members:
            message = f"Member {request.member_id} is not in the group."
            return _answered(request, refusal(ErrorCode.UNKNOWN_MEMBER_ID, message))
        self._sessions.clear(request.group_id, request.member_id)
        response = ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=LEAVE_EPOCH)
        plan = HeartbeatPlan(request.group_id, request.member_id, response)
        return CoordinatorResult(plan, heartbeat.fence(group, (request.member_id,), self._metadata))

    def _inputs(self, group_id: str, now_ms: int) -> HeartbeatInputs:
        return HeartbeatInputs(
            metadata=self._metadata,
            settings=self._share_settings.share_group(group_id),
            max_group_size=self.settings.max_size,
            initialize_retry_interval_ms=self.settings.initialize_retry_interval_ms,
            now_ms=now_ms,
            wall_ms=self._wall_ms(),
        )

    def _no_share_group(self, group_id: str) -> ApiError:
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, _not_found_message(group_id, self._groups.get(group_id)))


_EMPTY_GROUP_ID = ApiError(ErrorCode.INVALID_GROUP_ID, "The group id is empty.")


def _log_removed(event: str, text: str, group_id: str, member_ids: Collection[str]) -> None:
    members = sorted(member_ids)
    if members:
        fields = {"event": event, "group": group_id, "members": members}
        logger.info("share group %s: members %s %s", group_id, members, text, extra={"fields": fields})


def _answered(
    request: ShareGroupHeartbeatRequest, response: ShareGroupHeartbeatResponse
) -> CoordinatorResult[HeartbeatPlan]:
    return CoordinatorResult(HeartbeatPlan(request.group_id, request.member_id, response))


def _not_found_message(group_id: str, group: Group | None) -> str:
    return f"Group {group_id} not found." if group is None else f"Group {group_id} is not a share group."


def _group_not_found(group_id: str, group: Group | None) -> ShareGroupHeartbeatResponse:
    return refusal(ErrorCode.GROUP_ID_NOT_FOUND, _not_found_message(group_id, group))
