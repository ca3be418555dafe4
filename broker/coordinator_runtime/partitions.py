"""The partitions of one coordinator's internal topic, which are created on first use, or when the broker takes one
over.

During a start each is loaded in one turn, before the broker listens, since nothing else waits for the loop. Later
loads run in steps, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from shareq.broker.coordinator_runtime.batches import BatchLimit, CoordinatorLogSettings, LogBatchRoom
from shareq.broker.coordinator_runtime.one_in_steps import LoadTurns
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.foundation.durations import Durations, Longest
from shareq.broker.foundation.pending import Pending
from shareq.coordinator.shard import CoordinatorShard, RecordSerde

ShardT = TypeVar("ShardT", bound=CoordinatorShard)


class CoordinatorPartitions(Generic[ShardT]):
    """The owner of the shards of `topic`, one for each of its partitions.

    `loads` has the durations of loads, each from its request on; `room` shows a shard how much one operation may
    append.
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
        self._turns = LoadTurns()
        self.loads = Durations()
        self.longest_load = Longest()

    @property
    def count(self) -> int:
        """The topic's number of partitions; 0 while it does not exist."""
        topic = self._host.metadata.topic(self._topic)
        return 0 if topic is None else topic.partitions

    def place_of(self, name: str) -> int:
        """Return the partition that has a group or a transactional id; 0 if the topic does not exist."""
        count = self.count
        return self._host.routes.group(name, count) if count else 0

    def load(self) -> None:
        """Replay every partition that has records; one whose log cannot be read refuses all operations."""
        for partition in range(self.count):
            if self._leads(partition):
                log = self._host.logs.get(self._topic, partition)
                if log.high_watermark > log.log_start_offset:
                    self._make(partition, CoordinatorPartition.load_now)

    def get(self, partition: int) -> CoordinatorPartition[ShardT]:
        """Return the partition's runtime; `partition` must be below `count`. If another broker leads it, it refuses
        all operations.

        At its first use, operations wait for its load.
        """
        found = self._partitions.get(partition)
        return self._make(partition, CoordinatorPartition.load) if found is None else found

    def take_over(self, partition: int) -> Pending[bool]:
        """Load a partition that this broker leads from now on, from its new log.

        The answer comes at the end of the load: False if the log cannot be read, or the partition is given up
        before. Until then operations get COORDINATOR_LOAD_IN_PROGRESS, for a time that depends on where the log is
        stored.
        """
        self.resign(partition)
        return self._make(partition, lambda made: made.load(refuses=True)).loaded

    def _make(
        self, partition: int, load: Callable[[CoordinatorPartition[ShardT]], None]
    ) -> CoordinatorPartition[ShardT]:
        host, leads = self._host, self._leads(partition)
        log = host.logs.get(self._topic, partition)
        made = CoordinatorPartition(
            host.env, log, self._new_shard, self._serde, self._settings, self._turns, leads=leads
        )
        if leads:
            self._partitions[partition] = made
            began_ns = host.env.clock.now_ns()
            load(made)
            made.loaded.on_complete(lambda _loaded: self._note_load(began_ns))
        return made

    def _leads(self, partition: int) -> bool:
        return self._host.leaders.other_leader(self._topic, partition) is None

    def _limit(self) -> BatchLimit:
        return BatchLimit.of(self._settings, self._host.logs.get(self._topic, 0).max_message_bytes)

    def _note_load(self, began_ns: int) -> None:
        now_ns = self._host.env.clock.now_ns()
        self.loads.add(now_ns - began_ns)
        self.longest_load.add(now_ns - began_ns, now_ns)

    def resign(self, partition: int | None = None) -> None:
        """Refuse the pending operations of one partition, or of all, and forget the partition; the next use loads it
        from its log.
        """
        for index in list(self._partitions) if partition is None else [partition]:
            found = self._partitions.pop(index, None)
            if found is not None:
                found.resign()

    def refuse_parked(self) -> None:
        """Fail every parked request with NOT_COORDINATOR, so that its client asks another broker."""
        for partition in self:
            partition.refuse_parked()

    def __iter__(self) -> Iterator[CoordinatorPartition[ShardT]]:
        """Return the partitions in use; others have no state."""
        return iter(list(self._partitions.values()))

    def close(self) -> None:
        """Stop all timers."""
        for partition in self._partitions.values():
            partition.close()
