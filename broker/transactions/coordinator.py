"""The transaction coordinator of this broker. It routes transactional ids to their partitions of
`__transaction_state`, has the markers of an operation written, and looks for transactions that last too long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.foundation.loop.coroutines import Begin
from shareq.broker.foundation.loop.timer import Timer
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import LOOK
from shareq.broker.topics.internal import InternalTopics
from shareq.broker.transactions.markers import MarkerWriter, Partition
from shareq.coordinator.ports import TopicImage
from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.transaction.describe import TransactionFilter, transaction_error_entry
from shareq.coordinator.transaction.init_producer_id import ExpectedProducer
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.coordinator.transaction.outcome import ProducerResult, WriteMarkers
from shareq.coordinator.transaction.records import TRANSACTION_SERDE
from shareq.coordinator.transaction.shard import TransactionCoordinatorSettings, TransactionCoordinatorShard
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import describe_transactions, list_transactions
from shareq.protocol.names import TRANSACTION_STATE

T = TypeVar("T")


def transaction_coordinator_settings(config: BrokerConfig) -> TransactionCoordinatorSettings:
    """Return `transaction.max.timeout.ms` and `transactional.id.expiration.ms` in the form that the shard uses."""
    return TransactionCoordinatorSettings(config.transaction_max_timeout_ms, config.transactional_id_expiration_ms)


class CleanupIntervals(NamedTuple):
    """The intervals in ms of the searches for transactions that last too long, and for expired transactional ids."""

    timed_out_ms: int
    expired_ms: int


class TransactionCoordinatorService:
    """The transaction coordinators. A request is answered when its effect is durable.

    The end of a transaction is answered when its markers are written, or when the first attempt failed. So a client
    that commits and then reads sees the committed records, and a producer can begin its next transaction at once.

    `new_producer_id` raises OSError; `transaction_version` is the finalized level of the feature. `timed_out` counts
    the transactions that were aborted because they lasted too long.
    """

    def __init__(
        self,
        host: CoordinatorHost,
        internal_topics: InternalTopics,
        markers: MarkerWriter,
        begin: Begin,
        new_producer_id: Callable[[], int],
        transaction_version: Callable[[], int],
        settings: TransactionCoordinatorSettings,
        intervals: CleanupIntervals,
    ) -> None:
        self._clock = host.env.clock
        self._breathe = host.env.budget.breathe
        self._begin = begin
        self._internal_topics = internal_topics
        self._markers = markers
        self._next_producer_id = new_producer_id
        self._intervals = intervals
        self.timed_out = 0
        self._timeouts = Timer(self._clock)
        self._expiry = Timer(self._clock)
        self._closed = False
        self.partitions: CoordinatorPartitions[TransactionCoordinatorShard] = CoordinatorPartitions(
            host,
            TRANSACTION_STATE,
            lambda: TransactionCoordinatorShard(
                host.env.clock.wall_ms,
                self._new_producer_id,
                transaction_version,
                settings,
                self.partitions.room,
            ),
            TRANSACTION_SERDE,
            CoordinatorLogSettings(),
        )

    # -- requests

    async def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ExpectedProducer | None
    ) -> ProducerResult:
        """Return the producer id and epoch, as for InitProducerId. The internal topic is created if it is missing."""
        return await self._ending(
            transactional_id, lambda shard: shard.init_producer_id(transactional_id, timeout_ms, expected)
        )

    async def end_transaction(
        self, transactional_id: str, producer_id: int, producer_epoch: int, *, commit: bool, client_version: int
    ) -> ProducerResult:
        """End the transaction, as for EndTxn."""
        return await self._ending(
            transactional_id,
            lambda shard: shard.end_transaction(
                transactional_id, producer_id, producer_epoch, commit=commit, client_version=client_version
            ),
        )

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
        client_version: int,
    ) -> Pending[ErrorCode]:
        """Add partitions to the transaction, as for AddPartitionsToTxn; the broker also calls this for producers of
        transaction version 2.
        """
        added = self._schedule(
            transactional_id,
            lambda shard: shard.add_partitions(
                transactional_id, producer_id, producer_epoch, partitions, client_version
            ),
            lambda error: error,
        )
        if self._timeouts.due_ms is None:
            self._timeouts.after(self._intervals.timed_out_ms, self._abort_timed_out)
        return added

    def may_write(self, writer: tuple[str, int, int], at: TopicPartition) -> ErrorCode:
        """Return NONE if the partition is in the open transaction of this transactional id, producer id and epoch now;
        else an error. Markers that are decided later are written later.
        """
        return self._partition(writer[0]).shard.verify_partition(*writer, at).response

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
    ) -> Pending[dict[TopicPartition, ErrorCode]]:
        """Return for each partition NONE if a producer of an older version may write to it, or the error."""

        def verify(shard: TransactionCoordinatorShard) -> CoordinatorResult[dict[TopicPartition, ErrorCode]]:
            verdict = shard.verify_partition
            return CoordinatorResult(
                {at: verdict(transactional_id, producer_id, producer_epoch, at).response for at in partitions}
            )

        return self._schedule(transactional_id, verify, lambda error: dict.fromkeys(partitions, error))

    def describe(self, transactional_id: str) -> Pending[describe_transactions.TransactionState]:
        """Return one row of DescribeTransactions."""
        return self._schedule(
            transactional_id,
            lambda shard: shard.describe(transactional_id),
            lambda error: transaction_error_entry(transactional_id, error),
        )

    async def list_transactions(self, wanted: TransactionFilter) -> list[list_transactions.TransactionState]:
        """Return the rows of ListTransactions, from all partitions."""
        parts: list[Pending[list[list_transactions.TransactionState]]] = []
        for partition in self.partitions:
            parts.append(partition.run(lambda shard: shard.list_transactions(wanted), lambda _error: []))
            await self._breathe(LOOK)  # a partition may have many
        rows: list[list_transactions.TransactionState] = []
        for part in parts:
            rows += await part
        return rows

    # -- start, stop, news of topics

    def recover(self) -> None:
        """Load the log when the broker starts, finish decided transactions, and watch the open ones for timeouts."""
        self.partitions.load()
        for partition in self.partitions:
            for markers in partition.shard.unfinished():
                self._markers.carry_out(partition, markers, again=True)
        self._watch_timeouts()
        self._watch_expiry()

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Resign if the coordinator's own topic was deleted, and with it all transactional ids."""
        if any(topic.name == TRANSACTION_STATE for topic in topics):
            self.partitions.resign()

    def close(self) -> None:
        """Stop all timers."""
        self._closed = True
        self._markers.stop()
        self._timeouts.stop()
        self._expiry.stop()
        self.partitions.close()

    # -- time

    def _watch_timeouts(self) -> None:
        """Run a timer that looks for transactions that last too long, as long as any is open."""
        if self._closed or self._timeouts.due_ms is not None:
            return
        if any(partition.shard.has_ongoing() for partition in self.partitions):
            self._timeouts.after(self._intervals.timed_out_ms, self._abort_timed_out)

    def _abort_timed_out(self) -> None:
        for partition in self.partitions:
            self._begin(self._abort_timed_out_of(partition))
        self._watch_timeouts()

    async def _abort_timed_out_of(self, partition: Partition) -> None:
        nothing: list[WriteMarkers] = []
        decided = await partition.run(lambda shard: shard.abort_timed_out(), lambda _error: nothing)
        self.timed_out += len(decided)
        for markers in decided:
            self._markers.carry_out(partition, markers)
            await self._breathe(LOOK)  # a transaction may have many partitions
        self._watch_timeouts()  # transactions that could not be ended are open again

    def _watch_expiry(self) -> None:
        if self._closed or self._expiry.due_ms is not None:
            return
        if any(len(partition.shard) for partition in self.partitions):
            self._expiry.after(self._intervals.expired_ms, self._remove_expired)

    def _remove_expired(self) -> None:
        for partition in self.partitions:
            self._begin(self._remove_expired_of(partition))

    async def _remove_expired_of(self, partition: Partition) -> None:
        await partition.run(lambda shard: shard.remove_expired(), lambda _error: 0)
        self._watch_expiry()  # ids that could not be removed exist again

    # -- routing

    async def _ending(
        self,
        transactional_id: str,
        operation: Callable[[TransactionCoordinatorShard], CoordinatorResult[ProducerResult]],
    ) -> ProducerResult:
        """Run an operation that may end a transaction."""
        result = await self._schedule(transactional_id, operation, ProducerResult)
        self._watch_expiry()
        if result.markers is not None:
            await self._markers.carry_out(self._partition(transactional_id), result.markers)
        return result

    def _schedule(
        self,
        transactional_id: str,
        operation: Callable[[TransactionCoordinatorShard], CoordinatorResult[T]],
        failed: Callable[[ErrorCode], T],
    ) -> Pending[T]:
        return self._begin(self._run(transactional_id, operation, failed))

    async def _run(
        self,
        transactional_id: str,
        operation: Callable[[TransactionCoordinatorShard], CoordinatorResult[T]],
        failed: Callable[[ErrorCode], T],
    ) -> T:
        if await self._internal_topics.made(TRANSACTION_STATE):
            return failed(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        partition = self._partition(transactional_id)
        return await partition.schedule(lambda: operation(partition.shard), failed)

    def _partition(self, transactional_id: str) -> Partition:
        return self.partitions.get(self.partitions.place_of(transactional_id))

    def _new_producer_id(self) -> int | ErrorCode:
        try:
            return self._next_producer_id()
        except OSError:
            return ErrorCode.KAFKA_STORAGE_ERROR
