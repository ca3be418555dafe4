"""Administration of groups: each operation goes through the group coordinator, the share coordinator, and the group
coordinator again.

`shareq.coordinator.group.share.change_plans` describes the two steps at the group coordinator, and the reason for
them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import NamedTuple

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import gathered
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import LOOK
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.groups.ports import EndedLog, ShareLeaders, ShareStates
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.topics.ports import CoordinatorTopics
from shareq.coordinator.group.groups import GroupKind
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.group.share.change_plans import AlterOffsetsPlan, DeleteGroupPlan, DeleteOffsetsPlan
from shareq.coordinator.group.share.group import ShareGroup, TopicsById
from shareq.coordinator.group.share.initialization import StateInitialization
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.shard import CoordinatorResult, Steps
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.share_state import UNSET, lag_of
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.list_groups import ListedGroup
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE

_UNKNOWN = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text_of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
_NOT_EMPTY = ApiError(ErrorCode.NON_EMPTY_GROUP, text_of(ErrorCode.NON_EMPTY_GROUP))
_NO_OFFSET = ApiError(ErrorCode.INVALID_REQUEST, "The start offset is neither an offset nor -1.")


class OffsetsToAlter(NamedTuple):
    """New start offsets by topic name and partition, all of which exist; and the errors of those that cannot be
    altered.
    """

    sound: dict[str, dict[int, int]]
    refused: dict[tuple[str, int], ApiError]


@dataclass(frozen=True, slots=True)
class AlteredOffsets:
    """An error for the whole request, or the outcome of each topic name and partition."""

    error: ApiError
    partitions: dict[tuple[str, int], ApiError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeletedOffsets:
    """An error for the whole request, or the outcome of each topic by name, and the errors of topics without a state
    to delete.

    Other topics are not in the answer.
    """

    error: ApiError
    topics: Mapping[str, ApiError] = field(default_factory=dict)
    refused: Mapping[str, ApiError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """A share partition as administrators see it. `start_offset` and `lag` are -1 while they are unknown.

    The lag may be known while the start offset is not: then no record is finished yet. (Apache Kafka's tools show no
    lag in that case.)
    """

    start_offset: int = -1
    leader_epoch: int = 0
    lag: int = -1
    error: ErrorCode = ErrorCode.NONE


_UNKNOWN_OFFSET = ShareOffset()


@dataclass(frozen=True, slots=True)
class ListedGroups:
    """The groups, and the error if some may be missing, or NONE."""

    groups: Sequence[ListedGroup]
    error: ErrorCode = ErrorCode.NONE


class AskedTopic(NamedTuple):
    """The share partitions of one topic, and the pending summaries of their states; there are none if the topic is
    unknown.
    """

    name: str
    partitions: Sequence[int]
    summaries: list[Pending[SummaryResult]]


class GroupAdministration:
    """Administrators' operations on groups. Answers come once their outcome is durable."""

    def __init__(
        self,
        groups: GroupCoordinatorService,
        internal_topics: CoordinatorTopics,
        metadata: MetadataImage,
        lookup: PartitionLookup[EndedLog],
        states: ShareStates,
        leaders: ShareLeaders,
        env: Environment,
    ) -> None:
        self._groups = groups
        self._internal_topics = internal_topics
        self._metadata = metadata
        self._lookup = lookup
        self._states = states
        self._leaders = leaders
        self._now = env.clock.now_ms
        self._breathe = env.budget.breathe

    # -- all groups

    async def list_groups(self, states: Collection[str], types: Collection[str]) -> ListedGroups:
        """Return the groups of all shards that have one of the states and one of the types. An empty filter matches
        all.
        """

        def list_all(shard: GroupCoordinatorShard) -> CoordinatorResult[ListedGroups]:
            return CoordinatorResult(ListedGroups(shard.list_groups(states, types).response))

        listings: list[Pending[ListedGroups]] = []
        for partition in self._groups.partitions:
            listings.append(partition.run(list_all, lambda error: ListedGroups((), error)))
            await self._breathe(LOOK)  # a partition may have many
        groups: list[ListedGroup] = []
        error = ErrorCode.NONE
        for listing in await gathered(listings, self._breathe):
            groups += listing.groups
            error = error or listing.error
        return ListedGroups(groups, error)

    def begin_delete_group(self, group_id: str) -> Pending[DeleteGroupPlan | ApiError]:
        """Begin to delete a group with all its data; pass the result to `finish_delete_groups`.

        For a group that is not a share group, this deletes it. Errors: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, the
        coordinator's.
        """
        if not self._groups.partitions.count:
            return completed(ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found."))

        def begin(
            shard: GroupCoordinatorShard,
        ) -> CoordinatorResult[DeleteGroupPlan | ApiError] | Steps[CoordinatorResult[DeleteGroupPlan | ApiError]]:
            if shard.group_kind(group_id) is GroupKind.SHARE:
                return shard.share.begin_delete_group(group_id)
            return shard.delete_group(group_id)

        return self._groups.schedule(group_id, begin, _log_failed)

    async def finish_delete_groups(
        self, group_ids: Sequence[str], begun: list[Pending[DeleteGroupPlan | ApiError]]
    ) -> list[ApiError]:
        """Return the outcome of each group of `begin_delete_group`, in this order, once all are deleted or kept.

        The states of share groups are deleted first; if that fails, their groups stay. Errors: those of the first
        step, those of the states. `begun` is emptied.
        """
        plans = await gathered(begun, self._breathe)
        deleted = (plan for plan in plans if isinstance(plan, DeleteGroupPlan))
        results = await self._remove((key, partial(self._delete, key)) for plan in deleted for key in plan.delete)
        ended: list[Pending[ApiError]] = []
        for group_id, plan in zip(group_ids, plans, strict=True):
            if not isinstance(plan, DeleteGroupPlan):
                ended.append(completed(plan))
            elif plan.error:
                ended.append(completed(plan.error))
            else:
                error = _first_error(list(islice(results, len(plan.delete)))).code
                ended.append(self._finish_delete_group(group_id, error))
                await self._breathe(len(plan.delete))
            await self._breathe()
        return await gathered(ended, self._breathe)

    def _finish_delete_group(self, group_id: str, error: ErrorCode) -> Pending[ApiError]:
        return self._groups.schedule(
            group_id, lambda shard: shard.share.finish_delete_group(group_id, error), _log_failed
        )

    # -- offsets of share groups

    async def ask_offsets(self, group_id: str, topics: Mapping[str, Sequence[int]]) -> list[AskedTopic]:
        """Begin to read start offsets and lags of share partitions, by topic name. The group need not exist."""
        asked: list[AskedTopic] = []
        for name, partitions in topics.items():
            image = self._metadata.topic(name)
            asked.append(AskedTopic(name, partitions, []))
            if image is not None:
                for partition in partitions:
                    key = SharePartitionKey(group_id, image.topic_id, partition)
                    asked[-1].summaries.append(self._states.read_summary(key))
                    await self._breathe()
            await self._breathe()
        return asked

    async def offsets_of(self, asked: AskedTopic) -> list[ShareOffset]:
        """Return the start offset and lag of each requested partition, when all have arrived."""
        if not asked.summaries:
            return [_UNKNOWN_OFFSET] * len(asked.partitions)
        offsets: list[ShareOffset] = []
        for partition, summary in zip(asked.partitions, await gathered(asked.summaries, self._breathe), strict=True):
            offsets.append(self._share_offset(asked.name, partition, summary))
            await self._breathe()
        return offsets

    def topics_with_offsets(self, group_id: str) -> Pending[TopicsById | ErrorCode]:
        """Return the topics and partitions for which the group has share state; none for a group that does not
        exist.

        NOT_COORDINATOR if another broker has this state, or if its log cannot be written.
        """
        if not self._groups.partitions.count:
            return completed({})
        return self._groups.schedule(
            group_id, lambda shard: shard.share.initialized_partitions(group_id), lambda error: error
        )

    def _share_offset(self, topic: str, partition: int, summary: SummaryResult) -> ShareOffset:
        if summary.error is not ErrorCode.NONE:
            return _UNKNOWN_OFFSET  # Apache Kafka shows no error here either
        start, first = summary.start_offset, summary.first_offset
        if first == UNSET:
            return ShareOffset(start, summary.leader_epoch)
        if summary.end != UNSET:
            return ShareOffset(start, summary.leader_epoch, lag_of(summary.end, first, summary.delivery_complete_count))
        log = self._lookup.log(topic, partition)
        if log is ErrorCode.NOT_LEADER_OR_FOLLOWER:  # the leader alone knows where the log ends
            return ShareOffset(start, summary.leader_epoch)
        if isinstance(log, ErrorCode):  # deleted meanwhile
            return ShareOffset(error=log)
        lag = lag_of(log.high_watermark, first, summary.delivery_complete_count)
        return ShareOffset(start, summary.leader_epoch, lag)

    async def offsets_to_alter(self, offsets: Mapping[str, Mapping[int, int]]) -> OffsetsToAlter:
        """Return the offsets for `alter_offsets`, by topic name and partition, and the refused ones.

        An offset of -1 stands for the one that `share.auto.offset.reset` gives. A lower one is refused
        (INVALID_REQUEST), and so is one of a missing topic or partition (UNKNOWN_TOPIC_OR_PARTITION).
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
                await self._breathe()
            await self._breathe()
        return asked

    async def alter_offsets(self, group_id: str, asked: OffsetsToAlter) -> AlteredOffsets:
        """Give share partitions a new start offset; forget their records in flight.

        The group is created if necessary. For errors of the whole request see `ShareGroups.begin_alter_offsets`.
        Takes ownership of `asked`.
        """
        error = await self._internal_topics.made(CONSUMER_OFFSETS, SHARE_GROUP_STATE)
        if error:
            return AlteredOffsets(ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message))
        now = self._now()
        plan = await self._groups.schedule(
            group_id,
            lambda shard: shard.share.begin_alter_offsets(group_id, asked.sound, now),
            lambda error: AlterOffsetsPlan(_log_failed(error)),
        )
        outcomes = asked.refused
        outcomes.update(dict.fromkeys(plan.unknown, _UNKNOWN))  # deleted meanwhile
        if plan.error or not plan.topics:
            return AlteredOffsets(plan.error, outcomes)
        results = await self._remove((state.key, partial(self._initialize, state)) for state in plan.initializations())
        failed: set[SharePartitionKey] = set()
        for state, result in zip(plan.initializations(), results, strict=True):
            outcomes[plan.topics[state.key.topic_id].topic_name, state.key.partition] = result
            if result:
                failed.add(state.key)
            await self._breathe()
        outcome = await self._finish(group_id, lambda shard: shard.share.finish_alter_offsets(group_id, plan, failed))
        return AlteredOffsets(outcome, outcomes)

    async def delete_offsets(self, group_id: str, topic_names: Collection[str]) -> DeletedOffsets:
        """Delete the group's share state of whole topics.

        For errors of the whole request see `ShareGroups.begin_delete_offsets`; the errors of a topic are those of
        its states.
        """
        if not self._groups.partitions.count:
            error = ErrorCode.GROUP_ID_NOT_FOUND if group_id else ErrorCode.INVALID_GROUP_ID
            return DeletedOffsets(ApiError(error, f"Group {group_id} not found."))
        plan = await self._groups.schedule(
            group_id,
            lambda shard: shard.share.begin_delete_offsets(group_id, topic_names),
            lambda error: DeleteOffsetsPlan(_log_failed(error)),
        )
        if plan.error or not plan.delete:
            return DeletedOffsets(plan.error, refused=plan.refused)
        keys = (key for keys in plan.delete.values() for key in keys)
        results = await self._remove((key, partial(self._delete, key)) for key in keys)
        by_name: dict[str, ApiError] = {}
        gone: set[bytes] = set()
        for name, deleted in plan.delete.items():
            by_name[name] = _first_error(list(islice(results, len(deleted))))
            if not by_name[name]:
                gone.update(key.topic_id for key in deleted)
            await self._breathe(1 + len(deleted))
        outcome = await self._finish(group_id, lambda shard: shard.share.finish_delete_offsets(group_id, gone))
        return DeletedOffsets(outcome, by_name, plan.refused)

    # -- the parts

    def _initialize(self, state: StateInitialization) -> Pending[ApiError]:
        """Begin to initialize a state. In the same turn, the leader that has the old one in memory drops it."""
        self._leaders.state_replaced((state.key,))
        return self._states.initialize(state.key, state.state_epoch, state.start_offset)

    def _delete(self, key: SharePartitionKey) -> Pending[ApiError]:
        """Begin to delete a state, unless its group has meanwhile asked for a new one (NON_EMPTY_GROUP)."""
        group = self._share_group(key.group_id)
        for topics in () if group is None else (group.initializing, group.initialized):
            if key.topic_id in topics and key.partition in topics[key.topic_id].partitions:
                return completed(_NOT_EMPTY)
        self._leaders.state_deleted((key,))
        return self._states.delete(key)

    async def _remove(
        self, removals: Iterable[tuple[SharePartitionKey, Callable[[], Pending[ApiError]]]]
    ) -> Iterator[ApiError]:
        """Begin to delete states, each in a turn in which it owes no dead letters; return the outcomes in order.

        The letters of all states are awaited at the same time. A state stays if its group has got members meanwhile
        (NON_EMPTY_GROUP).
        """
        begun: list[Pending[ApiError]] = []
        owing: list[tuple[int, SharePartitionKey, Callable[[], Pending[ApiError]]]] = []
        for key, removal in removals:
            written = self._leaders.letters_written(key)
            if written.done and not written.value:
                begun.append(removal())
            else:
                owing.append((len(begun), key, removal))
                begun.append(written)
            await self._breathe()
        for at, key, removal in owing:
            # Other letters were awaited after these were written, so these are checked again.
            error = await begun[at] or await self._leaders.letters_written(key)
            group = self._share_group(key.group_id)
            if not error and group is not None and group.members:
                error = _NOT_EMPTY
            begun[at] = completed(error) if error else removal()
        return iter(await gathered(begun, self._breathe))

    def _share_group(self, group_id: str) -> ShareGroup | None:
        return self._groups.partition(group_id).shard.share_group(group_id)

    def _finish(
        self, group_id: str, operation: Callable[[GroupCoordinatorShard], Steps[CoordinatorResult[None]]]
    ) -> Pending[ApiError]:
        """Take the second step of an operation, which fails only if the coordinator's log cannot be written."""

        def finish(shard: GroupCoordinatorShard) -> Steps[CoordinatorResult[ApiError]]:
            result = yield from operation(shard)
            return CoordinatorResult(NO_ERROR, result.records, encoded=result.encoded)

        return self._groups.schedule(group_id, finish, _log_failed)


def _first_error(results: Iterable[ApiError]) -> ApiError:
    return next(filter(None, results), NO_ERROR)


def _log_failed(error: ErrorCode) -> ApiError:
    return ApiError(error, "The coordinator's log could not be written.")
