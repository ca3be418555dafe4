"""The expiry of committed offsets, and the rounds of checks for it.

An offset whose commit named a retention is removed after that time; any other one `offsets.retention.minutes` after its
commit, or after its group has lost the last member. It is kept while its group has members that may read the topic, or
while an open transaction has also committed an offset of the partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from shareq.coordinator.group.counters import GroupCounters
from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.offsets import rules
from shareq.coordinator.group.offsets.offset import NO_EXPIRY, CommittedOffset
from shareq.coordinator.group.offsets.records import offset_tombstone
from shareq.coordinator.group.offsets.store import OffsetStore
from shareq.coordinator.shard import CoordinatorRecord

MOST_TOMBSTONES: Final = 1_000
"""The most tombstones of expired offsets in one append, 10 µs each; the others follow."""

MOST_CHECKED: Final = 10_000
"""The number of offsets after which a check for expired ones pauses behind the current group; a group counts as one
offset more.
"""


class OffsetExpiry:
    """The checks of all groups, one every `check_interval_ms`, in portions. Owned by `GroupOffsets`."""

    __slots__ = ("_check_interval_ms", "_counters", "_groups", "_retention_ms", "_store", "_to_check", "check_at_ms")

    def __init__(
        self,
        groups: Mapping[str, Group],
        store: OffsetStore,
        retention_ms: int,
        check_interval_ms: int,
        counters: GroupCounters,
    ) -> None:
        self._groups = groups
        self._store = store
        self._retention_ms = retention_ms
        self._check_interval_ms = check_interval_ms
        self._counters = counters
        self._to_check: list[str] = []  # groups whose offsets are still to be looked at, the next one last
        self.check_at_ms: int | None = None

    def begin(self, now_ms: int) -> None:
        """Begin with the first check after an interval, since the groups were loaded."""
        self.check_at_ms = now_ms + self._check_interval_ms

    def on_deadline(self, now_ms: int, wall_ms: int) -> tuple[CoordinatorRecord, ...]:
        """Return tombstones of expired offsets, and of groups without members and offsets, if a check is due."""
        if self.check_at_ms is None or now_ms < self.check_at_ms:
            return ()
        if not self._to_check:
            self._to_check = list(self._groups)
            self._to_check.reverse()
        records: list[CoordinatorRecord] = []
        looked_at = 0
        while self._to_check and looked_at < MOST_CHECKED and len(records) < MOST_TOMBSTONES:
            group_id = self._to_check.pop()
            group = self._groups.get(group_id)
            looked_at += 1
            if group is None or not rules.has_offsets(group):
                continue
            known = sum(1 for _ in self._store.known(group_id))
            looked_at += known
            all_gone = expired(group, self._store, wall_ms, self._retention_ms)
            gone = list(islice(all_gone, MOST_TOMBSTONES))
            records += [offset_tombstone(group_id, topic, partition) for topic, partition in gone]
            self._counters.offset_expirations += len(gone)
            if group.is_empty and len(gone) == known:
                records += rules.group_tombstones(group)
            elif len(gone) == MOST_TOMBSTONES:
                self._to_check.append(group_id)  # there may be more
        self.check_at_ms = now_ms if self._to_check else now_ms + self._check_interval_ms
        return tuple(records)


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
