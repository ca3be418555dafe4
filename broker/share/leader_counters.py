"""Counters of share groups on this broker: plain integers, changed by `SharePartitionManager` and read on the loop."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from shareq.broker.foundation.durations import Durations
from shareq.broker.share.core.counters import SharePartitionCounters
from shareq.coordinator.share.keys import SharePartitionKey


class TopicShareRequests:
    """The counts of share consumers' requests for one topic: all that named it, and the failed ones."""

    __slots__ = ("acknowledgements", "failed_acknowledgements", "failed_fetches", "fetches")

    def __init__(self) -> None:
        self.fetches = 0
        self.failed_fetches = 0
        self.acknowledgements = 0
        self.failed_acknowledgements = 0


class GroupShareFetches:
    """The share fetches of one group that were answered.

    A partition is open to a fetch when it is loaded and has something to deliver again, or room below its limit of
    record locks. `ratio_sum` adds up, over the fetches, the part (0 to 1) of the requested partitions that were open at
    the end. `waited_ns` adds up the time until the first one was open, or until the fetch ended.
    """

    __slots__ = ("answered", "ratio_sum", "waited_ns")

    def __init__(self) -> None:
        self.answered = 0
        self.ratio_sum = 0.0
        self.waited_ns = 0


class ShareCounters:
    """Counters by share partition, topic and group.

    The counters of a share partition outlive its leader, so that they continue when a group's consumers leave and
    return; they end with its state. `ended` is the sum of the counters that have ended. Only existing groups and topics
    have counters by name, so invented names take no memory.
    """

    def __init__(self) -> None:
        self.partitions: dict[SharePartitionKey, SharePartitionCounters] = {}
        self.ended = SharePartitionCounters()
        self.topics: dict[bytes, TopicShareRequests] = {}
        self.groups: dict[str, GroupShareFetches] = {}
        self.breakers: dict[str, int] = {}  # by group, how often its breaker has paused it
        self.loads = Durations()
        self.expired_fetches = 0

    def of_topic(self, topic_id: bytes) -> TopicShareRequests:
        """Return the counters of a topic that exists."""
        counters = self.topics.get(topic_id)
        if counters is None:
            counters = self.topics[topic_id] = TopicShareRequests()
        return counters

    def of_group(self, group_id: str) -> GroupShareFetches:
        """Return the counters of a group that has share state."""
        counters = self.groups.get(group_id)
        if counters is None:
            counters = self.groups[group_id] = GroupShareFetches()
        return counters

    def fetched(self, topic_ids: Iterable[bytes], failed: Iterable[bytes]) -> None:
        """Count an answered share fetch for the topics it fetched from, and as failed for those in `failed`."""
        for topic_id in topic_ids:
            self.of_topic(topic_id).fetches += 1
        for topic_id in failed:
            self.of_topic(topic_id).failed_fetches += 1

    def acknowledged(self, topic_ids: Iterable[bytes], failed: Iterable[bytes]) -> None:
        """Count answered acknowledgements, of a ShareFetch or a ShareAcknowledge, as `fetched` counts fetches."""
        for topic_id in topic_ids:
            self.of_topic(topic_id).acknowledgements += 1
        for topic_id in failed:
            self.of_topic(topic_id).failed_acknowledgements += 1

    def end(self, keys: Iterable[SharePartitionKey]) -> None:
        """End the counters of share partitions whose states were removed."""
        for key in keys:
            self.groups.pop(key.group_id, None)
            self.breakers.pop(key.group_id, None)
            counters = self.partitions.pop(key, None)
            if counters is not None:
                self.ended.add(counters)

    def end_topics(self, topic_ids: Collection[bytes]) -> None:
        """Remove the counters of deleted topics."""
        for topic_id in topic_ids:
            self.topics.pop(topic_id, None)
        for key in [key for key in self.partitions if key.topic_id in topic_ids]:
            self.ended.add(self.partitions.pop(key))
