"""Which partitions of a share group's topics need their share state initialised, and what comes of it.

Two stages (KIP-932, ShareGroupStatePartitionMetadata): the partitions are recorded as initialising, then the share
coordinator is asked, then they are recorded as initialised, or asked again. Only initialised partitions are assigned.
What is initialised is never initialised again by a heartbeat: that would wipe its state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shareq.coordinator.group.share.group import ShareGroup, TopicPartitions, TopicsById, intersection
from shareq.coordinator.ports import MetadataImage, TopicImage
from shareq.coordinator.share.keys import SharePartitionKey

UNRESOLVED_START_OFFSET = -1
"""The leader of the share partition resolves the start offset, by `share.auto.offset.reset`."""


@dataclass(frozen=True, slots=True)
class StateInitialization:
    """One InitializeShareGroupState to be made. `start_offset` -1: unresolved. `again`: this was noted before, and what
    came of it was not, so there may be a state already.
    """

    key: SharePartitionKey
    state_epoch: int
    start_offset: int = UNRESOLVED_START_OFFSET
    again: bool = False


def existing_topics(topic_names: Iterable[str], metadata: MetadataImage) -> dict[str, TopicImage]:
    """Those of the names that are topics now, by name."""
    return {name: topic for name in topic_names if (topic := metadata.topic(name)) is not None}


def partitions_to_initialize(
    group: ShareGroup, topics: Mapping[str, TopicImage], *, retry_initializing: bool
) -> TopicsById:
    """The partitions of `topics` without share state; with `retry_initializing` also those that it is coming for."""
    missing: dict[bytes, TopicPartitions] = {}
    for name, topic in topics.items():
        initialized = group.initialized.get(topic.topic_id)
        if initialized is not None and len(initialized.partitions) == topic.partitions:
            continue  # partition counts never shrink
        wanted = set(range(topic.partitions))
        if initialized is not None:
            wanted -= initialized.partitions
        if not retry_initializing and topic.topic_id in group.initializing:
            wanted -= group.initializing[topic.topic_id].partitions
        if wanted:
            missing[topic.topic_id] = TopicPartitions(name, frozenset(wanted))
    return missing


def initializations(group: ShareGroup, topics: TopicsById, state_epoch: int) -> tuple[StateInitialization, ...]:
    """What to ask of the share coordinator for all partitions of `topics`, ascending."""
    noted = intersection(topics, group.initializing)
    return tuple(
        StateInitialization(
            SharePartitionKey(group.group_id, topic_id, partition),
            state_epoch,
            again=topic_id in noted and partition in noted[topic_id].partitions,
        )
        for topic_id in sorted(topics)
        for partition in sorted(topics[topic_id].partitions)
    )
