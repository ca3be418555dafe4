"""OffsetDelete: the named offsets, collected a few at a time before the group is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from shareq.coordinator.group.offsets.records import offset_tombstone
from shareq.coordinator.shard import CoordinatorRecord, RecordSerde
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData

Knows = Callable[[str, int], bool]
"""A function that returns True if the group has an offset, or a pending one, of a topic's partition."""


class DeletedOffsets(NamedTuple):
    """An error for the whole request, or the topics that were left alone because members subscribe to them."""

    error: ErrorCode = ErrorCode.NONE
    subscribed: frozenset[str] = frozenset()


class PreparedDeletion:
    """An OffsetDelete that is prepared: the `topics` named, and a tombstone for each offset that the group has now."""

    def __init__(self, group_id: str, knows: Knows, serde: RecordSerde) -> None:
        self.group_id = group_id
        self.topics: dict[str, None] = {}
        self._knows = knows
        self._encode = serde.encode
        self._found: dict[tuple[str, int], tuple[CoordinatorRecord, RecordData]] = {}

    def add(self, topic: str, partitions: Iterable[int]) -> None:
        """Add partitions of a topic that exists."""
        for partition in partitions:
            self.topics[topic] = None
            at = topic, partition
            if at not in self._found and self._knows(topic, partition):
                record = offset_tombstone(self.group_id, topic, partition)
                self._found[at] = record, RecordData(*self._encode(record))

    def left(
        self, knows: Knows, subscribed: frozenset[str]
    ) -> tuple[tuple[CoordinatorRecord, ...], tuple[RecordData, ...]]:
        """Return the tombstones of offsets that still exist, except for topics that members subscribe to, and their
        encoded form.
        """
        found = [each for at, each in self._found.items() if at[0] not in subscribed and knows(*at)]
        return tuple(record for record, _ in found), tuple(encoded for _, encoded in found)
