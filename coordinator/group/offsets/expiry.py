"""The expiry of a group's offsets.

An offset whose commit named a retention is removed after that time; any other one `offsets.retention.minutes` after its
commit, or after its group has lost the last member. It is kept while its group has members that may read the topic, or
while an open transaction has also committed an offset of the partition.
"""

from __future__ import annotations

from collections.abc import Iterator

from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.offsets import rules
from shareq.coordinator.group.offsets.offset import NO_EXPIRY, CommittedOffset
from shareq.coordinator.group.offsets.store import OffsetStore


def expired(group: Group, store: OffsetStore, wall_ms: int, retention_ms: int) -> Iterator[tuple[str, int]]:
    """Return the topics and partitions whose offsets have expired."""
    offsets = store.of(group.group_id)
    read = rules.read_topics(group) if offsets else None
    if read is None:
        return
    pending = store.pending(group.group_id)
    for topic, partitions in offsets.items():
        if topic in read:
            continue
        for partition, committed in partitions.items():
            if _is_over(group, committed, wall_ms, retention_ms) and (topic, partition) not in pending:
                yield topic, partition


def _is_over(group: Group, committed: CommittedOffset, wall_ms: int, retention_ms: int) -> bool:
    from_ms = rules.expires_from_ms(group, committed.commit_ms)
    if from_ms is None:
        return False
    if committed.expire_ms != NO_EXPIRY:
        return wall_ms >= committed.expire_ms
    return wall_ms - from_ms >= retention_ms
