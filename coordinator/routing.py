"""The routing of a name to a partition of a coordinator's topic: as Java hashes, and as Apache Kafka routes."""

from __future__ import annotations

from shareq.protocol.java_hash import java_abs, java_string_hash, java_string_hash_after

__all__ = ["group_partition_for", "java_abs", "java_string_hash", "java_string_hash_after"]


def group_partition_for(group_id: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets`, of `partitions` in all, that owns the group's records."""
    return java_abs(java_string_hash(group_id)) % partitions
