"""The group coordinator's part in deleting share groups, and in altering and deleting their offsets (KIP-932).

Each takes two steps around calls to the share coordinator, so that a crash in between leaves a record of the unfinished
operation, and a repetition completes it. The shell schedules the first step; when it is durable and has no error it
makes the calls that the plan names, and schedules the second step with their outcome. Only a group without members can
be changed; that is checked again in the second step where it matters. Steps that go through many topics pause.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from shareq.coordinator.group.share.group import (
    MANY_TOPICS,
    ShareGroup,
    StatePartitions,
    TopicPartitions,
    TopicsById,
    intersection,
    pauses,
    united,
)
from shareq.coordinator.group.share.initialization import StateInitialization
from shareq.coordinator.group.share.records import (
    assignment_epoch_tombstone,
    group_tombstone,
    state_partitions_record,
    state_partitions_steps,
)
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, Steps
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode


@dataclass(frozen=True, slots=True)
class DeleteGroupPlan:
    """The share states to delete before the group itself is deleted."""

    error: ApiError
    delete: tuple[SharePartitionKey, ...] = ()


@dataclass(frozen=True, slots=True)
class AlterOffsetsPlan:
    """The share states to initialise again, those of `topics`, and the partitions that cannot be."""

    error: ApiError
    topics: TopicsById = field(default_factory=dict)
    unknown: frozenset[tuple[str, int]] = frozenset()
    """Topic name and partition of those that do not exist. Their error is UNKNOWN_TOPIC_OR_PARTITION."""
    group_id: str = ""
    state_epoch: int = 0
    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    def initializations(self) -> Iterator[StateInitialization]:
        """Yield the initialisations in the order of `offsets`, each made when it is needed, since there may be many."""
        return (
            StateInitialization(SharePartitionKey(self.group_id, topic_id, partition), self.state_epoch, offset)
            for topic_id, topic in self.topics.items()
            for partition, offset in self.offsets[topic.topic_name].items()
            if partition in topic.partitions
        )


@dataclass(frozen=True, slots=True)
class DeleteOffsetsPlan:
    """The share states to delete, by topic. A topic in neither mapping is left out of the answer."""

    error: ApiError
    delete: Mapping[str, tuple[SharePartitionKey, ...]] = field(default_factory=dict)
    refused: Mapping[str, ApiError] = field(default_factory=dict)


def not_empty(group_id: str) -> ApiError:
    return ApiError(ErrorCode.NON_EMPTY_GROUP, f"Share group {group_id} has members.")


def begin_delete_group(group: ShareGroup, metadata: MetadataImage) -> Steps[CoordinatorResult[DeleteGroupPlan]]:
    """Plan the deletion of all share states of the group. Errors: NON_EMPTY_GROUP."""
    if group.members:
        return CoordinatorResult(DeleteGroupPlan(not_empty(group.group_id)))
    partitions = group.state_partitions
    if partitions is None:
        return CoordinatorResult(DeleteGroupPlan(NO_ERROR))
    topics = _existing(united(partitions.initializing, partitions.initialized), metadata)
    yield from pauses(partitions.size)
    topics = united(topics, _whole_topics(partitions.deleting, metadata))
    yield from pauses(partitions.size)
    deleting = {topic_id: topic.topic_name for topic_id, topic in topics.items()}
    record = yield from state_partitions_steps(group.group_id, StatePartitions(deleting=deleting))
    keys = yield from _keys(group.group_id, topics)
    return CoordinatorResult(DeleteGroupPlan(NO_ERROR, keys), (record,))


def finish_delete_group(group: ShareGroup, error: ErrorCode) -> CoordinatorResult[ApiError]:
    """Delete the group if its share states were deleted; `error` is the first error of their deletion, or NONE.

    Errors: `error`, NON_EMPTY_GROUP.
    """
    if error is not ErrorCode.NONE:
        return CoordinatorResult(ApiError(error, f"Share state of group {group.group_id} could not be deleted."))
    # A member joined, or came and went, or a client altered offsets meanwhile: there is share state again that nothing
    # would remember, and its epoch might fence a later group of that name.
    if group.members or group.initializing or group.initialized:
        return CoordinatorResult(not_empty(group.group_id))
    records = (
        assignment_epoch_tombstone(group.group_id),
        state_partitions_record(group.group_id, None),
        group_tombstone(group.group_id),
    )
    return CoordinatorResult(NO_ERROR, records)


def begin_alter_offsets(
    group: ShareGroup, offsets: Mapping[str, Mapping[int, int]], metadata: MetadataImage
) -> Steps[CoordinatorResult[AlterOffsetsPlan]]:
    """Plan new start offsets, given by topic name and partition. Existing states will be wiped. Errors:
    NON_EMPTY_GROUP.

    The group epoch stays: it was raised when the last member left, so earlier leaders are fenced.
    """
    if group.members:
        return CoordinatorResult(AlterOffsetsPlan(not_empty(group.group_id)))
    topics: dict[bytes, TopicPartitions] = {}
    unknown: set[tuple[str, int]] = set()
    for at, (name, by_partition) in enumerate(offsets.items(), 1):
        topic = metadata.topic(name)
        count = 0 if topic is None else topic.partitions
        there = frozenset(partition for partition in by_partition if 0 <= partition < count)
        unknown.update((name, partition) for partition in by_partition if partition not in there)
        if topic is not None and there:
            topics[topic.topic_id] = TopicPartitions(name, there)
        if at % MANY_TOPICS == 0:
            yield
    records: tuple[CoordinatorRecord, ...] = ()
    if topics:
        before = group.state_partitions or StatePartitions()
        partitions = before.with_initializing(topics)
        yield from pauses(partitions.size)
        # A deletion that was cut off has the whole topic to delete; what is altered is perhaps only a part of it.
        unfinished = {t: name for t, name in before.deleting.items() if not _covers(partitions, t, metadata)}
        partitions = replace(partitions, deleting={**partitions.deleting, **unfinished})
        yield from pauses(partitions.size)
        records = ((yield from state_partitions_steps(group.group_id, partitions)),)
    plan = AlterOffsetsPlan(NO_ERROR, topics, frozenset(unknown), group.group_id, group.group_epoch, offsets)
    return CoordinatorResult(plan, records)


def finish_alter_offsets(
    group: ShareGroup, plan: AlterOffsetsPlan, failed: Collection[SharePartitionKey]
) -> Steps[CoordinatorResult[None]]:
    """Record that all states but the `failed` ones exist. Failed partitions that had no state before remain
    initialising; the others have their old state, or the new one if only the answer was lost.
    """
    partitions = group.state_partitions
    if partitions is None:
        return CoordinatorResult(None)
    failed_of: dict[bytes, set[int]] = {}
    for key in failed:
        failed_of.setdefault(key.topic_id, set()).add(key.partition)
    done: TopicsById = {
        topic_id: TopicPartitions(topic.topic_name, kept)
        for topic_id, topic in plan.topics.items()
        if (kept := topic.partitions.difference(failed_of.get(topic_id, ())))
    }
    topics = len(plan.topics) + partitions.size
    yield from pauses(topics)
    known = intersection(plan.topics, partitions.initialized)
    yield from pauses(topics)
    done = united(done, known)
    yield from pauses(topics)
    after = yield from partitions.confirmed(done)
    yield from pauses(topics)
    if after == partitions:
        return CoordinatorResult(None)
    yield from pauses(topics)
    return CoordinatorResult(None, ((yield from state_partitions_steps(group.group_id, after)),))


def begin_delete_offsets(
    group: ShareGroup, topic_names: Iterable[str], metadata: MetadataImage
) -> Steps[CoordinatorResult[DeleteOffsetsPlan]]:
    """Plan the deletion of all share states of these topics. Errors: NON_EMPTY_GROUP; of a topic:
    UNKNOWN_TOPIC_OR_PARTITION.
    """
    if group.members:
        return CoordinatorResult(DeleteOffsetsPlan(not_empty(group.group_id)))
    delete: dict[str, tuple[SharePartitionKey, ...]] = {}
    refused: dict[str, ApiError] = {}
    partitions = group.state_partitions
    moving: dict[bytes, str] = {}
    for at, name in enumerate(topic_names, 1):
        topic = metadata.topic(name)
        if at % MANY_TOPICS == 0:
            yield
        if topic is None:
            refused[name] = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic does not exist.")
        elif partitions is None:
            continue
        elif topic.topic_id in partitions.deleting:
            moving[topic.topic_id] = name
            delete[name] = yield from _keys(group.group_id, _whole_topics({topic.topic_id: name}, metadata))
        elif topic.topic_id in partitions.initialized:
            moving[topic.topic_id] = name
            known: TopicsById = {topic.topic_id: partitions.initialized[topic.topic_id]}
            if topic.topic_id in partitions.initializing:  # what is noted so may have a state, too
                known = united({topic.topic_id: partitions.initializing[topic.topic_id]}, known)
            delete[name] = yield from _keys(group.group_id, known)
        else:
            refused[name] = ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The share group has no offsets of the topic to delete."
            )
    records: tuple[CoordinatorRecord, ...] = ()
    if partitions is not None and moving:
        # Nothing stays noted as initialising: an initialisation under way must not count for what is deleted after it.
        left = partitions.without_topics(moving)
        after = replace(left, deleting={**partitions.deleting, **moving})
        yield from pauses(partitions.size)
        if after != partitions:
            records = ((yield from state_partitions_steps(group.group_id, after)),)
    return CoordinatorResult(DeleteOffsetsPlan(NO_ERROR, delete, refused), records)


def finish_delete_offsets(group: ShareGroup, deleted_topic_ids: Collection[bytes]) -> Steps[CoordinatorResult[None]]:
    """Record that the states of these topics are deleted. Other topics remain deleting, so that a repeated request
    tries again.
    """
    partitions = group.state_partitions
    if partitions is None or partitions.deleting.keys().isdisjoint(deleted_topic_ids):
        return CoordinatorResult(None)
    left = {t: name for t, name in partitions.deleting.items() if t not in deleted_topic_ids}
    record = yield from state_partitions_steps(group.group_id, replace(partitions, deleting=left))
    return CoordinatorResult(None, (record,))


def topics_deleted(group: ShareGroup, topics: Collection[bytes]) -> Steps[tuple[CoordinatorRecord, ...]]:
    """Return the record, if one is needed, that removes the states of topics with these ids."""
    before = group.state_partitions
    if before is None or (left := before.without_topics(topics)).size == before.size:
        return ()
    yield from pauses(before.size)
    return ((yield from state_partitions_steps(group.group_id, left)),)


def _covers(partitions: StatePartitions, topic_id: bytes, metadata: MetadataImage) -> bool:
    """Return True if every partition of the topic has state, or will have it, so that no other state needs to be
    deleted.
    """
    topic = metadata.topic_by_id(topic_id)
    known = [
        each[topic_id].partitions for each in (partitions.initializing, partitions.initialized) if topic_id in each
    ]
    return topic is None or len(frozenset[int]().union(*known)) == topic.partitions


def _existing(topics: TopicsById, metadata: MetadataImage) -> TopicsById:
    return {topic_id: topic for topic_id, topic in topics.items() if metadata.topic_by_id(topic_id) is not None}


def _whole_topics(topic_ids: Iterable[bytes], metadata: MetadataImage) -> TopicsById:
    """Return all partitions of those topics that exist."""
    images = {topic_id: metadata.topic_by_id(topic_id) for topic_id in topic_ids}
    return {
        topic_id: TopicPartitions(image.name, frozenset(range(image.partitions)))
        for topic_id, image in images.items()
        if image is not None
    }


def _keys(group_id: str, topics: TopicsById) -> Steps[tuple[SharePartitionKey, ...]]:
    keys: list[SharePartitionKey] = []
    for topic_id in sorted(topics):
        for partition in sorted(topics[topic_id].partitions):
            keys.append(SharePartitionKey(group_id, topic_id, partition))
            if len(keys) % MANY_TOPICS == 0:
                yield
    return tuple(keys)
