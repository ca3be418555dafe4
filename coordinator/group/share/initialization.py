"""The initialisation of share state for partitions of a share group's topics.

Two stages (KIP-932, ShareGroupStatePartitionMetadata): the partitions are recorded as initialising, then the share
coordinator is asked, then they are recorded as initialised, or asked again. Only initialised partitions are assigned.
What is initialised is never initialised again by a heartbeat: that would wipe its state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shareq.coordinator.group.share.group import Activity, ShareGroup, TopicPartitions, TopicsById, intersection
from shareq.coordinator.group.share.records import state_partitions_record
from shareq.coordinator.ports import MetadataImage, TopicImage
from shareq.coordinator.shard import CoordinatorRecord
from shareq.coordinator.share.keys import SharePartitionKey

UNRESOLVED_START_OFFSET = -1
"""The leader of the share partition resolves the start offset, by `share.auto.offset.reset`."""
FIRST_OFFSET = 0
"""The start of a partition that was added to a topic the group knows: what came before it was noticed is not missed."""


@dataclass(frozen=True, slots=True)
class StateInitialization:
    """One InitializeShareGroupState to be made. `start_offset` -1: unresolved. `again`: this was recorded before
    without its outcome, so there may be a state already.
    """

    key: SharePartitionKey
    state_epoch: int
    start_offset: int = UNRESOLVED_START_OFFSET
    again: bool = False


def existing_topics(topic_names: Iterable[str], metadata: MetadataImage) -> dict[str, TopicImage]:
    """Return the existing topics of these names, by name."""
    return {name: topic for name in topic_names if (topic := metadata.topic(name)) is not None}


def partitions_to_initialize(
    group: ShareGroup, activity: Activity, topics: Mapping[str, TopicImage], now_ms: int, retry_interval_ms: int
) -> TopicsById:
    """Return the partitions of `topics` without share state.

    Partitions being initialised are included if the last request is older than the retry interval, and at once if it
    has failed, or the log was loaded since.
    """
    since = activity.initializing_since_ms
    overdue = since is None or now_ms >= since + retry_interval_ms
    missing: dict[bytes, TopicPartitions] = {}
    for name, topic in topics.items():
        initialized = group.initialized.get(topic.topic_id)
        if initialized is not None and len(initialized.partitions) == topic.partitions:
            continue  # partition counts never shrink
        wanted = set(range(topic.partitions))
        if initialized is not None:
            wanted -= initialized.partitions
        if not overdue and topic.topic_id in group.initializing:
            wanted -= group.initializing[topic.topic_id].partitions
        if wanted:
            missing[topic.topic_id] = TopicPartitions(name, frozenset(wanted))
    return missing


def initializations(group: ShareGroup, topics: TopicsById, state_epoch: int) -> tuple[StateInitialization, ...]:
    """Return the requests to the share coordinator for all partitions of `topics`, ascending.

    A partition that was added to a topic begins at its first record, as in Apache Kafka 4.4.0. There, a new topic whose
    first initialisation failed begins so, too: here it is still a new topic.
    """
    noted = intersection(topics, group.initializing)

    def initialization(topic_id: bytes, partition: int) -> StateInitialization:
        again = topic_id in noted and partition in noted[topic_id].partitions
        added = topic_id in group.initialized or (topic_id in group.initializing and not again)
        return StateInitialization(
            SharePartitionKey(group.group_id, topic_id, partition),
            state_epoch,
            FIRST_OFFSET if added else UNRESOLVED_START_OFFSET,
            again=again,
        )

    return tuple(
        initialization(topic_id, partition)
        for topic_id in sorted(topics)
        for partition in sorted(topics[topic_id].partitions)
    )


def initialization_ended(
    group: ShareGroup, activity: Activity, topics: TopicsById, initialized: bool
) -> tuple[TopicsById, tuple[CoordinatorRecord, ...]]:
    """Return the partitions that have state now, and the record of it.

    Only partitions still initialising count: the topic, or the group's interest in it, may have ended meanwhile. Failed
    ones stay recorded as initialising, because some may have got their state all the same: only that record lets it be
    deleted with the group, and otherwise its epoch would fence the next group of that name. The next heartbeat tries
    again at once.
    """
    if not initialized:
        activity.initializing_since_ms = None
        return {}, ()
    partitions = group.state_partitions
    waiting = intersection(group.initializing, topics)
    if partitions is None or not waiting:
        return {}, ()
    return waiting, (state_partitions_record(group.group_id, partitions.with_initialized(waiting)),)
