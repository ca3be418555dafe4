"""Topics in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shareq.broker.foundation.loop.commit_gate import CommitGate
from shareq.broker.metadata.store import NewTopic
from shareq.coordinator.ports import TopicImage


class MemoryTopics:
    """`TopicMetadata`. The ids are 1, 2, 3, ... as 16 bytes; `failure` is raised by the next creations.

    Listeners are called when the change shows. `created` are the names in order.
    """

    def __init__(self, **partitions: int) -> None:
        self._topics: dict[str, TopicImage] = {}
        self._number = 0
        self.gate = CommitGate(lambda call: call())
        self._created: list[Callable[[TopicImage], None]] = []
        self._grown: list[Callable[[TopicImage, int], None]] = []
        self._deleted: list[Callable[[TopicImage], None]] = []
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
        for listener in self._created:
            listener(image)
        return image

    def add(self, name: str, partitions: int = 1) -> TopicImage:
        return self.create_topic(NewTopic(name, partitions, internal=name.startswith("__")))

    def grow(self, name: str, partitions: int) -> TopicImage:
        before = self._topics[name]
        assert partitions > before.partitions
        image = self._topics[name] = before._replace(partitions=partitions)
        for listener in self._grown:
            listener(image, before.partitions)
        return image

    def lag_behind(self, name: str, partitions: int) -> None:
        """The topic is known with fewer partitions than it has, as a mirror may have it."""
        assert partitions < self._topics[name].partitions
        self._topics[name] = self._topics[name]._replace(partitions=partitions)

    def delete(self, name: str) -> TopicImage:
        image = self._topics.pop(name)
        for listener in self._deleted:
            listener(image)
        return image

    def on_topic_created(self, listener: Callable[[TopicImage], None]) -> None:
        self._created.append(listener)

    def on_topic_grown(self, listener: Callable[[TopicImage, int], None]) -> None:
        self._grown.append(listener)

    def on_topic_deleted(self, listener: Callable[[TopicImage], None]) -> None:
        self._deleted.append(listener)
