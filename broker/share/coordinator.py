"""The share coordinator of this broker: routes each share partition to its partition of `__share_group_state`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.coordinator_runtime.batches import MAX_BATCH_BYTES, CoordinatorLogSettings
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.foundation.durations import Durations, Longest
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.broker.foundation.pending import Pending, completed, join
from shareq.broker.foundation.service import Service
from shareq.broker.foundation.turn_budget import PIECE
from shareq.broker.share.core.effects import StateBatch, WriteState
from shareq.broker.share.persister import PersistedState
from shareq.coordinator.ports import TopicImage
from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.share.delays import NO_DELAYS, Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.results import ReadResult, SummaryResult
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.share_state import ShareState
from shareq.coordinator.share.staged import NONE_STAGED, Staged
from shareq.coordinator.share.state_batches import StateBatchLike
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.records.batch import HEADER_SIZE
from shareq.protocol.records.compression import Compression
from shareq.protocol.share import TERMINAL

T = TypeVar("T", ApiError, ReadResult, SummaryResult)

OwedLetters = dict[SharePartitionKey, list[StateBatch]]
"""The archiving batches of states that are about to be removed."""

# One record for the widest window, 1,000,000 offsets, if each has another state than its neighbours: 20 MB.
# This is more than readers request at a time, so the record is a batch of its own, which every fetch returns whole.
MAX_STATE_BYTES: Final = 32 * 1024 * 1024


def share_coordinator_settings(config: BrokerConfig) -> ShareCoordinatorSettings:
    """Return the `share.coordinator.*` properties that the shard uses."""
    return ShareCoordinatorSettings(
        snapshot_update_records_per_snapshot=config.share_coordinator_snapshot_update_records_per_snapshot,
        cold_partition_snapshot_interval_ms=config.share_coordinator_cold_partition_snapshot_interval_ms,
        max_record_bytes=MAX_STATE_BYTES,
        max_batch_bytes=MAX_BATCH_BYTES,
    )


def share_state_log_settings(config: BrokerConfig) -> CoordinatorLogSettings:
    """Return the `share.coordinator.*` properties for writing and reading the batches of `__share_group_state`."""
    return CoordinatorLogSettings(
        Compression(config.share_coordinator_state_topic_compression_codec),
        config.share_coordinator_load_buffer_size,
        least_max_batch_bytes=MAX_STATE_BYTES + HEADER_SIZE,
    )


class ShareCoordinatorService(Service):
    """All operations on durable share-partition state: `Persister` of this process's leaders, `ShareStates` of its
    groups.

    `writes` has the durations of WriteShareGroupState, from the call until the write was durable or refused.
    """

    def __init__(
        self,
        host: CoordinatorHost,
        settings: ShareCoordinatorSettings,
        log_settings: CoordinatorLogSettings,
        write_letters: Callable[[OwedLetters], None] = lambda _owed: None,
    ) -> None:
        self._metadata = host.metadata
        self._route = host.routes.share_partition
        self._believes_absence = host.believes_absence
        self._write_letters = write_letters
        self._now_ns = host.env.clock.now_ns
        self._breathe = host.env.budget.breathe
        self._begin = beginner(host.env.budget, in_ticks(host.env.clock.call_soon))
        self.writes = Durations()
        self.longest_write = Longest()
        self._routes: dict[bytes, dict[SharePartitionKey, int]] = {}  # by topic id
        wall_ms = host.env.clock.wall_ms
        self.partitions: CoordinatorPartitions[ShareCoordinatorShard] = CoordinatorPartitions(
            host,
            SHARE_GROUP_STATE,
            lambda: ShareCoordinatorShard(self._metadata, wall_ms, settings),
            SHARE_STATE_SERDE,
            log_settings,
        )

    # -- the five operations; each answers when it is durable

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Pending[ApiError]:
        """Initialize the state, as InitializeShareGroupState does."""
        return self._schedule(key, lambda shard: shard.initialize(key, state_epoch, start_offset), ApiError)

    def initialize_once(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        replaced: Callable[[Iterable[SharePartitionKey]], None],
        *,
        again: bool = False,
    ) -> Pending[ApiError]:
        def operation(shard: ShareCoordinatorShard) -> CoordinatorResult[ApiError]:
            result = shard.initialize_once(key, state_epoch, start_offset, again=again)
            if result.records:
                replaced((key,))
            return result

        return self._schedule(key, operation, ApiError)

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Pending[ReadResult]:
        """Read the state, as ReadShareGroupState does."""
        return self._schedule(key, lambda shard: shard.read(key, leader_epoch), ReadResult)

    def write(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        leader_epoch: int | None,
        start_offset: int,
        delivery_complete_count: int,
        batches: Iterable[StateBatchLike],
        delays: Sequence[Delay] = NO_DELAYS,
        staged: Sequence[Staged] = NONE_STAGED,
    ) -> Pending[ApiError]:
        """Write the state, as WriteShareGroupState does. That request carries no `delays` and nothing `staged`: only
        this broker's leaders pass them.
        """
        began_ns = self._now_ns()
        pending = self._write(
            key=key,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=delivery_complete_count,
            batches=batches,
            delays=delays,
            staged=staged,
        )
        pending.on_complete(lambda _result: self._note_write(began_ns))
        return pending

    def _write(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        leader_epoch: int | None,
        start_offset: int,
        delivery_complete_count: int,
        batches: Iterable[StateBatchLike],
        delays: Sequence[Delay],
        staged: Sequence[Staged],
    ) -> Pending[ApiError]:
        partition = self._partition_of(key)
        if partition is None:
            return completed(_refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return partition.schedule(
            lambda: partition.shard.write(
                key,
                state_epoch,
                leader_epoch,
                start_offset,
                delivery_complete_count,
                batches,
                delays=delays,
                staged=staged,
            ),
            _refused,
        )

    def _note_write(self, began_ns: int) -> None:
        now_ns = self._now_ns()
        self.writes.add(now_ns - began_ns)
        self.longest_write.add(now_ns - began_ns, now_ns)

    def read_summary(self, key: SharePartitionKey) -> Pending[SummaryResult]:
        return self._schedule(key, lambda shard: shard.read_summary(key), SummaryResult)

    def delete(self, key: SharePartitionKey) -> Pending[ApiError]:
        return self._schedule(key, lambda shard: shard.delete(key), ApiError)

    def state_of(self, key: SharePartitionKey) -> ShareState | None:
        """Return the state that this broker has in memory, for reading only."""
        partition = self._partition_of(key)
        return None if partition is None else partition.shard.state_of(key)

    # -- transactions

    def place_of(self, key: SharePartitionKey) -> int | None:
        """Return the partition of `__share_group_state` that has the state; None without that topic."""
        count = self.partitions.count
        return self._route(key, count) if count else None

    @property
    def has_staged(self) -> bool:
        """True if there are acknowledgements in transactions."""
        return any(partition.shard.has_staged for partition in self.partitions)

    def staged_by(self, place: int, producer_id: int, producer_epoch: int) -> Pending[list[SharePartitionKey] | None]:
        """Return the share partitions of this partition of the topic with acknowledgements that the end of the
        producer's transaction ends, as far as they are durable; None if the partition is not led here now.
        """
        partition = self.partitions.get(place)

        def staged(shard: ShareCoordinatorShard) -> CoordinatorResult[list[SharePartitionKey] | None]:
            return CoordinatorResult(shard.staged_by(producer_id, producer_epoch))

        return partition.run(staged, lambda _error: None)

    # -- start, stop and news

    def keys(self) -> list[SharePartitionKey]:
        """Return the share partitions whose states are loaded."""
        return [key for _, key in self._all_states()]

    def recover(self) -> None:
        """Load the log when the broker starts, and finish deletions that a crash cut off."""
        self.partitions.load()
        self._finish_deletions()

    def _finish_deletions(self) -> None:
        """Forget the states of topics that metadata does not know (a crash cut off their deletion), if the ground says
        that such topics no longer exist.
        """
        if not self._believes_absence:
            return
        states = self._all_states()
        gone = frozenset(key.topic_id for _, key in states if self._metadata.topic_by_id(key.topic_id) is None)
        if gone:
            self._hand_over_letters((shard, key) for shard, key in states if key.topic_id in gone)
            self._forget(gone)

    def leader_moved(self, topic: str, partition: int) -> None:
        """Give up a partition of the states' topic; the next use loads its log again."""
        if topic == SHARE_GROUP_STATE:
            self.partitions.resign(partition)

    def close(self) -> None:
        """Stop all timers."""
        self.partitions.close()

    def topics_go(self, topics: Sequence[TopicImage]) -> None:
        """Have the dead letters written that are owed by the states that `topics_deleted` will forget."""
        if any(topic.name == SHARE_GROUP_STATE for topic in topics):
            self._hand_over_letters(self._all_states())
            return
        shards = [partition.shard for partition in self.partitions]
        topic_ids = [topic.topic_id for topic in topics]
        self._hand_over_letters((shard, key) for shard in shards for key in shard.share_partitions_of(topic_ids))

    def states_of(self, topic_id: bytes) -> int:
        """Return how many share partitions of a topic have a state."""
        return sum(partition.shard.count_of(topic_id) for partition in self.partitions)

    def _all_states(self) -> list[tuple[ShareCoordinatorShard, SharePartitionKey]]:
        shards = [partition.shard for partition in self.partitions]
        return [(shard, key) for shard in shards for key in shard.share_partitions()]

    def _hand_over_letters(self, states: Iterable[tuple[ShareCoordinatorShard, SharePartitionKey]]) -> None:
        owed = {key: batches for shard, key in states if (batches := shard.archiving(key))}
        if owed:
            self._write_letters(owed)

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Forget the topics' states; with the states' own topic, all states."""
        if any(topic.name == SHARE_GROUP_STATE for topic in topics):
            self.partitions.resign()
            self._routes.clear()
        self._forget(frozenset(topic.topic_id for topic in topics))

    def _forget(self, topic_ids: frozenset[bytes]) -> None:
        self._begin(self._forget_states(topic_ids))
        for topic_id in topic_ids:
            self._routes.pop(topic_id, None)

    async def _forget_states(self, topic_ids: frozenset[bytes]) -> None:
        """Forget the topics' states; if there are many, over several turns, since no request can reach them any
        more.
        """
        for partition in self.partitions:
            left = sum(map(partition.shard.count_of, topic_ids))
            while left > PIECE:
                partition.notify(lambda shard: shard.topics_deleted(topic_ids, PIECE))
                left -= PIECE
                await self._breathe(PIECE)
            partition.notify(lambda shard: shard.topics_deleted(topic_ids))
            if left:
                await self._breathe(left)

    def owes_letters(self, key: SharePartitionKey) -> Pending[bool]:
        """Return True if dead letters of the share partition are owed, for the persister's port."""
        partition = self._partition_of(key)
        if partition is None:
            return completed(False)
        return partition.run(lambda shard: CoordinatorResult(bool(shard.archiving(key))), lambda _error: False)

    # -- the persister

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> Pending[PersistedState]:
        """Read the state, for the persister's port."""
        return self.read(key, leader_epoch).then(
            lambda result: PersistedState(
                result.error,
                result.state_epoch,
                result.start_offset,
                [StateBatch(*batch) for batch in result.batches],
                result.delays,
                result.staged,
            )
        )

    def write_state(self, key: SharePartitionKey, write: WriteState) -> Pending[ErrorCode]:
        """Write the state, for the persister's port."""
        began_ns = self._now_ns()
        result: Pending[ErrorCode] = Pending()

        def written(answer: ApiError) -> None:
            self._note_write(began_ns)
            result.complete(answer.code)

        self._write(
            key=key,
            state_epoch=write.state_epoch,
            leader_epoch=write.leader_epoch,
            start_offset=write.start_offset,
            delivery_complete_count=write.delivery_complete_count,
            batches=write.batches,
            delays=write.delays,
            staged=write.staged,
        ).on_complete(written)
        return result

    def replace_state(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        batches: Sequence[StateBatch],
        delays: Sequence[Delay] = NO_DELAYS,
        staged: Sequence[Staged] = NONE_STAGED,
    ) -> Pending[ErrorCode]:
        """Initialise the state again with these batches, for the persister's port."""
        wiped = self.initialize(key, state_epoch, start_offset)
        if not batches:
            return wiped.then(lambda result: result.code)
        # This is decided on the wiped state, and durable with it: no other operation can come in between.
        terminal = sum(b.last_offset - b.first_offset + 1 for b in batches if b.delivery_state in TERMINAL)
        written = self.write(
            key=key,
            state_epoch=state_epoch,
            leader_epoch=None,
            start_offset=start_offset,
            delivery_complete_count=terminal,
            batches=batches,
            delays=delays,
            staged=staged,
        )
        return join(wiped, written).then(lambda both: both[0].code or both[1].code)

    def _schedule(
        self,
        key: SharePartitionKey,
        operation: Callable[[ShareCoordinatorShard], CoordinatorResult[T]],
        result_type: Callable[[ErrorCode, str], T],
    ) -> Pending[T]:
        partition = self._partition_of(key)
        if partition is None:
            unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
            return completed(result_type(unavailable, text_of(unavailable)))
        return partition.run(operation, lambda error: result_type(error, text_of(error)))

    def _partition_of(self, key: SharePartitionKey) -> CoordinatorPartition[ShareCoordinatorShard] | None:
        """Return the partition that holds the state; None without a topic of states."""
        routes = self._routes.get(key.topic_id)
        route = None if routes is None else routes.get(key)
        if route is None:
            count = self.partitions.count
            if not count:
                return None
            route = self._route(key, count)
            if self._metadata.topic_by_id(key.topic_id) is not None:  # names that clients invent are not remembered
                self._routes.setdefault(key.topic_id, {})[key] = route
        return self.partitions.get(route)


def _refused(error: ErrorCode) -> ApiError:
    return ApiError(error, text_of(error))
