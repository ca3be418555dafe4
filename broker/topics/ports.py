"""What the rest of the broker asks of the metadata. `MetadataStore` serves it, the sole author of its topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from shareq.broker.metadata.store import NewTopic
from shareq.coordinator.ports import TopicImage, TopicNames


class TopicMetadata(TopicNames, Protocol):
    """The topics that exist, a way to create one, and news of them.

    Listeners are called on the loop's thread, after the change is durable and this port shows it.
    """

    def create_topic(self, topic: NewTopic) -> TopicImage:
        """Create a topic durably. Raises ValueError for an illegal or taken name, OSError."""

    def on_topic_created(self, listener: Callable[[TopicImage], None]) -> None:
        """Call back with each new topic."""

    def on_topic_grown(self, listener: Callable[[TopicImage, int], None]) -> None:
        """Call back with each topic that has more partitions, and how many it had before."""

    def on_topic_deleted(self, listener: Callable[[TopicImage], None]) -> None:
        """Call back with each topic that is gone."""
