"""The partitions of a coordinator's topic that keep what belongs to a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.coordinator.routing import group_partition_for, share_partition_for
from shareq.coordinator.share.keys import SharePartitionKey


class Routes(NamedTuple):
    """A partition's number by name and number of partitions. A route has to last as long as the topic's records."""

    share_partition: Callable[[SharePartitionKey, int], int]
    group: Callable[[str, int], int]
    """The route of groups and transactional ids."""


AS_APACHE_KAFKA: Final = Routes(share_partition_for, group_partition_for)
"""So that its brokers find the same names in the same logs."""
