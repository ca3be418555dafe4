"""Administration of groups: each operation goes through the group coordinator, the share coordinator, and back.

The two steps at the group coordinator, and why there are two, are in `shareq.coordinator.group.share.administration`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.groups.ports import EndedLog, ShareLeaders, ShareStates
from shareq.broker.topics.internal import InternalTopics
from shareq.broker.topics.lookup import PartitionLookup
from shareq.coordinator.group.groups import GroupKind
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.group.share.administration import AlterOffsetsPlan, DeleteGroupPlan, DeleteOffsetsPlan
from shareq.coordinator.group.share.group import TopicsById
from shareq.coordinator.group.share.initialization import StateInitialization
from shareq.coordinator.ports import MetadataImage, TopicImage
from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.share_state import UNSET, lag_of
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.list_groups import ListedGroup
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE

_UNKNOWN = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text_of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
_NO_OFFSET = ApiError(ErrorCode.INVALID_REQUEST, "The start offset is neither an offset nor -1.")


class OffsetsToAlter(NamedTuple):
    """New start offsets by topic name and partition, all of which exist; and what cannot be altered, and why."""

    sound: dict[str, dict[int, int]]
    refused: dict[tuple[str, int], ApiError]


@dataclass(frozen=True, slots=True)
class AlteredOffsets:
    """An error for the whole request, or what became of each topic name and partition."""

    error: ApiError
    partitions: Mapping[tuple[str, int], ApiError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeletedOffsets:
    """An error for the whole request, or by topic name what became of its states, and why there are none to delete.

    What is in neither is not answered.
    """

    error: ApiError
    topics: Mapping[str, ApiError] = field(default_factory=dict)
    refused: Mapping[str, ApiError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """A share partition as administration sees it. `start_offset` and `lag` are -1 while they are not known.

    Apache Kafka's tools show no lag without a start offset. Ours do: a window of which nothing is finished counts.
    """

    start_offset: int = -1
    leader_epoch: int = 0
    lag: int = -1
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class ListedGroups:
    """The groups, and NONE or why some may be missing."""

    groups: Sequence[ListedGroup]
    error: ErrorCode = ErrorCode.NONE


InitializeEach = Callable[
    [Sequence[StateInitialization], Callable[[StateInitialization], Pending[ApiError]]], Pending[list[ApiError]]
]
"""Initialises every state with the function it is given; what came of them, in this order."""


def _at_once(
    states: Sequence[StateInitialization], initialize: Callable[[StateInitialization], Pending[ApiError]]
) -> Pending[list[ApiError]]:
    return gather([initialize(state) for state in states])


class GroupAdministration:
    """What administrators ask of groups. Answers come when what they say is durable."""

    def __init__(
        self,
        groups: GroupCoordinatorService,
        internal_topics: InternalTopics,
        metadata: MetadataImage,
        lookup: PartitionLookup[EndedLog],
        states: ShareStates,
        leaders: ShareLeaders,
        clock: Clock,
    ) -> None:
        self._groups = groups
        self._internal_topics = internal_topics
        self._metadata = metadata
        self._lookup = lookup
        self._states = states
        self._leaders = leaders
        self._now = clock.now_ms

    # -- all groups

    def list_groups(self, states: Collection[str], types: Collection[str]) -> Pending[ListedGroups]:
        """The groups of all shards in one of the states and of one of the types; empty filters let all pass."""
        listings = [
            partition.schedule(
                lambda partition=partition: CoordinatorResult(  # type: ignore[misc]
                    ListedGroups(partition.shard.list_groups(states, types).response)
                ),
                lambda error: ListedGroups((), error),
            )
            for partition in self._groups.partitions
        ]

        def merge(listings: list[ListedGroups]) -> ListedGroups:
            errors = [listing.error for listing in listings if listing.error is not ErrorCode.NONE]
            groups = [group for listing in listings for group in listing.groups]
            return ListedGroups(groups, errors[0] if errors else ErrorCode.NONE)

        return gather(listings).then(merge)

    def delete_group(self, group_id: str) -> Pending[ApiError]:
        """Delete a group with everything it has. Errors: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, the coordinators'."""
        if not self._groups.partitions.count:
            return completed(ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found."))
        if self._groups.partition(group_id).shard.group_kind(group_id) is not GroupKind.SHARE:
            return self._groups.schedule(group_id, lambda shard: shard.delete_group(group_id), _log_failed)
        plan = self._groups.schedule(
            group_id,
            lambda shard: shard.share.begin_delete_group(group_id),
            lambda error: DeleteGroupPlan(_log_failed(error)),
        )
        return plan.chain(lambda plan: self._delete_share_group(group_id, plan))

    def _delete_share_group(self, group_id: str, plan: DeleteGroupPlan) -> Pending[ApiError]:
        if plan.error:
            return completed(plan.error)

        def finish(results: list[ApiError]) -> Pending[ApiError]:
            error = _first_error(results).code
            return self._groups.schedule(
                group_id, lambda shard: shard.share.finish_delete_group(group_id, error), _log_failed
            )

        return self._delete_states(plan.delete).chain(finish)

    # -- offsets of share groups

    def describe_offsets(self, group_id: str, name: str, partitions: Sequence[int]) -> Pending[list[ShareOffset]]:
        """Start offset and lag of share partitions of one topic, in this order. Needs no group."""
        topic = self._metadata.topic(name)
        if topic is None:
            return completed([ShareOffset()] * len(partitions))
        return gather([self._describe_partition(group_id, topic, partition) for partition in partitions])

    def topics_with_offsets(self, group_id: str) -> Pending[dict[str, list[int]] | ErrorCode]:
        """Topic names and partitions that the group has share state of; nothing for a group that does not exist.

        NOT_COORDINATOR where another broker knows that, or the log cannot be written that it would have to be in.
        """
        if not self._groups.partitions.count:
            return completed({})
        initialized: Pending[TopicsById | ErrorCode] = self._groups.schedule(
            group_id, lambda shard: shard.share.initialized_partitions(group_id), lambda error: error
        )
        return initialized.then(_partitions_by_name)

    def _describe_partition(self, group_id: str, topic: TopicImage, partition: int) -> Pending[ShareOffset]:
        def describe(summary: SummaryResult) -> ShareOffset:
            if summary.error is not ErrorCode.NONE:
                return ShareOffset()  # Apache Kafka shows no error here either
            start, first = summary.start_offset, summary.first_offset
            if first == UNSET:
                return ShareOffset(start, summary.leader_epoch)
            log = self._lookup.log(topic.name, partition)
            if log is ErrorCode.NOT_LEADER_OR_FOLLOWER:  # where the log ends is the leader's to say
                return ShareOffset(start, summary.leader_epoch)
            if isinstance(log, ErrorCode):  # deleted meanwhile
                return ShareOffset(error=log)
            lag = lag_of(log.high_watermark, first, summary.delivery_complete_count)
            return ShareOffset(start, summary.leader_epoch, lag)

        return self._states.read_summary(SharePartitionKey(group_id, topic.topic_id, partition)).then(describe)

    def offsets_to_alter(
        self, offsets: Mapping[str, Mapping[int, int]], full: Callable[[int], bool]
    ) -> Generator[None, None, OffsetsToAlter]:
        """What `alter_offsets` is asked for, by topic name and partition. Pauses when it has counted so many that
        `full` returns true.

        An offset of -1 leaves it to `share.auto.offset.reset`, a lower one is refused (INVALID_REQUEST), and so is what
        does not exist (UNKNOWN_TOPIC_OR_PARTITION).
        """
        asked = OffsetsToAlter({}, {})
        for name, by_partition in offsets.items():
            topic = self._metadata.topic(name)
            count = 0 if topic is None else topic.partitions
            for partition, offset in by_partition.items():
                if offset < UNSET:
                    asked.refused[name, partition] = _NO_OFFSET
                elif not 0 <= partition < count:
                    asked.refused[name, partition] = _UNKNOWN
                else:
                    asked.sound.setdefault(name, {})[partition] = offset
                if full(1):
                    yield
            if full(1):
                yield
        return asked

    def alter_offsets(
        self, group_id: str, asked: OffsetsToAlter, each: InitializeEach = _at_once
    ) -> Pending[AlteredOffsets]:
        """Give share partitions a new start offset; what was in flight is forgotten.

        Creates the group if need be. Errors for all: see `ShareGroups.begin_alter_offsets`. `each` has the new states
        written, all at once or some at a time.
        """

        def begin(error: ApiError) -> Pending[AlteredOffsets]:
            if error:
                return completed(AlteredOffsets(ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message)))
            now = self._now()
            plan = self._groups.schedule(
                group_id,
                lambda shard: shard.share.begin_alter_offsets(group_id, asked.sound, now),
                lambda error: AlterOffsetsPlan(_log_failed(error)),
            )
            return plan.chain(lambda plan: self._alter_offsets(group_id, plan, asked.refused, each))

        return self._internal_topics.with_topics((CONSUMER_OFFSETS, SHARE_GROUP_STATE), begin)

    def _alter_offsets(
        self,
        group_id: str,
        plan: AlterOffsetsPlan,
        refused: dict[tuple[str, int], ApiError],
        each: InitializeEach,
    ) -> Pending[AlteredOffsets]:
        unknown = dict.fromkeys(plan.unknown, _UNKNOWN)  # deleted meanwhile
        if plan.error or not plan.initialize:
            return completed(AlteredOffsets(plan.error, ChainMap(unknown, refused)))

        def finish(results: list[ApiError]) -> Pending[AlteredOffsets]:
            by_key = {each.key: result for each, result in zip(plan.initialize, results, strict=True)}
            failed = {key for key, result in by_key.items() if result}
            altered = {(plan.topics[key.topic_id].topic_name, key.partition): by_key[key] for key in by_key}
            finished = self._finish(group_id, lambda shard: shard.share.finish_alter_offsets(group_id, plan, failed))
            return finished.then(lambda outcome: AlteredOffsets(outcome, ChainMap(altered, unknown, refused)))

        return each(plan.initialize, self._initialize).chain(finish)

    def _initialize(self, state: StateInitialization) -> Pending[ApiError]:
        """A new state, and in the same turn the leader that has the old one in memory gives it up."""

        def initialize() -> Pending[ApiError]:
            self._leaders.state_replaced((state.key,))
            return self._states.initialize(state.key, state.state_epoch, state.start_offset)

        return self._after_letters(state.key, initialize)

    def delete_offsets(self, group_id: str, topic_names: Collection[str]) -> Pending[DeletedOffsets]:
        """Forget whole topics. Errors: see `ShareGroups.begin_delete_offsets`; of a topic: the states'."""
        if not self._groups.partitions.count:
            error = ErrorCode.GROUP_ID_NOT_FOUND if group_id else ErrorCode.INVALID_GROUP_ID
            return completed(DeletedOffsets(ApiError(error, f"Group {group_id} not found.")))
        plan = self._groups.schedule(
            group_id,
            lambda shard: shard.share.begin_delete_offsets(group_id, topic_names),
            lambda error: DeleteOffsetsPlan(_log_failed(error)),
        )
        return plan.chain(lambda plan: self._delete_offsets(group_id, plan))

    def _delete_offsets(self, group_id: str, plan: DeleteOffsetsPlan) -> Pending[DeletedOffsets]:
        if plan.error or not plan.delete:
            return completed(DeletedOffsets(plan.error, refused=plan.refused))

        def finish(results: list[ApiError]) -> Pending[DeletedOffsets]:
            by_name = dict(zip(plan.delete, results, strict=True))
            gone = {key.topic_id for name, keys in plan.delete.items() for key in keys if not by_name[name]}
            finished = self._finish(group_id, lambda shard: shard.share.finish_delete_offsets(group_id, gone))
            return finished.then(lambda outcome: DeletedOffsets(outcome, by_name, plan.refused))

        deleted = [self._delete_states(keys).then(_first_error) for keys in plan.delete.values()]
        return gather(deleted).chain(finish)

    # -- the parts

    def _delete_states(self, keys: Sequence[SharePartitionKey]) -> Pending[list[ApiError]]:
        def delete(key: SharePartitionKey) -> Pending[ApiError]:
            self._leaders.state_deleted((key,))
            return self._states.delete(key)

        return gather([self._after_letters(key, lambda key=key: delete(key)) for key in keys])  # type: ignore[misc]

    def _after_letters(self, key: SharePartitionKey, operation: Callable[[], Pending[ApiError]]) -> Pending[ApiError]:
        """Do what removes a state, when the dead letters that it owes are written; and only if the group got no members
        while these were awaited.
        """
        written = self._leaders.letters_written(key)
        if written.done and not written.value:
            return operation()

        def go_on(error: ApiError) -> Pending[ApiError]:
            group = self._groups.partition(key.group_id).shard.share_group(key.group_id)
            if not error and group is not None and group.members:
                error = ApiError(ErrorCode.NON_EMPTY_GROUP, text_of(ErrorCode.NON_EMPTY_GROUP))
            return completed(error) if error else operation()

        return written.chain(go_on)

    def _finish(
        self, group_id: str, operation: Callable[[GroupCoordinatorShard], CoordinatorResult[None]]
    ) -> Pending[ApiError]:
        """A second step that can fail only with the coordinator's log."""
        return self._groups.schedule(
            group_id, lambda shard: CoordinatorResult(NO_ERROR, operation(shard).records), _log_failed
        )


def _first_error(results: Iterable[ApiError]) -> ApiError:
    return next(filter(None, results), NO_ERROR)


def _partitions_by_name(topics: TopicsById | ErrorCode) -> dict[str, list[int]] | ErrorCode:
    if isinstance(topics, ErrorCode):
        return topics
    return {topic.topic_name: sorted(topic.partitions) for topic in topics.values()}


def _log_failed(error: ErrorCode) -> ApiError:
    return ApiError(error, "The coordinator's log could not be written.")
