"""The initialisation of share state for partitions of a share group's topics.

Two stages (KIP-932, ShareGroupStatePartitionMetadata): the partitions are recorded as initialising, then the share
coordinator is asked, then they are recorded as initialised, or asked again. Only initialised partitions are assigned. A
heartbeat never initialises a partition again that is recorded as initialised: that would wipe its state.
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
"""A start offset that the share partition's leader resolves, by `share.auto.offset.reset`."""
FIRST_OFFSET = 0
"""The start offset of a partition that was added to a topic that the group knows, so that its first records are not
missed.
"""


@dataclass(frozen=True, slots=True)
class StateInitialization:
    """One InitializeShareGroupState to be made. `start_offset` -1: unresolved. `again`: it was recorded before without
    an outcome, so there may be a state already.
    """

    key: SharePartitionKey
    state_epoch: int
    start_offset: int = UNRESOLVED_START_OFFSET
    again: bool = False


def existing_topics(topic_names: Iterable[str], metadata: MetadataImage) -> dict[str, TopicImage]:
    """Return those topics of these names that exist, by name."""
    return {name: topic for name in topic_names if (topic := metadata.topic(name)) is not None}


def partitions_to_initialize(
    group: ShareGroup, activity: Activity, topics: Mapping[str, TopicImage], now_ms: int, retry_interval_ms: int
) -> TopicsById:
    """Return the partitions of `topics` without share state.

    Partitions that are being initialised are included if the last request is older than the retry interval or has
    failed, or if the log was loaded since.
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
    """Return the requests to the share coordinator for all partitions of `topics`, in ascending order.

    A partition that was added to a topic begins at its first record, as in Apache Kafka 4.4.0. There the same holds for
    a new topic whose first initialisation failed; here such a topic still counts as new.
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
    """Return the partitions that have state now, and the record that says so.

    Only partitions that are still initialising count: the topic, or the group's interest in it, may have ended
    meanwhile. Failed ones remain recorded as initialising, because some may have got their state: only that record lets
    the state be deleted with the group, and otherwise its epoch would fence the next group of that name. The next
    heartbeat tries again at once.
    """
    if not initialized:
        activity.initializing_since_ms = None
        return {}, ()
    partitions = group.state_partitions
    waiting = intersection(group.initializing, topics)
    if partitions is None or not waiting:
        return {}, ()
    return waiting, (state_partitions_record(group.group_id, partitions.with_initialized(waiting)),)
