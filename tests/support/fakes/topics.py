from __future__ import annotations

from collections.abc import Callable, Sequence

from shareq.broker.foundation.loop.commit_gate import CommitGate
from shareq.broker.metadata.store import NewTopic
from shareq.coordinator.ports import TopicImage


class MemoryTopics:
    """A `TopicMetadata`. The ids are 1, 2, 3, ... as 16 bytes; `failure` is raised by the next creations.

    Listeners are called when a change becomes visible. `created` are the names in order.
    """

    def __init__(self, **partitions: int) -> None:
        self._topics: dict[str, TopicImage] = {}
        self._number = 0
        self.gate = CommitGate(lambda call: call())
        self._changed: list[Callable[[Sequence[TopicImage]], None]] = []
        self._deleted: list[Callable[[Sequence[TopicImage]], None]] = []
        self.failure: OSError | None = None
        self.created: list[str] = []
        for name, count in partitions.items():
            self.add(name, count)

    def topic(self, name: str) -> TopicImage | None:
        return self._topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        assert len(topic_id) == 16
        return next((each for each in self._topics.values() if each.topic_id == topic_id), None)

    def topics(self) -> Sequence[TopicImage]:
        return tuple(self._topics.values())

    def create_topics(self, topics: Sequence[NewTopic]) -> list[TopicImage]:
        return [self.create_topic(topic) for topic in topics]

    def create_topic(self, topic: NewTopic) -> TopicImage:
        if self.failure is not None:
            raise self.failure
        assert topic.name not in self._topics
        assert topic.partitions > 0
        self._number += 1
        image = TopicImage(topic.name, self._number.to_bytes(16, "big"), topic.partitions, topic.internal)
        self._topics[topic.name] = image
        self.created.append(topic.name)
        for listener in self._changed:
            listener([image])
        return image

    def add(self, name: str, partitions: int = 1) -> TopicImage:
        return self.create_topic(NewTopic(name, partitions, internal=name.startswith("__")))

    def grow(self, name: str, partitions: int) -> TopicImage:
        assert partitions > self._topics[name].partitions
        image = self._topics[name] = self._topics[name]._replace(partitions=partitions)
        for listener in self._changed:
            listener([image])
        return image

    def lag_behind(self, name: str, partitions: int) -> None:
        assert partitions < self._topics[name].partitions
        self._topics[name] = self._topics[name]._replace(partitions=partitions)

    def delete(self, name: str) -> TopicImage:
        image = self._topics.pop(name)
        for listener in self._deleted:
            listener([image])
        return image

    def on_topics_changed(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        self._changed.append(listener)

    def on_topics_deleted(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        self._deleted.append(listener)
