"""The partitions of one coordinator's internal topic: made on first use, loaded before the broker listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from shareq.broker.coordinator_runtime.batches import BatchLimit, CoordinatorLogSettings, LogBatchRoom
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.foundation.durations import Durations, Longest
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.shard import CoordinatorShard, RecordSerde

ShardT = TypeVar("ShardT", bound=CoordinatorShard)


class CoordinatorPartitions(Generic[ShardT]):
    """Owns the shards of `topic`, one for each of its partitions. `loads` is what reading their logs took; `room` is
    for shards that have to know what one operation may append.
    """

    def __init__(
        self,
        host: CoordinatorHost,
        topic: str,
        new_shard: Callable[[], ShardT],
        serde: RecordSerde,
        settings: CoordinatorLogSettings,
    ) -> None:
        self._host = host
        self._topic = topic
        self._new_shard = new_shard
        self._serde = serde
        self._settings = settings
        self._partitions: dict[int, CoordinatorPartition[ShardT]] = {}
        self.room = LogBatchRoom(serde, self._limit)
        self.loads = Durations()
        self.longest_load = Longest()

    @property
    def count(self) -> int:
        """How many partitions the topic has; 0 while it does not exist."""
        topic = self._host.metadata.topic(self._topic)
        return 0 if topic is None else topic.partitions

    def place_of(self, name: str) -> int:
        """The partition that has a group or a transactional id; 0 while the topic does not exist."""
        count = self.count
        return group_partition_for(name, count) if count else 0

    def load(self) -> None:
        """Replay every partition that has records; one whose log cannot be read refuses all operations."""
        for partition in range(self.count):
            log = self._host.logs.get(self._topic, partition)
            if log.high_watermark > log.log_start_offset:
                self.get(partition)

    def get(self, partition: int) -> CoordinatorPartition[ShardT]:
        """The partition's runtime; `partition` must be below `count`. It refuses all if another broker leads it."""
        found = self._partitions.get(partition)
        if found is None:
            host = self._host
            log = host.logs.get(self._topic, partition)
            leads = host.leaders.other_leader(self._topic, partition) is None
            began_ns = host.env.clock.now_ns()
            found = CoordinatorPartition(host.env, log, self._new_shard, self._serde, self._settings, leads=leads)
            if leads:
                self._partitions[partition] = found
                self._note_load(began_ns)
        return found

    def _limit(self) -> BatchLimit:
        return BatchLimit.of(self._settings, self._host.logs.get(self._topic, 0).max_message_bytes)

    def _note_load(self, began_ns: int) -> None:
        now_ns = self._host.env.clock.now_ns()
        self.loads.add(now_ns - began_ns)
        self.longest_load.add(now_ns - began_ns, now_ns)

    def resign(self, partition: int | None = None) -> None:
        """Refuse what is under way for a partition, or for all, and forget it; a later use begins with its log."""
        for index in list(self._partitions) if partition is None else [partition]:
            found = self._partitions.pop(index, None)
            if found is not None:
                found.resign()

    def refuse_parked(self) -> None:
        """Fail every parked request with NOT_COORDINATOR: its clients ask another broker."""
        for partition in self:
            partition.refuse_parked()

    def __iter__(self) -> Iterator[CoordinatorPartition[ShardT]]:
        """The partitions in use; the others hold nothing."""
        return iter(list(self._partitions.values()))

    def close(self) -> None:
        """Stop all timers."""
        for partition in self._partitions.values():
            partition.close()
