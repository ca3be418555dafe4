"""The controller's view of the cluster, as a value: each broker receives the next one in its own time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

NO_LEADER: Final = -1


class PartitionState(NamedTuple):
    """The replicas and leader of a partition. `leader` is NO_LEADER while no member of the ISR lives."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class TopicState(NamedTuple):
    name: str
    topic_id: bytes
    partitions: tuple[PartitionState, ...]
    configs: Mapping[str, str]


class Image(NamedTuple):
    topics: Mapping[str, TopicState] = {}
    live: tuple[int, ...] = ()

    def by_id(self, topic_id: bytes) -> TopicState | None:
        return next((topic for topic in self.topics.values() if topic.topic_id == topic_id), None)

    def with_topic(self, topic: TopicState) -> Image:
        return self._replace(topics={**self.topics, topic.name: topic})

    def without_topic(self, name: str) -> Image:
        return self._replace(topics={other: topic for other, topic in self.topics.items() if other != name})
