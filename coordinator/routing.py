"""The routing of a name to a partition of a coordinator's topic, by Java's hash and as in Apache Kafka."""

from __future__ import annotations

from functools import lru_cache

from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.java_hash import java_abs, java_string_hash, java_string_hash_after


def group_partition_for(group_id: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets`, of `partitions` in all, that owns the group's records."""
    return java_abs(_group_hash(group_id)) % partitions


def share_partition_for(key: SharePartitionKey, partitions: int) -> int:
    """Return the partition of `__share_group_state`, of `partitions` in all, that has the share partition's state."""
    return java_abs(java_string_hash_after(_group_hash(key.group_id), key.text_after_group())) % partitions


# One request names thousands of partitions of a group, whose name may have 32 KB, and each heartbeat its group.
_group_hash = lru_cache(maxsize=64)(java_string_hash)
