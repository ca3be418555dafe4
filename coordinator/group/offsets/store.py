"""The committed offsets of groups, and the pending offsets of open transactions.

Changed by replay alone, in service as at load. Offsets of a transaction are records of `__consumer_offsets` with its
producer id; they count once the transaction's marker in that log is replayed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from shareq.coordinator.group.offsets.offset import NO_PRODUCER, CommittedOffset

Offsets = dict[str, dict[int, CommittedOffset]]
"""The offsets by topic name and partition. A topic without partitions is absent."""

_NONE: Mapping[str, Mapping[int, CommittedOffset]] = {}
_NOTHING: Collection[tuple[str, int]] = ()


class OffsetStore:
    """All offsets of a shard, which owns it.

    An offset of an open transaction is pending under its producer id. When the transaction is committed, it becomes the
    group's offset, unless the log has a later commit of the partition; when the transaction is aborted, it is dropped.
    """

    def __init__(self) -> None:
        self._committed: dict[str, Offsets] = {}
        self._pending: dict[int, dict[str, Offsets]] = {}
        self._open: dict[str, dict[tuple[str, int], set[int]]] = {}
        """Group to the partitions with pending offsets, and whose they are; no empty ones."""

    # -- reading

    def of(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """Return a group's offsets by topic name and partition. The caller must not keep the result."""
        return self._committed.get(group_id, _NONE)

    def group_ids(self) -> list[str]:
        return list(self._committed)

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self.of(group_id).get(topic, {}).get(partition)

    def pending(self, group_id: str) -> Collection[tuple[str, int]]:
        """Return the topics and partitions for which an open transaction has committed an offset of the group."""
        return self._open.get(group_id, _NOTHING)

    def knows(self, group_id: str, topic: str, partition: int) -> bool:
        """Return True if the group has an offset of the partition, or a pending one."""
        return partition in self.of(group_id).get(topic, ()) or (topic, partition) in self.pending(group_id)

    def known(self, group_id: str) -> Iterator[tuple[str, int]]:
        """Return each topic and partition of which the group has an offset, or a pending one."""
        committed = self.of(group_id)
        for topic, partitions in committed.items():
            for partition in partitions:
                yield topic, partition
        for topic, partition in self.pending(group_id):
            if partition not in committed.get(topic, ()):
                yield topic, partition

    def all(self) -> Iterator[tuple[str, str, int, CommittedOffset]]:
        """Return all offsets, pending ones included, each with its group, topic and partition."""
        for table in (self._committed, *self._pending.values()):
            for group_id, topics in table.items():
                for topic, partitions in topics.items():
                    for partition, committed in partitions.items():
                        yield group_id, topic, partition, committed

    def of_topic(self, topic: str) -> Iterator[tuple[str, int, CommittedOffset]]:
        """Return all offsets of one topic, pending ones included, each with its group and partition."""
        for table in (self._committed, *self._pending.values()):
            for group_id, topics in table.items():
                for partition, committed in topics.get(topic, {}).items():
                    yield group_id, partition, committed

    # -- replaying

    def put(
        self, group_id: str, topic: str, partition: int, committed: CommittedOffset, producer_id: int = NO_PRODUCER
    ) -> None:
        """Store a committed offset; with a producer id, as pending in its transaction."""
        if producer_id == NO_PRODUCER:
            self._committed.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed
            return
        pending = self._pending.setdefault(producer_id, {})
        pending.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed
        self._open.setdefault(group_id, {}).setdefault((topic, partition), set()).add(producer_id)

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Replay a tombstone: remove the partition's offset, and all pending ones of the partition."""
        _remove(self._committed, group_id, topic, partition)
        for producer_id in self._open.get(group_id, {}).get((topic, partition), ()):
            _remove(self._pending[producer_id], group_id, topic, partition)
        self._close(group_id, (topic, partition))

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """End the producer's transaction; harmless if it has committed no offsets.

        If a partition has an offset of the transaction and another one, the record later in the log counts: compaction
        keeps only that one, and a restart must lead to the same offset.
        """
        for group_id, topics in self._pending.pop(producer_id, {}).items():
            for topic, partitions in topics.items():
                for partition, pending in partitions.items():
                    self._close(group_id, (topic, partition), producer_id)
                    committed = self.get(group_id, topic, partition)
                    if commit and (committed is None or pending.record_offset > committed.record_offset):
                        self.put(group_id, topic, partition, pending)

    def _close(self, group_id: str, at: tuple[str, int], producer_id: int | None = None) -> None:
        """Remove the pending offsets of a partition, of all producers or only of this one."""
        partitions = self._open.get(group_id)
        if partitions is None or at not in partitions:
            return
        producers = partitions[at]
        if producer_id is None:
            producers.clear()
        producers.discard(NO_PRODUCER if producer_id is None else producer_id)
        if not producers:
            del partitions[at]
        if not partitions:
            del self._open[group_id]


def _remove(table: dict[str, Offsets], group_id: str, topic: str, partition: int) -> None:
    topics = table.get(group_id, {})
    partitions = topics.get(topic, {})
    if partitions.pop(partition, None) is None:
        return
    if not partitions:
        del topics[topic]
    if not topics:
        del table[group_id]
