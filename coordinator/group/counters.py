"""Counters of classic groups, consumer groups and committed offsets."""

from __future__ import annotations


class GroupCounters:
    """The counters of all shards of a coordinator. As in Apache Kafka they count decisions, and none decreases. They
    outlive the shards, so that a load counts nothing twice.

    * `classic_rebalances`: generations of classic groups that got their assignment.
    * `consumer_rebalances`: group epochs that members of consumer groups raised, but for those with which members left.
    * `offset_commits`: offsets that were committed, within transactions or not.
    * `offset_expirations`: offsets whose retention was over.
    * `offset_deletions`: offsets that an OffsetDelete took away.
    """

    __slots__ = (
        "classic_rebalances",
        "consumer_rebalances",
        "offset_commits",
        "offset_deletions",
        "offset_expirations",
    )

    def __init__(self) -> None:
        self.classic_rebalances = 0
        self.consumer_rebalances = 0
        self.offset_commits = 0
        self.offset_expirations = 0
        self.offset_deletions = 0
