"""Faults to plant in membership, in the life of topics and in the administration of groups; see `planted`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

from shareq.broker.foundation.environment import Fs
from shareq.broker.foundation.loop.coroutines import begin
from shareq.broker.foundation.loop.turns import Turn
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.groups.administration import AlteredOffsets, GroupAdministration, OffsetsToAlter
from shareq.broker.log import folders
from shareq.broker.log.folders import Claim, FolderClaim, KnownTopics, PartitionFolders
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.share.partitions import SharePartitionManager
from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.deadlines import Deadlines
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.group.share import assignor, change_plans, heartbeat
from shareq.coordinator.group.share.assignor import AssignorMember
from shareq.coordinator.group.share.change_plans import DeleteOffsetsPlan
from shareq.coordinator.group.share.group import CurrentAssignment, ShareGroup
from shareq.coordinator.group.share.records import (
    assignment_epoch_tombstone,
    group_tombstone,
    member_gone_records,
    state_partitions_record,
)
from shareq.coordinator.shard import CoordinatorResult, Steps
from shareq.coordinator.share.records import snapshot_batches
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.shard import ShareCoordinatorShard
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from tests.simulation.planted import BACK, DELIVERED_AFTER_ANSWER, GROUP_LOST, LOST
from tests.support.planting import Fault, Function, in_place_of, replaced

Targets = dict[str, Assignment]

# -- membership


@in_place_of(heartbeat, "fence")
def empty_group_expires(original: Function, group: ShareGroup, member_ids: Iterable[str], metadata: Any) -> Any:
    gone = sorted(member_ids)
    if set(gone) != set(group.members):
        return original(group, gone, metadata)
    left = [record for member_id in gone for record in member_gone_records(group.group_id, member_id)]
    left += [assignment_epoch_tombstone(group.group_id), state_partitions_record(group.group_id, None)]
    return (*left, group_tombstone(group.group_id))


def _assigned_otherwise(change: Any) -> AbstractContextManager[object]:
    original = assignor.simple

    def simple(members: Mapping[str, AssignorMember], assignable: Any) -> Targets:
        targets: Targets = original(members, assignable)
        change(targets)
        return targets

    return replaced((heartbeat, "simple", simple))


def one_member_gets_everything() -> AbstractContextManager[object]:
    def change(targets: Targets) -> None:
        everything: dict[bytes, frozenset[int]] = {}
        for target in targets.values():
            for topic_id, partitions in target.items():
                everything[topic_id] = everything.get(topic_id, frozenset()) | partitions
        first = min(targets)
        if all(target.keys() == targets[first].keys() for target in targets.values()):
            targets.update({member_id: everything if member_id == first else {} for member_id in targets})

    return _assigned_otherwise(change)


def everybody_gets_the_same() -> AbstractContextManager[object]:
    def change(targets: Targets) -> None:
        for member_id, target in targets.items():
            for other in targets.values():
                shared = {t: partitions | other.get(t, frozenset()) for t, partitions in target.items()}
                target = targets[member_id] = shared

    return _assigned_otherwise(change)


def last_partition_is_not_assigned() -> AbstractContextManager[object]:
    def change(targets: Targets) -> None:
        for member_id, target in targets.items():
            targets[member_id] = {t: kept for t, found in target.items() if (kept := found - {1})}

    return _assigned_otherwise(change)


def growth_goes_unnoticed() -> AbstractContextManager[object]:
    return replaced((GroupCoordinatorShard, "topics_changed", lambda _self, _names: None))


@in_place_of(heartbeat, "_updated")
def changed_subscription_is_ignored(original: Function, known: Any, request: Any, client: Any) -> Any:
    member = original(known, request, client)
    return member if known is None else replace(member, subscribed_topic_names=known.subscribed_topic_names)


def nobody_expires_after_a_restart() -> AbstractContextManager[object]:
    return replaced((GroupCoordinatorShard, "on_loaded", lambda _self, _now_ms: iter(())))


@in_place_of(Deadlines, "set")
def heartbeats_do_not_prolong_the_session(original: Function, self: Deadlines[Any], key: Any, deadline_ms: int) -> None:
    if key not in self._deadlines:
        original(self, key, deadline_ms)


@in_place_of(heartbeat, "_member_error")
def previous_epoch_is_fenced(original: Function, group: ShareGroup, request: Any, most: int) -> Any:
    current = group.current_of(request.member_id)
    if request.member_epoch > 0 and request.member_epoch == current.previous_member_epoch:
        return heartbeat.refusal(ErrorCode.FENCED_MEMBER_EPOCH, "planted")
    return original(group, request, most)


@in_place_of(heartbeat, "current_record")
def assignment_is_answered_and_not_recorded(
    original: Function, group_id: str, member_id: str, current: CurrentAssignment
) -> Any:
    return original(group_id, member_id, replace(current, assigned={}))


def group_takes_too_many_members() -> AbstractContextManager[object]:
    original = heartbeat._member_error
    return replaced((heartbeat, "_member_error", lambda group, request, _most: original(group, request, 1_000)))


@in_place_of(ShareCoordinatorService, "initialize_once")
def initialized_before_it_is_durable(original: Function, *arguments: Any, **again: Any) -> Pending[ApiError]:
    original(*arguments, **again)
    return completed(NO_ERROR)


# -- topics


def deleted_topic_keeps_its_states() -> AbstractContextManager[object]:
    return replaced((ShareCoordinatorShard, "topics_deleted", lambda _self, _topic_ids: CoordinatorResult(None)))


def folder_of_a_deleted_topic_is_taken_over() -> AbstractContextManager[object]:
    def claim_by_name(_fs: Fs, _data_dir: str, name: str, metadata: KnownTopics) -> FolderClaim | None:
        topic, separator, partition = name.rpartition("-")
        image = metadata.topic(topic)
        if image is None or not separator:
            return None
        return FolderClaim(name, (topic, int(partition)), Claim.LIVE, image)

    return replaced(
        (PartitionFolders, "retire", lambda _self, _names, done: done(True)),
        (PartitionFolders, "make_way", lambda _self, _name, _metadata: None),
        (folders, "claim_of", claim_by_name),
    )


# -- administration


def deleted_group_leaves_its_states() -> AbstractContextManager[object]:
    return replaced((GroupAdministration, "_delete", lambda _self, _key: completed(NO_ERROR)))


def altered_partition_keeps_its_leader() -> AbstractContextManager[object]:
    return replaced((SharePartitionManager, "state_replaced", lambda _self, _keys: None))


@in_place_of(change_plans, "begin_alter_offsets")
def offsets_are_altered_under_the_members_feet(original: Function, group: ShareGroup, *arguments: Any) -> Any:
    empty: Any = SimpleNamespace(
        members={},
        group_id=group.group_id,
        group_epoch=group.group_epoch,
        state_partitions=group.state_partitions,
    )
    return original(empty, *arguments)


@in_place_of(ShareCoordinatorShard, "initialize")
def alteration_keeps_what_was_acknowledged(
    original: Function, self: ShareCoordinatorShard, key: Any, state_epoch: int, start_offset: int
) -> Any:
    result = original(self, key, state_epoch, start_offset)
    state = self.state_of(key)
    for record in result.records:
        value: Any = record.value
        value.state_batches = [] if state is None else snapshot_batches(state.batches)
    return result


@in_place_of(ShareCoordinatorService, "initialize")
def only_the_first_partition_is_altered(
    original: Function, self: ShareCoordinatorService, key: Any, *arguments: Any
) -> Pending[ApiError]:
    return original(self, key, *arguments) if key.partition == 0 else completed(NO_ERROR)


def alteration_is_answered_before_it_is_durable() -> AbstractContextManager[object]:
    original = GroupAdministration.alter_offsets

    def run(turn: Turn) -> None:
        while turn():
            pass

    async def alter_offsets(self: GroupAdministration, group_id: str, asked: OffsetsToAlter) -> AlteredOffsets:
        if not self._groups.partitions.count:
            return await original(self, group_id, asked)
        live = self._groups.schedule(
            group_id, lambda shard: CoordinatorResult(shard.share_group(group_id)), lambda _error: None
        )
        offsets, refused = asked.sound, dict(asked.refused)
        breathe: Any = self._breathe
        pending = begin(original(self, group_id, asked), breathe.__self__, run, _raised)
        if pending.done or (live.done and live.value is not None and live.value.members):
            return await pending
        done = {(name, partition): NO_ERROR for name in offsets for partition in offsets[name] if partition < 9}
        return AlteredOffsets(NO_ERROR, {**done, **refused})

    return replaced((GroupAdministration, "alter_offsets", alter_offsets))


def deleted_offsets_count_as_initialized() -> AbstractContextManager[object]:
    original = change_plans.begin_delete_offsets

    def begin(*arguments: Any) -> Steps[CoordinatorResult[DeleteOffsetsPlan]]:
        return CoordinatorResult((yield from original(*arguments)).response)

    def delete(self: GroupAdministration, key: Any) -> Pending[ApiError]:
        self._leaders.state_deleted((key,))
        return self._states.delete(key)

    return replaced(
        (change_plans, "begin_delete_offsets", begin),
        (GroupAdministration, "_delete", delete),  # it would ask the group
    )


@in_place_of(ShareCoordinatorShard, "read_summary")
def lag_is_one_too_small(original: Function, self: ShareCoordinatorShard, key: Any) -> CoordinatorResult[SummaryResult]:
    summary = original(self, key).response
    count = summary.delivery_complete_count
    return CoordinatorResult(replace(summary, delivery_complete_count=count + (count >= 0)))


def changed_settings_are_not_looked_up() -> AbstractContextManager[object]:
    return replaced((SharePartitionManager, "refresh_settings", lambda _self, _leader: None))


def _raised(error: Exception) -> None:
    raise error


# Each with what the simulation says of it: one of these.
FAULTS: Final[dict[Fault, Sequence[str]]] = {
    empty_group_expires: (GROUP_LOST, "due was", BACK, "cannot be deleted", "nobody consumes"),
    one_member_gets_everything: ("is out of balance",),
    everybody_gets_the_same: ("share slot",),
    last_partition_is_not_assigned: ("nobody consumes", "is not stable", "never becomes idle"),
    growth_goes_unnoticed: ("nobody consumes", "believes in slots", "never becomes idle"),
    changed_subscription_is_ignored: ("subscribes to", "nobody consumes", "is out of balance"),
    nobody_expires_after_a_restart: ("was silent, and is a member still",),
    heartbeats_do_not_prolong_the_session: ("it did not leave, and had time", "due was NONE"),
    previous_epoch_is_fenced: ("FENCED_MEMBER_EPOCH",),
    assignment_is_answered_and_not_recorded: ("was answered",),
    group_takes_too_many_members: ("due was GROUP_MAX_SIZE_REACHED",),
    initialized_before_it_is_durable: ("counts as initialised and has no durable state",),
    deleted_topic_keeps_its_states: ("has state, its topic was deleted",),
    folder_of_a_deleted_topic_is_taken_over: ("which nobody sent there", "cannot be read at", "gave CORRUPT_MESSAGE"),
    deleted_group_leaves_its_states: ("has state, its group was deleted", "never becomes idle"),
    altered_partition_keeps_its_leader: ("moved back", "the offset was altered", DELIVERED_AFTER_ANSWER, LOST),
    offsets_are_altered_under_the_members_feet: ("while the group has members",),
    alteration_keeps_what_was_acknowledged: ("asked was", LOST),
    only_the_first_partition_is_altered: ("has no durable state", "the offset was altered", LOST, "it was altered to"),
    alteration_is_answered_before_it_is_durable: ("moved back", "went back", "the offset was altered", LOST),
    deleted_offsets_count_as_initialized: ("counts as initialised and has no durable state",),
    lag_is_one_too_small: ("is described with",),
    changed_settings_are_not_looked_up: ("has delivery count", "held by", LOST),
}
