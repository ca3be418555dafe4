"""Routes: the partition of a coordinator's topic that has the records of a group, transactional id or share
partition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.coordinator.routing import group_partition_for, share_partition_for
from shareq.coordinator.share.keys import SharePartitionKey


class Routes(NamedTuple):
    """Functions that return a partition's number for a name and the number of partitions. A route may not change
    while the topic has records.
    """

    share_partition: Callable[[SharePartitionKey, int], int]
    group: Callable[[str, int], int]
    """The route of groups and transactional ids."""


AS_APACHE_KAFKA: Final = Routes(share_partition_for, group_partition_for)
"""Apache Kafka's routes, so that its brokers find each name in the same partition."""
